# Fits whose data count how often they are looked at, and whose budget counts the charges.
watched <- function() {
  e <- new.env(parent = globalenv())
  data <- transform(diamonds[1:20000, ], cut = factor(cut, ordered = FALSE))
  e$reads <- 0L
  makeActiveBinding("secret", function() {
    e$reads <- e$reads + 1L
    data
  }, e)
  e$budget <- dp_budget(eps = 400)
  e$new <- data.frame(price = 2000, carat = c(0.5, 1), depth = 60, cut = factor(c("Good", "Ideal"), levels(data$cut)))
  evalq({
    fit <- dp_lm(log(price) ~ log(carat) + depth + cut, secret, eps = 8, budget = budget)
    small <- dp_lm(log(price) ~ log(carat), secret, eps = 8, budget = budget)
    crossed <- dp_lm(log(price) ~ log(carat) * cut, secret, eps = 8, budget = budget)
  }, e)
  stopifnot(e$reads == 3L)
  e
}

# What becomes of a call that is handed a private fit: "works"; "stops", with a reason of ours,
# however it is wrapped; or what is wrong with it.
outcome <- function(call, world) {
  quiet <- function(expression) suppressMessages(suppressWarnings(expression))
  before <- c(world$reads, nrow(as.data.frame(world$budget)))
  reason <- tryCatch({
    quiet(utils::capture.output({
      value <- eval(call, world)
      # What is drawn or computed when it is printed belongs to it.
      if (inherits(value, c("gg", "glht", "emmGrid"))) print(value)
    }))
    NULL
  }, error = conditionMessage)
  if (!identical(before, c(world$reads, nrow(as.data.frame(world$budget)))))
    return("the records were read, or a release was made")
  if (is.null(reason)) return("works")
  if (grepl("private|not released|would make a new release|over the records", reason)) return("stops")
  paste("an error without a reason:", reason)
}

# The calls that were tried, and what became of them; data-raw/generics.R writes the file.
generics_tried <- function()
  utils::read.csv(system.file("generics.csv", package = "dpreg"), colClasses = "character")
