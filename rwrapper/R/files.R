# Data in files: Python reads them block by block and passes each block to R's formula.

# Paths in place of a data frame become a data frame without rows, which is all that the public side
# of a call may see.
data_of <- function(data) {
  # Text cells of a matrix are not paths, and no message shows one.
  if (!is.character(data) || is.matrix(data)) return(check_data(data))
  if (!length(data) || anyNA(data) || !all(nzchar(data)))
    refuse("data: write the path of a Parquet file, of a folder of them, or a pattern such as ",
           "\"sales/*.parquet\"")
  paths <- as.list(enc2utf8(vapply(data, absolute, "", USE.NAMES = FALSE)))
  kinds <- call_python("columns", list(paths = paths))
  # A list is refused by the code that needs the column.
  column <- function(kind) if (kind == "other") list() else empty_column(list(kind = kind, units = "secs"))
  structure(lapply(kinds, column), class = c("dp_files", "data.frame"), row.names = integer(),
            paths = paths)
}

check_data <- function(data) {
  if (is.data.frame(data)) return(data)
  if (inherits(data, "formula"))
    refuse("formula and data are in the wrong order; write the formula first, then the data")
  refuse("data: a data frame, or the path of Parquet files, is needed, not an object of class ",
         class(data)[1L],
         if (inherits(data, "dp_moments")) "; moments_lm() fits models from moments"
         else if (inherits(data, "lm")) "; give the data frame of that fit"
         else if (inherits(data, "ArrowObject")) "; write as.data.frame(data), or the paths of its files"
         else if (inherits(data, "tbl_lazy"))
           "; write as.data.frame(data), or let the database write Parquet files and give their path"
         else if (is.matrix(data) || is.list(data)) "; write as.data.frame(data)")
}

#' What is sent to Python when the data are in files
#' @noRd
sent_files <- function(design, data)
  list(paths = attr(data, "paths"), columns = as.list(names(design$source)),
       rows = function(block) packed_block(design, block))

# Called by Python for each block of rows.
packed_block <- function(design, block) {
  columns <- Map(block_column, block$columns, design$source)
  packed_rows(design, columns, as.integer(block$rows))
}

block_column <- function(packed, source) {
  if (!is.null(packed$places)) {
    places <- readBin(packed$places, "integer", length(packed$places) %/% 4L, endian = "little")
    return(c(NA, as.character(unlist(packed$entries)))[places + 1L])
  }
  x <- readBin(packed$doubles, "double", length(packed$doubles) %/% 8L, endian = "little")
  timed(replace(x, is.nan(x), NA), source)
}
