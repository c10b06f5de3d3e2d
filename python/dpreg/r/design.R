# From a formula and a data frame to columns of numbers, as model.matrix() makes them, with
# nothing learned from the records: levels, names and contrasts come from a frame without rows.

#' The public side of a regression problem
#'
#' @param formula A formula.
#' @param data A data frame; only its columns' names, types and levels are looked at.
#' @param levels `list(column = levels)` for columns whose type does not declare them.
#' @return A list: terms, source (name, levels and order of each column), frame (the model
#'   frame without rows), contrasts, names of the columns of the model matrix, and ranges.
#' @noRd
design_of <- function(formula, data, levels = NULL) {
  if (!is.data.frame(data))
    refuse("data: a data frame is needed, not an object of class ", class(data)[1L])
  terms <- check_formula(formula, names(data))
  check_levels(levels, names(data))
  mentioned <- all.vars(attr(terms, "variables"))
  unknown <- setdiff(mentioned, c(names(data), CONSTANT_NAMES, CONTRASTS))
  if (length(unknown))
    refuse("formula: there is no column ", sQuote(unknown[1L], FALSE), " in the data, which have ",
           paste(sQuote(names(data), FALSE), collapse = ", "))
  used <- intersect(mentioned, names(data))
  columns <- unclass(data)[used]
  kinds <- lapply(stats::setNames(used, used), function(name)
    column_kind(columns[[name]], name, levels[[name]]))
  check_variables(terms, kinds)
  empty <- lapply(columns, no_rows)
  design <- list(terms = terms, source = Map(source_of, kinds, empty))
  design$frame <- in_formula(model_variables(design, empty, 0L))
  for (name in names(design$frame)) check_variable(design$frame[[name]], name)
  check_response(design$frame[[1L]])
  X <- in_formula(model_rows(design, design$frame))
  design$contrasts <- attr(X, "contrasts")
  design$assign <- attr(X, "assign")
  design$names <- colnames(X)
  design$ranges <- level_ranges(design)
  design
}

# What R says of a formula that cannot be evaluated, whatever the records.
in_formula <- function(expression)
  tryCatch(expression, error = function(e)
    refuse("formula: ", sub("^formula: ", "", conditionMessage(e))))

no_rows <- function(x) if (length(dim(x)) == 2L) x[0L, , drop = FALSE] else x[0L]

check_levels <- function(levels, columns) {
  if (is.null(levels)) return(invisible())
  if (!is.list(levels) || is.null(names(levels)))
    refuse("levels: write list(column = c(\"first\", \"second\"))")
  for (name in names(levels)) {
    if (!name %in% columns) refuse("levels: there is no column ", sQuote(name, FALSE))
    if (!is.atomic(levels[[name]]) || length(levels[[name]]) < 2L || anyNA(levels[[name]]) ||
        anyDuplicated(levels[[name]]))
      refuse("levels: ", sQuote(name, FALSE),
             " needs at least two levels, all different, and none NA")
  }
}

# What is kept of a column: levels, what the type says, and how the records were measured.
source_of <- function(kind, x)
  list(kind = kind$name, levels = kind$levels, width = ncol(x),
       units = if (kind$name == "span") attr(x, "units"))

check_variable <- function(x, name) {
  shown <- sQuote(name, FALSE)
  if (is.character(x))
    refuse("column ", shown, " is text, and its levels must not be read from the data; write ",
           "factor(", name, ", levels = c(\"first\", \"second\", ...)) in the formula, or add ",
           "levels = list(", name, " = c(...)) to the call")
  if (is.factor(x) && nlevels(x) < 2L)
    refuse("column ", shown, " needs at least two levels, not ", nlevels(x))
  if (!(is.numeric(x) || is.factor(x) || is.logical(x) || inherits(x, c("Date", "POSIXct", "difftime"))))
    refuse("column ", shown, " of class ", class(x)[1L], " is neither numeric nor a factor; ",
           "convert it before the call")
}

check_response <- function(y) {
  if (is.factor(y) || length(dim(y)))
    refuse("formula: the response must be one numeric column")
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
    # Unclassed codes are left alone when the levels are the same: this is most of the time.
    if (!is.null(levels) && !identical(base::levels(columns[[name]]), levels))
      columns[[name]] <- factor(as.character(columns[[name]]), levels,
                                ordered = source$kind == "ordered")
  }
  variables <- as.list(attr(design$terms, "variables"))[-1L]
  rows <- row_environment()
  # Warnings would depend on the records: NaNs produced, NAs introduced.
  values <- suppressWarnings(lapply(variables, function(v) eval(unqualified(v), columns, rows)))
  structure(values, names = vapply(variables, deparsed, ""), terms = design$terms,
            class = "data.frame", row.names = .set_row_names(n))
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
  # What delete.response() leaves of the terms is enough for the matrix of new rows.
  attr(frame, "terms") <- terms
  stats::model.matrix(terms, frame, contrasts.arg = design$contrasts)
}

#' The columns of the model matrix, one vector each
#' @noRd
model_columns <- function(design, frame) {
  keep <- which(design$names != "(Intercept)")
  plain <- vapply(design$frame, function(x) is.numeric(x) && is.null(dim(x)), NA)
  factors <- attr(design$terms, "factors")
  regressors <- if (length(factors)) which(rowSums(factors) > 0)
  if (all(plain[regressors])) {
    # Products of numeric columns: no need for a matrix beside them.
    return(lapply(design$assign[keep], function(term) {
      at <- names(frame)[factors[, term] > 0]
      Reduce(`*`, lapply(at, function(v) as.double(frame[[v]])))
    }))
  }
  X <- model_rows(design, frame)
  lapply(keep, function(j) as.double(X[, j]))
}

# Limits of the columns that are made of declared levels alone: those of the coding.
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

#' What is sent to Python: public names and ranges, and a function that reads the records
#' @noRd
sent_design <- function(design, data, unit) {
  sent <- list(
    response = names(design$frame)[1L],
    names = as.list(setdiff(design$names, "(Intercept)")),
    intercept = "(Intercept)" %in% design$names,
    ranges = lapply(design$ranges, as.list),
    read = function() packed_records(design, data, unit)
  )
  sent$unit <- unit
  sent
}

# Called by Python when the budget has been charged.
packed_records <- function(design, data, unit) {
  columns <- unclass(data)[names(design$source)]
  frame <- model_variables(design, columns, .row_names_info(data, 2L))
  y <- as.double(frame[[1L]])
  # A row is complete when each value that it is made of is there, whatever becomes of it.
  for (name in setdiff(names(columns), seen_as_they_are(design)))
    y[!present(columns[[name]])] <- NA
  packed <- list(columns = lapply(model_columns(design, frame), pack_doubles), y = pack_doubles(y))
  if (!is.null(unit)) packed$labels <- pack_labels(data[[unit]])
  packed
}

# Numeric columns that are columns of the model matrix too: Python will see what they lack.
seen_as_they_are <- function(design) {
  plain <- vapply(design$frame, function(x) is.numeric(x) && is.null(dim(x)), NA)
  intersect(names(design$frame)[plain], c(names(design$frame)[1L], attr(design$terms, "term.labels")))
}

present <- function(x) {
  usable <- if (is.numeric(x)) is.finite(x) else !is.na(x)
  if (length(dim(x)) == 2L) rowSums(!usable) == 0 else usable
}

pack_doubles <- function(x) writeBin(as.vector(x), raw(), endian = "little")

# Units numbered in the order in which they come; -1 where the unit is missing.
pack_labels <- function(x) {
  # Numbers of days, seconds or levels; as text, date-times would lose fractions of a second.
  x <- as.vector(unclass(x))
  if (is.character(x)) x <- comparable_text(x)
  known <- unique(x[!is.na(x)])
  writeBin(match(x, known, nomatch = 0L) - 1L, raw(), endian = "little")
}

#' The model matrix of new rows
#' @noRd
new_rows <- function(object, newdata) {
  if (is.null(object$terms))
    stop("this fit was made in Python from a formula that R cannot read; predict there",
         call. = FALSE)
  if (!is.data.frame(newdata)) stop("newdata must be a data frame", call. = FALSE)
  terms <- stats::delete.response(object$terms)
  needed <- regressors_of(object)
  missing <- setdiff(needed, names(newdata))
  if (length(missing))
    stop("newdata has no column ", paste(sQuote(missing, FALSE), collapse = ", "), call. = FALSE)
  columns <- unclass(newdata)[needed]
  for (name in needed) columns[[name]] <- new_column(columns[[name]], object$source[[name]], name)
  design <- list(terms = terms, source = object$source, contrasts = object$contrasts)
  X <- model_rows(design, model_variables(design, columns, .row_names_info(newdata, 2L)))
  X[, names(object$coefficients), drop = FALSE]
}

# Not all names in a formula are columns: C(g, contr.sum), I(x * pi).
regressors_of <- function(object)
  intersect(all.vars(attr(stats::delete.response(object$terms), "variables")), names(object$source))

# A column of the kind that it had in the fit, or a refusal.
new_column <- function(x, source, name) {
  shown <- sQuote(name, FALSE)
  wrong <- function(...) stop("newdata: column ", shown, " ", ..., call. = FALSE)
  if (!is.null(source$levels)) {
    odd <- setdiff(as.character(unique(x)), c(source$levels, NA))
    if (length(odd)) wrong("has the new level ", paste(sQuote(odd, FALSE), collapse = ", "))
    return(x)
  }
  found <- bare_kind(x)
  # NA alone is logical.
  if (identical(found, "logical") && all(is.na(x)) && source$kind %in% c("number", "text"))
    return(if (source$kind == "text") as.character(x) else as.numeric(x))
  if (source$kind == "text" && found %in% c("factor", "ordered")) return(as.character(x))
  if (!identical(found, source$kind))
    wrong("was ", in_words(source$kind), " in the fit, and is ",
          if (is.na(found)) paste("of class", class(x)[1L]) else in_words(found), " here")
  if (source$kind == "matrix" && ncol(x) != source$width)
    wrong("had ", source$width, " columns in the fit, and has ", ncol(x))
  if (source$kind == "span") units(x) <- source$units
  x
}

in_words <- function(kind) {
  switch(kind, number = "numeric", factor = "a factor", ordered = "an ordered factor",
         date = "a date",
         time = "a date-time", span = "a difftime", matrix = "a matrix", kind)
}

# Beyond the limits of the fit nothing was learned: values are moved to them.  The response has the
# last ones.
winsorised <- function(X, limits) {
  if (is.null(limits)) return(X)
  slopes <- which(colnames(X) != "(Intercept)")
  for (i in seq_along(slopes)) X[, slopes[i]] <- within_limits(X[, slopes[i]], limits[i, ])
  X
}

# Unknown limits are NaN.
within_limits <- function(x, limits) {
  if (!is.na(limits[1L])) x[] <- pmax(x, limits[1L])
  if (!is.na(limits[2L])) x[] <- pmin(x, limits[2L])
  x
}

# Predictions where the response lies.
response_within <- function(value, limits) {
  if (is.null(limits)) return(value)
  kept <- within_limits(value, limits[nrow(limits), ])
  if (any(kept != value, na.rm = TRUE))
    warning("predictions beyond the limits of the response ", as_they_are(), call. = FALSE)
  kept
}

warn_of_moved <- function(X, moved) {
  odd <- colnames(X)[colSums(X != moved, na.rm = TRUE) > 0]
  if (length(odd))
    warning("newdata: values of ", paste(sQuote(odd, FALSE), collapse = ", "),
            " beyond the limits of the fit ", as_they_are(), call. = FALSE)
}

as_they_are <- function() "were moved to them; winsorise = FALSE leaves them as they are"
