# Optional releases of a fit: R squared, sigma, counts of residuals.

#' R squared, sigma and plots of residuals
#'
#' `dp_lm(fit_stats = TRUE)` spends 5% of the squared mu of the fit on R squared and sigma, the root
#' mean square of residuals; `diagnostics = TRUE` spends 10% on noisy numbers of rows by fitted mean
#' and residual. Both refer to the released coefficients, including their noise. The interval of
#' sigma is that of its logarithm.
#'
#' @param object,x A fit made by [dp_lm()] or [dp_glm()].
#' @param level Probability with which the intervals cover.
#' @param which `"residuals"`: a heat map of residuals (Pearson residuals of counts) against fitted means;
#'   `"qq"`: their quantiles against normal ones; `"calibration"`: of a `binomial()` family, observed
#'   against predicted shares.
#' @param ... For `image()` or `plot()`.
#' @return `fit_stats()`: a matrix with estimates, standard errors and intervals. `plot_diagnostics()`: what
#' it
#'   draws, invisibly: noisy counts, their `deviation`, and the ends of bins.
#' @seealso [predict.dp_lm()], whose `interval = "prediction"` needs `fit_stats = TRUE`.
#' @export
#' @examplesIf dpreg_available()
#' fit <- dp_lm(log(price) ~ log(carat), diamonds, eps = 1, fit_stats = TRUE, diagnostics = TRUE)
#' fit_stats(fit)
#' plot_diagnostics(fit)
fit_stats <- function(object, level = 0.95) {
  stats <- stats_of(object, "fit_stats()")
  check_level(level)
  sigma <- sqrt(stats$scale)
  estimate <- c(stats$rsquared, sigma)
  error <- c(stats$rsquared_error, stats$scale_error / (2 * sigma))
  margin <- stats::qnorm(0.5 + level / 2) * error
  # Limits of sigma come from those of its logarithm.
  times <- exp(margin[2L] / sigma)
  cbind(estimate = c("R-squared" = estimate[1L], sigma = estimate[2L]), "std err" = error,
        lower = c(estimate[1L] - margin[1L], sigma / times),
        upper = c(min(estimate[1L] + margin[1L], 1), sigma * times))
}

stats_of <- function(object, what) {
  if (!is.null(object$family)) private_stop(what, "this model has no separate error variance")
  if (is.null(object$stats))
    dpreg_stop("private", what, " is not available: the variance of the errors was not released; ",
               "dp_lm(fit_stats = TRUE) pays for it")
  object$stats
}

#' @export
sigma.dp_lm <- function(object, ...) sqrt(stats_of(object, "sigma()")$scale)

#' @rdname fit_stats
#' @export
plot_diagnostics <- function(x, which = c("residuals", "qq", "calibration"), ...) {
  found <- x$diagnostics
  if (is.null(found))
    dpreg_stop("private", "plot_diagnostics(): counts of residuals were not released; ",
               "diagnostics = TRUE in the call pays for them")
  shares <- identical(found$kind, "response")
  if (missing(which)) which <- if (shares) "calibration" else "residuals"
  which <- one_of(which)
  if (shares != (which == "calibration"))
    refuse("which: this family has the plot \"", if (shares) "calibration" else "residuals", "\"")
  switch(which, residuals = draw_residuals(found, ...), qq = draw_quantiles(found, ...),
         calibration = draw_calibration(found, ...))
  invisible(found)
}

draw_residuals <- function(found, xlab = "fitted", ylab = found$kind, ...) {
  shown <- replace(found$counts, found$counts <= 2 * found$deviation, NA)
  graphics::image(found$fitted, found$residual, shown, col = grDevices::hcl.colors(20, "Blues", rev = TRUE),
                  xlab = xlab, ylab = ylab, ...)
  graphics::abline(h = 0, col = COLORS[["accent"]])
}

draw_quantiles <- function(found, xlab = "normal quantile", ylab = found$kind, ...) {
  bins <- colSums(found$counts)
  below <- cummax(cumsum(bins)[-length(bins)] / max(sum(bins), 1))
  error <- found$deviation * sqrt(seq_along(below) * nrow(found$counts)) / max(sum(bins), 1)
  told <- below > pmin(error, 0.5) & below < 1 - pmin(error, 0.5) & diff(c(-1, below)) > 0
  ends <- found$residual[-c(1L, length(found$residual))]
  graphics::plot(stats::qnorm(below[told]), ends[told], pch = 19, xlab = xlab, ylab = ylab, ...)
  middle <- told & abs(stats::qnorm(below)) < 1
  if (sum(middle) > 1L)
    graphics::abline(stats::lm(ends[middle] ~ stats::qnorm(below[middle])), col = COLORS[["accent"]])
}

draw_calibration <- function(found, xlab = "predicted probability", ylab = "observed share", ...) {
  number <- rowSums(found$counts)
  enough <- number > 4 * sqrt(2) * found$deviation
  middle <- (found$fitted[-1L] + found$fitted[-length(found$fitted)])[enough] / 2
  share <- pmin(pmax(found$counts[enough, ncol(found$counts)] / number[enough], 0), 1)
  error <- sqrt(share * (1 - share) / number[enough] +
                  (found$deviation / number[enough])^2 * (share^2 + (1 - share)^2))
  graphics::plot(middle, share, xlim = 0:1, ylim = 0:1, pch = 19, xlab = xlab, ylab = ylab, ...)
  graphics::abline(0, 1, col = COLORS[["accent"]])
  graphics::segments(middle, share - 1.96 * error, middle, share + 1.96 * error)
}
