# What to expect, from public numbers.

#' Plan a private regression before any data are touched
#'
#' Expected accuracy of [dp_lm()], [dp_glm()] or a model from [dp_moments()]: the slopes that are detected
#' with a given power, the width of intervals relative to those without privacy, the probability of a
#' release, and the smallest number of rows or eps that is enough. It uses public numbers and simulations
#' only, so it costs nothing.
#'
#' With `n` and `eps`, the plan has the smallest slope that is detected with `power`, or the power
#' for a slope of size `effect`. With `effect` and `power` but without `n` (or `eps`), it has the
#' smallest `n` (or `eps`) that is enough.
#'
#' @param n The number of rows or, with `unit`, of units: a guess made without the data, or a private
#'   count.
#' @param d The number of columns of the model matrix without the intercept.
#' @param eps,delta As for [dp_lm()].
#' @param method `"auto"`, `"tukey"`, `"adassp"` or `"boosted_adassp"`; or `"moments"`, for any one model
#'   from a release of [dp_moments()] with `d + 1` columns; compare it with a plan with `eps / 5`, for each
#'   of five separate fits.
#' @param family As for [dp_glm()]. A binomial response is assumed to be 0 and 1 equally often; n rows of
#'   which a share s have response 1 are equivalent to about 4 s (1 - s) n such rows.
#' @param effect A standardised slope: the slope times the standard deviation of its regressor, divided by
#'   the standard deviation of the residuals. The regressors are assumed to be exchangeable and
#'   uncorrelated. This is for linear models; for its meaning in others see `events`, `classes` and
#'   `treated`.
#' @param power The probability that a slope of this size is significantly different from 0 in the
#'   two-sided 5% test. If neither it nor `effect` is given, 0.8.
#' @param events,event_rate For `family = "survival"`, a plan of [dp_survival()]: the number of events,
#'   which determines the accuracy, or `n` with the share of persons who have an event (with `events` 0.5 by
#'   default). `effect` is then the hazard ratio for one standard deviation of a covariate, and `d` the
#'   number of covariates; each interval beyond six counts as one more.
#' @param classes For `family = "ordinal"` and `"multinomial"`, plans of [dp_ordinal()] and
#'   [dp_multinomial()]: the number of classes, which are assumed to be equally frequent. `effect` is then
#'   the slope for one standard deviation of a column, in log odds of a higher class, or of a class against
#'   the baseline.
#' @param treated For `family = "effect"`, a plan of [dp_effect()]: the share of units that are treated, by
#'   default 0.5. `effect` is then the effect of the treatment, in standard deviations of the
#'   residuals.
#' @return An object of class `dp_plan`; print it, or plot it: see [dp_plots]. Among its parts are
#'   `effect` and `power`, `released`, the probability that a coefficient has a standard error, `width`,
#'   the width of intervals relative to those without privacy, `least_n` and `least_eps`.
#' @seealso [dp_lm()]; `vignette("method-and-epsilon", "dpreg")`.
#' @export
#' @examplesIf dpreg_available()
#' dp_plan(n = 50000, d = 10, eps = 1)
#' dp_plan(d = 10, eps = 1, effect = 0.1, power = 0.8)
#' dp_plan(n = 50000, d = 10, eps = 1, family = binomial())
#' dp_plan(events = 5000, event_rate = 0.4, d = 3, eps = 1, family = "survival")
#' dp_plan(n = 20000, d = 5, eps = 1, family = "ordinal", classes = 4)
#' dp_plan(n = 20000, d = 5, eps = 1, family = "effect", treated = 0.3)
dp_plan <- function(n = NULL, d, eps = NULL, delta = 1e-5, method = "auto",
                    family = stats::gaussian(), effect = NULL, power = NULL, events = NULL,
                    event_rate = NULL, classes = NULL, treated = NULL) {
  given <- mget(c("n", if (!missing(d)) "d", "eps", "delta", "method", "effect", "power", "events", "event_rate",
                  "classes", "treated"))
  if (!missing(family)) given <- c(given, list(family = family_sent(family), link = link_sent(family)))
  # The omitted argument is not sent: Python computes it.
  answer <- call_python("plan", lapply(without_nulls(given), one_sent))
  structure(answer, class = c("dp_plan", "dp_result"))
}
