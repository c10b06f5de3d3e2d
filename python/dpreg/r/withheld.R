# What lm() gives and a private fit does not: functions of the records.

private_stop <- function(what) {
  stop(what, " is not available: it would be a function of the private records, and the fit ",
       "holds released numbers only", call. = FALSE)
}

#' @rdname dp_lm_methods
#' @export
residuals.dp_lm <- function(object, ...) private_stop("residuals()")

#' @rdname dp_lm_methods
#' @export
fitted.dp_lm <- function(object, ...) private_stop("fitted()")

#' @rdname dp_lm_methods
#' @export
deviance.dp_lm <- function(object, ...) private_stop("deviance()")

#' @rdname dp_lm_methods
#' @export
df.residual.dp_lm <- function(object, ...) private_stop("df.residual()")

#' @export
anova.dp_lm <- function(object, ...) private_stop("anova()")

#' @export
case.names.dp_lm <- function(object, ...) private_stop("case.names()")

# What else lm() has, and the records with it: step() asks extractAIC() first.
#' @export
weights.dp_lm <- function(object, ...) private_stop("weights()")

#' @export
rstandard.dp_lm <- function(model, ...) private_stop("rstandard()")

#' @export
rstudent.dp_lm <- function(model, ...) private_stop("rstudent()")

#' @export
hatvalues.dp_lm <- function(model, ...) private_stop("hatvalues()")

#' @export
cooks.distance.dp_lm <- function(model, ...) private_stop("cooks.distance()")

#' @export
influence.dp_lm <- function(model, ...) private_stop("influence()")

#' @export
dfbeta.dp_lm <- function(model, ...) private_stop("dfbeta()")

#' @export
dfbetas.dp_lm <- function(model, ...) private_stop("dfbetas()")

#' @export
drop1.dp_lm <- function(object, ...) private_stop("drop1()")

#' @export
add1.dp_lm <- function(object, ...) private_stop("add1()")

#' @export
extractAIC.dp_lm <- function(fit, ...) private_stop("extractAIC(), which step() needs,")

#' @export
simulate.dp_lm <- function(object, ...) private_stop("simulate()")

#' @export
terms.dp_lm <- function(x, ...) {
  if (is.null(x$terms))
    stop("this fit was made in Python from a formula that R cannot read; its text is in ",
         "formula(fit)", call. = FALSE)
  x$terms
}

#' @export
update.dp_lm <- function(object, ...) {
  if (is.null(object$call))
    stop("this fit was made in Python, and R does not know its data; write the new dp_lm() out",
         call. = FALSE)
  NextMethod()
}

#' @export
variable.names.dp_lm <- function(object, ...) names(object$coefficients)

#' @export
labels.dp_lm <- function(object, ...) attr(object$terms, "term.labels")

#' @rdname dp_lm_methods
#' @export
logLik.dp_lm <- function(object, ...) private_stop("logLik()")

#' @export
model.frame.dp_lm <- function(formula, ...) private_stop("model.frame()")

#' @export
model.matrix.dp_lm <- function(object, ...) private_stop("model.matrix()")

#' @export
sigma.dp_lm <- function(object, ...)
  stop("sigma() is not available: the variance of the errors was not released", call. = FALSE)
