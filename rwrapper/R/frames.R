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

# Tests of lmtest that request a frame need its rows.
check_asker <- function(home, what) {
  if (isNamespace(home) && getNamespaceName(home) == "lmtest") private_stop(what)
}

empty_column <- function(source) {
  switch(source$kind, logical = logical(), text = character(),
         factor = factor(character(), source$levels),
         ordered = factor(character(), source$levels, ordered = TRUE),
         matrix = matrix(numeric(), 0L, source$width, dimnames = list(NULL, source$names)),
         timed(numeric(), source))
}

# Dates or times from numbers of days or seconds.
timed <- function(x, source) {
  if (!source$kind %in% c("date", "time", "span")) return(x)
  structure(x, class = KIND_CLASSES[[source$kind]], units = if (source$kind == "span") source$units)
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
family.dp_lm <- function(object, ...) {
  name <- object$family$name %||% "gaussian"
  switch(name, gaussian = stats::gaussian(), binomial = stats::binomial(object$family$link),
         poisson = stats::poisson(), gamma = stats::Gamma("log"),
         dpreg_stop("private", "family(): a ", switch(name, survival = "model of proportional hazards",
                    ordinal = , multinomial = "model of classes", paste(name, "regression")),
                    " has no family of stats"))
}

# New rows for a fit: columns of the same kinds, clipped to the limits of the fit.

#' The model matrix of new rows
#'
#' Of a model that makes several rows of each record: its covariates, offsets and dummies of strata, in the
#' order of the fit.
#' @noRd
new_rows <- function(object, newdata, winsorise = FALSE) {
  new <- new_frame(object, newdata)
  X <- model_rows(new$design, new$frame)
  columns <- names(object$coefficients)
  if (!is.null(object$covariates)) {
    offsets <- lapply(new$frame[offset_names(new$design$terms)], as.double)
    strata <- lapply(names(object$strata), function(name) strata_rows(newdata, name, object$strata[[name]]))
    X <- do.call(cbind, c(list(X), offsets, strata))
    columns <- object$covariates
  }
  X <- X[, columns, drop = FALSE]
  if (!winsorise) return(X)
  moved <- winsorised(X, object$limits, covariate_of(object)[names(object$coefficients) != "(Intercept)"])
  warn_of_moved(X, moved)
  moved
}

strata_rows <- function(newdata, name, levels) {
  if (!name %in% names(newdata)) refuse("newdata has no column ", sQuote(name, FALSE))
  odd <- new_levels(newdata[[name]], levels)
  if (length(odd)) refuse("newdata: column ", sQuote(name, FALSE), " has the new level ", sQuote(odd[1L], FALSE))
  dummies <- outer(level_places(newdata[[name]], levels), seq_along(levels)[-1L], "==") + 0
  structure(dummies, dimnames = list(NULL, paste0(name, levels[-1L])))
}

# Contribution of offsets to the linear predictors of new rows.
new_offset <- function(object, newdata) {
  if (!length(attr(object$terms, "offset"))) return(0)
  new <- new_frame(object, newdata)
  Reduce(`+`, lapply(new$frame[offset_names(new$design$terms)], as.double), 0)
}

new_frame <- function(object, newdata) {
  if (!is.null(object$within))
    private_stop(paste0("predictions: the effect of each ", sQuote(object$within, FALSE)))
  if (is.null(object$terms))
    refuse("predict(): this fit was made in Python from a formula that R cannot read; predict there")
  if (!is.data.frame(newdata))
    refuse("newdata must be a data frame, not an object of class ", class(newdata)[1L])
  terms <- stats::delete.response(object$terms)
  needed <- regressors_of(object)
  missing <- setdiff(needed, names(newdata))
  if (length(missing)) refuse("newdata has no column ", listed(missing))
  columns <- unclass(newdata)[needed]
  for (name in needed) columns[[name]] <- new_column(columns[[name]], object$source[[name]], name)
  design <- list(terms = terms, source = object$source, contrasts = object$contrasts)
  list(design = design, frame = model_variables(design, columns, .row_names_info(newdata, 2L)))
}

# Not all names in a formula are columns: C(g, contr.sum), I(x * pi).
regressors_of <- function(object)
  intersect(all.vars(attr(stats::delete.response(object$terms), "variables")), names(object$source))

new_levels <- function(x, levels) {
  each <- unique(x[!is.na(x)])
  as.character(each[is.na(level_places(each, levels))])
}

# A column of the same kind as in the fit, or a refusal.
new_column <- function(x, source, name) {
  shown <- sQuote(name, FALSE)
  wrong <- function(...) refuse("newdata: column ", shown, " ", ...)
  if (!is.null(source$levels)) {
    odd <- new_levels(x, source$levels)
    if (length(odd)) wrong("has the new level ", paste(sQuote(odd, FALSE), collapse = ", "))
    return(x)
  }
  found <- bare_kind(x)
  # NA alone is logical.
  if (identical(found, "logical") && all(is.na(x)) && source$kind %in% c("number", "text"))
    return(if (source$kind == "text") as.character(x) else as.numeric(x))
  if (source$kind == "text" && found %in% c("factor", "ordered")) return(as.character(x))
  if (!identical(found, source$kind))
    wrong("was ", KIND_WORDS[[source$kind]], " in the fit, and is ",
          if (is.na(found)) paste("of class", class(x)[1L]) else KIND_WORDS[[found]], " here")
  if (source$kind == "matrix" && ncol(x) != source$width)
    wrong("had ", source$width, " columns in the fit, and has ", ncol(x))
  if (source$kind == "span") units(x) <- source$units
  x
}

# Values beyond the limits of the fit are clipped. Limits are those of the columns of all
# coefficients except the intercept; the last are those of the response.
winsorised <- function(X, limits, columns = setdiff(colnames(X), "(Intercept)")) {
  if (is.null(limits)) return(X)
  at <- match(colnames(X), columns)
  for (j in which(!is.na(at))) X[, j] <- within_limits(X[, j], limits[at[j], ])
  X
}

# Unknown limits are NA.
within_limits <- function(x, limits) {
  if (!is.na(limits[1L])) x[] <- pmax(x, limits[1L])
  if (!is.na(limits[2L])) x[] <- pmin(x, limits[2L])
  x
}

# Predictions within the limits of the response.
response_within <- function(value, limits) {
  if (is.null(limits)) return(value)
  kept <- within_limits(value, limits[nrow(limits), ])
  if (any(kept != value, na.rm = TRUE))
    warning("predictions beyond the limits of the response ", as_they_are(), call. = FALSE)
  kept
}

# The interval of the linear predictor, extended to the prediction, which is clipped to the
# response's limits.
interval_within <- function(value, limits) {
  value[, "fit"] <- response_within(value[, "fit"], limits)
  value[, "lwr"] <- pmin(value[, "lwr"], value[, "fit"])
  value[, "upr"] <- pmax(value[, "upr"], value[, "fit"])
  value
}

warn_of_moved <- function(X, moved) {
  odd <- colnames(X)[colSums(X != moved, na.rm = TRUE) > 0]
  if (length(odd))
    warning("newdata: values of ", paste(sQuote(odd, FALSE), collapse = ", "),
            " beyond the limits of the fit ", as_they_are(), call. = FALSE)
}

as_they_are <- function() "were clipped to them; winsorise = FALSE does not clip"
