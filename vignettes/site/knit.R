# Run the vignettes of the R package named on the command line, after the folder for the results.
arguments <- commandArgs(TRUE)
knitr::opts_chunk$set(dev = "png", error = FALSE)
knitr::opts_knit$set(base.dir = arguments[[1]], progress = FALSE, verbose = FALSE)
for (page in arguments[-1]) {
  name <- sub("[.]Rmd$", "", basename(page))
  knitr::opts_chunk$set(fig.path = paste0("figure/", name, "-"))
  knitr::knit(page, file.path(arguments[[1]], paste0(name, ".md")), envir = new.env(), quiet = TRUE)
}
