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

#' @rdname dp_not_released
#' @export
coef.dp_not_released <- function(object, ...) not_released_stop("coef()")

#' @rdname dp_not_released
#' @export
vcov.dp_not_released <- function(object, ...) not_released_stop("vcov()")

#' @rdname dp_not_released
#' @export
confint.dp_not_released <- function(object, ...) not_released_stop("confint()")

#' @rdname dp_not_released
#' @export
predict.dp_not_released <- function(object, ...) not_released_stop("predict()")

#' @rdname dp_not_released
#' @export
plot.dp_not_released <- function(x, ...) not_released_stop("plot()")

#' @rdname dp_not_released
#' @export
tidy.dp_not_released <- function(x, ...) not_released_stop("tidy()")

#' @rdname dp_not_released
#' @export
glance.dp_not_released <- function(x, ...) not_released_stop("glance()")

#' @rdname dp_not_released
#' @export
residuals.dp_not_released <- function(object, ...) not_released_stop("residuals()")

#' @rdname dp_not_released
#' @export
fitted.dp_not_released <- function(object, ...) not_released_stop("fitted()")

#' @rdname dp_not_released
#' @export
deviance.dp_not_released <- function(object, ...) not_released_stop("deviance()")

#' @rdname dp_not_released
#' @export
logLik.dp_not_released <- function(object, ...) not_released_stop("logLik()")

#' @rdname dp_not_released
#' @export
df.residual.dp_not_released <- function(object, ...) not_released_stop("df.residual()")

#' @rdname dp_not_released
#' @export
sigma.dp_not_released <- function(object, ...) not_released_stop("sigma()")

#' @rdname dp_not_released
#' @export
terms.dp_not_released <- function(x, ...) not_released_stop("terms()")

#' @rdname dp_not_released
#' @export
anova.dp_not_released <- function(object, ...) not_released_stop("anova()")

#' @rdname dp_not_released
#' @export
model.frame.dp_not_released <- function(formula, ...) not_released_stop("model.frame()")

#' @rdname dp_not_released
#' @export
model.matrix.dp_not_released <- function(object, ...) not_released_stop("model.matrix()")

#' @rdname dp_not_released
#' @export
augment.dp_not_released <- function(x, ...) not_released_stop("augment()")

# emmeans stops with what is returned as text.
recover_data.dp_not_released <- function(object, ...) not_released("emmeans()")
