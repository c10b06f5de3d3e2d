# Makes data/diamonds.rda from the data of the Python package, which are those of ggplot2 (MIT).
# Run in the folder of the R package, with dpreg in Python.
read_column <- function(column) {
  if (is.null(column$codes)) return(unpack(column$values))
  factor(column$levels[unpack(column$codes)], column$levels, ordered = column$ordered)
}
unpack <- function(packed) readBin(packed$doubles, "double", packed$dim[[1L]], endian = "little")

bridge <- reticulate::import("dpreg.faces.bridge.call")
diamonds <- as.data.frame(lapply(bridge$call("diamonds", list())$value, read_column))
diamonds$price <- as.integer(diamonds$price)
save(diamonds, file = "data/diamonds.rda", compress = "xz", version = 2)
