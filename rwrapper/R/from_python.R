# Fits made in Python, converted to R objects (dpreg.r).

#' The same object for a fit that was made in Python
#'
#' Terms come with it when R reads the formula the same way: then it can predict here too.
#' @noRd
fit_from_python <- function(answer) {
  formula <- tryCatch(stats::as.formula(answer$formula, globalenv()), error = function(e) NULL)
  alone <- list(formula = formula)
  answer <- unpacked(answer)
  if (!isTRUE(answer$released)) return(new_fit(answer, alone, NULL))
  answer$names <- gsub("\\[T\\.([^]]*)\\]", "\\1", answer$names)
  design <- tryCatch(design_of_schema(formula, answer$schema), error = function(e) alone)
  names <- sub("^Intercept$", "(Intercept)", answer$names)
  # Columns of a basis are numbered.
  numbered <- gsub("\\[([0-9]+)\\]", "\\1", names)
  if (!all(names %in% design$names) && all(numbered %in% design$names)) {
    answer$names <- gsub("\\[([0-9]+)\\]", "\\1", answer$names)
    names <- numbered
  }
  new_fit(answer, if (all(names %in% design$names)) design else alone, NULL)
}

design_of_schema <- function(formula, schema) {
  # As formulaic does for every factor.
  old <- options(contrasts = c("contr.treatment", "contr.treatment"))
  on.exit(options(old))
  bounds <- lapply(without_nulls(lapply(schema, `[[`, "bounds")), unlist)
  design_of(formula, structure(lapply(schema, function(column)
    if (is.null(column$levels)) numeric() else factor(character(), unlist(column$levels))),
    class = "data.frame", row.names = integer()),
    bounds = if (length(bounds)) bounds)
}
