# What lm() gives and a private fit does not: functions of the records.

#' @rdname dp_lm_methods
#' @export
residuals.dp_lm <- function(object, ...) private_stop("residuals()")

#' @rdname dp_lm_methods
#' @export
fitted.dp_lm <- function(object, ...) private_stop("fitted()")

#' @rdname dp_lm_methods
#' @export
deviance.dp_lm <- function(object, ...) private_stop("deviance()")

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

#' @rdname dp_lm_methods
#' @export
logLik.dp_lm <- function(object, ...) private_stop("logLik()")

