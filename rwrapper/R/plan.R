# What to expect, from public numbers.

#' Plan a private regression before any data are touched
#'
#' What to expect of [dp_lm()], [dp_glm()] or a model out of [dp_moments()]: which slopes are detected
#' with what power, how wide intervals are beside those without privacy, how likely a release is, and the
#' least number of rows, or the least eps, that would do. It uses public numbers and simulations only, so
#' it costs nothing.
#'
#' With `n` and `eps`, the plan has the smallest slope that is detected with `power`, or the power for a
#' slope of size `effect`. With `effect` and `power`, leave out `n` or `eps`: the plan is for the smallest
#' one that is enough.
#'
#' @param n The number of rows or, with `unit`, of units: a guess made without the data, or a private
#'   count.
#' @param d The number of columns of the model matrix, the intercept not among them.
#' @param eps,delta As for [dp_lm()].
#' @param method `"auto"`, `"tukey"`, `"adassp"` or `"boosted_adassp"`; or `"moments"`, for any one model
#'   out of a release of [dp_moments()] with `d + 1` columns: beside it, a plan with `eps / 5` says what each
#'   of five fits would give.
#' @param family As for [dp_glm()]. A binomial response is taken to be 1 as often as 0; one that is 1 for a
#'   share s of the rows tells about as much as 4 s (1 - s) times as many would.
#' @param effect The size of a slope, standardised: the slope times the standard deviation of its
#'   regressor, over the standard deviation of the residuals. Regressors are alike and uncorrelated.
#'   Linear models only.
#' @param power The probability that a slope of this size is significantly different from 0 in the
#'   two-sided 5% test. If neither it nor `effect` is given, 0.8.
#' @return An object of class `dp_plan`; print it, or plot it: see [dp_plots]. Among its parts are
#'   `effect` and `power`, `released`, the probability that a coefficient has a standard error, `width`,
#'   the width of intervals relative to those without privacy, `least_n` and `least_eps`.
#' @seealso [dp_lm()]; `vignette("method-and-epsilon", "dpreg")`.
#' @export
#' @examples
#' if (dpreg_available()) {
#'   print(dp_plan(n = 50000, d = 10, eps = 1))
#'   print(dp_plan(d = 10, eps = 1, effect = 0.1, power = 0.8))
#'   dp_plan(n = 50000, d = 10, eps = 1, family = binomial())
#' }
dp_plan <- function(n = NULL, d, eps = NULL, delta = 1e-5, method = "auto",
                    family = stats::gaussian(), effect = NULL, power = NULL) {
  check_number(d, "d", "10")
  check_number(delta, "delta", "1e-6")
  check_method(method, "method", options = FALSE)
  request <- list(d = d, delta = delta, method = method)
  # What is left out is not sent: Python finds it.
  given <- list(n = n, eps = eps, effect = effect, power = power)
  examples <- c(n = "50000", eps = "1", effect = "0.2", power = "0.8")
  for (name in names(Filter(Negate(is.null), given))) {
    check_number(given[[name]], name, examples[[name]])
    request[[name]] <- given[[name]]
  }
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
