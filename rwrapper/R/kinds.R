# The kind of a column for the terms of a formula: determined by its class and levels, which are
# public, never by its values.

# Classes of plain vectors; labelled ones are read as in lm().
PLAIN_CLASSES <- c("AsIs", "numeric", "integer", "labelled", "haven_labelled",
                   "vctrs_vctr", "double", "character")

kind <- function(name, levels = NULL, constant = FALSE, value = NULL)
  list(name = name, levels = levels, constant = constant, value = value)

#' The kind of a column, or a refusal
#'
#' @return A list; its `name` is "number", "logical", "factor", "ordered", "text", "date", "time"
#'   (POSIXct), "span" (difftime), or "matrix". Terms may also be of the kind "label": text made of dates.
#' @noRd
column_kind <- function(x, name, levels = NULL) {
  found <- bare_kind(x)
  shown <- sQuote(name, FALSE)
  if (is.na(found)) refuse_column(x, name)
  if (anyNA(base::levels(x)))
    refuse("column ", shown, " has NA among its levels, as addNA() makes it; give the missing a ",
           "level of their own: levels(data$", name, ")[is.na(levels(data$", name, "))] <- \"missing\"")
  if (is.null(levels)) return(kind(found, base::levels(x)))
  if (!found %in% c("number", "logical", "factor", "ordered", "text"))
    refuse("levels: column ", shown, " of class ", class(x)[1L], " cannot have levels; ",
           "make a factor of it before the call")
  kind(if (found == "ordered") found else "factor", as.character(levels))
}

bare_kind <- function(x) {
  if (isS4(x) || !is.atomic(x) || is.null(x)) return(NA)
  if (length(dim(x)) == 2L) {
    plain <- is.numeric(x) && !is.factor(x) &&
      !inherits(x, c("Date", "POSIXct", "difftime", "integer64"))
    return(if (plain) "matrix" else NA)
  }
  if (length(dim(x)) > 2L) return(NA)
  if (is.factor(x)) return(if (typeof(x) != "integer") NA
                           else if (is.ordered(x)) "ordered" else "factor")
  if (inherits(x, c("POSIXct", "Date", "difftime"))) {
    if (!typeof(x) %in% c("double", "integer")) return(NA)
    return(if (inherits(x, "POSIXct")) "time" else if (inherits(x, "Date")) "date" else "span")
  }
  if (!all(oldClass(x) %in% PLAIN_CLASSES)) return(NA)
  switch(typeof(x), double = , integer = "number", logical = "logical", character = "text", NA)
}

refuse_column <- function(x, name) {
  shown <- sQuote(name, FALSE)
  # Without its package it would be misread as doubles.
  if (inherits(x, "integer64"))
    refuse("column ", shown, " is of class integer64, which R's own arithmetic does ",
           "not know; write data$", name, " <- as.double(data$", name, ") before the call")
  if (inherits(x, "POSIXlt"))
    refuse("column ", shown, " is of class POSIXlt, a list; write data$", name,
           " <- as.POSIXct(data$", name, ") before the call")
  # As numbers they would be valid values.
  if (inherits(x, "haven_labelled_spss"))
    refuse("column ", shown, " has values that SPSS takes as missing; write data$", name,
           " <- haven::zap_missing(data$", name, ") before the call")
  refuse("column ", shown, " of class ", class(x)[1L], " is neither numeric nor a factor; ",
         "convert it before the call",
         if (is.numeric(x)) paste0(": data$", name, " <- as.numeric(data$", name, ")"))
}

# Kinds, as messages name them.
KIND_WORDS <- c(number = "a number", logical = "TRUE or FALSE", factor = "a factor", ordered = "an ordered factor",
                text = "text", label = "text", date = "a date", time = "a date-time", span = "a difftime",
                matrix = "a matrix")

KIND_CLASSES <- list(factor = "factor", ordered = c("ordered", "factor"), date = "Date",
                     time = c("POSIXct", "POSIXt"), span = "difftime")

#' A column with no class but those of R itself
#'
#' Methods of other packages for `+` or `==` might compare rows.
#' @noRd
canonical <- function(x, name) {
  class <- KIND_CLASSES[[name]]
  if (length(dim(x)) == 1L) x <- as.vector(x)
  if (!identical(oldClass(x), class)) oldClass(x) <- class
  if (is.character(x)) comparable_text(x) else if (is.factor(x)) within_levels(x) else x
}

# A manually built factor may have codes without a level, for which model.matrix() would read memory
# beyond its contrasts.
within_levels <- function(x) {
  codes <- unclass(x)
  beyond <- which(codes < 1L | codes > nlevels(x))
  if (length(beyond)) is.na(x) <- beyond
  x
}

# Positions among public levels, which are text. A number has different text as integer and as
# double: 100000 and 1e+05.
level_places <- function(x, levels) {
  if (!is.numeric(x)) return(match(as.character(x), levels))
  number <- function(of) as.character(suppressWarnings(as.double(of)))
  each <- unique(x)
  match(number(each), number(levels), incomparables = NA)[match(x, each)]
}

# A single text of unknown encoding makes comparisons with non-ASCII letters fail.
comparable_text <- function(x) {
  encoding <- Encoding(x)
  unknown <- encoding == "bytes"
  if (any(unknown)) Encoding(x) <- replace(encoding, unknown, "latin1")
  x
}

COMPARISONS <- c("<", "<=", ">", ">=", "==", "!=")

# The kind of the result of an operator on two kinds (one if b is NULL); NULL if refused.
operator_kind <- function(name, a, b) {
  numbers <- c("number", "logical")
  # A matrix of TRUE and FALSE is refused: model.matrix() treats it as a factor.
  matrix <- "matrix" %in% c(a$name, b$name) && name %in% c("+", "-", "*", "/", "^", "%%", "%/%")
  if (is.null(b)) {
    if (name == "(") return(a)
    return(if (matrix || a$name == "span" && name != "!") kind(a$name)
           else if (a$name %in% numbers) kind("number"))
  }
  if (all(c(a$name, b$name) %in% c(numbers, if (matrix) "matrix")))
    return(kind(if (matrix) "matrix" else "number"))
  if (name %in% COMPARISONS)
    return(if (comparable(name, a, b) || comparable(name, b, a)) kind("number"))
  found <- arithmetic_kind(name, a$name, b$name)
  if (!is.null(found)) kind(found)
}

arithmetic_kind <- function(name, a, b) {
  shift <- c("number", "logical", "span")
  if (a %in% c("date", "time") && name %in% c("+", "-") && b %in% shift) return(a)
  if (b %in% c("date", "time") && name == "+" && a %in% shift) return(b)
  # Always in days: R's unit of a difference of times depends on all rows.
  if (a == "date" && b == "date" && name == "-") return("span")
  if (a == "span" && b == "span") return(switch(name, "+" = , "-" = "span"))
  if (a == "span" && b == "number") return(switch(name, "+" = , "-" = , "*" = , "/" = "span"))
  if (a == "number" && b == "span") return(switch(name, "+" = , "*" = "span"))
  NULL
}

comparable <- function(name, a, b) {
  same <- name %in% c("==", "!=")
  switch(a$name,
    date = , time = b$name == a$name || (b$name == "text" && b$constant),
    span = b$name %in% c("span", "number"),
    text = , label = same && b$name %in% c("text", "label"),
    factor = same && matches(a, b),
    ordered = matches(a, b),
    FALSE)
}

# Is b a level of a, or a factor with the levels of a?
matches <- function(a, b) {
  if (b$constant) return(as.character(b$value) %in% a$levels)
  b$name == a$name && identical(b$levels, a$levels)
}
