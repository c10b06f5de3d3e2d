# Each generic of the packages that are loaded with a fit: it works from released numbers or stops,
# and in no case reads the records or spends.

# A fit whose data count how often they are looked at, and whose budget counts the charges.
watched <- function() {
  e <- new.env(parent = globalenv())
  data <- transform(diamonds[1:20000, ], cut = factor(cut, ordered = FALSE))
  e$reads <- 0L
  makeActiveBinding("secret", function() {
    e$reads <- e$reads + 1L
    data
  }, e)
  e$budget <- dp_budget(eps = 400)
  e$new <- data.frame(carat = c(0.5, 1), depth = 60, cut = factor(c("Good", "Ideal"), levels(data$cut)))
  evalq({
    fit <- dp_lm(log(price) ~ log(carat) + depth + cut, secret, eps = 8, budget = budget)
    small <- dp_lm(log(price) ~ log(carat), secret, eps = 8, budget = budget)
    crossed <- dp_lm(log(price) ~ log(carat) * cut, secret, eps = 8, budget = budget)
  }, e)
  stopifnot(e$reads == 3L)
  e
}
world <- if (dpreg_available()) watched()

outcome <- function(call) {
  quiet <- function(expression) suppressMessages(suppressWarnings(expression))
  found <- tryCatch(quiet({
    utils::capture.output(value <- eval(call, world))
    # What is drawn or computed when it is printed belongs to it.
    if (inherits(value, c("gg", "glht", "emmGrid"))) utils::capture.output(print(value))
    list(value)
  }), error = identity)
  if (world$reads != 3L || nrow(as.data.frame(world$budget)) != 3L) {
    world$reads <- 3L
    return("the records were read, or a release was made")
  }
  found
}

expect_works <- function(...) {
  for (call in as.list(substitute(list(...)))[-1L]) {
    found <- outcome(call)
    problem <- if (inherits(found, "error")) conditionMessage(found) else if (is.character(found)) found
    testthat::expect(is.null(problem), paste0(deparse(call)[1L], ": ", problem))
  }
}

# With a reason: ours, however it is wrapped.
expect_stops <- function(...) {
  for (call in as.list(substitute(list(...)))[-1L]) {
    found <- outcome(call)
    reason <- if (inherits(found, "error")) conditionMessage(found) else "it gave a value"
    testthat::expect(grepl("private|not released|would make a new release|over the records", reason),
                     paste0(deparse(call)[1L], ": ", reason))
  }
}

needs <- function(package) {
  needs_python()
  # CI installs them: there a package that is missing is a failure.
  if (requireNamespace(package, quietly = TRUE)) return(invisible())
  if (nzchar(Sys.getenv("DPREG_REQUIRE_PACKAGES"))) stop("the package ", package, " is not installed")
  testthat::skip(paste("the package", package, "is not installed"))
}

test_that("what looks for the records of the call is seen here", {
  needs_python()
  expect_identical(outcome(quote(nrow(secret))), "the records were read, or a release was made")
  expect_match(outcome(quote(update(fit, eps = 7))), "release was made")
  world$budget <- dp_budget(eps = 400)
  for (i in 1:3) dp_lm(price ~ carat, diamonds, eps = 1, budget = world$budget)
})

test_that("the data of the call are not found by whoever evaluates it", {
  needs_python()
  expect_stops(eval(fit$call), eval(fit$call$data), eval(getCall(fit)), as.data.frame(unclass(fit)),
               stats::update.default(fit, . ~ . - depth))
  expect_error(eval(world$fit$call), "records behind a private fit.*'secret'", class = "dpreg_private")
  expect_false("secret" %in% all.vars(world$fit$call))
  expect_output(print(world$fit), "data = secret")
  direct <- do.call(dp_lm, list(price ~ carat, diamonds, eps = 1))
  expect_identical(deparse(direct$call$data), "dpreg::dp_records()")
  expect_error(update(direct, eps = 2), "does not name its data; write update\\(fit, data = \\)")
  expect_message(update(direct, data = diamonds), "another release")
})

test_that("stats", {
  needs_python()
  expect_works(anova(fit), anova(small, fit), model.frame(fit), model.matrix(fit), confint(fit),
               confint.default(fit), family(fit), formula(fit), variable.names(fit), coef(summary(fit)),
               predict(fit, new, type = "response"), model.matrix(fit, new), model.frame(fit, new))
  expect_stops(expand.model.frame(fit, ~price), step(fit), drop1(fit), add1(fit, ~ . + table), AIC(fit),
               BIC(fit), logLik(fit), residuals(fit), fitted(fit), deviance(fit), sigma(fit),
               influence.measures(fit), lm.influence(fit), rstandard(fit), cooks.distance(fit),
               hatvalues(fit), simulate(fit), weights(fit), weighted.residuals(fit), case.names(fit))
})

test_that("effects", {
  needs("effects")
  expect_stops(effects::Effect("cut", fit), effects::allEffects(fit), effects::predictorEffects(fit),
               effects::effect("cut", fit), effects::predictorEffect("cut", fit),
               effects::Effect("cut", fit, sources = list(call = fit$call)))
})

test_that("car", {
  needs("car")
  expect_works(car::linearHypothesis(fit, "depth = 0"), car::linearHypothesis(fit, "cutGood = cutIdeal"),
               car::Anova(fit), car::Anova(crossed, type = 3), car::deltaMethod(fit, "depth / cutGood"),
               car::vif(fit), car::Confint(fit), car::compareCoefs(fit, small))
  expect_stops(car::Boot(fit, R = 2), car::avPlots(fit), car::crPlots(fit), car::residualPlots(fit),
               car::influencePlot(fit), car::outlierTest(fit), car::ncvTest(fit), car::boxCox(fit),
               car::durbinWatsonTest(fit), car::leveragePlots(fit), car::spreadLevelPlot(fit),
               car::infIndexPlot(fit), car::qqPlot(fit), car::inverseResponsePlot(fit), car::mmp(fit))
})

test_that("terms are tested as car tests them", {
  needs("car")
  ours <- anova(world$fit)
  theirs <- car::Anova(world$fit, type = 3)[-1, ]
  expect_equal(ours$Chisq, theirs$Chisq)
  expect_equal(ours$Df, theirs$Df)
})

test_that("lmtest", {
  needs("lmtest")
  expect_works(lmtest::waldtest(fit, . ~ . - depth), lmtest::waldtest(fit, "cut"), lmtest::waldtest(fit, 2, 1),
               lmtest::waldtest(fit), lmtest::waldtest(fit, small), lmtest::coeftest(fit), lmtest::coefci(fit))
  expect_error(lmtest::waldtest(world$crossed, . ~ . + depth), "leave terms out", class = "dpreg_usage")
  expect_stops(lmtest::waldtest.default(fit, . ~ . - depth),
               lmtest::lrtest(fit, . ~ . - depth), lmtest::bptest(fit), lmtest::bgtest(fit), lmtest::dwtest(fit),
               lmtest::resettest(fit), lmtest::raintest(fit), lmtest::harvtest(fit), lmtest::hmctest(fit),
               lmtest::gqtest(fit), lmtest::coxtest(fit, small), lmtest::jtest(fit, small))
})

test_that("sandwich", {
  needs("sandwich")
  expect_stops(sandwich::sandwich(fit), sandwich::vcovHC(fit), sandwich::vcovCL(fit), sandwich::vcovBS(fit),
               sandwich::vcovHAC(fit), sandwich::NeweyWest(fit), sandwich::vcovPL(fit), sandwich::estfun(fit),
               sandwich::bread(fit), sandwich::meat(fit))
})

test_that("survey and multcomp", {
  needs("survey")
  expect_works(survey::regTermTest(fit, ~cut, df = Inf), survey::svycontrast(fit, c(depth = 1)))
  expect_stops(survey::regTermTest(fit, ~cut))
  needs("multcomp")
  expect_works(summary(multcomp::glht(fit, multcomp::mcp(cut = "Tukey"))), multcomp::glht(fit, "depth = 0"),
               confint(multcomp::glht(fit)))
  expect_stops(multcomp::cld(multcomp::glht(fit, multcomp::mcp(cut = "Tukey"))))
})

test_that("boot and MASS", {
  needs("boot")
  expect_stops(boot::cv.glm(new, fit))
  needs("MASS")
  expect_stops(MASS::stepAIC(fit), MASS::studres(fit), MASS::dropterm(fit), MASS::addterm(fit, ~ . + table))
})

test_that("insight", {
  needs("insight")
  expect_works(insight::find_formula(fit), insight::get_parameters(fit), insight::get_varcov(fit),
               insight::model_info(fit), insight::n_obs(fit), insight::get_statistic(fit), insight::get_df(fit),
               insight::get_predicted(fit, data = new), insight::get_modelmatrix(fit))
  expect_stops(insight::get_data(fit), insight::get_response(fit), insight::get_residuals(fit),
               insight::get_deviance(fit), insight::null_model(fit), insight::get_predicted(fit),
               insight::get_loglikelihood(fit), insight::get_predictors(fit))
  expect_equal(as.vector(insight::get_predicted(world$fit, data = world$new)),
               unname(predict(world$fit, world$new)))
})

test_that("parameters, performance and sjPlot", {
  needs("parameters")
  expect_works(parameters::model_parameters(fit), print(parameters::model_parameters(fit)), parameters::ci(fit),
               parameters::p_value(fit), parameters::standard_error(fit))
  expect_stops(parameters::model_parameters(fit, bootstrap = TRUE), parameters::standardize_parameters(fit),
               parameters::model_parameters(fit, vcov = "HC3"), parameters::bootstrap_model(fit))
  found <- parameters::model_parameters(world$fit, ci = 0.9)
  expect_equal(cbind(found$CI_low, found$CI_high), unname(confint(world$fit, level = 0.9)))
  needs("performance")
  expect_works(performance::check_collinearity(fit))
  expect_stops(performance::r2(fit), performance::model_performance(fit), performance::check_model(fit),
               performance::check_normality(fit), performance::check_heteroscedasticity(fit),
               performance::check_outliers(fit), performance::check_autocorrelation(fit),
               performance::performance_mae(fit), performance::performance_mse(fit),
               performance::performance_cv(fit), performance::check_predictions(fit))
  needs("sjPlot")
  expect_works(sjPlot::plot_model(fit), sjPlot::plot_models(fit, small), sjPlot::tab_model(fit, show.r2 = FALSE))
  expect_stops(sjPlot::plot_model(fit, type = "pred", terms = "cut"), sjPlot::plot_model(fit, type = "std"),
               sjPlot::plot_model(fit, type = "resid"), sjPlot::plot_model(fit, type = "diag"))
})

test_that("ggeffects and prediction", {
  needs("ggeffects")
  expect_stops(ggeffects::ggpredict(fit, "cut"), ggeffects::ggemmeans(fit, "cut"), ggeffects::ggeffect(fit, "cut"))
  needs("prediction")
  expect_works(prediction::prediction(fit, data = new), prediction::prediction_summary(fit, data = new))
  expect_stops(prediction::prediction(fit), prediction::find_data(fit), prediction::prediction_summary(fit),
               prediction::prediction(fit, at = list(carat = 1)))
})

test_that("emmeans and broom", {
  needs("emmeans")
  expect_works(emmeans::emmeans(fit, "cut", at = list(carat = 1, depth = 60)),
               emmeans::emtrends(crossed, "cut", var = "carat", at = list(carat = 1), delta.var = 0.01),
               emmeans::joint_tests(fit, at = list(carat = 1, depth = 60)))
  expect_stops(emmeans::emmeans(fit, "cut"), emmeans::ref_grid(fit), emmeans::emtrends(crossed, "cut", var = "carat"))
  # Logarithms of values that are not known yet would be warned of.
  expect_silent(emmeans::emmeans(world$fit, "cut", at = list(carat = 1, depth = 60)))
  needs("broom")
  expect_works(broom::tidy(fit), broom::glance(fit), broom::augment(fit, newdata = new))
  expect_stops(broom::augment(fit))
})

test_that("marginaleffects, which is not in Debian, finds what it needs", {
  needs_python()
  fit <- fit_of()
  expect_true("dp_lm" %in% getOption("marginaleffects_model_classes"))
  expect_identical(get_coef.dp_lm(fit), coef(fit))
  expect_identical(get_vcov.dp_lm(fit), vcov(fit))
  moved <- set_coef.dp_lm(fit, coef(fit) + 1)
  expect_equal(coef(moved), coef(fit) + 1)
  new <- diamonds[400:401, ]
  expect_equal(get_predict.dp_lm(fit, new)$estimate, unname(predict(fit, new)))
  expect_false(isTRUE(all.equal(get_predict.dp_lm(moved, new), get_predict.dp_lm(fit, new))))
})
