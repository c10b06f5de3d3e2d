# The call of a fit. Packages evaluate its `data` to find the records, or the whole call to fit
# again. Neither is allowed: the name of the data in the call stops with an error.

#' The records of a private fit
#'
#' In the call that a fit keeps, `dp_records("d")` replaces the data `d`: many packages evaluate
#' `fit$call$data` to find the records again, and would silently compute with them. Evaluating it
#' stops with that reason. [update()] uses the data that it stands for, and printing shows the call
#' as it was typed.
#'
#' @param data The text of the argument `data`, as it was typed.
#' @return Nothing: it stops, with a condition of class `dpreg_private`.
#' @seealso [dp_lm()]; [dp_lm_packages] for what other packages do with a fit.
#' @export
#' @examplesIf dpreg_available()
#' fit <- dp_lm(price ~ carat, diamonds, eps = 1)
#' fit$call
#' try(eval(fit$call$data))
dp_records <- function(data) {
  dpreg_stop("private", "the records behind a private fit are not read again: what is computed ",
             "from ", if (missing(data)) "them" else sQuote(data, FALSE), " would not be private. ",
             "Give the function public data of your own, if it takes any, such as newdata = ")
}

# do.call(dp_lm, list(y ~ x, data)) puts the data themselves into the call, and a formula carries
# its environment; what was typed is kept.
public_call <- function(call, name) {
  if (!is.language(call[[1L]])) call[[1L]] <- as.name(name)
  for (argument in names(call)[-1L]) {
    e <- call[[argument]]
    if (is.null(e)) next
    if (inherits(e, "formula")) attributes(e) <- NULL
    if (argument == "data") e <- stand_in(e)
    else if (!is.language(e) && !(is.atomic(e) && length(e) == 1L)) e <- as.name(argument)
    call[[argument]] <- e
  }
  call
}

stand_in <- function(data) {
  # When R is embedded in Python there is no package of that name.
  f <- if (environmentName(topenv()) == "dpreg") quote(dpreg::dp_records) else quote(dp_records)
  if (is.language(data)) as.call(list(f, deparsed(data))) else as.call(list(f))
}

# The call as typed.
typed_call <- function(call) {
  data <- call$data
  if (is.call(data) && length(data) == 2L && is.character(data[[2L]]))
    call$data <- str2lang(data[[2L]])
  call
}

#' Fit again, and spend again
#'
#' A new release from the call of an old one. It costs its own `eps` and `delta`, in addition to the
#' cost of the old one, and a message says so.
#'
#' `update()` stops if it is called by a function of another package, such as those for step-wise
#' selection and the bootstrap, because they would silently spend budget.
#'
#' @param object A fit made by [dp_lm()].
#' @param formula. Changes to the formula, as in [stats::update.formula()].
#' @param ... Arguments of the call to be changed or added, such as `eps = 0.5`.
#' @param evaluate `FALSE` returns the call and spends nothing.
#' @return What [dp_lm()] returns, or the call.
#' @seealso [anova.dp_lm()], which tests terms without another release.
#' @export
#' @examplesIf dpreg_available()
#' budget <- dp_budget(eps = 2)
#' fit <- dp_lm(price ~ carat, diamonds, eps = 1, budget = budget)
#' again <- update(fit, . ~ . + depth)
#' budget
update.dp_lm <- function(object, formula., ..., evaluate = TRUE) {
  caller <- parent.frame()
  check_spender(topenv(caller))
  if (is.null(object$call))
    refuse("update(): this fit was made in Python, and its data are not in R; call dp_lm()")
  call <- typed_call(object$call)
  nameless <- is.call(call$data) && length(call$data) == 1L
  if (nameless && !"data" %in% ...names())
    refuse("update(): the call of this fit does not name its data; write update(fit, data = )")
  if (!missing(formula.)) {
    if (!is.null(object$columns))
      refuse("update(): this fit is of terms that dp_select() chose; call dp_lm() with another ",
             "formula")
    call$formula <- stats::update(object$formula, formula.)
    if (!is.null(object$within))
      call$formula[[3L]] <- call("|", call$formula[[3L]], as.name(object$within))
  }
  given <- as.list(substitute(list(...)))[-1L]
  call[names(given)] <- given
  if (!evaluate) return(call)
  fit <- eval(call, caller)
  message(sprintf("update() made another release: it cost eps = %g, delta = %g, beside what the ",
                  fit$privacy$epsilon, fit$privacy$delta), "first one cost")
  fit
}

# A call that declined can be repeated with more eps; so can one for an effect.
update.dp_not_released <- update.dp_effect <- update.dp_lm

#' @evalNamespace registered("update", c("dp_not_released", "dp_effect"))
NULL

# A user who types update() intends to spend; a package that calls it does not.
check_spender <- function(home) {
  name <- if (isNamespace(home)) getNamespaceName(home) else ""
  if (name %in% c("", "base", "dpreg")) return(invisible())
  dpreg_stop("private", "update(): ", name, " would make a new release of this fit, and spend ",
             "again. To test terms without another release use anova(fit). If you mean to spend, ",
             "call update() or dp_lm() yourself")
}
