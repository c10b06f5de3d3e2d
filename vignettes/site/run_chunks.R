# Run the chunks in the folders of a folder, each folder with names of its own.
options(width = 100, cli.num_colors = 1L)
for (page in sort(list.dirs(commandArgs(TRUE)[[1]], recursive = FALSE))) {
  names <- new.env(parent = globalenv())
  for (chunk in sort(list.files(page, "[.]R$", full.names = TRUE))) {
    said <- utils::capture.output(source(chunk, local = names, print.eval = TRUE, echo = FALSE))
    writeLines(said, sub("[.]R$", ".out", chunk))
  }
}
