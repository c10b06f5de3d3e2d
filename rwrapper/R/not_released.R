# What stands for a fit when there is none.

#' When a mechanism declines
#'
#' Some mechanisms test privately whether they can release a useful model, and decline if they cannot.
#' Then [dp_lm()] returns an object of class `dp_not_released`: the budget is spent, and nothing else is
#' revealed. It is a result and not an error, because an error that depended on the records would itself
#' reveal something about them. The printed object has the reason and what to do next.
#'
#' @param x,object,formula Such an object.
#' @param ... Not used.
#' @return `print()` and `summary()` return the object, `nobs()` a private estimate of the number of
#'   rows; the others stop with a condition of class `dpreg_not_released`.
#' @seealso [dp_plan()], which gives the probability of this in advance.
#' @name dp_not_released
#' @eval usage_of(OF_MODELS, "dp_not_released")
#' @examples
#' if (dpreg_available()) {
#'   fit <- dp_lm(price ~ carat, head(diamonds, 50), eps = 0.1)
#'   if (inherits(fit, "dp_not_released")) fit
#' }
NULL

#' @rdname dp_not_released
#' @export
print.dp_not_released <- function(x, ...) {
  cat("\n", x$text, "\n\n", sep = "")
  invisible(x)
}

#' @rdname dp_not_released
#' @export
summary.dp_not_released <- function(object, ...) object

#' @rdname dp_not_released
#' @export
nobs.dp_not_released <- function(object, ...) object$nobs
