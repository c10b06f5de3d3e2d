test_that("a budget refuses before a record is read", {
  needs_python()
  budget <- dp_budget(eps = 1)
  read <- FALSE
  data <- data.frame(y = 1, x = 1)
  design <- design_of(y ~ x, data)
  request <- list(formula = "y ~ x", eps = 2, delta = 1e-6, budget = unclass(budget),
                  matrix = sent_design(design, data, NULL))
  request$matrix$read <- function() { read <<- TRUE; packed_records(design, data, NULL) }
  expect_error(call_python("lm", request), class = "dpreg_budget")
  expect_false(read)
  request$eps <- 0.5
  request["budget"] <- NULL
  call_python("lm", request)
  expect_true(read)
})

test_that("budgets count, in memory and on disk", {
  needs_python()
  path <- tempfile(fileext = ".ledger")
  for (budget in list(dp_budget(eps = 1, delta = 1e-5), dp_budget(eps = 1, delta = 1e-5, ledger = path))) {
    dp_lm(price ~ carat, diamonds, eps = 0.75, delta = 1e-6, budget = budget)
    expect_error(dp_lm(price ~ carat, diamonds, eps = 0.5, delta = 1e-6, budget = budget),
                 class = "dpreg_budget")
    expect_identical(as.data.frame(budget)$eps, 0.75)
    expect_output(print(budget), "left: eps = 0.25")
  }
  expect_identical(as.data.frame(dp_budget(eps = 1, delta = 1e-5, ledger = path))$eps, 0.75)
  expect_error(dp_budget(eps = 5, delta = 1e-5, ledger = path))
  lost <- budget
  lost$ledger <- NULL
  lost$key <- "of another session"
  expect_error(print(lost), "another session")
})

test_that("a ledger stays where it was made", {
  needs_python()
  home <- setwd(tempdir())
  on.exit(setwd(home))
  name <- basename(tempfile(fileext = ".ledger"))
  budget <- dp_budget(eps = 1, delta = 1e-5, ledger = name)
  dp_lm(price ~ carat, diamonds, eps = 0.75, delta = 1e-6, budget = budget)
  setwd(home)
  expect_identical(as.data.frame(budget)$eps, 0.75)
  expect_false(file.exists(name))
  expect_error(dp_lm(price ~ carat, diamonds, eps = 0.5, delta = 1e-6, budget = budget), class = "dpreg_budget")
  for (wrong in list(NA_character_, "", 3)) expect_error(dp_budget(1, ledger = wrong), "path of a file")
})
