test_that("update makes a new release, and says what it cost", {
  needs_python()
  budget <- dp_budget(eps = 3, delta = 1e-5)
  fit <- dp_lm(price ~ carat, diamonds, eps = 1, delta = 1e-6, budget = budget)
  expect_message(again <- update(fit, . ~ . + depth), "it cost eps = 1, delta = 1e-06, beside")
  expect_identical(names(coef(again)), c("(Intercept)", "carat", "depth"))
  expect_identical(nrow(as.data.frame(budget)), 2L)
  expect_silent(call <- update(fit, eps = 0.5, evaluate = FALSE))
  expect_identical(call, quote(dp_lm(formula = price ~ carat, data = diamonds, eps = 0.5, delta = 1e-06,
                                     budget = budget)))
  expect_identical(nrow(as.data.frame(budget)), 2L)
  expect_message(dearer <- update(fit, eps = 0.5), "eps = 0.5")
  expect_identical(dearer$privacy$epsilon, 0.5)
})

test_that("update is for those who type it", {
  needs_python()
  fit <- dp_lm(price ~ carat + depth, dpreg::diamonds, eps = 1)
  # Code of a package that was handed a fit; lapply() is the user's own.
  foreign <- eval(quote(function(fit, ...) update(fit, ...)), new.env(parent = asNamespace("stats")))
  for (evaluate in c(TRUE, FALSE))
    expect_error(foreign(fit, . ~ . - depth, evaluate = evaluate), "stats would make a new release.*anova\\(fit\\)",
                 class = "dpreg_private")
  mine <- eval(quote(function(fit, ...) update(fit, ...)), globalenv())
  expect_message(mine(fit, . ~ . - depth), "another release")
  expect_message(lapply(list(fit), update, . ~ . - depth), "another release")
})

test_that("calls are kept as they were typed", {
  expect_identical(typed_call(public_call(quote(dp_lm(y ~ x, data = subset(d, x > "a"))), "dp_lm")),
                   quote(dp_lm(y ~ x, data = subset(d, x > "a"))))
  made <- public_call(quote(f(y ~ x, data = d, levels = l, eps = 1)), "dp_lm")
  expect_identical(deparse(made), "f(y ~ x, data = dpreg::dp_records(\"d\"), levels = l, eps = 1)")
  expect_error(dp_records(), "computed from them would not be private", class = "dpreg_private")
})

test_that("a call that declined, and one for an effect, are made again", {
  needs_python("dp_effect")
  few <- dp_lm(price ~ carat, diamonds[1:1000, ], eps = 0.01, rng = 1)
  expect_s3_class(few, "dp_not_released")
  expect_message(again <- update(few, eps = 4), "it cost eps = 4")
  expect_s3_class(again, "dp_lm")
  data <- transform(diamonds, arm = rep(0:1, length.out = nrow(diamonds)))
  effect <- dp_effect(price ~ carat, data, eps = 1, treatment = "arm", rng = 1)
  expect_message(again <- update(effect, . ~ . + depth, eps = 2), "it cost eps = 2")
  expect_s3_class(again, "dp_effect")
})
