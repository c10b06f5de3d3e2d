# Proportional hazards on public intervals of time, with the syntax of the package survival.

#' Proportional hazards with differential privacy
#'
#' `dp_survival()` is a counterpart of [survival::coxph()] with the guarantee of [dp_lm()], and with
#' a baseline hazard that is constant within each interval of public `cuts`. Exponentials of
#' coefficients are hazard ratios.
#'
#' The fit is a Poisson regression with one row for each interval in which a person is at risk: the
#' response is the event, and the offset is the logarithm of the exposure. These rows are made in
#' batches and never stored. A person is one unit, whatever the number of intervals, and standard
#' errors are clustered.
#'
#' `Surv()` is not called, so the package survival need not be installed. The event is 0 or 1, or
#' `FALSE` or `TRUE`; a status coded 1 and 2 is not detected: write `Surv(time, status == 2)`.
#'
#' The intercept is the logarithm of the hazard per unit of time in the first interval, where covariates are
#' 0 or at reference levels, in the first of the strata: the first row of `survival_baseline()`.
#' Coefficients named `interval365` are logarithms of the hazard in the interval that ends at 365,
#' compared with it.
#'
#' @inheritParams dp_lm
#' @param formula `Surv(time, event) ~ age + stage`, or `Surv(start, stop, event) ~ age + stage` with
#'   delayed entry, left truncation or covariates that change over time: a row is at risk in (start, stop\].
#' @param cuts Public increasing times: the ends of the intervals. Do not choose them by looking at the
#'   data. Times after the last are censored there. Four to eight are enough for hazard ratios; more
#'   make standard errors larger, as does an interval that very few reach.
#' @param start Where the first interval begins, itself included.
#' @param strata Name of a factor, each level of which has a baseline hazard of its own.
#' @param time_varying Terms of the formula whose effect may change with time: their columns are also
#'   multiplied by the centred logarithm of time. `survival_ph_test()` tests that these coefficients are 0.
#' @param object,x,fit A fit made by `dp_survival()`.
#' @param newdata Covariates and strata of persons, constant over time: a data frame, not protected.
#' @param type `"survival"`: curves at the cuts, conditional on survival up to the start; `"lp"`: the
#'   logarithm of the hazard compared with covariates of 0, in the same stratum; `"risk"`: its exponential.
#' @param se.fit For `"lp"` and `"risk"`: also return standard errors?
#' @param level Probability with which limits cover.
#' @param simultaneous `FALSE`: limits hold at each time by itself; `TRUE`: at all times of a person
#'   together.
#' @param winsorise `TRUE` clips covariates to the released limits, to avoid extrapolation.
#' @param main,xlab,ylab,col As for [plot.default()]; one colour for each person.
#' @param ... Must be empty; of `plot()`, given to [plot.default()], or to the plot of coefficients where
#'   there is no `newdata`: see [dp_plots].
#' @return `dp_survival()`: an object of class `dp_survival` and `dp_lm`, or of class [dp_not_released] if
#' the
#'   mechanism declined. It contains no records. [dp_lm_methods] lists methods: `coef()`, `confint()`,
#'   `vcov()`, `summary()`; [anova()][anova.dp_lm] tests terms, `tidy(fit, exponentiate = TRUE)` gives
#' hazard
#'   ratios. `predict()`: of `"survival"` a data frame with `row`, `time`, `surv`, `lower` and `upper`.
#'   `survival_baseline()`: the hazard where covariates are 0, in the first of the strata.
#'   `survival_ph_test()`: an `htest`.
#' @references
#' Holford, T. R. (1980). The analysis of rates and of survivorship using log-linear models. *Biometrics*.
#'
#' Prentice, R. L. and Gloeckler, L. A. (1978). Regression analysis of grouped survival data with
#' application to breast cancer data. *Biometrics*.
#' @seealso [dp_curve()] for curves without a model; `vignette("survival", "dpreg")`.
#' @export
#' @examplesIf dpreg_available("dp_survival")
#' n <- 20000
#' age <- runif(n, 40, 80)
#' days <- rexp(n, exp(0.04 * (age - 60)) / 400)
#' end <- runif(n, 100, 730)
#' cohort <- data.frame(age, days = pmin(days, end), died = days <= end)
#' fit <- dp_survival(Surv(days, died) ~ age, cohort, eps = 2, cuts = c(90, 180, 365, 730))
#' summary(fit)
#' tidy(fit, exponentiate = TRUE, conf.int = TRUE)[2, ]
#' predict(fit, data.frame(age = c(50, 70)))
dp_survival <- function(formula, data, eps, delta = 1e-5, cuts, start = 0, strata = NULL, time_varying = NULL,
                        levels = NULL, bounds = NULL, unit = NULL, max_rows = NULL, weights = NULL,
                        weight_limit = NULL, budget = NULL, memory = NULL, rng = NULL, ...) {
  asked <- begun("dp_survival", SURVIVAL_HINTS, ...)
  check_cuts(asked$given$cuts, start)
  check_text(strata, "strata", "\"site\"")
  if (!is.null(time_varying) && !is.character(time_varying))
    refuse("time_varying must be terms of the formula, such as \"age\", not ", described(time_varying))
  parts <- hazard_formulas(asked$formula, strata)
  check_event(parts$event, asked$data)
  check_strata(strata, seen_by(asked, parts$records))
  design <- with_plain_strata(seen_design(asked, parts$records), strata)
  # What is left without the event is what new persons have.
  own <- seen_design(asked, parts$persons)
  answer <- call_release("survival", request_of(asked, design))
  own$formula <- asked$formula
  answer$names <- gsub("interval\\[T\\.([^]]*)\\]", "interval\\1", answer$names)
  fit <- new_fit(answer, own, asked$call)
  if (inherits(fit, "dp_not_released")) return(fit)
  fit$family <- list(name = "survival", link = "log")
  fit$periods <- answer$periods
  fit$covariates <- c(fit$periods$covariates, fit$periods$strata)
  fit$reference <- reference_of(fit$periods)
  if (!is.null(strata)) fit$strata <- stats::setNames(list(base::levels(design$frame[[strata_call(strata)]])), strata)
  structure(fit, class = c("dp_survival", "dp_lm"))
}

# With what coefficients compare.
reference_of <- function(periods) {
  edges <- vapply(periods$edges[1:2], format, "", digits = 12L)
  paste0("the intercept is the log hazard per unit of time in (", edges[1L], ", ", edges[2L], "] where covariates ",
         "are 0 or at reference levels", if (length(periods$strata)) ", in the first of the strata",
         if (length(periods$edges) > 2L) "; interval<t> compares the hazard in the interval up to t with it")
}

HAZARD_EXAMPLES <- "write Surv(time, event) ~ age + stage, or Surv(start, stop, event) ~ age + stage"

SURVIVAL_HINTS <- c(
  LM_HINTS[c("subset", "na.action", "contrasts", "epsilon", "seed", "ledger", "alpha", "level")],
  cluster = "write unit = \"person\", for all rows of a person to be one unit",
  id = "write unit = \"person\", for all rows of a person to be one unit",
  breaks = "write cuts = c(90, 180)", times = "write cuts = c(90, 180)",
  family = "leave it out: the function says which model it is",
  ties = "there is no choice: events of one interval are treated alike",
  robust = "standard errors are clustered by unit already",
  tt = "write time_varying = \"age\"", method = "there is one method"
)

HAZARD_TERMS <- c(
  strata = "write strata = \"site\" as an argument of the call, a factor whose levels are public",
  cluster = "write unit = \"person\" as an argument of the call, for all rows of a person to be one unit",
  frailty = paste("random effects are not estimated: write unit = \"person\" as an argument of the call, for",
                  "all rows of a person to be one unit"),
  tt = "write time_varying = \"age\" as an argument of the call",
  ridge = "leave it out: the fit is regularised where it needs to be",
  pspline = "write ns(age, 3) and bounds = list(age = c(0, 100)) with public limits"
)

# Records: time as response, and start, event, covariates and strata as regressors; persons: without event.
hazard_formulas <- function(formula, strata) {
  given <- surv_given(formula, HAZARD_EXAMPLES)
  if (anyDuplicated(lapply(given, deparsed)))
    refuse("formula: ", deparsed(formula[[2L]]), " has one column twice; ", HAZARD_EXAMPLES)
  if ("." %in% all.vars(formula[[3L]]))
    refuse("formula: write out the covariates, such as ~ age + stage: . would be the time and the event too")
  right <- stats::terms(formula[-2L])
  check_surv_calls(right, HAZARD_TERMS)
  if (attr(right, "intercept") == 0L)
    refuse("formula: the intercept is the baseline hazard; leave out the 0 or -1")
  wrapped <- lapply(given, function(e) call("I", e))
  of <- function(parts) formula_of(wrapped[[1L]], parts, environment(formula))
  levels <- if (!is.null(strata)) list(strata_call(strata, quoted = TRUE))
  list(records = of(c(wrapped[-1L], formula[[3L]], levels)), persons = of(list(formula[[3L]])),
       event = given[[length(given)]])
}

# Dummies of all levels but the first, whatever the contrasts of the factor.
strata_call <- function(strata, quoted = FALSE) {
  found <- call("C", as.name(strata), "contr.treatment")
  if (quoted) found else deparsed(found)
}

check_strata <- function(strata, asked) {
  if (is.null(strata)) return(invisible())
  shown <- sQuote(strata, FALSE)
  if (!strata %in% names(asked$seen)) refuse("strata: there is no column ", shown, " that the fit may use")
  if (strata %in% all.vars(asked$formula))
    refuse("strata: ", shown, " is in the formula too; leave it out there")
  if (is.null(asked$levels[[strata]]) && !is.factor(asked$seen[[strata]]))
    refuse("strata: ", shown, " is not a factor, and its levels must not be read from the data; add levels = ",
           "list(", strata, " = c(\"a\", \"b\")) to the call with levels that are public, or, if they are ",
           "private, group them by a public rule before the call")
}

# Columns and terms of the strata are named as those of the factor are.
with_plain_strata <- function(design, strata) {
  if (is.null(strata)) return(design)
  plain <- function(names) sub(strata_call(strata), strata, names, fixed = TRUE)
  design$names <- plain(design$names)
  names(design$ranges) <- plain(names(design$ranges))
  attr(design$terms, "term.labels") <- plain(attr(design$terms, "term.labels"))
  design
}

check_cuts <- function(cuts, start) {
  check_number(start, "start", "0")
  if (is.numeric(cuts) && length(cuts) && all(is.finite(cuts)) && !is.unsorted(cuts, strictly = TRUE))
    return(invisible())
  refuse("cuts must be increasing numbers, such as cuts = c(90, 180, 365), not ", described(cuts))
}

check_event <- function(event, data) {
  x <- if (is.name(event)) data[[as.character(event)]]
  if (!is.factor(x) && !is.character(x)) return(invisible())
  level <- if (nlevels(x)) levels(x)[nlevels(x)] else "dead"
  refuse("formula: the event must be 0 or 1; write Surv(time, ", event, " == \"", level, "\")")
}

of_hazards <- function(fit, what, level, ...) {
  check_level(level)
  as.data.frame(answer_of(fit, what, alpha = 1 - level, ...))
}

#' @rdname dp_survival
#' @export
predict.dp_survival <- function(object, newdata, type = c("survival", "lp", "risk"), se.fit = FALSE, level = 0.95,
                                simultaneous = FALSE, winsorise = TRUE, ...) {
  hints <- c(PREDICT_HINTS, interval = "write level = 0.95: curves have limits")
  X <- predicted_rows(object, newdata, winsorise, hints, ...)
  type <- one_of(type)
  check_flag(simultaneous, "simultaneous")
  if (type != "survival") return(compared_hazards(object, X, type, se.fit, row.names(newdata)))
  table <- of_hazards(object, "survival", level, simultaneous = simultaneous, rows = pack_doubles(X), count = nrow(X))
  data.frame(row = rep(row.names(newdata), each = length(object$periods$edges) - 1L), table)
}

# Compared with covariates of 0; offsets have no coefficient, or one that is 1.
compared_hazards <- function(object, X, type, se.fit, names) {
  if (length(object$periods$varying))
    refuse("predict(): type = \"", type, "\" is not one number where effects change with time; ",
           "write type = \"survival\"")
  own <- intersect(setdiff(colnames(X), object$periods$strata), names(object$coefficients))
  offsets <- setdiff(colnames(X), c(own, object$periods$strata))
  beta <- used_coefficients(object)[own]
  fit <- drop(X[, own, drop = FALSE] %*% beta) + rowSums(X[, offsets, drop = FALSE])
  error <- mean_errors(X[, own, drop = FALSE], vcov(object)[own, own, drop = FALSE])
  names(fit) <- names(error) <- names
  value <- if (type == "risk") exp(fit) else fit
  if (se.fit) list(fit = value, se.fit = if (type == "risk") value * error else error) else value
}

#' @rdname dp_survival
#' @export
survival_baseline <- function(fit, level = 0.95) {
  check_hazards(fit)
  of_hazards(fit, "baseline", level)
}

#' @rdname dp_survival
#' @export
survival_ph_test <- function(fit) {
  check_hazards(fit)
  varying <- fit$periods$varying
  if (!length(varying))
    refuse("time_varying: the test needs terms whose effect may change with time; add time_varying = \"age\" ",
           "to the call of dp_survival()")
  found <- wald(fit, which(names(fit$coefficients) %in% paste0(varying, ":log(time)")))
  chi_squared_test(found[2L], found[1L], found[3L], "Private test of proportional hazards", fit)
}

check_hazards <- function(fit) {
  if (inherits(fit, "dp_not_released")) not_released_stop("dp_survival()")
  if (!inherits(fit, "dp_survival")) refuse("fit must be made by dp_survival()")
}

#' @rdname dp_survival
#' @export
augment.dp_survival <- function(x, newdata = NULL, ...) {
  if (is.null(newdata)) private_stop("augment() without newdata")
  no_more("augment()", c(data = "write newdata = "), ...)
  found <- stats::predict(x, newdata, type = "lp", se.fit = TRUE)
  beside(newdata, list(.fitted = found$fit, .se.fit = found$se.fit))
}

#' @rdname dp_survival
#' @export
plot.dp_survival <- function(x, newdata = NULL, level = 0.95, simultaneous = TRUE, main = NULL, xlab = "time",
                             ylab = "survival", col = NULL, ...) {
  if (is.null(newdata)) return(NextMethod())
  table <- stats::predict(x, newdata, level = level, simultaneous = simultaneous)
  parts <- split(table, factor(table$row, unique(table$row)))
  draw_curves(parts, x, x$periods$edges[1L], main, xlab, ylab, col, ...)
  invisible(table)
}
