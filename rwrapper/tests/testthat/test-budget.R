test_that("a budget refuses before a record is read", {
  needs_python()
  budget <- dp_budget(eps = 1)
  read <- FALSE
  data <- data.frame(y = 1, x = 1)
  design <- design_of(y ~ x, data)
  request <- list(formula = "y ~ x", eps = 2, delta = 1e-6, budget = unclass(budget),
                  matrix = sent_design(design, list(data = data)))
  request$matrix$read <- function() { read <<- TRUE; packed_records(design, data, NULL) }
  expect_error(call_python("lm", request), class = "dpreg_budget")
  expect_false(read)
  request$eps <- 0.5
  request["budget"] <- NULL
  call_python("lm", request)
  expect_true(read)
})

test_that("what fails after the charge says nothing of records, but with a seed", {
  needs_python()
  method <- reticulate::import("dpreg.estimation.methods.boosted_adassp")$BoostedAdaSSP
  release <- method$release
  on.exit(method$release <- release)
  method$release <- reticulate::py_eval("lambda *given, **named: {}['row 3 is secret']")
  fit <- function(rng) dp_lm(price ~ carat, diamonds, eps = 1, delta = 1e-6, method = "boosted_adassp", rng = rng)
  failed <- expect_error(fit(NULL), class = "dpreg_python")
  expect_match(conditionMessage(failed), "failed after the charge: the budget is spent")
  expect_no_match(conditionMessage(failed), "secret")
  seeded <- expect_error(fit(1), "secret", class = "dpreg_python")
  expect_match(conditionMessage(seeded), "failed after the charge: the budget is spent")
})

test_that("charges name the protected unit", {
  needs_python()
  budget <- dp_budget(eps = 2, delta = 1e-5)
  visits <- data.frame(y = c(1, 2, 3), x = c(1, 2, 4), person = c(1, 1, 2))
  dp_lm(y ~ x, visits, eps = 1, delta = 1e-6, budget = budget)
  dp_lm(y ~ x, visits, eps = 1, delta = 1e-6, unit = "person", max_rows = 2, budget = budget)
  expect_identical(as.data.frame(budget)$unit, c("one row", "all rows of one 'person', max_rows=2"))
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
  needs_python()
  budget <- dp_budget(eps = 7)
  set.seed(1)
  for (i in 1:3) {
    parts <- stats::runif(sample(2:4, 1L))
    parts <- round(parts / sum(parts) * 7, 6)
    parts[1L] <- round(7 - sum(parts[-1L]), 6)
    budget <- dp_budget(eps = 7)
    for (eps in parts) dp_lm(price ~ carat, diamonds, eps = eps, budget = budget, inference = FALSE)
    shares <- as.data.frame(budget)$delta
    expect_lte(sum(shares), 1e-5 * (1 + 1e-15))
    expect_equal(shares, parts / 7 * 1e-5, tolerance = 1e-8)
  }
})

test_that("fits add up in squares where the budget says so", {
  needs_python()
  budgets <- list(gdp = dp_budget(3, accounting = "gdp"), mu = dp_budget(mu = 0.8),
                  zcdp = dp_budget(3, accounting = "zcdp"), rho = dp_budget(rho = 0.3))
  for (budget in budgets) {
    for (i in 1:3)
      dp_lm(price ~ carat, diamonds, eps = 0.3, delta = 1e-6, method = "boosted_adassp", budget = budget)
    charges <- as.data.frame(budget)
    spent <- budget_state(budget)$spent$eps
    expect_lt(spent, 0.7)
    expect_gt(spent, 0.3)
    expect_identical(charges$eps, rep(0.3, 3))
    squares <- sum(if (budget$accounting == "gdp") charges$mu^2 else charges$rho)
    expect_gt(squares, 0)
    expect_output(print(budget), sprintf("accounting \"%s\"; spent: eps = 0\\.", budget$accounting))
    expect_identical(plot(budget), charges)
  }
  # 0.8-GDP, with half of delta for failures.
  expect_equal(budgets$mu$eps, 3.6, tolerance = 0.2)
  expect_error(dp_lm(price ~ carat, diamonds, eps = 20, delta = 1e-6, budget = budgets$mu),
               "needs mu = ", class = "dpreg_budget")
})

test_that("a ledger is opened with the totals it was made with, and tells who was charged", {
  needs_python()
  path <- tempfile(fileext = ".ledger")
  made <- dp_budget(mu = 0.5, delta = 1e-6, ledger = path, name = "diamonds", user = "ada")
  dp_lm(price ~ carat, diamonds, eps = 0.1, delta = 1e-8, budget = made)
  again <- dp_budget(ledger = path, user = "bob")
  expect_identical(c(again$eps, again$delta), c(made$eps, made$delta))
  expect_identical(again$accounting, "gdp")
  dp_lm(price ~ depth, diamonds, eps = 0.1, delta = 1e-8, budget = again)
  charges <- as.data.frame(made)
  expect_identical(charges$user, c("ada", "bob"))
  expect_identical(charges$formula, c("price ~ carat", "price ~ depth"))
  expect_identical(charges$status, c("released", "released"))
  # Removed behind its back: it is not made anew.
  file.remove(path)
  expect_error(print(made), "missing", class = "dpreg_budget")
  expect_false(file.exists(path))
})

test_that("totals that do not go together are refused in the words of R", {
  needs_python()
  expect_error(dp_budget(), "the total is missing; write eps = 1")
  expect_error(dp_budget(eps = 1, mu = 1), "mu: there are two totals, eps and mu; leave mu out")
  expect_error(dp_budget(mu = 1, accounting = "zcdp"), "leave accounting out")
  expect_error(dp_budget(1, accounting = "GDP"), 'write accounting = "gdp"', fixed = TRUE)
  expect_error(dp_budget(1, 0, accounting = "gdp"), "write delta = 1e-05")
  expect_error(dp_budget(1, accounting = 2), "accounting must be one of")
  expect_error(dp_budget(rho = "a"), "rho must be a number, got")
  expect_error(dp_budget(mu = 99), "mu must be between")
  expect_error(dp_budget(1, 1e-5, "gdp"), 'write accounting = "gdp"', class = "dpreg_usage")
  expect_error(dp_budget(1, path = "x"), 'dp_budget() has no argument \'path\': write ledger = "path"', fixed = TRUE)
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, method = "Tukey"), 'write method = "tukey"', class = "dpreg_usage")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 9, budget = dp_budget(1, accounting = "zcdp")), "failure = ")
  missing <- tempfile()
  expect_error(dp_budget(ledger = missing), "there is no such file; make it with dp_budget(eps = 1, ledger = ",
               fixed = TRUE)
  expect_error(dp_budget(ledger = missing, delta = 1e-6), "give its path only")
  expect_false(file.exists(missing))
})
