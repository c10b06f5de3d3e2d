# Values passed to Python and back: scalars stay scalars, longer vectors become lists.

as_sent <- function(x) {
  if (is.list(x)) return(lapply(x, as_sent))
  if (length(x) > 1L || !is.null(names(x))) return(lapply(as.list(x), as_sent))
  x
}

# An argument that is one value, or options. For anything else only its type is sent, for Python to
# refuse it: NA would become TRUE.
one_sent <- function(x) {
  if (is.null(x)) return(NULL)
  if (inherits(x, "dp_options")) return(list(kind = x$kind, options = lapply(x$options, option_sent)))
  plain <- is_text(x) || isTRUE(x) || isFALSE(x) || (is.numeric(x) && length(x) == 1L && is.finite(x))
  if (plain && !is.object(x)) unname(x) else list(described = described(x))
}

# Some options consist of several names.
option_sent <- function(x) if (is.character(x) && length(x) > 1L && !anyNA(x)) as.list(x) else one_sent(x)

# Numbers of an answer in their original shape; values that were not released are NA. A list without
# names contains texts, and may be empty.
unpacked <- function(value) {
  if (identical(names(value), c("doubles", "dim"))) value <- unpack_doubles(value)
  if (is.double(value)) return(replace(value, is.nan(value), NA))
  if (!is.list(value)) return(value)
  if (is.null(names(value)) && all(vapply(value, is.character, NA))) return(as.character(unlist(value)))
  lapply(value, unpacked)
}

unpack_doubles <- function(packed) {
  dim <- as.integer(unlist(packed$dim))
  values <- readBin(packed$doubles, "double", prod(dim), endian = "little")
  if (length(dim) > 1L) dim(values) <- dim
  values
}

# Errors of Python come as values; here they become conditions with a class.
call_python <- function(name, request) {
  answer <- python_backend()(name, request)
  if (is.null(answer$error)) return(unpacked(answer$value))
  dpreg_stop(answer$error$kind, answer$error$message)
}

# Post-processing of a release, from its JSON.
answer_of <- function(x, what, ...) call_python("answer", list(json = x$json, what = what, ...))

# A release may take long: in an interactive session a line on stderr shows its progress.
call_release <- function(name, request, ask = call_python) {
  if (!isTRUE(getOption("dpreg.progress", interactive()))) return(ask(name, request))
  width <- 0L
  over <- function(line) cat("\r", formatC(line, width = -width), sep = "", file = stderr())
  request$progress <- function(text) {
    line <- paste("dpreg:", text)
    over(line)
    width <<- nchar(line)
    NULL
  }
  on.exit(if (width > 0L) {
    over("")
    cat("\r", file = stderr())
  })
  ask(name, request)
}

# Every refusal is a condition of class "dpreg_error" and of a class for its kind.

dpreg_stop <- function(kind, ...) {
  message <- paste0(...)
  stop(structure(class = c(paste0("dpreg_", kind), "dpreg_error", "error", "condition"),
                 list(message = message, call = NULL)))
}

# Wrong use.
refuse <- function(...) dpreg_stop("usage", ...)

refuse_term <- function(term, why, instead) {
  refuse("formula: the term '", paste(deparse(term, width.cutoff = 500L), collapse = " "),
         "' cannot be used: ", why, "; ", instead)
}

# Requests that need the records, or numbers that were not released.
private_stop <- function(what, instead = NULL) {
  dpreg_stop("private", what, " is not available: it would be a function of the private records, ",
             "and the fit holds released numbers only", if (!is.null(instead)) "; ", instead)
}

not_released <- function(what)
  paste0(what, ": the mechanism did not release a model; print the object to see why, or test ",
         "inherits(fit, \"dp_not_released\")")

not_released_stop <- function(what) dpreg_stop("not_released", not_released(what))
