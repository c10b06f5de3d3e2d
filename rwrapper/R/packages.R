# Methods for generics of other packages. Their defaults would look for the data of the call, or fit
# again; each method uses released numbers, or stops.

#' Private fits in other packages
#'
#' Many packages look for the data behind a fit, or refit it. With a private fit they use released
#' values or stop with a reason (an error of class `dpreg_error`); none of them reads the records or
#' spends budget.
#'
#' | package | works | stops |
#' |---|---|---|
#' | broom, generics | `tidy()`, `glance()`, `augment(newdata = )` | `augment()` |
#' | car | `linearHypothesis()`, `Anova()`, `deltaMethod()`, `Confint()`, `compareCoefs()`, `vif()` | `Boot()`, `boxCox()`, and what needs residuals: `avPlots()`, `crPlots()`, `residualPlots()`, `influencePlot()`, `outlierTest()`, `ncvTest()`, ... |
#' | effects | | `Effect()`, `allEffects()`, `predictorEffects()`: use emmeans |
#' | emmeans | `emmeans()`, `emtrends()`, `ref_grid()`, with `at =` or public `data =` for numeric regressors | without these |
#' | ggeffects | | `ggpredict()`, `ggeffect()`, `ggemmeans()`: use emmeans |
#' | flextable, knitr | `as_flextable(tidy(fit))`, `kable(tidy(fit))`, and of `as.data.frame(dp_compare())`: for Word, HTML and LaTeX | |
#' | ggplot2 | `autoplot()` of a fit or of `dp_compare()` | |
#' | insight | `find_formula()`, `get_parameters()`, `get_varcov()`, `get_statistic()`, `get_predicted(data = )`, `model_info()`, `n_obs()` | `get_data()`, `get_response()`, `get_residuals()`, `get_deviance()`, `null_model()` |
#' | lmtest | `coeftest()`, `coefci()`, `waldtest()` | `lrtest()`, and tests on residuals |
#' | MASS | | `stepAIC()`, `boxcox()`, `studres()`, `dropterm()`, `addterm()` |
#' | marginaleffects | with `newdata =` a public data frame | without it |
#' | multcomp | `glht()`, with `mcp()` too | `cld()` |
#' | parameters | `model_parameters()`, `ci()`, `p_value()`, `standard_error()` | `bootstrap_model()`, `standardize_parameters()` |
#' | performance | `check_collinearity()` | `r2()`, `model_performance()`, `check_model()`, `check_normality()`, ... |
#' | prediction, margins | `prediction(fit, data = )` | without `data` |
#' | sandwich | | `sandwich()`, `vcovHC()`, `vcovCL()`, `vcovBS()`: `vcov()` is robust already where the method says so |
#' | sjPlot | `plot_model()` with type `"est"`, `plot_models()`, `tab_model(show.r2 = FALSE)` | other types |
#' | survey | `regTermTest(fit, ~ x, df = Inf)` | without `df = Inf` |
#' | boot, clubSandwich, interactions, visreg | | all: they need the records |
#' | modelr, xtable | all, with public data | |
#' | modelsummary, gtsummary | what uses `tidy()` and `glance()`: `modelsummary(fit)`, `tbl_regression(fit)` need no records | |
#' | stats | `anova()`, `coef()`, `vcov()`, `confint()`, `predict(newdata = )`, `model.frame()` and `model.matrix()` without rows | `residuals()`, `logLik()`, `AIC()`, `step()`, `drop1()`, `expand.model.frame()`, ... |
#'
#' `read.csv(system.file("generics.csv", package = "dpreg"))` lists each call that was tried.
#'
#' Tests of these packages use the normal distribution with the covariance of the fit; [summary()]
#' and [confint()] use the distribution of the method, which differs slightly for `"tukey"`.
#'
#' @name dp_lm_packages
#' @seealso [anova.dp_lm()], [predict.dp_lm()], [dp_records()].
NULL

# Their generics; methods are registered when the package is loaded.
OF_PACKAGES <- list(
  bayestestR = "ci",
  car = c("avPlot", "Boot", "boxCox", "ceresPlot", "crPlot", "durbinWatsonTest", "hccm", "infIndexPlot",
          "influencePlot", "inverseResponsePlot", "invTranPlot", "leveragePlot", "mmp", "ncvTest",
          "outlierTest", "qqPlot", "residualPlots", "sigmaHat", "spreadLevelPlot"),
  datawizard = "standardize", effects = "effSources", emmeans = c("emm_basis", "recover_data"),
  insight = c("get_data", "get_deviance", "get_df", "get_residuals", "get_statistic"),
  lmtest = c("lrtest", "waldtest"), marginaleffects = c("get_coef", "get_predict", "get_vcov", "set_coef"),
  MASS = "boxcox", parameters = c("model_parameters", "p_value"),
  performance = c("check_model", "check_normality", "check_predictions", "model_performance",
                  "performance_mse", "r2"),
  prediction = c("find_data", "prediction"), sandwich = c("bread", "estfun", "vcovBS", "vcovHC"),
  xtable = "xtable"
)

# Generics that need all coefficients as a vector, which coef() of classes does not return.
OF_CLASSES <- list(car = c("linearHypothesis", "deltaMethod"), lmtest = c("coeftest", "coefci"))

of_packages <- function() {
  methods <- function(of, class) unlist(lapply(names(of), function(package)
    sprintf("S3method(%s::%s, %s)", package, of[[package]], class)))
  c(methods(OF_PACKAGES, "dp_lm"), methods(OF_CLASSES, "dp_classes"),
    methods(list(car = "Anova", multcomp = "modelparm"), "dp_classes"),
    methods(list(survival = c("survfit", "concordance")), "dp_survival"),
    "S3method(emmeans::recover_data, dp_not_released)")
}

# Packages that need the records, and alternatives.
records_stop <- function(what, instead) {
  dpreg_stop("private", what, " would read the private records of the fit; ", instead)
}

# Generics on residuals, on the data of the call, or on another fit to them.
stopping <- function(what, instead = NULL) {
  force(what)
  function(...) private_stop(what, instead)
}
for (package in c("car", "performance"))
  for (generic in OF_PACKAGES[[package]])
    assign(paste0(generic, ".dp_lm"), stopping(paste0(package, "::", generic, "()")))

# effects
effSources.dp_lm <- function(mod, ...) records_stop(
  "effects", "for means at values of yours use emmeans::emmeans(fit, \"g\", at = list(x = 1))")

# insight, and what builds on it: parameters, performance, sjPlot, ggeffects, see
get_data.dp_lm <- function(x, ...) records_stop(
  "get_data()", "if the function takes newdata or data, give the rows to average over")
get_residuals.dp_lm <- stopping("get_residuals()")
get_deviance.dp_lm <- stopping("get_deviance()")
get_df.dp_lm <- function(x, ...) Inf
get_statistic.dp_lm <- function(x, ...) {
  table <- tidy.dp_lm(x)
  structure(data.frame(Parameter = table$term, Statistic = table$statistic),
            statistic = "z-statistic")
}
# Standard deviations of the columns are private.
standardize.dp_lm <- stopping("standardize()", "divide by public constants in the formula, as in scale(x, 50, 10)")

# parameters, and sjPlot, which draws what it returns
model_parameters.dp_lm <- function(model, ci = 0.95, exponentiate = FALSE, bootstrap = FALSE,
                                   standardize = NULL, vcov = NULL, ...) {
  if (isTRUE(bootstrap) || !is.null(standardize) || !is.null(vcov))
    private_stop("model_parameters() with bootstrap, standardize or vcov")
  check_level(ci, "ci")
  table <- tidy.dp_lm(model, conf.int = TRUE, conf.level = ci, exponentiate = isTRUE(exponentiate))
  names <- stats::setNames(table$term, table$term)
  structure(
    data.frame(Parameter = table$term, Coefficient = table$estimate, SE = table$std.error, CI = ci,
               CI_low = table$conf.low, CI_high = table$conf.high, z = table$statistic,
               df_error = Inf, p = table$p.value),
    class = c("parameters_model", "see_parameters_model", "data.frame"),
    pretty_names = names, pretty_labels = names, ci = ci, ci_method = "Wald", df_method = "Wald",
    test_statistic = "z-statistic", exponentiate = isTRUE(exponentiate), model_class = "dp_lm",
    linear_model = TRUE, mixed_model = FALSE, ordinal_model = FALSE, bootstrap = FALSE,
    iterations = 0, robust_vcov = FALSE, ignore_group = TRUE, ran_pars = TRUE, show_summary = FALSE,
    log_link = FALSE, log_response = FALSE, log_predictors = FALSE, no_caption = TRUE, title = "",
    n_obs = model$nobs, verbose = FALSE, model_formula = deparsed(model$formula),
    coefficient_name = "Coefficient", zi_coefficient_name = "Coefficient", digits = 2,
    ci_digits = 2, p_digits = 3, footer_digits = 3, object_name = "fit")
}

ci.dp_lm <- function(x, ci = 0.95, ...) {
  check_level(ci, "ci")
  limits <- stats::confint(x, level = ci)
  data.frame(Parameter = rownames(limits), CI = ci, CI_low = limits[, 1L], CI_high = limits[, 2L],
             row.names = NULL)
}

p_value.dp_lm <- function(model, ...) {
  table <- summary(model)$coefficients
  data.frame(Parameter = rownames(table), p = table[, "Pr(>|z|)"], row.names = NULL)
}

# prediction and margins
find_data.dp_lm <- function(model, ...) records_stop(
  "find_data()", "give the rows, such as data = a public data frame")

prediction.dp_lm <- function(model, data = NULL, ...) {
  if (is.null(data)) find_data.dp_lm(model)
  predicted <- stats::predict(model, data, se.fit = TRUE)
  structure(cbind(as.data.frame(data), fitted = predicted$fit, se.fitted = predicted$se.fit),
            class = c("prediction", "data.frame"), type = "response",
            at = NULL, vcov = NA_real_, call = NULL, weighted = FALSE)
}

# A fit of classes as one of all its coefficients.
for (package in names(OF_CLASSES))
  for (generic in OF_CLASSES[[package]])
    assign(paste0(generic, ".dp_classes"), eval(bquote(function(...) {
      given <- list(...)
      class(given[[1L]]) <- "dp_lm"
      do.call(getExportedValue(.(package), .(generic)), given)
    })))
Anova.dp_classes <- stopping("car::Anova() of classes", "anova(fit) has Wald tests of terms")
modelparm.dp_classes <- stopping("multcomp::glht() of classes", "car::linearHypothesis() tests coefficients")

# survival
survfit.dp_survival <- stopping("survfit()", "predict(fit, newdata) has curves, and plot(fit, newdata) draws them")
concordance.dp_survival <- stopping("concordance()")

# lmtest
lrtest.dp_lm <- stopping("lrtest()", "anova(fit) has Wald tests of terms")

# MASS
boxcox.dp_lm <- stopping("boxcox()")

# xtable
xtable.dp_lm <- function(x, ...) xtable::xtable(as.data.frame(summary(x)$coefficients), ...)

# sandwich
for (generic in OF_PACKAGES$sandwich)
  assign(paste0(generic, ".dp_lm"), stopping(paste0(generic, "()"), "vcov(fit) is what was released"))
rm(generic, package)

# marginaleffects
get_coef.dp_lm <- function(model, ...) stats::coef(model, complete = FALSE)

set_coef.dp_lm <- function(model, coefs, ...) {
  model$coefficients[names(coefs)] <- coefs
  model
}

get_vcov.dp_lm <- function(model, ...) stats::vcov(model, complete = FALSE)

get_predict.dp_lm <- function(model, newdata, ...) {
  data.frame(rowid = seq_len(nrow(newdata)),
             estimate = unname(stats::predict(model, newdata, winsorise = FALSE)))
}
