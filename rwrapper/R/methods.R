# Methods of released models. Everything here is post-processing of released numbers: it costs
# nothing and uses no records.

#' Methods for private linear models
#'
#' These generics of [lm()] need released values only and cost nothing. The others stop.
#'
#' * [coef()] and [vcov()]: `vcov()` includes sampling error and privacy noise. Coefficients that
#'   are not estimable at this eps are `NA` in both, like aliased coefficients of [lm()];
#'   `fit$estimates` has the regularised values that [predict()][predict.dp_lm()] uses for them.
#' * `fit$estimand` has what the coefficients estimate, the clipping thresholds, and the largest estimated
#' effect
#'   of clipping in standard errors. `fit$clipping` has the estimated effect of clipping on each
#'   coefficient, compared with least squares (maximum likelihood), estimated from noisy counts; it is
#'   not included in the standard errors. `NULL` if it was not estimated. A few extreme rows are not
#'   detected.
#' * [confint()] and [summary()] use the distribution of the mechanism, which may not be normal.
#' * [nobs()] is a private estimate of the number of rows (or of units, where a method takes whole
#'   units). `df.residual()` is `Inf`: tests are z and chi-squared tests.
#' * [model.frame()] and [model.matrix()] have no rows, only the public columns, levels and coding;
#'   with `data` they have those of the data given.
#' * [predict()][predict.dp_lm()] needs `newdata`. [anova()][anova.dp_lm()] tests terms.
#'   [update()][update.dp_lm()] makes another release.
#' * [residuals()], [fitted()], [deviance()], [logLik()], [simulate()], [step()] and other functions
#'   of the records stop with a condition of class `dpreg_private`.
#'
#' @param object,formula A fit made by [dp_lm()].
#' @param complete `FALSE` leaves out coefficients that are not estimable.
#' @param parm Names or positions of coefficients; all, when missing.
#' @param level Probability with which an interval covers.
#' @param ... Not used; `summary()`, `vcov()` and `confint()` refuse unknown arguments.
#' @return `summary()`: an object of class `summary.dp_lm`, whose `coefficients` have the columns
#'   Estimate, Std. Error, Sampling, Privacy, z value and Pr(>|z|); the squares of Sampling
#'   and Privacy add up to that of Std. Error. The others: as for [lm()].
#' @seealso [dp_lm_packages] for generics of other packages, [dp_plots], [dp_lm_tidiers].
#' @name dp_lm_methods
#' @eval usage_of(WITHHELD, "dp_lm")
#' @examplesIf dpreg_available()
#' fit <- dp_lm(price ~ carat + depth, diamonds, eps = 1)
#' coef(fit)
#' sqrt(diag(vcov(fit)))
#' confint(fit, "carat", level = 0.9)
#' nobs(fit)
#' try(residuals(fit))
NULL

#' @rdname dp_lm_methods
#' @export
coef.dp_lm <- function(object, complete = TRUE, ...) {
  check_flag(complete, "complete")
  estimate <- object$coefficients
  if (complete) estimate else estimate[!is.na(estimate)]
}

#' @rdname dp_lm_methods
#' @export
vcov.dp_lm <- function(object, complete = TRUE, ...) {
  no_more("vcov()", VCOV_HINTS, ...)
  check_flag(complete, "complete")
  estimate <- object$coefficients
  covariance <- object$covariance
  if (is.null(covariance))
    covariance <- matrix(NA_real_, length(estimate), length(estimate),
                         dimnames = list(names(estimate), names(estimate)))
  if (complete) return(covariance)
  covariance[!is.na(estimate), !is.na(estimate), drop = FALSE]
}

RELEASED_ERRORS <- "standard errors were released with the fit, and are those of vcov(fit)"
VCOV_HINTS <- c(type = RELEASED_ERRORS, vcov. = RELEASED_ERRORS,
                cluster = "unit = \"id\" in the call of the fit clusters")

# No residual degrees of freedom are released; tests use the normal distribution, or that of the
# method.
#' @rdname dp_lm_methods
#' @export
df.residual.dp_lm <- function(object, ...) Inf

#' @rdname dp_lm_methods
#' @export
nobs.dp_lm <- function(object, ...) object$nobs

#' @rdname dp_lm_methods
#' @export
confint.dp_lm <- function(object, parm, level = 0.95, ...) {
  no_more("confint()", c(exp = "write exp(confint(fit))", exponentiate = "write exp(confint(fit))", conf.level = "write level = ", alpha = "write level = 0.95 for alpha = 0.05"), ...)
  check_level(level)
  estimate <- object$coefficients
  parm <- if (missing(parm)) names(estimate) else chosen_terms(parm, names(estimate))
  alpha <- 1 - level
  margin <- critical_value(object$law, alpha) * standard_errors(object)
  limits <- cbind(estimate - margin, estimate + margin)
  percent <- format(100 * c(alpha / 2, 1 - alpha / 2), trim = TRUE, digits = 3)
  dimnames(limits) <- list(names(estimate), paste(percent, "%"))
  limits[parm, , drop = FALSE]
}

# A treatment effect has coefficients and their covariance too.
OF_EFFECTS <- c("coef", "vcov", "confint")
for (generic in OF_EFFECTS) assign(paste0(generic, ".dp_effect"), get(paste0(generic, ".dp_lm")))
rm(generic)

#' @evalNamespace registered(OF_EFFECTS, "dp_effect")
NULL

check_level <- function(level, name = "level") {
  if (!is.numeric(level) || length(level) != 1L || is.na(level) || level <= 0 || level >= 1)
    refuse(name, " must be between 0 and 1, such as ", name, " = 0.95, not ", described(level))
}

standard_errors <- function(object) sqrt(diag(vcov(object)))

# Two-sided tails of estimate / standard error: a table, log-linear in the probability between its
# entries and beyond the last; no table means the normal distribution.
law_table <- function(law) {
  tail <- law$tail
  critical <- law$critical
  last <- length(tail)
  slope <- (critical[last] - critical[last - 1L]) / log(tail[last - 1L] / tail[last])
  tails <- c(1, tail, tail[last]^2 / tail[last - 1L] * 1e-12)
  far <- critical[last] + slope * (log(tail[last]) - log(tails[last + 2L]))
  list(information = -log(tails), ratio = c(0, critical, far))
}

critical_value <- function(law, alpha) {
  if (!length(law$tail)) return(stats::qnorm(alpha / 2, lower.tail = FALSE))
  table <- law_table(law)
  stats::approx(table$information, table$ratio, -log(alpha), rule = 2)$y
}

p_values <- function(law, ratio) {
  if (!length(law$tail)) return(2 * stats::pnorm(-abs(ratio)))
  table <- law_table(law)
  exp(-stats::approx(table$ratio, table$information, abs(ratio), rule = 2)$y)
}

# Smallest p value that is resolved: the end of the table, or R's precision.
least_p <- function(law) {
  if (!length(law$tail)) return(.Machine$double.eps)
  max(.Machine$double.eps, exp(-max(law_table(law)$information)) * (1 + 1e-9))
}
