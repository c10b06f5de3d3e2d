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

test_that("the defaults of budgets and fits go together", {
  needs_python()
  budget <- dp_budget(1)
  fit <- dp_lm(price ~ carat, diamonds, eps = 1, budget = budget)
  expect_identical(fit$privacy$delta, 1e-5)
  for (parts in list(c(0.5, 0.2, 0.3), rep(0.1, 10), c(0.7, 0.3), c(0.6, 0.4 - 1e-3, 1e-3))) {
    budget <- dp_budget(1)
    for (eps in parts) dp_lm(price ~ carat, diamonds, eps = eps, budget = budget, inference = FALSE)
    expect_equal(as.data.frame(budget)$delta, parts * 1e-5)
    expect_lt(budget_state(budget)$remaining$delta, 1e-14)
  }
  # What is given is charged.
  budget <- dp_budget(1)
  dp_lm(price ~ carat, diamonds, eps = 0.5, delta = 1e-6, budget = budget)
  expect_identical(as.data.frame(budget)$delta, 1e-6)
  expect_error(dp_lm(price ~ carat, diamonds, eps = 0.5, budget = dp_budget(1, 0)), "only eps = 1, delta = 0 is left",
               class = "dpreg_budget")
})

test_that("shares of delta add up to no more than the whole", {
  whole <- list(eps = 7, delta = 1e-5)
  set.seed(1)
  for (i in 1:200) {
    parts <- stats::runif(sample(2:9, 1L))
    parts <- signif(parts / sum(parts) * 7, 6)
    parts[1L] <- 7 - sum(parts[-1L])
    shares <- vapply(parts, default_delta, 0, delta = 1e-5, budget = whole)
    expect_lte(sum(shares), 1e-5 * (1 + 1e-15))
    expect_equal(shares, parts / 7 * 1e-5, tolerance = 1e-8)
  }
  expect_identical(default_delta(3.5, 1e-5, whole), 5e-6)
  expect_identical(default_delta(1, 1e-5, NULL), 1e-5)
  expect_identical(default_delta(70, 1e-5, whole), 1e-5)
})
