# Which terms a formula may have: decided from its text and from the kinds of the columns.

#' Check the shape of a formula
#'
#' @param formula A formula with a response.
#' @param columns Names of the columns of the data.
#' @return The terms of the formula, `.` expanded, without variables that no term has.
#' @noRd
check_formula <- function(formula, columns) {
  if (!inherits(formula, "formula") || length(formula) != 3L)
    refuse("formula: write a formula with a response, such as y ~ x + z",
           if (is.character(formula)) ", without quotes")
  if (anyDuplicated(columns))
    refuse("data: two columns are both named ", sQuote(columns[anyDuplicated(columns)], FALSE),
           "; rename one")
  prototype <- structure(rep(list(numeric()), length(columns)), names = columns,
                         class = "data.frame", row.names = integer())
  terms <- tryCatch(stats::terms(formula, data = prototype),
                    error = function(e) refuse("formula: ", conditionMessage(e)))
  if (attr(terms, "intercept") == 0L && !length(attr(terms, "term.labels")))
    refuse("formula: there is nothing on its right-hand side; write y ~ x, or y ~ 1 for the mean alone")
  without_unused(terms)
}

# A formula of a term, or of the sum of a list of them.
formula_of <- function(left, right, home) {
  if (is.list(right)) right <- Reduce(function(a, b) call("+", a, b), right)
  stats::as.formula(call("~", left, right), home)
}

# y ~ . - s mentions s without using it.
without_unused <- function(terms) {
  factors <- attr(terms, "factors")
  used <- if (length(factors)) rowSums(factors) > 0
          else rep(FALSE, length(attr(terms, "variables")) - 1L)
  used[attr(terms, "offset")] <- TRUE
  if (all(used[-1L])) return(terms)
  labels <- c(attr(terms, "term.labels"), offset_names(terms))
  stats::terms(stats::reformulate(if (length(labels)) labels else "1", terms[[2L]],
                                  attr(terms, "intercept") == 1L, environment(terms)))
}

#' Check that the variables of a formula work row by row
#'
#' @param terms What [check_formula()] returned.
#' @param kinds The kinds of the columns, by name: see [column_kind()].
#' @noRd
check_variables <- function(terms, kinds) {
  typed <- as.list(attr(terms, "variables"))[-1L]
  calls <- evaluated_calls(terms)
  for (i in seq_along(calls)) {
    variable <- typed[[i]]
    if (is_constant(variable, names(kinds)))
      refuse_term(variable, "it reads no column",
                  if ("%in%" %in% all.names(terms[[3L]])) "for 'is one of' write I(x %in% c(1, 2))"
                  else "leave it out")
    if (is.call(variable) && identical(variable[[1L]], as.name("|")))
      refuse_term(variable, "random effects are not estimated", "for 'or' write I(a | b)")
    term_kind(calls[[i]], variable, kinds)
  }
}

#' The kind of an expression, or a refusal
#' @noRd
term_kind <- function(e, term, kinds) {
  if (is_constant(e, names(kinds))) return(constant_kind(e, term))
  if (is.name(e)) {
    if (!as.character(e) %in% names(kinds))
      refuse("formula: there is no column ", sQuote(as.character(e), FALSE), " in the data")
    return(kinds[[as.character(e)]])
  }
  name <- called_name(e, term)
  if (name %in% ROW_OPERATORS) return(operator_of(e, name, term, kinds))
  rule <- ROW_FUNCTIONS[[name]]
  if (is.null(rule)) {
    if (basename_of(name) %in% names(LEARNS_FROM_DATA))
      refuse_term(term, OTHER_ROWS, LEARNS_FROM_DATA[[basename_of(name)]])
    if (basename_of(name) %in% names(ELSEWHERE))
      refuse_term(term, "it is not a term here", ELSEWHERE[[basename_of(name)]])
    refuse_term(term, paste0(name, "() is not known to work row by row"),
                "make the column before the call")
  }
  given <- given_arguments(e, name, rule, term)
  constant <- names(given) %in% rule$constants
  found <- lapply(unname(given[!constant]), term_kind, term, kinds)
  check_kinds(found, name, rule, term)
  values <- check_constants(given[constant], name, term, names(kinds), given[!constant][[1L]])
  if (name == "%in%") check_table(found[[1L]], values$table, term)
  result_kind(found[[1L]], name, rule, values)
}

OTHER_ROWS <- "its value in one row depends on the other rows"

basename_of <- function(name) sub("^.*::", "", name)

operator_of <- function(e, name, term, kinds) {
  found <- lapply(as.list(e)[-1L], term_kind, term, kinds)
  if (!length(found) %in% switch(name, "!" = , "(" = 1L, "+" = , "-" = 1:2, 2L))
    refuse_term(term, paste0(name, " has ", length(found), " arguments"), "write it as in x + z")
  if (all(vapply(found, `[[`, NA, "constant")))
    refuse_term(term, paste0("'", deparsed(e), "' reads no column"), "write out its value")
  two <- length(found) == 2L
  result <- operator_kind(name, found[[1L]], if (two) found[[2L]])
  if (!is.null(result)) return(result)
  of <- vapply(found, `[[`, "", "name")
  if (name == "-" && two && all(of %in% c("date", "time")))
    refuse_term(term, "the unit of a difference of date-times depends on the other rows",
                paste0("write difftime(", deparsed(e[[2L]]), ", ", deparsed(e[[3L]]),
                       ", units = \"hours\"), or as.numeric(", deparsed(e[[2L]]), ") - as.numeric(",
                       deparsed(e[[3L]]), ") for seconds"))
  refuse_term(term, paste0("'", deparsed(e), "' is ", name, " of ",
                           paste(shown_kinds(found), collapse = " and ")),
              operator_remedy(name, found))
}

shown_kinds <- function(found)
  vapply(found, function(k) if (k$constant) deparsed(k$value) else KIND_WORDS[[k$name]], "")

operator_remedy <- function(name, found) {
  levels <- unlist(lapply(found, `[[`, "levels"))
  if (length(levels) && name %in% COMPARISONS)
    return(paste0("compare it with one of its levels, ",
                  paste(dQuote(levels, FALSE), collapse = ", "),
                  if (!name %in% c("==", "!=")) ", which must be ordered"))
  "make the column before the call"
}

called_name <- function(e, term) {
  f <- e[[1L]]
  if (is.call(f) && identical(f[[1L]], as.name("::"))) {
    if (!as.character(f[[2L]]) %in% c("base", "stats", "splines")) return(deparsed(f))
    f <- f[[3L]]
  }
  if (!is.name(f)) refuse_term(term, "it calls something that has no name", "name the function")
  as.character(f)
}

# By their full names, those that hold rows first.
given_arguments <- function(e, name, rule, term) {
  e[[1L]] <- as.name(name)
  wrong <- function(...) refuse_term(
    term, if (name %in% names(LEARNS_FROM_DATA)) OTHER_ROWS
          else paste0("the arguments of ", name, "() are not ",
                      "(", paste(names(formals(rule$arguments)), collapse = ", "), ")"),
    remedy(name, if (length(e) > 1L) e[[2L]]))
  if (name == "I" && any(nzchar(names(e))))
    refuse_term(term, "I() takes no named argument", "write == for a comparison")
  given <- tryCatch(as.list(match.call(rule$arguments, e))[-1L], error = wrong)
  if (is.null(names(given))) names(given) <- rep("", length(given))
  if (!all(rule$needs %in% names(given)) || all(names(given) %in% rule$constants)) wrong()
  given
}

# `x`: what holds the rows, which the advice names.
check_constants <- function(given, name, term, columns, x) {
  values <- lapply(stats::setNames(names(given), names(given)), function(argument) {
    e <- given[[argument]]
    if (argument == "contr" && (is.character(e) || is.name(e)) && as.character(e) %in% setdiff(CONTRASTS, columns))
      return(as.character(e))
    if (argument == "contr" || !is_constant(e, columns))
      refuse_term(term, paste0("its argument '", argument, "' is not a constant"), remedy(name))
    value <- constant_value(e, term)
    vector <- argument %in% VECTORS && length(value)
    type <- CONSTANT_TYPES[argument]
    typed <- switch(type, number = is.numeric(value), flag = is.logical(value),
                    text = is.character(value), TRUE)
    size <- if (argument == "Boundary.knots") length(value) == 2L else vector || length(value) == 1L
    if (is.null(value) || !size || !typed)
      refuse_term(term, paste0("its argument '", argument, "' is not ",
                               if (vector) "a list of constants" else "one constant",
                               " of the right type"), remedy(name))
    value
  })
  learns <- switch(name, poly = !isTRUE(values$raw) && is.null(values$Boundary.knots),
                   ns = , bs = is.null(values$Boundary.knots) || is.null(values$knots) == is.null(values$df),
                   cut = length(unique(values$breaks)) < 2L, FALSE)
  if (learns || anyNA(unlist(values)))
    refuse_term(term, OTHER_ROWS, remedy(name, x, values$degree %||% values$df))
  if (!is.null(values$units) && !values$units %in% UNITS_OF_TIME)
    refuse_term(term, "its units are not public", remedy("difftime"))
  # How many decimals %OS shows, and what the empty format is, depends on all rows.
  if (!is.null(values$format) && (values$format == "" || grepl("%OS", values$format, fixed = TRUE)))
    refuse_term(term, OTHER_ROWS, remedy("format"))
  values
}

check_kinds <- function(found, name, rule, term) {
  constant <- vapply(found, `[[`, NA, "constant")
  # ifelse() has the length of its test.
  if (all(constant) || (name == "ifelse" && constant[1L]))
    refuse_term(term, paste0("an argument of ", name, "() reads no column"), "write out its value")
  takes <- lapply(seq_along(found), function(i)
    if (name == "ifelse" && i == 1L) NUMBERS else rule$takes)
  odd <- which(!mapply(function(k, kinds) k$name %in% kinds, found, takes))
  if (length(odd))
    refuse_term(term, paste0(name, "() of ", shown_kinds(found[odd[1L]])),
                kind_remedy(found[[odd[1L]]]$name))
}

kind_remedy <- function(name) {
  switch(name,
         date = , time = , span = "write as.numeric() of it first",
         factor = , ordered = "write the factor by itself, or compare it with one of its levels first",
         text = "make a factor with public levels of it before the call",
         "make the column before the call")
}

check_table <- function(x, table, term) {
  if ((x$name %in% NUMBERS) != (is.numeric(table) || is.logical(table)))
    refuse_term(term, paste0(shown_kinds(list(x)), " is not in a list of ", class(table)[1L], "s"),
                "compare like with like")
}

result_kind <- function(first, name, rule, values) {
  if (is.null(rule$gives)) return(first)
  if (!rule$gives %in% c("factor", "ordered")) return(kind(rule$gives))
  if (name == "cut" && identical(values$labels, FALSE)) return(kind("number"))
  labels <- values$labels %||% values$levels
  is_ordered <- name == "ordered" || isTRUE(values$ordered) || isTRUE(values$ordered_result) ||
    (name == "factor" && is.null(values$ordered) && first$name == "ordered")
  kind(if (is_ordered) "ordered" else "factor", unique(as.character(labels)))
}

# For rows of `x`, and a basis of that size, where they are known.
remedy <- function(name, x = NULL, size = NULL) {
  if (!name %in% names(LEARNS_FROM_DATA)) return("write out constants")
  advice <- LEARNS_FROM_DATA[[name]]
  if (is.numeric(size) && length(size) == 1L) advice <- gsub("\\(x, [35]\\b", paste0("(x, ", size), advice)
  if (length(all.vars(x)) != 1L) return(advice)
  advice <- gsub("list(x ", paste0("list(", deparsed(as.name(all.vars(x))), " "), advice, fixed = TRUE)
  gsub("(x, ", paste0("(", deparsed(x), ", "), advice, fixed = TRUE)
}

CONSTANT_NAMES <- c("pi", "T", "F", "Inf", "month.name", "month.abb", "letters", "LETTERS")
CONSTANT_FUNCTIONS <- c("c", "-", "+", "*", "/", "^", ":", "(", "seq", "log", ROW_MATHS, "as.Date",
                        "as.POSIXct")

# A constant expression: nothing in it is a name of a column, and the functions are harmless.
is_constant <- function(e, columns = character()) {
  if (!is.language(e)) return(is.atomic(e) || is.null(e))
  if (is.name(e)) return(as.character(e) %in% CONSTANT_NAMES && !as.character(e) %in% columns)
  is.name(e[[1L]]) && as.character(e[[1L]]) %in% CONSTANT_FUNCTIONS &&
    all(vapply(as.list(e)[-1L], is_constant, NA, columns))
}

constant_value <- function(e, term)
  tryCatch(eval(e, baseenv()), error = function(err)
    refuse_term(term, paste0("'", deparsed(e), "': ", conditionMessage(err)),
                "write out its value"))

constant_kind <- function(e, term) {
  value <- constant_value(e, term)
  if (length(value) != 1L || is.na(bare_kind(value)))
    refuse_term(term, "a vector would be recycled along the rows", "use single numbers")
  kind(bare_kind(value), constant = TRUE, value = value)
}
