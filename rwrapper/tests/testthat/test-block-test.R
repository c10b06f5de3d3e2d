test_that("a test tells what is there, and what is not", {
  needs_python()
  set.seed(3)
  data <- data.frame(x = rnorm(600), g = rep(1:300, 2))
  shifted <- dp_test(function(d) t.test(d$x - 1)$p.value, data, eps = 2, rng = 1)
  expect_s3_class(shifted, "htest")
  expect_lt(shifted$p.value, 1e-3)
  expect_output(print(shifted), "Private test of function")
  null <- dp_test(function(d) t.test(d$x)$p.value, data, eps = 1, blocks = 20, threshold = 0.1, unit = "g", rng = 1)
  expect_gt(null$p.value, 0.01)
  expect_equal(null$parameter, c(blocks = 20, threshold = 0.1))
  expect_match(null$privacy$unit, "one 'g'")
})

test_that("a block is whole units, and nothing of it is heard", {
  needs_python()
  data <- data.frame(x = 1:200, g = factor(rep(c("a", "b", NA, "c", "d"), 40)), h = factor("p", c("p", "q")))
  attr(data, "index") <- nrow(data)
  seen <- list()
  loud <- function(d) {
    seen[[length(seen) + 1L]] <<- d
    print("heard"); message("heard"); warning("heard")
    if (length(seen) == 2L) stop("heard")
    runif(1)
  }
  set.seed(9)
  before <- .Random.seed
  expect_silent(found <- dp_test(loud, data, eps = 50, blocks = 3, unit = "g", rng = 2))
  expect_identical(.Random.seed, before)
  expect_identical(sort(unlist(lapply(seen, `[[`, "x"))), which(!is.na(data$g)))
  expect_length(unlist(lapply(seen, function(d) unique(as.character(d$g)))), 4L)
  for (d in seen) {
    expect_identical(.row_names_info(d, 1L), -nrow(d))
    expect_identical(levels(d$h), c("p", "q"))
    expect_named(attributes(d), c("names", "class", "row.names"), ignore.order = TRUE)
  }
  drawn <- c()
  dp_test(function(d) { drawn <<- c(drawn, runif(1)); 1 }, data, eps = 1, blocks = 4, rng = 2)
  expect_length(unique(drawn), 4L)
  two <- dp_test(function(d) c(0, 0), data, eps = 50, blocks = 5, rng = 2)
  expect_identical(two$statistic, c(count = 0))
})

test_that("wrong use costs nothing", {
  needs_python()
  budget <- dp_budget(eps = 1)
  data <- data.frame(x = 1:9)
  refused <- function(says, ...) {
    given <- utils::modifyList(list(statistic = function(d) 1, data = data, eps = 1, budget = budget), list(...))
    expect_error(do.call(dp_test, given), says, class = "dpreg_usage")
  }
  refused("statistic must be a function", statistic = 3)
  refused("data must be a data frame", data = "file.parquet")
  refused("threshold must be a number in", threshold = 1)
  refused("blocks must be a whole number", blocks = 0)
  refused("unit", unit = "nope")
  expect_equal(nrow(as.data.frame(budget)), 0L)
  dp_test(function(d) 1, data, eps = 1, budget = budget)
  expect_error(dp_test(function(d) 1, data, eps = 1, budget = budget), class = "dpreg_budget")
})
