# Private feature selection, and what it hands to a fit.

#' Private feature selection
#'
#' Chooses `k` terms of a formula privately, and nothing else: their labels are the result.
#'
#' The candidates are the terms, a factor with all its dummies or contrasts. To choose among levels
#' write them as terms of their own: `I(cut == "Ideal")`. To fit the terms that were chosen give the
#' selection itself to [dp_lm()]: `dp_lm(found, data, eps = 1)`; their columns are then those of the
#' whole formula. `formula(found)` is the formula of the chosen terms.
#'
#' @section Selectors:
#' * `"kendall"` scores a term by its rank correlation with the response, less that with the
#'   terms chosen before; that of several columns is the largest of them.
#' * `"sub_lasso"` counts votes of many Lasso fits to few rows each, `"two_stage"` those of few fits
#'   to many rows each.
#' * `"sis"` scores by the inner product with the response, and needs public `bounds` of all columns; those of
#'   dummies follow from their levels.
#'
#' @inheritParams dp_lm
#' @param formula A formula whose right-hand side has the candidates. `y ~ .` takes all columns.
#' @param k How many terms to choose.
#' @param delta Failure probability; `"kendall"`, the default, needs none.
#' @param method The selector: a name or options, such as `DPKendall(share = 0.1)`.
#' @param bounds `list(column = c(low, high))`: public limits, as for [dp_lm()]. `"sis"` needs those of every
#'   candidate and of the response; the others have no use for any.
#' @param x A selection.
#' @param ... Must be empty.
#' @return An object of class `dp_selection`: among others `selected`, the labels of the terms, in
#'   the order in which they were chosen if there is one; `candidates`; `columns`, what they make
#'   of the model matrix; and `privacy`, what it cost.
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
                      bounds = NULL, unit = NULL, budget = NULL, rng = NULL, ...) {
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
  request$bounds <- bounds_sent(bounds)
  request$budget <- sent_budget
  request$rng <- seed_sent(rng)
  answer <- call_release("select", request)
  answer$formula <- design$formula
  environment(answer$formula) <- globalenv()
  answer$privacy <- certificate(answer)
  answer$selected <- as.character(unlist(answer$selected))
  answer$candidates <- as.character(unlist(answer$candidates))
  answer$columns <- as.character(unlist(answer$columns))
  answer$intercept <- attr(design$terms, "intercept") == 1L
  structure(answer, class = "dp_selection")
}

#' @rdname dp_select
#' @export
formula.dp_selection <- function(x, ...)
  stats::reformulate(intersect(x$candidates, x$selected), x$formula[[2L]], x$intercept, globalenv())

# The design of the chosen terms alone. The others are left out, so that their columns need not be
# there, unless that changes how the chosen ones are coded.
chosen_design <- function(found, data, levels) {
  design <- design_of(formula(found), data, levels)
  if (!all(found$columns %in% design$names)) design <- design_of(found$formula, data, levels)
  odd <- setdiff(found$columns, design$names)
  if (length(odd))
    refuse("formula: these data do not have the column ", sQuote(odd[1L], FALSE), ", which the ",
           "selection chose; give the data that it chose from")
  design$kept <- intersect(design$names, found$columns)
  design$selected <- found$selected
  design$ranges <- design$ranges[intersect(names(design$ranges), design$kept)]
  cost <- found$privacy
  design$note <- sprintf(
    "terms were chosen by dp_select() at eps = %g, delta = %g; if from the same data, that adds to the cost, and intervals hold given the choice",
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
