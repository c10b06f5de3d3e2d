# What to expect, from public numbers.

#' Plan a private regression before any data are touched
#'
#' Expected accuracy of [dp_lm()], [dp_glm()] or a model from [dp_moments()]: the probability of a
#' release, the width of its intervals relative to those without privacy, and the smallest number of rows
#' or eps that is enough. It uses public numbers and simulations only, so it costs nothing.
#'
#' @param n The number of rows or, with `unit`, of units: a guess made without the data, or a private
#'   count.
#' @param d The number of columns of the model matrix, the intercept not among them.
#' @param eps,delta As for [dp_lm()].
#' @param method `"auto"`, `"tukey"`, `"adassp"` or `"boosted_adassp"`; or `"moments"`, for any one model
#'   out of a release of [dp_moments()] with `d + 1` columns: beside it, a plan with `eps / 5` says what each
#'   of five fits would give.
#' @param family As for [dp_glm()]. A binomial response is assumed to be 0 and 1 equally often; n rows of
#'   which a share s have response 1 are equivalent to about 4 s (1 - s) n such rows.
#' @return An object of class `dp_plan`; print it, or plot it: see [dp_plots]. Among its parts are
#'   `released`, the probability of a release, `width`, the width of intervals relative to those
#'   without privacy, and `least_eps`.
#' @seealso [dp_lm()]; `vignette("method-and-epsilon", "dpreg")`.
#' @export
#' @examples
#' if (dpreg_available()) {
#'   print(dp_plan(n = 50000, d = 10, eps = 1))
#'   dp_plan(n = 50000, d = 10, eps = 1, family = binomial())
#' }
dp_plan <- function(n, d, eps, delta = 1e-5, method = "auto", family = stats::gaussian()) {
  check_number(n, "n", "50000")
  check_number(d, "d", "10")
  check_number(eps, "eps", "1")
  check_number(delta, "delta", "1e-6")
  check_method(method, "method", options = FALSE)
  request <- list(n = n, d = d, eps = eps, delta = delta, method = method)
  if (!missing(family)) {
    request$family <- family_sent(family)
    request$link <- link_sent(family)
  }
  structure(call_python("plan", request), class = "dp_plan")
}

#' @export
summary.dp_plan <- function(object, ...) object

#' @export
print.dp_plan <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}
