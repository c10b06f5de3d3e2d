# Which terms a formula may have: those whose value in one row is a function of that row
# alone.  What decides is the text of the formula, never the data.

ROW_OPERATORS <- c("+", "-", "*", "/", "^", "%%", "%/%", "(", "<", "<=", ">", ">=", "==", "!=",
                   "&", "|", "!")
ROW_FUNCTIONS <- c("I", "log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs", "sign",
                   "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "floor",
                   "ceiling", "trunc", "round", "pmin", "pmax", "ifelse", "as.numeric",
                   "as.integer", "as.double", "as.logical")

# Functions that learn something from all rows, and what to write instead.
LEARNS_FROM_DATA <- c(
  scale = "write I((x - 50) / 10) with a centre and a width that are public",
  center = "write I(x - 50) with a centre that is public",
  poly = "write poly(x, 3, raw = TRUE)",
  ns = "write ns(x, knots = c(2, 4), Boundary.knots = c(0, 6)) with public knots",
  bs = "write bs(x, knots = c(2, 4), Boundary.knots = c(0, 6)) with public knots",
  factor = "write factor(x, levels = c(\"a\", \"b\")) with public levels",
  as.factor = "write factor(x, levels = c(\"a\", \"b\")) with public levels",
  ordered = "write factor(x, levels = c(\"a\", \"b\"), ordered = TRUE) with public levels",
  cut = "write cut(x, breaks = c(0, 10, 20)) with public breaks",
  rank = "leave the ranks out: they compare rows",
  mean = "write the public number itself",
  offset = "subtract it from the response: I(y - x) ~ ..."
)

# Functions with arguments that must be constants; those make them work row by row.
SPECIAL_FUNCTIONS <- list(
  poly = list(arguments = function(x, degree, raw) NULL, needs = c("degree", "raw")),
  ns = list(arguments = function(x, knots, Boundary.knots, intercept) NULL,
            needs = c("knots", "Boundary.knots")),
  bs = list(arguments = function(x, knots, Boundary.knots, degree, intercept) NULL,
            needs = c("knots", "Boundary.knots")),
  factor = list(arguments = function(x, levels, labels, ordered) NULL, needs = "levels"),
  ordered = list(arguments = function(x, levels, labels) NULL, needs = "levels"),
  cut = list(arguments = function(x, breaks, labels, include.lowest, right, dig.lab,
                                  ordered_result) NULL, needs = "breaks"),
  relevel = list(arguments = function(x, ref) NULL, needs = "ref"),
  C = list(arguments = function(object, contr, how.many) NULL, needs = character()),
  `%in%` = list(arguments = function(x, table) NULL, needs = "table")
)

CONTRASTS <- c("contr.treatment", "contr.sum", "contr.helmert", "contr.poly", "contr.SAS",
               "treatment", "sum", "helmert", "poly", "SAS")

#' Check that a formula works row by row
#'
#' @param formula A formula with a response.
#' @param columns Names of the columns of the data.
#' @return The terms of the formula, `.` expanded.
#' @noRd
check_formula <- function(formula, columns) {
  if (!inherits(formula, "formula") || length(formula) != 3L)
    refuse("formula: write a formula with a response, such as y ~ x + z")
  if (anyDuplicated(columns))
    refuse("data: two columns are both named ", sQuote(columns[anyDuplicated(columns)], FALSE))
  prototype <- structure(rep(list(numeric()), length(columns)), names = columns,
                         class = "data.frame", row.names = integer())
  terms <- tryCatch(stats::terms(formula, data = prototype),
                    error = function(e) refuse("formula: ", conditionMessage(e)))
  if (!is.null(attr(terms, "offset")))
    refuse_term(quote(offset(x)), "offsets are not estimated", LEARNS_FROM_DATA[["offset"]])
  for (variable in as.list(attr(terms, "variables"))[-1L]) {
    check_row_function(variable, variable, columns)
    if (!length(all.vars(variable)))
      refuse_term(variable, "it reads no column", "leave it out")
  }
  if (attr(terms, "intercept") == 0L && !length(attr(terms, "term.labels")))
    refuse("formula: there is nothing on its right-hand side")
  terms
}

check_row_function <- function(e, term, columns) {
  if (is_constant(e)) return(invisible())
  if (is.name(e)) {
    if (!as.character(e) %in% columns)
      refuse("formula: there is no column ", sQuote(as.character(e), FALSE),
             " in the data, which have ", paste(sQuote(columns, FALSE), collapse = ", "))
    return(invisible())
  }
  name <- called_name(e, term)
  arguments <- as.list(e)[-1L]
  if (name %in% names(SPECIAL_FUNCTIONS)) {
    arguments <- check_special(e, name, term)
  } else if (!name %in% c(ROW_OPERATORS, ROW_FUNCTIONS)) {
    if (name %in% names(LEARNS_FROM_DATA))
      refuse_term(term, "its value in one row depends on the other rows", LEARNS_FROM_DATA[[name]])
    refuse_term(term, paste0(name, "() is not known to work row by row"),
                "make the column before the call")
  }
  for (argument in arguments) {
    if (is_constant(argument) && !is_scalar(argument))
      refuse_term(term, "a vector would be recycled along the rows", "use single numbers")
    check_row_function(argument, term, columns)
  }
}

called_name <- function(e, term) {
  f <- e[[1L]]
  if (is.call(f) && identical(f[[1L]], as.name("::")) &&
      as.character(f[[2L]]) %in% c("base", "stats", "splines")) f <- f[[3L]]
  if (!is.name(f)) refuse_term(term, "it calls something that has no name", "name the function")
  as.character(f)
}

# The argument that holds data; the others are checked here.
check_special <- function(e, name, term) {
  special <- SPECIAL_FUNCTIONS[[name]]
  e[[1L]] <- as.name(name)
  given <- tryCatch(as.list(match.call(special$arguments, e))[-1L], error = function(err)
    refuse_term(term, "its value in one row depends on the other rows", remedy(name)))
  for (argument in names(given)[-1L]) {
    fine <- if (argument == "contr") is_contrast(given[[argument]]) else is_constant(given[[argument]])
    if (!fine)
      refuse_term(term, paste0("its argument '", argument, "' is not a constant"), remedy(name))
  }
  lacking <- !all(special$needs %in% names(given)) ||
    (name == "poly" && !isTRUE(given$raw)) ||
    (name == "cut" && is_scalar(given$breaks))
  if (lacking)
    refuse_term(term, "its value in one row depends on the other rows", remedy(name))
  given[1L]
}

remedy <- function(name) {
  if (name %in% names(LEARNS_FROM_DATA)) LEARNS_FROM_DATA[[name]] else "write out constants"
}

# A constant expression: nothing in it is a name, and the functions are harmless.
is_constant <- function(e) {
  if (!is.language(e)) return(is.atomic(e) || is.null(e))
  if (is.name(e)) return(as.character(e) %in% c("pi", "T", "F", "Inf"))
  is.name(e[[1L]]) && as.character(e[[1L]]) %in% c("c", "-", "+", "*", "/", "^", ":", "(", "seq") &&
    all(vapply(as.list(e)[-1L], is_constant, NA))
}

is_scalar <- function(e) {
  if (!is.language(e)) return(length(e) == 1L)
  is.name(e) || (as.character(e[[1L]]) %in% c("-", "+", "*", "/", "^", "(") &&
                   all(vapply(as.list(e)[-1L], is_scalar, NA)))
}

is_contrast <- function(e) {
  (is.character(e) || is.name(e)) && as.character(e) %in% CONTRASTS
}

refuse <- function(...) stop(..., call. = FALSE)

refuse_term <- function(term, why, instead) {
  refuse("formula: the term '", paste(deparse(term, width.cutoff = 500L), collapse = " "),
         "' cannot be used: ", why, "; ", instead)
}

# Where terms are evaluated.  What R's own functions would say or do about missing or odd
# values (an error of poly(), a type that depends on them in ifelse()) is not wanted here.
row_environment <- function() {
  e <- new.env(parent = baseenv())
  e$poly <- function(x, degree = 1, raw = TRUE) {
    powers <- outer(as.numeric(x), seq_len(degree), `^`)
    # R's own poly() has no names for a single column.
    if (degree > 1) dimnames(powers) <- list(NULL, seq_len(degree))
    powers
  }
  e$ns <- function(x, knots, Boundary.knots, intercept = FALSE)
    spline_rows(splines::ns, x, Boundary.knots, knots = knots, intercept = intercept)
  e$bs <- function(x, knots, Boundary.knots, degree = 3, intercept = FALSE)
    spline_rows(splines::bs, x, Boundary.knots, knots = knots, degree = degree,
                intercept = intercept)
  e$ifelse <- function(test, yes, no) {
    test <- as.logical(test)
    out <- rep_len(as.numeric(no), length(test))
    at <- which(test)
    out[at] <- rep_len(as.numeric(yes), length(test))[at]
    out[is.na(test)] <- NA
    out
  }
  for (name in c("C", "relevel", "contr.treatment", "contr.sum", "contr.helmert", "contr.poly",
                 "contr.SAS"))
    assign(name, getExportedValue("stats", name), envir = e)
  e
}

spline_rows <- function(basis, x, limits, ...) {
  x <- as.numeric(x)
  usable <- is.finite(x)
  # The limits come along, so that there is a basis even when no value is usable.
  rows <- suppressWarnings(basis(c(limits, x[usable]), Boundary.knots = limits, ...))
  out <- matrix(NA_real_, length(x), ncol(rows), dimnames = list(NULL, colnames(rows)))
  out[usable, ] <- rows[-(1:2), ]
  out
}
