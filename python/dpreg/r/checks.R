# Arguments whose mistakes Python would name in its own words, or read as something else: NA
# is TRUE there.

check_number <- function(x, name, example) {
  if (is.numeric(x) && length(x) == 1L && !is.na(x)) return(invisible())
  refuse(name, " must be one number, such as ", name, " = ", example, ", not ", described(x))
}

check_flag <- function(x, name) {
  if (is.logical(x) && length(x) == 1L && !is.na(x)) return(invisible())
  refuse(name, " must be TRUE or FALSE, not ", described(x))
}

check_method <- function(x, name, options = TRUE) {
  if (is.character(x) && length(x) == 1L && !is.na(x)) return(invisible())
  if (options && inherits(x, "dp_options")) return(invisible())
  refuse(name, " must be one name, such as ", name, " = ",
         if (name == "select") "\"kendall\"" else "\"auto\"",
         if (options) ", or what a function of options returns, such as ",
         if (options) if (name == "select") "DPKendall()" else "TukeyEM()",
         ", not ", described(x))
}

described <- function(x) {
  if (is.null(x)) return("NULL")
  if (is.function(x)) return("a function; call it")
  if (is.atomic(x) && length(x) == 1L) return(deparsed(unname(x)))
  if (is.atomic(x)) return(paste("a vector of length", length(x)))
  paste("an object of class", class(x)[1L])
}

check_unit <- function(unit, data) {
  if (is.null(unit)) return(invisible())
  if (!is.character(unit) || length(unit) != 1L || !unit %in% names(data))
    refuse("unit: name one column of the data, such as unit = \"person\"")
}
