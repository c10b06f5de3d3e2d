# Private feature selection, and what it hands to a fit.

#' Private feature selection
#'
#' Selects `k` terms of a formula privately; the result is their labels.
#'
#' The candidates are the terms; the dummies or contrasts of a factor are one candidate. To select among
#' levels write them as separate terms: `I(cut == "Ideal")`. To fit the selected terms give the selection
#' to [dp_lm()]: `dp_lm(found, data, eps = 1)`; their columns are then those of the whole formula.
#' `formula(found)` is the formula of the selected terms.
#'
#' @section Selectors:
#' * `"kendall"` scores a term by its rank correlation with the response, minus that with the terms
#'   already selected; a term of several columns has the largest of their scores.
#' * `"sub_lasso"` counts votes of many Lasso fits to few rows each, `"two_stage"` those of few fits
#'   to many rows each.
#' * `"sis"` scores by the inner product with the response, and needs public `bounds` of all columns
#'   except dummies, whose bounds follow from their levels.
#'
#' @inheritParams dp_lm
#' @param formula A formula whose right-hand side has the candidates. `y ~ .` takes all columns.
#' @param k Number of terms to select.
#' @param delta Privacy parameter delta; may be 0 for `"kendall"`, the default.
#' @param method The selector: a name or options, such as `DPKendall(share = 0.1)`.
#' @param bounds `list(column = c(low, high))`: public limits, as for [dp_lm()]. `"sis"` needs them for
#'   every candidate and for the response; the other selectors do not use them.
#' @param x A selection.
#' @param ... Must be empty.
#' @return An object of class `dp_selection`: among others `selected`, the labels of the terms, in
#'   the order in which they were selected if there is one; `candidates`; `columns`, their columns
#'   of the model matrix; and `privacy`, its cost. [tidy()][tidy.dp_selection()] makes a table of
#'   it.
#' @references
#' Dick, T., Gillenwater, J. and Joseph, M. (2023). Better private linear regression through better
#' private feature selection. *NeurIPS*. \doi{10.48550/arXiv.2306.00920}
#' @seealso [dp_selectors] for options; `select =` of [dp_lm()], which selects and fits in one call.
#' @export
#' @examplesIf dpreg_available()
#' found <- dp_select(price ~ carat + depth + table + x, diamonds, k = 2, eps = 0.5)
#' found
#' tidy(found)
#' dp_lm(found, diamonds, eps = 1)
dp_select <- function(formula, data, k, eps, delta = 0, method = "kendall", levels = NULL,
                      bounds = NULL, unit = NULL, budget = NULL, rng = NULL, ...) {
  asked <- begun("dp_select", LM_HINTS, ...)
  design <- refuse_offsets(seen_design(asked), "dp_select()")
  answer <- call_release("select", request_of(asked, design))
  new_result("dp_selection", answer, setdiff(names(answer), "privacy"), formula = without_records(design$formula),
             intercept = attr(design$terms, "intercept") == 1L)
}

#' @rdname dp_select
#' @export
formula.dp_selection <- function(x, ...)
  stats::reformulate(intersect(x$candidates, x$selected), x$formula[[2L]], x$intercept, globalenv())

# The design of the chosen terms alone. The others are left out, so that their columns need not be
# there, unless that changes how the chosen ones are coded.
chosen_design <- function(found, asked) {
  of <- function(formula) design_of(formula, asked$seen, asked$levels, asked$given$bounds)
  design <- of(formula(found))
  if (!all(found$columns %in% design$names)) design <- of(found$formula)
  odd <- setdiff(found$columns, design$names)
  if (length(odd))
    refuse("formula: these data do not have the column ", sQuote(odd[1L], FALSE), ", which was ",
           "selected; give the data of the selection")
  design$kept <- intersect(design$names, found$columns)
  design$selected <- found$selected
  design$ranges <- design$ranges[intersect(names(design$ranges), design$kept)]
  cost <- found$privacy
  design$note <- sprintf(
    "terms were selected by dp_select() at eps = %g, delta = %g; if from the same data, this adds to the cost, and intervals do not account for the selection",
    cost$epsilon, cost$delta)
  design
}
