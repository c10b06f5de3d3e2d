# Tries the calls of inst/generics.csv again, and writes what becomes of them. Run in the folder of
# the R package, with it and dpreg in Python installed; packages that are missing keep their line.
library(dpreg)
source("tests/testthat/helper-watched.R")
grDevices::pdf(NULL)
path <- "inst/generics.csv"
table <- utils::read.csv(path, colClasses = "character")
found <- vapply(unique(table$package), requireNamespace, NA, quietly = TRUE)
here <- found[table$package]
world <- watched()
table$outcome[here] <- vapply(table$call[here], function(call) outcome(str2lang(call), world), "")
table$outcome[!here & table$outcome == ""] <- "not installable here"
table <- table[order(table$package, table$outcome != "works"), ]
utils::write.csv(table, path, row.names = FALSE)
odd <- !table$outcome %in% c("works", "stops", "not installable here")
if (any(odd)) stop("see to these first:\n", paste(table$call[odd], table$outcome[odd], sep = ": ", collapse = "\n"))
