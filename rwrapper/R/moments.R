# One release of second moments, and regressions from it at no further cost.

#' One release, many regressions
#'
#' `dp_moments()` releases the second moments of columns once. Then `moments_lm()` fits a linear model
#' of any of the columns by any others, at no further cost.
#'
#' [dp_lm()] minimises the noise of one model, and its standard errors are robust to
#' heteroscedasticity. `dp_moments()` clips whole rows, response included, and its standard errors assume
#' errors of constant variance, increased to allow for heavy tails in the columns.
#'
#' A model may contain released columns only: interactions, `log(x)` and similar terms must be named
#' in `dp_moments()`. Intervals of a model that was selected by its fit are too narrow, as after any
#' selection.
#'
#' @inheritParams dp_lm
#' @param formula For `dp_moments()` the columns, `~ price + carat + log(carat)`; a response is one more
#'   column. For the other functions a model of these columns, with or without an intercept.
#' @param delta Privacy parameter delta, in (0, 1); it should be below 1 / (number of rows).
#' @param moments,x What `dp_moments()` returned.
#' @param instruments For two-stage least squares: `~ z + a` with all instruments and exogenous
#'   regressors.
#' @param level Of the interval.
#' @param ... Must be empty.
#' @return `dp_moments()`: an object of class `dp_moments`, which contains no records.
#'   `moments_lm()`: a fit of class `dp_lm`, with all that [dp_lm_methods] lists.
#'   `moments_cor()`: a matrix, with the standard errors as its attribute `"errors"`.
#'   `moments_r2()`: R squared with its interval.
#' @seealso [anova.dp_lm()] for two nested models.
#' @export
#' @examplesIf dpreg_available("dp_moments")
#' m <- dp_moments(~ price + carat + depth + table, diamonds, eps = 1)
#' m
#' moments_lm(m, price ~ carat + depth)
#' moments_lm(m, carat ~ depth + table)
#' moments_r2(m, price ~ carat)
dp_moments <- function(formula, data, eps, delta = 1e-5, levels = NULL, unit = NULL, max_rows = NULL,
                       bounds = NULL, budget = NULL, memory = NULL, rng = NULL, ...) {
  asked <- begun("dp_moments", LM_HINTS, ...)
  asked$formula <- all_columns(asked$formula, asked$data, c(unit, budget$stratum$column))
  design <- refuse_offsets(seen_design(asked), "dp_moments()")
  if (!"(Intercept)" %in% design$names)
    refuse("formula: keep the intercept; models fitted from the moments may omit it")
  answer <- call_release("moments", request_of(asked, design))
  names <- answer$names
  new_result(
    "dp_moments", answer, c("names", "nobs", "notes", "json"),
    means = stats::setNames(answer$mean, names), sds = stats::setNames(answer$sd, names),
    correlations = with_names(answer$correlations, names), errors = with_names(answer$errors, names),
    columns = public_columns(asked$data, design, levels), bounds = attr(design$terms, "bounds"))
}

# All columns on the right, and one numeric column again on the left, since a design has a response.
all_columns <- function(formula, data, apart) {
  if (!inherits(formula, "formula")) refuse("formula: write the columns, such as ~ price + carat")
  parts <- as.list(formula)[-1L]
  if (identical(parts[[length(parts)]], as.name(".")))
    parts <- c(parts[-length(parts)], lapply(setdiff(names(data), apart), as.name))
  used <- intersect(unlist(lapply(parts, all.vars)), names(data))
  number <- Filter(function(name) is.numeric(data[[name]]) && is.null(dim(data[[name]])), used)
  if (!length(number)) refuse("formula: one of the columns must be numeric")
  formula_of(call("I", as.name(number[1L])), parts, globalenv())
}

# The columns without their rows: names, types and levels are public.
public_columns <- function(data, design, levels) {
  empty <- lapply(unclass(data)[names(design$source)], function(column) column[0L])
  for (name in intersect(names(levels), names(empty)))
    empty[[name]] <- factor(character(), levels[[name]])
  structure(empty, class = "data.frame", row.names = integer())
}

# A model of the columns of moments: its public side, and the arguments that are sent.
posed_model <- function(moments, formula, what) {
  if (!inherits(moments, "dp_moments")) refuse(what, ": moments must be made by dp_moments()")
  if (missing(formula)) refuse("formula must be given, such as y ~ x")
  design <- refuse_offsets(design_of(as_formula(formula), moments$columns, bounds = moments$bounds), what)
  sent <- list(formula = deparsed(design$formula), response = names(design$frame)[1L],
               names = as.list(regressor_names(design)), intercept = "(Intercept)" %in% design$names)
  list(design = design, sent = sent)
}

answer_of_moments <- function(moments, what, sent) do.call(answer_of, c(list(moments, what), sent))

#' @rdname dp_moments
#' @export
moments_lm <- function(moments, formula, instruments = NULL) {
  posed <- posed_model(moments, formula, "moments_lm()")
  if (!is.null(instruments)) {
    if (!inherits(instruments, "formula")) refuse("instruments: write them as ~ z + a")
    both <- formula_of(posed$design$formula[[2L]], instruments[[length(instruments)]], globalenv())
    posed$sent$instruments <- as.list(regressor_names(
      design_of(both, moments$columns, bounds = moments$bounds)))
  }
  new_fit(answer_of_moments(moments, "moments_lm", posed$sent), posed$design, NULL)
}

#' @rdname dp_moments
#' @export
moments_r2 <- function(moments, formula, level = 0.95) {
  check_number(level, "level", "0.95")
  posed <- posed_model(moments, formula, "moments_r2()")
  unlist(answer_of_moments(moments, "moments_r2", c(posed$sent, alpha = 1 - level)))
}

#' @rdname dp_moments
#' @export
moments_cor <- function(moments) {
  if (!inherits(moments, "dp_moments")) refuse("moments_cor(): moments must be made by dp_moments()")
  structure(moments$correlations, errors = moments$errors)
}

#' @rdname dp_moments
#' @export
print.dp_moments <- function(x, ...) {
  cat("Private moments of about", format(round(x$nobs), big.mark = ","), "rows\n\n")
  table <- cbind(mean = x$means, sd = x$sds)
  if (length(x$names) <= 8L) table <- cbind(table, x$correlations)
  print(signif(table, 4L))
  print_cost(x)
}
