# From a formula and a data frame to columns of numbers, as model.matrix() makes them, with
# nothing learned from the records: levels, names and contrasts come from a frame without rows.

#' The public side of a regression problem
#'
#' @param formula A formula.
#' @param data A data frame; only its columns' names, types and levels are looked at.
#' @param levels `list(column = levels)` for columns whose type does not declare them.
#' @param bounds `list(column = c(low, high))`, public: those of columns are for terms that make a basis.
#' @return A list: terms, source (name, levels and order of each column), frame (the model
#'   frame without rows), contrasts, names of the columns of the model matrix, and ranges.
#' @noRd
design_of <- function(formula, data, levels = NULL, bounds = NULL) {
  check_bounds(bounds)
  terms <- check_formula(formula, names(data))
  check_levels(levels, data)
  mentioned <- all.vars(attr(terms, "variables"))
  unknown <- setdiff(mentioned, c(names(data), CONSTANT_NAMES, CONTRASTS))
  if (length(unknown)) refuse_unknown(unknown[1L], formula, names(data))
  used <- intersect(mentioned, names(data))
  columns <- unclass(data)[used]
  kinds <- lapply(stats::setNames(used, used), function(name)
    column_kind(columns[[name]], name, levels[[name]]))
  terms <- with_intervals(terms, bounds, kinds)
  check_variables(terms, kinds)
  empty <- lapply(columns, no_rows)
  design <- list(formula = formula, terms = terms, source = Map(source_of, kinds, empty))
  design$frame <- in_formula(model_variables(design, empty, 0L))
  # Levels would not help for a text response.
  text <- is.character(design$frame[[1L]])
  for (name in names(design$frame)[if (text) -1L else TRUE]) check_variable(design$frame[[name]], name)
  check_response(design$frame[[1L]], names(design$frame)[1L])
  X <- in_formula(model_rows(design, design$frame))
  design$contrasts <- attr(X, "contrasts")
  design$assign <- attr(X, "assign")
  design$names <- colnames(X)
  design$ranges <- c(level_ranges(design), basis_ranges(design))
  design
}

# For f:g alone R makes a column for each pair of levels, which add up to the intercept. lm() drops
# one after seeing the rows; here no coefficient would have a standard error.
check_whole_products <- function(design) {
  factors <- attr(design$terms, "factors")
  for (term in if (attr(design$terms, "intercept")) colnames(factors)) {
    at <- rownames(factors)[factors[, term] > 0]
    if (length(at) > 1L && all(factors[at, term] == 2) && all(at %in% names(design$contrasts)))
      refuse("formula: the columns of ", sQuote(term, FALSE), " add up to the intercept; write ",
             paste(at, collapse = " * "), ", or 0 + ", term, " for a mean of each pair of levels")
  }
  design
}

# A name that is not a column. Variables of the session are not used silently: if they were computed
# from the records, the formula would publish them.
refuse_unknown <- function(name, formula, columns) {
  shown <- sQuote(name, FALSE)
  value <- get0(name, environment(formula), mode = "any")
  if (is.atomic(value) && length(value) && length(value) <= 100L) {
    marked <- do.call(substitute, list(formula, stats::setNames(list(call(".", as.name(name))), name)))
    refuse("formula: ", shown, " is not a column of the data. If it is a constant that you know ",
           "without the data, put its value into the formula: write bquote(", deparsed(marked),
           ") in place of the formula")
  }
  if ("$" %in% all.names(formula))
    refuse("formula: there is no column ", shown, " in the data; write the name of the column alone, ",
           "without the name of the data frame and $")
  if (compares(formula, as.name(name)))
    refuse("formula: there is no column ", shown, " in the data; write a level in quotes, ", dQuote(name, FALSE))
  no_such_column("formula", name, columns)
}

# Is this name one side of a comparison?
compares <- function(e, name) {
  if (!is.call(e)) return(FALSE)
  sides <- as.list(e)[-1L]
  (is.name(e[[1L]]) && as.character(e[[1L]]) %in% COMPARISONS && any(vapply(sides, identical, NA, name))) ||
    any(vapply(sides, compares, NA, name))
}

no_such_column <- function(argument, name, columns) {
  near <- nearest(name, columns)
  refuse(argument, ": there is no column ", sQuote(name, FALSE), " in the data",
         if (length(near)) paste0("; did you mean ", listed(near, "or"), "?")
         else paste0(", which have ", listed(columns)))
}

# The names at the smallest edit distance: at most two changes, and not of all letters.
nearest <- function(name, known) {
  distance <- utils::adist(name, known, ignore.case = TRUE)[1L, ]
  most <- min(2L, nchar(name) - 1L)
  known[distance <= most & distance == min(distance, most)]
}

# No more names than a reader can take in.
listed <- function(names, last = "and", most = 12L) {
  more <- length(names) - most
  quoted <- sQuote(utils::head(names, most), FALSE)
  if (more > 0L) return(paste0(paste(quoted, collapse = ", "), " and ", more, " more"))
  if (length(quoted) < 2L) return(quoted)
  paste(paste(quoted[-length(quoted)], collapse = ", "), last, quoted[length(quoted)])
}

# R's message for a formula that cannot be evaluated with any records.
in_formula <- function(expression)
  tryCatch(expression, error = function(e)
    refuse("formula: ", sub("^formula: ", "", conditionMessage(e))))

no_rows <- function(x) if (length(dim(x)) == 2L) x[0L, , drop = FALSE] else x[0L]

check_levels <- function(levels, data) {
  if (is.null(levels)) return(invisible())
  if (!is.list(levels) || is.null(names(levels)))
    refuse("levels must be a list with names, such as levels = list(sex = c(\"f\", \"m\")), not ", described(levels))
  for (name in names(levels)) {
    if (!name %in% names(data)) no_such_column("levels", name, names(data))
    if (!is.atomic(levels[[name]]) || length(levels[[name]]) < 2L || anyNA(levels[[name]]) ||
        anyDuplicated(levels[[name]]))
      refuse("levels: ", sQuote(name, FALSE),
             " needs at least two levels, all different, and none NA")
    odd <- if (is.numeric(data[[name]])) is.na(suppressWarnings(as.numeric(as.character(levels[[name]]))))
    if (any(odd))
      refuse("levels: ", sQuote(name, FALSE), " is a column of numbers, and ", described(levels[[name]][odd][1L]),
             " is not a number; write levels = list(", name, " = c(0, 1)), or leave it out")
  }
}

# The stored part of a column: levels, type, and units of measurement.
source_of <- function(kind, x)
  list(kind = kind$name, levels = kind$levels, width = ncol(x), names = colnames(x),
       units = if (kind$name == "span") attr(x, "units"))

check_variable <- function(x, name) {
  shown <- sQuote(name, FALSE)
  if (is.character(x))
    refuse("column ", shown, " is text, and its levels must not be read from the data; write ",
           "factor(", name, ", levels = c(\"first\", \"second\", ...)) in the formula",
           if (make.names(name) == name) paste0(", or add levels = list(", name, " = c(...)) to the call"))
  if (is.factor(x) && nlevels(x) < 2L)
    refuse("column ", shown, " needs at least two levels, not ", nlevels(x))
  if (!(is.numeric(x) || is.factor(x) || is.logical(x) || inherits(x, c("Date", "POSIXct", "difftime"))))
    refuse_column(x, name)
}

check_response <- function(y, name) {
  if (!is.factor(y) && !is.character(y) && !length(dim(y))) return(invisible())
  # glm() calls a factor's first level a failure.
  level <- if (is.factor(y) && nlevels(y)) levels(y)[nlevels(y)] else "level"
  refuse("formula: the response must be one numeric column",
         if (!length(dim(y))) paste0("; for ", if (is.factor(y)) "a factor" else "text", " write I(", name, " == \"",
                                     level, "\")"),
         if (is.factor(y) && nlevels(y) > 2L) ", or fit all levels with dp_ordinal() or dp_multinomial()")
}

#' Evaluate the variables of a formula on columns
#'
#' @param design Its `terms` and `source`.
#' @param columns A list of columns.
#' @param n The number of rows.
#' @return A model frame: a data frame with the terms.
#' @noRd
model_variables <- function(design, columns, n) {
  for (name in intersect(names(columns), names(design$source))) {
    source <- design$source[[name]]
    columns[[name]] <- canonical(columns[[name]], bare_kind(columns[[name]]))
    levels <- source$levels
    # If the levels are the same codes need no change, which saves most of the time.
    if (!is.null(levels) && !identical(base::levels(columns[[name]]), levels))
      columns[[name]] <- structure(level_places(columns[[name]], levels), levels = levels,
                                   class = KIND_CLASSES[[source$kind]])
  }
  variables <- as.list(attr(design$terms, "variables"))[-1L]
  rows <- row_environment()
  # Warnings would depend on the records: NaNs produced, NAs introduced.
  values <- suppressWarnings(lapply(evaluated_calls(design$terms), function(v)
    eval(unqualified(v), columns, rows)))
  structure(values, names = vapply(variables, deparsed, ""), terms = design$terms,
            class = "data.frame", row.names = .set_row_names(n))
}

# The expressions evaluated for the variables of a formula, with the intervals of bases.
evaluated_calls <- function(terms) {
  as.list(attr(terms, "predvars") %||% attr(terms, "variables"))[-1L]
}

deparsed <- function(e, ...) paste(deparse(e, width.cutoff = 500L, ...), collapse = " ")

# splines::ns(x) is our ns(x).
unqualified <- function(e) {
  if (!is.call(e)) return(e)
  if (identical(e[[1L]], as.name("::"))) return(e[[3L]])
  as.call(lapply(e, unqualified))
}

model_rows <- function(design, frame) {
  terms <- design$terms
  # The terms left by delete.response() are enough for the matrix of new rows.
  attr(frame, "terms") <- terms
  stats::model.matrix(terms, frame, contrasts.arg = design$contrasts)
}

# All columns of the model matrix but the intercept, or those that a selection kept.
regressor_names <- function(design)
  design$kept %||% setdiff(design$names, "(Intercept)")

#' The columns of the model matrix, one vector each
#' @noRd
model_columns <- function(design, frame) {
  keep <- match(regressor_names(design), design$names)
  plain <- vapply(design$frame, function(x) is.numeric(x) && is.null(dim(x)), NA)
  factors <- attr(design$terms, "factors")
  regressors <- if (length(factors)) which(rowSums(factors) > 0)
  if (all(plain[regressors])) {
    # Products of numeric columns need no matrix.
    return(lapply(design$assign[keep], function(term) {
      at <- names(frame)[factors[, term] > 0]
      Reduce(`*`, lapply(at, function(v) as.double(frame[[v]])))
    }))
  }
  X <- model_rows(design, frame)
  lapply(keep, function(j) as.double(X[, j]))
}

# Limits of the columns made of declared levels alone: those of the coding.
level_ranges <- function(design, largest_grid = 10000L) {
  frame <- design$frame
  coded <- vapply(frame, function(x) is.factor(x) || is.logical(x), NA)
  factors <- attr(design$terms, "factors")
  found <- list()
  for (term in seq_len(if (length(factors)) ncol(factors) else 0L)) {
    at <- names(frame)[factors[, term] > 0]
    sets <- lapply(frame[at], level_set)
    if (!all(coded[at]) || prod(lengths(sets)) > largest_grid) next
    grid <- expand.grid(sets, KEEP.OUT.ATTRS = FALSE)
    n <- nrow(grid)
    full <- lapply(stats::setNames(names(frame), names(frame)), function(v)
      if (v %in% at) grid[[v]] else filled(frame[[v]], n))
    X <- model_rows(design, structure(full, class = "data.frame", row.names = .set_row_names(n)))
    for (j in which(design$assign == term)) found[[colnames(X)[j]]] <- range(X[, j])
  }
  found[vapply(found, function(r) r[1L] < r[2L], NA)]
}

level_set <- function(x) {
  if (is.logical(x)) return(c(FALSE, TRUE))
  set <- factor(levels(x), levels(x), ordered = is.ordered(x))
  attr(set, "contrasts") <- attr(x, "contrasts")
  set
}

# Any values of the type of x, n of them.
filled <- function(x, n) {
  if (is.factor(x)) return(level_set(x)[rep_len(1L, n)])
  if (length(dim(x))) return(matrix(1, n, ncol(x), dimnames = list(NULL, colnames(x))))
  rep_len(if (is.logical(x)) TRUE else 1, n)
}

# The columns of the model matrix that each term makes.
columns_by_term <- function(design) {
  labels <- attr(design$terms, "term.labels")
  columns <- design$names != "(Intercept)"
  made_by <- factor(labels[design$assign[columns]], labels)
  lapply(split(design$names[columns], made_by, drop = TRUE), as.list)
}
