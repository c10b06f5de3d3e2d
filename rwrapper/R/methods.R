# What a released model can do.  Everything here is post-processing of released numbers: it
# costs nothing, and there are no records to ask.

#' Methods for private linear models
#'
#' [coef()], [vcov()], [confint()], [predict()], [formula()], [terms()], [nobs()] and [update()]
#' work as for [lm()], with these differences.  `vcov()` holds sampling error and privacy noise
#' together.  Intervals use the law of the mechanism, normal or not.  `nobs()` is a private
#' estimate.  [predict()] needs `newdata`, and moves regressors beyond the limits of the fit to them
#' unless `winsorise = FALSE`: see [predict.dp_lm()].  [residuals()], [fitted()], [deviance()],
#' [logLik()] and `augment()` without `newdata` stop: they would be functions of the private records.
#'
#' @param object A fit made by [dp_lm()].
#' @param parm Names or positions of coefficients; all, when missing.
#' @param level Probability with which an interval covers.
#' @param ... Not used.
#' @return `summary()`: an object of class `summary.dp_lm`, whose `coefficients` have the columns
#'   Estimate, Std. Error, Sampling, Privacy, z value and Pr(>|z|); the squares of Sampling
#'   and Privacy add up to that of Std. Error.  The others: as for [lm()].
#' @name dp_lm_methods
#' @examples
#' if (dpreg_available()) {
#'   fit <- dp_lm(price ~ carat + depth, load_diamonds(), eps = 1, delta = 1e-6)
#'   print(coef(fit))
#'   print(sqrt(diag(vcov(fit))))
#'   print(confint(fit, "carat", level = 0.9))
#'   print(nobs(fit))
#'   plot(fit)
#' }
NULL

#' @rdname dp_lm_methods
#' @export
vcov.dp_lm <- function(object, ...) {
  names <- names(object$coefficients)
  if (is.null(object$covariance))
    return(matrix(NA_real_, length(names), length(names), dimnames = list(names, names)))
  object$covariance
}

#' @rdname dp_lm_methods
#' @export
nobs.dp_lm <- function(object, ...) object$nobs

#' @export
formula.dp_lm <- function(x, ...) x$formula

#' @rdname dp_lm_methods
#' @export
confint.dp_lm <- function(object, parm, level = 0.95, ...) {
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

check_level <- function(level) {
  if (!is.numeric(level) || length(level) != 1L || is.na(level) || level <= 0 || level >= 1)
    stop("level must be between 0 and 1, such as 0.95", call. = FALSE)
}

standard_errors <- function(object) sqrt(diag(vcov(object)))

# Two-sided tails of estimate / standard error: a table, linear in the logarithm of the
# probability between its entries and beyond the last; no table means the normal law.
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

# Below it p values are not told apart: where the table ends, or the precision of R.
least_p <- function(law) {
  if (!length(law$tail)) return(.Machine$double.eps)
  max(.Machine$double.eps, exp(-max(law_table(law)$information)) * (1 + 1e-9))
}

#' @rdname dp_lm_methods
#' @export
summary.dp_lm <- function(object, ...) {
  estimate <- object$coefficients
  error <- standard_errors(object)
  sampling <- if (is.null(object$sampling)) rep(NA_real_, length(error)) else object$sampling
  ratio <- estimate / error
  coefficients <- cbind(estimate, error, sampling, sqrt(pmax(error^2 - sampling^2, 0)), ratio,
                        p_values(object$law, ratio))
  dimnames(coefficients) <- list(names(estimate), c("Estimate", "Std. Error", "Sampling",
                                                    "Privacy", "z value", "Pr(>|z|)"))
  kept <- object[c("call", "formula", "method", "nobs", "privacy", "notes", "selected",
                   "no_errors")]
  structure(c(list(coefficients = coefficients, inference = !is.null(object$covariance),
                   least_p = least_p(object$law)), kept),
            class = "summary.dp_lm")
}

#' @export
print.summary.dp_lm <- function(x, digits = max(3L, getOption("digits") - 3L),
                                signif.stars = getOption("show.signif.stars"), ...) {
  print_head(x)
  table <- x$coefficients
  if (x$inference) {
    stats::printCoefmat(table, digits = digits, signif.stars = signif.stars, na.print = "",
                        cs.ind = 1:4, tst.ind = 5L, P.values = TRUE, has.Pvalue = TRUE,
                        eps.Pvalue = x$least_p)
    cat("\nStd. Error: sampling and privacy noise together; their squares add up.\n")
  } else {
    print(table[, 1L, drop = FALSE], digits = digits)
    cat("\n")
    cat_wrapped("Standard errors: ", if (is.null(x$no_errors) || !nzchar(x$no_errors)) "not asked for"
                else paste0("none, because ", x$no_errors), ".")
  }
  print_privacy(x, x$privacy$text)
}

#' @export
print.dp_lm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_head(x)
  print(format(x$coefficients, digits = digits), print.gap = 2L, quote = FALSE)
  cat("\n")
  print_privacy(x, x$privacy$claim)
}

print_head <- function(x) {
  cat("\nPrivate linear regression, method ", x$method, "\n\n", sep = "")
  if (!is.null(x$call)) cat("Call:\n", paste(deparse(x$call), collapse = "\n"), "\n\n", sep = "")
  cat("Coefficients:\n")
}

print_privacy <- function(x, text) {
  # Methods that add rows up count those that units gave.
  whole <- !identical(x$privacy$unit, "one row") && x$method %in% c("tukey", "frank_wolfe")
  units <- if (whole) "Units" else "Rows"
  cat(units, ": about ", format(round(x$nobs), big.mark = ",", scientific = FALSE),
      " (private estimate)\n", sep = "")
  cat_wrapped("Privacy: ", text)
  for (note in x$notes) cat_wrapped("Note: ", note, ".")
  cat("\n")
  invisible(x)
}

cat_wrapped <- function(...) {
  for (line in strsplit(paste0(...), "\n", fixed = TRUE)[[1L]]) {
    indent <- nchar(line) - nchar(sub("^ +", "", line))
    cat(strwrap(line, width = 0.95 * getOption("width"), indent = indent, exdent = indent + 2L),
        sep = "\n")
  }
}

#' Predict with a private linear model
#'
#' @param object A fit made by [dp_lm()].
#' @param newdata A data frame with the regressors.  It is not protected.
#' @param se.fit Also return standard errors of the fit?
#' @param interval `"none"` or `"confidence"`, for the mean response.  There is no
#'   `"prediction"`: the variance of the errors was not released.
#' @param level Probability with which an interval covers.
#' @param winsorise Move regressors beyond the limits of the fit to those limits, if it had any, and
#'   then predictions without intervals?  Outside them nothing was learned.  The limits were released with noise and
#'   are in `object$limits`, those of the response last; a warning says what was moved, naming
#'   columns of the model matrix.  `FALSE` gives the straight line.
#' @param ... Must be empty.
#' @return As [predict.lm()] does; `NA` for incomplete rows.
#' @export
#' @examples
#' if (dpreg_available()) {
#'   diamonds <- load_diamonds()
#'   fit <- dp_lm(price ~ carat, diamonds, eps = 1, delta = 1e-6)
#'   predict(fit, data.frame(carat = c(0.5, 1)), interval = "confidence")
#' }
predict.dp_lm <- function(object, newdata, se.fit = FALSE,
                          interval = c("none", "confidence", "prediction"), level = 0.95,
                          winsorise = TRUE, ...) {
  no_more("predict()", PREDICT_HINTS, ...)
  check_flag(winsorise, "winsorise")
  if (missing(newdata) || is.null(newdata))
    private_stop("predict() without newdata")
  interval <- match.arg(interval)
  if (interval == "prediction")
    stop("interval = \"prediction\" needs the variance of the errors, which was not released; ",
         "\"confidence\" is for the mean response", call. = FALSE)
  check_level(level)
  X <- new_rows(object, newdata)
  if (winsorise) {
    moved <- winsorised(X, object$limits)
    warn_of_moved(X, moved)
    X <- moved
  }
  fit <- drop(X %*% object$coefficients)
  names(fit) <- row.names(newdata)
  error <- mean_errors(X, vcov(object))
  value <- fit
  if (interval == "confidence") {
    margin <- critical_value(object$law, 1 - level) * error
    value <- cbind(fit = fit, lwr = fit - margin, upr = fit + margin)
  }
  else if (winsorise) value <- response_within(value, object$limits)
  if (se.fit) list(fit = value, se.fit = error) else value
}

PREDICT_HINTS <- c(
  type = "there is one type, the mean response", terms = "there is one type, the mean response",
  data = "write newdata = ", na.action = "incomplete rows are NA"
)

# Standard errors of X %*% coefficients.  A coefficient without a known error only matters where
# its regressor is not 0.
mean_errors <- function(X, covariance) {
  unknown <- is.na(diag(covariance))
  covariance[is.na(covariance)] <- 0
  # Row by row, so that a long X needs no square matrix.
  variance <- rowSums((X %*% covariance) * X)
  variance[rowSums(X[, unknown, drop = FALSE] != 0) > 0] <- NA
  sqrt(pmax(variance, 0))
}

#' @export
summary.dp_selection <- function(object, ...) object

#' @export
summary.dp_plan <- function(object, ...) object

#' @export
summary.dp_budget <- function(object, ...) object

#' @export
print.dp_selection <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}

#' @export
print.dp_certificate <- function(x, ...) {
  cat_wrapped(x$text)
  invisible(x)
}

#' @export
print.dp_plan <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}

#' @export
print.dp_budget <- function(x, ...) {
  state <- budget_state(x)
  cat(sprintf("Budget: eps = %g, delta = %g; left: eps = %g, delta = %g\n", x$eps, x$delta,
              state$remaining$eps, state$remaining$delta))
  if (!is.null(x$ledger)) cat("Ledger: ", x$ledger, "\n", sep = "")
  charges <- as.data.frame(x)
  if (nrow(charges)) {
    charges[-1L] <- lapply(charges[-1L], function(v) vapply(v, format, ""))
    print(charges, right = FALSE)
  }
  invisible(x)
}

#' @export
as.data.frame.dp_budget <- function(x, ...) {
  state <- budget_state(x)
  data.frame(label = as.character(unlist(state$label)), eps = unpack_doubles(state$eps),
             delta = unpack_doubles(state$delta))
}
