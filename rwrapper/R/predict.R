#' Predict with a private linear model
#'
#' Predictions for new, public rows use the released coefficients and cost nothing.
#'
#' @param object A fit made by [dp_lm()] or [dp_glm()].
#' @param newdata A data frame with the regressors. It is not protected.
#' @param se.fit Also return standard errors of the fit?
#' @param interval `"none"`, `"confidence"` for the mean response, or `"prediction"` for a new response with
#'   a normal error, of a fit of `dp_lm(fit_stats = TRUE)`, which has released the variance of the errors.
#' @param level Probability with which an interval covers.
#' @param winsorise `TRUE` clips regressors and predictions to the range of the data, to avoid
#'   extrapolation, with a warning; intervals are extended to include the prediction. `FALSE` gives the
#'   linear predictor. The limits are released with noise, in `object$limits`, those of the response
#'   last.
#' @param type `"response"`: the mean response, or the quantile; of [dp_glm()] also `"link"`, the linear
#'   predictor.
#' @param ... Must be empty.
#' @return As [predict.lm()]; `NA` for incomplete rows.
#' @seealso [dp_lm_methods]; `augment()` in [dp_lm_tidiers].
#' @export
#' @examplesIf dpreg_available()
#' fit <- dp_lm(price ~ carat, diamonds, eps = 1)
#' predict(fit, data.frame(carat = c(0.5, 1)), interval = "confidence")
predict.dp_lm <- function(object, newdata, se.fit = FALSE,
                          interval = c("none", "confidence", "prediction"), level = 0.95,
                          winsorise = TRUE, type = "response", ...) {
  X <- predicted_rows(object, newdata, winsorise, PREDICT_HINTS, ...)
  types <- c("response", if (inherits(object, "dp_glm")) "link")
  if (!is_text(type) || !type %in% types)
    refuse("predict(): type must be \"response\", the mean response, ",
           if (length(types) > 1L) "or \"link\", ", "not ", described(type))
  family <- if (type == "response") object$family
  check_flag(se.fit, "se.fit")
  interval <- one_of(interval)
  if (interval == "prediction" && !is.null(object$family))
    refuse("interval: \"prediction\" is for linear models; \"confidence\" is for the mean response")
  scale <- if (interval == "prediction") stats_of(object, "interval = \"prediction\"")$scale else 0
  check_level(level)
  fit <- drop(X %*% used_coefficients(object)) + new_offset(object, newdata)
  names(fit) <- row.names(newdata)
  error <- mean_errors(X, vcov(object))
  value <- fit
  if (interval != "none") {
    margin <- critical_value(object$law, 1 - level) * sqrt(error^2 + scale)
    value <- mean_of(family, cbind(fit = fit, lwr = fit - margin, upr = fit + margin))
    if (is.null(family) && winsorise) value <- interval_within(value, object$limits)
  }
  else if (!is.null(family)) value <- mean_of(family, fit)
  else if (winsorise) value <- response_within(value, object$limits)
  if (se.fit) list(fit = value, se.fit = slope_of(family, fit) * error) else value
}

# First steps of all predictions.
predicted_rows <- function(object, newdata, winsorise, hints, ...) {
  no_more("predict()", hints, ...)
  if (missing(newdata) || is.null(newdata)) private_stop("predict() without newdata")
  check_flag(winsorise, "winsorise")
  new_rows(object, newdata, winsorise)
}

# A regularised estimate that is not identified is still useful for predictions.
used_coefficients <- function(object)
  ifelse(is.na(object$coefficients), object$estimates, object$coefficients)

PREDICT_HINTS <- c(
  terms = "there is one type, the mean response",
  data = "write newdata = ", na.action = "incomplete rows are NA"
)

# Standard errors of X %*% coefficients. A coefficient without a known error matters only if its
# regressor is not 0.
mean_errors <- function(X, covariance) {
  unknown <- is.na(diag(covariance))
  if (anyNA(covariance[!unknown, !unknown])) return(largest_errors(X, covariance, unknown))
  covariance[is.na(covariance)] <- 0
  # Row by row: X may be too long for a square matrix.
  variance <- rowSums((X %*% covariance) * X)
  variance[rowSums(X[, unknown, drop = FALSE] != 0) > 0] <- NA
  sqrt(pmax(variance, 0))
}

# If covariances between slopes were not released: upper bounds of errors. The intercept is the mean
# of the response minus slopes times means of regressors, released separately, so its error is at
# least that of the mean of the response.
largest_errors <- function(X, covariance, unknown) {
  covariance[is.na(covariance)] <- 0
  slopes <- which(colnames(X) != "(Intercept)")
  variances <- diag(covariance)[slopes]
  rows <- X[, slopes, drop = FALSE]
  middle <- 0
  if (length(slopes) < ncol(X)) {
    means <- -covariance[-slopes, slopes] / ifelse(variances > 0, variances, 1)
    middle <- sqrt(covariance[-slopes, -slopes])
    rows <- sweep(rows, 2L, means)
  }
  error <- middle + drop(abs(rows) %*% sqrt(variances))
  error[rowSums(X[, unknown, drop = FALSE] != 0) > 0] <- NA
  error
}
