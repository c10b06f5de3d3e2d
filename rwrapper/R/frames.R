# The public side of a fit: columns, levels and coding, without rows.

#' @rdname dp_lm_methods
#' @param data Public data; `NULL` for the frame without rows.
#' @export
model.frame.dp_lm <- function(formula, data = NULL, ...) {
  if (!is.null(data)) return(new_frame(formula, data)$frame)
  check_asker(topenv(parent.frame()), "model.frame()")
  object <- formula
  terms <- stats::terms(object)
  model_variables(list(terms = terms, source = object$source), lapply(object$source, empty_column), 0L)
}

#' @rdname dp_lm_methods
#' @export
model.matrix.dp_lm <- function(object, data = NULL, ...) {
  if (!is.null(data)) return(new_rows(object, data))
  check_asker(topenv(parent.frame()), "model.matrix()")
  design <- list(terms = stats::terms(object), contrasts = object$contrasts)
  X <- model_rows(design, stats::model.frame(object))
  kept <- colnames(X) %in% covariate_of(object)
  structure(X[, kept, drop = FALSE], assign = attr(X, "assign")[kept], contrasts = attr(X, "contrasts"))
}

# The tests of lmtest that ask for a frame want its rows.
check_asker <- function(home, what) {
  if (isNamespace(home) && getNamespaceName(home) == "lmtest") private_stop(what)
}

empty_column <- function(source) {
  switch(source$kind, number = numeric(), logical = logical(), text = character(),
         factor = factor(character(), source$levels),
         ordered = factor(character(), source$levels, ordered = TRUE),
         date = structure(numeric(), class = "Date"),
         time = structure(numeric(), class = c("POSIXct", "POSIXt")),
         span = structure(numeric(), class = "difftime", units = source$units),
         matrix = matrix(numeric(), 0L, source$width, dimnames = list(NULL, source$names)))
}

#' @export
terms.dp_lm <- function(x, ...) {
  if (is.null(x$terms))
    refuse("this fit was made in Python from a formula that R cannot read; its text is in formula(fit)")
  x$terms
}

#' @export
formula.dp_lm <- function(x, ...) x$formula

#' @export
variable.names.dp_lm <- function(object, ...) names(object$coefficients)

#' @export
labels.dp_lm <- function(object, ...) attr(stats::terms(object), "term.labels")

#' @export
family.dp_lm <- function(object, ...) stats::gaussian()
