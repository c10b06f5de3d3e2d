# The public part of a design that is sent, and the packing of its records for Python.

#' What is sent to Python: public names and ranges, and a function that reads the records
#' @noRd
sent_design <- function(design, asked) {
  data <- asked$data
  unit <- asked$given$unit
  weights <- asked$given$weights
  offsets <- offset_names(design$terms)
  sent <- list(
    response = names(design$frame)[1L],
    names = as.list(c(regressor_names(design), offsets)),
    offsets = as.list(offsets),
    intercept = "(Intercept)" %in% design$names,
    ranges = lapply(design$ranges, as.list),
    data_bounds = lapply(attr(design$terms, "bounds"), as.list)
  )
  if (is.null(design$kept)) sent$groups <- columns_by_term(design)
  sent$unit <- unit
  sent$weights <- weights
  c(sent, if (inherits(data, "dp_files")) sent_files(design, data)
          else list(read = function() packed_records(design, data, unit, asked$given$budget$stratum, weights)))
}

# Called by Python when the budget has been charged.
packed_records <- function(design, data, unit, stratum = NULL, weights = NULL) {
  columns <- unclass(data)[names(design$source)]
  packed <- packed_rows(design, columns, .row_names_info(data, 2L))
  if (!is.null(weights)) packed$weights <- pack_doubles(as.double(data[[weights]]))
  if (!is.null(unit)) packed$labels <- pack_labels(data[[unit]])
  if (!is.null(stratum)) packed$strata <- pack_strata(data[[stratum$column]], stratum$levels)
  packed
}

packed_rows <- function(design, columns, n) {
  frame <- model_variables(design, columns, n)
  y <- as.double(frame[[1L]])
  # A row is complete if all variables of the formula are present, even if a term replaces missing
  # values.
  needed <- setdiff(names(columns), c(seen_as_they_are(design), may_be_missing(design$terms)))
  for (name in needed) y[!present(columns[[name]])] <- NA
  offsets <- lapply(frame[offset_names(design$terms)], as.double)
  list(columns = lapply(c(model_columns(design, frame), unname(offsets)), pack_doubles),
       y = pack_doubles(y))
}

# Numeric columns that are also columns of the model matrix: Python finds their missing values.
seen_as_they_are <- function(design) {
  plain <- vapply(design$frame, function(x) is.numeric(x) && is.null(dim(x)), NA)
  intersect(names(design$frame)[plain], c(names(design$frame)[1L], attr(design$terms, "term.labels")))
}

# For columns inside is.na() the formula itself handles missing values.
may_be_missing <- function(terms) {
  inside <- function(e) {
    if (!is.call(e)) return(NULL)
    if (identical(e[[1L]], as.name("is.na"))) return(all.vars(e))
    unlist(lapply(as.list(e)[-1L], inside))
  }
  unique(unlist(lapply(as.list(attr(terms, "variables"))[-1L], inside)))
}

present <- function(x) {
  usable <- if (is.numeric(x)) is.finite(x) else !is.na(x)
  if (length(dim(x)) == 2L) rowSums(!usable) == 0 else usable
}

pack_doubles <- function(x) writeBin(as.vector(x), raw(), endian = "little")

# Units numbered in order of appearance; -1 where the unit is missing.
pack_labels <- function(x) {
  # Numbers of days, seconds or levels; as text, date-times would lose fractions of a second.
  x <- as.vector(unclass(x))
  if (is.character(x)) x <- comparable_text(x)
  known <- unique(x[!is.na(x)])
  writeBin(match(x, known, nomatch = 0L) - 1L, raw(), endian = "little")
}

# Position of each row's level, -1 where it has none.
pack_strata <- function(x, levels) {
  x <- if (is.character(levels)) comparable_text(as.character(x)) else as.numeric(x)
  writeBin(match(x, levels, nomatch = 0L) - 1L, raw(), endian = "little")
}
