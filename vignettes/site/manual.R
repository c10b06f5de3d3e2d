# Write each help page of the R package, in `man`, as HTML into `out`.
arguments <- commandArgs(TRUE)
man <- arguments[[1]]
out <- arguments[[2]]
topics <- list.files(man, "[.]Rd$")
links <- character()
for (topic in topics) {
  page <- tools::parse_Rd(file.path(man, topic))
  tags <- vapply(page, attr, "", "Rd_tag")
  aliases <- vapply(page[tags == "\\alias"], function(alias) as.character(alias[[1]]), "")
  links[aliases] <- sub("[.]Rd$", ".html", topic)
}
for (topic in topics) {
  # Warnings would be about links to other packages, which lead nowhere on these pages.
  suppressWarnings(tools::Rd2HTML(
    file.path(man, topic), file.path(out, sub("[.]Rd$", ".html", topic)),
    package = "dpreg", Links = links, Links2 = character(), no_links = FALSE,
    stages = c("build", "install", "render")  # those of \\doi{} too
  ))
}
