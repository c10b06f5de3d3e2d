# Run the chunks in the folders of a folder, each folder with names of its own.
options(width = 100, digits = 4, cli.num_colors = 1L)

# Letters of a plot stay legible where it is as narrow as a phone.
ggplot2::theme_set(ggplot2::theme_grey(14))

# What each expression prints, as when typed, with an empty line between one and the next.
printed <- function(chunk, names) {
  said <- lapply(parse(chunk), function(expression) {
    utils::capture.output({
      value <- withVisible(eval(expression, names))
      if (value$visible) print(value$value)
    })
  })
  said <- Filter(length, said)
  unlist(lapply(said, function(lines) c(lines, "")))
}

# What the chunk draws, and the text of its picture, which is written in its first line.
drawing <- function(chunk, code) {
  picture <- sub("[.]R$", ".png", chunk)
  grDevices::png(picture, 6.4, 3.2, "in", res = 160)
  on.exit(grDevices::dev.off())
  force(code)
  first <- readLines(chunk, 1L)
  if (startsWith(first, "#| fig.alt: "))
    writeLines(substring(first, 13L), sub("[.]R$", ".alt", chunk))
  code
}

for (page in sort(list.dirs(commandArgs(TRUE)[[1]], recursive = FALSE))) {
  names <- new.env(parent = globalenv())
  for (chunk in sort(list.files(page, "[.]R$", full.names = TRUE))) {
    said <- drawing(chunk, printed(chunk, names))
    writeLines(as.character(said), sub("[.]R$", ".out", chunk))
  }
}
