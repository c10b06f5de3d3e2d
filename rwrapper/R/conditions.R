# Every refusal is a condition of class "dpreg_error", beside one that says of which kind.

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

# What would need the records, or numbers that were not released.
private_stop <- function(what, instead = NULL) {
  dpreg_stop("private", what, " is not available: it would be a function of the private records, ",
             "and the fit holds released numbers only", if (!is.null(instead)) "; ", instead)
}

not_released <- function(what)
  paste0(what, ": the mechanism did not release a model; print the object to see why, or test ",
         "inherits(fit, \"dp_not_released\")")

not_released_stop <- function(what) dpreg_stop("not_released", not_released(what))
