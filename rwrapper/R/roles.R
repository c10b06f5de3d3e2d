# Releases from disjoint groups of units, paid for side by side. Python counts; which rows are of a
# stratum is decided there too, from the positions of levels that are packed here.

#' Divide a budget over strata
#'
#' A unit is in one stratum only, so releases from all strata together cost as much as the most
#' expensive stratum, not the sum (parallel composition). Charges to the whole budget, and to strata of
#' other columns, are added.
#'
#' Give the budget of a stratum, and **all** the data, to [dp_lm()] or [dp_select()], which use the rows
#' of the stratum. Rows with another level, or none, are not used. With `unit =` a unit with rows in
#' several strata is left out. The column is left out of `y ~ .`, and cannot be in the formula.
#'
#' The levels are public: they must be known without looking at the data. A budget records them, and
#' they cannot be changed, so that later calls may omit them.
#'
#' @param budget Made by [dp_budget()].
#' @param column Name of a column of every data frame that is charged. A unit must have the same value in
#'   all of them.
#' @param levels The values of the column that define the strata: text for text and factors, numbers
#'   for numbers.
#' @param x A divided budget.
#' @param name,i The level of a stratum.
#' @param ... Not used.
#' @return An object of class `dp_partition`: a list of budgets, named by level.
#' @seealso [dp_budget()].
#' @references
#' McSherry, F. (2009). Privacy integrated queries. *SIGMOD*. \doi{10.1145/1559845.1559850}
#' @export
#' @examplesIf dpreg_available()
#' budget <- dp_budget(eps = 1)
#' cuts <- dp_partition(budget, "cut", c("Premium", "Ideal"))
#' fits <- lapply(cuts, function(b) dp_lm(log(price) ~ log(carat), diamonds, eps = 1, budget = b))
#' budget
dp_partition <- function(budget, column, levels = NULL) {
  if (!inherits(budget, "dp_budget") || !is.null(budget$stratum))
    refuse("budget must be a whole budget, made by dp_budget(), not ",
           if (inherits(budget, "dp_budget")) "that of a stratum" else described(budget))
  levels <- if (is.factor(levels)) as.character(levels) else unname(unlist(levels))
  if (!is.null(levels) && (!is.atomic(levels) || anyNA(levels))) refuse("levels must be text or numbers, and none NA")
  request <- list(budget = budget_sent(budget), column = one_sent(column))
  request$levels <- if (!is.null(levels)) as.list(if (is.character(levels)) enc2utf8(levels) else levels)
  known <- unlist(call_python("partition", request)$levels)
  strata <- lapply(seq_along(known), function(place) {
    budget$stratum <- list(column = column, position = place - 1, levels = known)
    budget
  })
  structure(stats::setNames(strata, as.character(known)), class = "dp_partition")
}

# A level that is not there must not be NULL: without a budget, a fit would use all rows, uncharged.
#' @rdname dp_partition
#' @export
`[[.dp_partition` <- function(x, i, ...) {
  known <- if (is.character(i)) i %in% names(x) else is.numeric(i) && i %in% seq_along(names(x))
  if (length(i) != 1L || !known)
    refuse("there is no stratum ", described(i), "; the levels are ", listed(names(x)))
  unclass(x)[[i]]
}

#' @rdname dp_partition
#' @export
`$.dp_partition` <- function(x, name) x[[name]]

#' @rdname dp_partition
#' @export
print.dp_partition <- function(x, ...) {
  for (place in seq_along(names(x))) {
    left <- budget_state(x[[place]])$remaining
    cat(stratum_label(x[[place]]$stratum), "; left: ",
        sprintf("eps = %g, delta = %g\n", left$eps, left$delta), sep = "")
  }
  invisible(x)
}

stratum_label <- function(stratum) {
  level <- stratum$levels[stratum$position + 1]
  paste(stratum$column, "=", if (is.character(level)) dQuote(level, FALSE) else format(level))
}

# The data as a formula may see them: the column of the units is no regressor, and the one that
# divides the budget has one value in a stratum. Public things only are looked at.
seen_by_formula <- function(data, formula, unit, stratum) {
  if (!is.data.frame(data)) return(data)
  if (!is.null(stratum)) check_stratum(stratum, data)
  mentioned <- if (inherits(formula, "formula")) all.vars(formula)
  if (!is.null(unit) && unit %in% mentioned)
    refuse("formula: ", sQuote(unit, FALSE), " names the protected unit, and cannot be in the formula ",
           "too; leave it out, or leave unit out")
  if (!is.null(stratum) && stratum$column %in% mentioned)
    refuse("formula: ", sQuote(stratum$column, FALSE), " divides the budget, and cannot be in the ",
           "formula too; leave it out, or charge the fit to the whole budget")
  apart <- c(unit, stratum$column)
  if (is.null(apart)) return(data)
  structure(unclass(data)[setdiff(names(data), apart)], class = "data.frame",
            row.names = .set_row_names(.row_names_info(data, 2L)))
}

check_stratum <- function(stratum, data) {
  column <- stratum$column
  shown <- sQuote(column, FALSE)
  if (!column %in% names(data))
    refuse("budget is divided by ", shown, ", which is not a column of the data; they have ",
           listed(names(data)))
  text <- is.character(stratum$levels)
  fits <- if (text) c("text", "factor", "ordered") else c("number", "logical")
  if (!bare_kind(data[[column]]) %in% fits)
    refuse("budget is divided by ", shown, " into levels that are ", if (text) "text" else "numbers",
           ", and the column is of class ", class(data[[column]])[1L])
}

# Weights of rows and offsets of linear predictors.

# The name of a column, typed as lm() takes it or as text.
weight_column <- function(expression, value, data) {
  if (is.null(expression)) return(NULL)
  name <- if (is.name(expression) && as.character(expression) %in% names(data)) as.character(expression)
          else tryCatch(value(), error = function(e) if (is.name(expression)) as.character(expression) else expression)
  if (is.null(name)) return(NULL)
  if (!is_text(name))
    refuse("weights must be the name of one column, such as weights = w, not ", described(name),
           "; make the column before the call")
  if (!name %in% names(data)) no_such_column("weights", name, names(data))
  x <- data[[name]]
  if (!is.numeric(x) || length(dim(x)) || inherits(x, "integer64"))
    refuse("weights: column ", sQuote(name, FALSE), " of class ", class(x)[1L], " weighs nothing; ",
           "name a column of numbers")
  name
}

# What a dot stands for: all columns but the weights.
without_weights <- function(data, formula, weights) {
  if (is.null(weights) || weights %in% all.vars(formula)) return(data)
  data[setdiff(names(data), weights)]
}

# As they are named in the formula.
offset_names <- function(terms)
  vapply(as.list(attr(terms, "variables"))[attr(terms, "offset") + 1L], deparsed, "")

refuse_offsets <- function(design, what) {
  if (length(attr(design$terms, "offset")))
    refuse("formula: ", what, " does not support ", offset_names(design$terms)[1L], "; leave it out")
  design
}
