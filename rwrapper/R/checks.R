# Checks of the data, and of arguments used in R. Python checks all others (see one_sent()).

needs_data <- function(missing, formula) {
  if (is.data.frame(formula))
    refuse("formula and data are in the wrong order; write the formula first, then the data")
  if (missing) refuse("data must be given: a data frame, or the path of Parquet files")
}

check_number <- function(x, name, example) {
  if (is.numeric(x) && length(x) == 1L && is.finite(x)) return(invisible())
  refuse(name, " must be one number, such as ", name, " = ", example, ", not ", described(x))
}

# As in R 4.4.
`%||%` <- function(x, y) if (is.null(x)) y else x

without_nulls <- function(x) Filter(Negate(is.null), x)

is_text <- function(x) is.character(x) && length(x) == 1L && !is.na(x)

check_text <- function(x, name, example) {
  if (is.null(x) || is_text(x)) return(invisible())
  refuse(name, " must be one string, such as ", name, " = ", example, ", not ", described(x))
}

# unit = pid, as in other packages: `pid` is not a variable, or not text.
check_quoted <- function(argument, typed, frame, columns) {
  name <- typed[[argument]]
  if (!is.name(name)) return(invisible())
  text <- as.character(name)
  found <- tryCatch(get(argument, frame), error = identity)
  meant <- is.null(found) || is.character(found) || inherits(found, "dp_options")
  if (inherits(found, "error") || (text %in% columns && !meant))
    refuse(argument, " must be in quotes; write ", argument, " = \"", text, "\"")
}

# Like match.arg(), with a message that lists the choices.
one_of <- function(x) {
  name <- deparse(substitute(x))
  choices <- eval(formals(sys.function(sys.parent()))[[name]], parent.frame())
  if (identical(x, choices)) return(choices[1L])
  at <- if (is_text(x)) pmatch(x, choices) else NA
  if (!is.na(at)) return(choices[at])
  quoted <- dQuote(choices, FALSE)
  last <- length(quoted)
  refuse(name, " must be ", paste(quoted[-last], collapse = ", "), " or ", quoted[last], ", not ", described(x))
}

check_flag <- function(x, name) {
  if (is.logical(x) && length(x) == 1L && !is.na(x)) return(invisible())
  refuse(name, " must be TRUE or FALSE, not ", described(x))
}

check_bounds <- function(bounds) {
  if (is.null(bounds)) return(invisible())
  pair <- function(b) is.numeric(b) && length(b) == 2L && !anyNA(b)
  named <- is.list(bounds) && length(bounds) && !is.null(names(bounds)) && all(nzchar(names(bounds)))
  if (!named)
    refuse("bounds must be a list with names, such as bounds = list(carat = c(0, 6)), not ",
           described(bounds))
  odd <- names(bounds)[!vapply(bounds, pair, NA)]
  if (length(odd))
    refuse("bounds: ", sQuote(odd[1L], FALSE), " needs a low and a high number, such as bounds = list(",
           odd[1L],
           " = c(0, 6)), not ", described(bounds[[odd[1L]]]))
  again <- names(bounds)[duplicated(names(bounds))]
  if (length(again)) refuse("bounds: ", sQuote(again[1L], FALSE), " is given twice")
}

described <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function; call it")
  if (is.atomic(x) && length(x) == 1L) return(deparsed(unname(x)))
  # A long vector may be a column, whose length is the number of records.
  long <- length(x) > 30L
  if (is.atomic(x)) return(if (long) "a long vector" else paste("a vector of length", length(x)))
  if (identical(class(x), "list")) return(if (long) "a long list" else paste("a list of", length(x)))
  paste("an object of class", class(x)[1L])
}

check_unit <- function(unit, data) {
  if (is.null(unit)) return(invisible())
  if (!is_text(unit))
    refuse("unit must be the name of one column, such as unit = \"person\", not ", described(unit))
  if (!unit %in% names(data)) no_such_column("unit", unit, names(data))
  x <- data[[unit]]
  # Without its package an integer64 is read as doubles, in which distinct numbers may be equal.
  if (!is.atomic(x) || length(dim(x)) > 1L || inherits(x, "integer64") ||
      is.complex(x) || is.raw(x))
    refuse("unit: column ", sQuote(unit, FALSE), " of class ", class(x)[1L],
           " does not name units; ",
           "make text or a factor of it, such as data$", unit, " <- as.character(data$", unit, ")")
}

# Arguments in `...` would be ignored.
no_more <- function(what, hints, ...) {
  given <- as.list(substitute(list(...)))[-1L]
  if (!length(given)) return(invisible())
  name <- names(given)[1L] %||% ""
  if (!nzchar(name)) refuse(what, " has too many arguments: what is ", deparsed(given[[1L]]), "?")
  refuse(what, " has no argument ", sQuote(name, FALSE),
         if (name %in% names(hints)) paste0(": ", hints[[name]]) else near_argument(what, name))
}

# The arguments of one of our own functions.
near_argument <- function(what, name) {
  own <- sub("()", "", what, fixed = TRUE)
  f <- if (grepl("^dp_|^[A-Z]", own)) get0(own, topenv(), mode = "function")
  if (is.null(f)) return(NULL)
  known <- setdiff(names(formals(f)), "...")
  near <- nearest(name, known[nchar(known) > 3L])
  if (length(near)) paste0("; did you mean ", listed(near, "or"), "?") else paste0("; ?", own, " has its arguments")
}

BUDGET_HINTS <- c(epsilon = "write eps = 1", path = "write ledger = \"path\"",
                  file = "write ledger = \"path\"", seed = "nothing is drawn here")

LM_HINTS <- c(
  subset = "select rows before the call, each by its own values: data = subset(data, ...)",
  na.action = "incomplete rows are always dropped, one by one",
  contrasts = "write C(g, contr.sum) in the formula, or set contrasts(data$g) before the call",
  offset = "write it into the formula: y ~ z + offset(x)",
  family = "dp_glm() has families", epsilon = "write eps = 1", seed = "write rng = 1",
  ledger = "write budget = dp_budget(eps, delta, ledger = \"path\")",
  cluster = "write unit = \"id\"", clusters = "write unit = \"id\"",
  robust = "standard errors are robust already", vcov = "standard errors are robust already",
  alpha = "confint(fit, level = 0.95) takes the level",
  level = "confint(fit, level = 0.95) takes the level"
)
