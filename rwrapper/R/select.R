# Private feature selection, and what it hands to a fit.

#' Private feature selection
#'
#' Chooses `k` columns of a model matrix privately, and nothing else: their names are the result.
#'
#' The candidates are the columns of the model matrix, so a factor gives one for each dummy or
#' contrast, with the name that [model.matrix()] gives it: `cutIdeal`, `color^4`, or
#' `` `two words` `` for a column of that name. Such a name is not a term. To fit the columns that
#' were chosen give the selection itself to [dp_lm()]: `dp_lm(found, data, eps = 1)`.
#' (`reformulate(found$selected)` would fit other columns: in a formula `color^4` means all of
#' `color`.) `formula(found)` is the formula of the whole terms that they belong to, all dummies of a
#' factor together.
#'
#' @section Selectors:
#' * `"kendall"` scores a column by its rank correlation with the response, less that with the
#'   columns chosen before.
#' * `"sub_lasso"` counts votes of many Lasso fits to few rows each, `"two_stage"` those of few fits
#'   to many rows each.
#' * `"sis"` scores by the inner product with the response, and needs public bounds of all columns:
#'   [DPSIS()].
#'
#' @inheritParams dp_lm
#' @param formula A formula whose right-hand side has the candidates. `y ~ .` takes all columns.
#' @param k How many columns to choose.
#' @param delta Failure probability; `"kendall"`, the default, needs none.
#' @param method The selector: a name or options, such as `DPKendall(share = 0.1)`.
#' @param x A selection.
#' @param ... Must be empty.
#' @return An object of class `dp_selection`: among others `selected`, the names of the columns, in
#'   the order in which they were chosen if there is one; `candidates`; and `privacy`, what it cost.
#'   [tidy()][tidy.dp_selection()] makes a table of it.
#' @references
#' Dick, T., Gillenwater, J. and Joseph, M. (2023). Better private linear regression through better
#' private feature selection. *NeurIPS*. \doi{10.48550/arXiv.2306.00920}
#' @seealso [dp_selectors] for options; `select =` of [dp_lm()], which chooses and fits in one call.
#' @export
#' @examples
#' if (dpreg_available()) {
#'   found <- dp_select(price ~ carat + depth + table + x, diamonds, k = 2, eps = 0.5)
#'   print(found)
#'   print(tidy(found))
#'   dp_lm(found, diamonds, eps = 1)
#' }
dp_select <- function(formula, data, k, eps, delta = 0, method = "kendall", levels = NULL,
                      unit = NULL, budget = NULL, rng = NULL, ...) {
  no_more("dp_select()", LM_HINTS, ...)
  check_number(k, "k", "5")
  check_number(eps, "eps", "0.5")
  check_number(delta, "delta", "1e-6")
  check_method(method, "method")
  data <- data_of(data)
  check_unit(unit, data)
  sent_budget <- budget_sent(budget)
  formula <- as_formula(formula)
  design <- design_of(formula, seen_by_formula(data, formula, unit, budget$stratum),
                      levels_seen(levels, unit, budget$stratum))
  refuse_offsets(design, "dp_select()")
  request <- list(
    formula = deparsed(design$formula), k = k, eps = eps, delta = delta, method = as_sent(method),
    matrix = sent_design(design, data, unit, budget$stratum)
  )
  request$budget <- sent_budget
  request$rng <- seed_sent(rng)
  answer <- call_python("select", request)
  answer$formula <- design$formula
  environment(answer$formula) <- globalenv()
  answer$privacy <- certificate(answer)
  answer$selected <- as.character(unlist(answer$selected))
  answer$candidates <- as.character(unlist(answer$candidates))
  # Which term each candidate belongs to.
  columns <- design$names != "(Intercept)"
  answer$terms <- attr(design$terms, "term.labels")[design$assign[columns]]
  answer$intercept <- attr(design$terms, "intercept") == 1L
  structure(answer, class = "dp_selection")
}

#' @rdname dp_select
#' @export
formula.dp_selection <- function(x, ...) {
  terms <- unique(x$terms[x$candidates %in% x$selected])
  stats::reformulate(terms, x$formula[[2L]], x$intercept, globalenv())
}

# The design of the chosen columns alone. Terms without any of them are left out, so that their
# columns need not be there, unless that changes how the others are coded.
chosen_design <- function(found, data, levels) {
  design <- design_of(formula(found), data, levels)
  if (!all(found$selected %in% design$names)) design <- design_of(found$formula, data, levels)
  odd <- setdiff(found$selected, design$names)
  if (length(odd))
    refuse("formula: these data do not have the column ", sQuote(odd[1L], FALSE), ", which the ",
           "selection chose; give the data that it chose from")
  design$kept <- intersect(design$names, found$selected)
  design$ranges <- design$ranges[intersect(names(design$ranges), design$kept)]
  cost <- found$privacy
  design$note <- sprintf(
    "columns were chosen by dp_select() at eps = %g, delta = %g; if from the same data, that adds to the cost, and intervals hold given the choice",
    cost$epsilon, cost$delta)
  design
}

#' @export
summary.dp_selection <- function(object, ...) object

#' @rdname dp_select
#' @export
print.dp_selection <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}
