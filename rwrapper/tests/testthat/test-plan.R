test_that("planning", {
  needs_python("dp_plan")
  plan <- dp_plan(n = 50000, d = 3, eps = 1)
  expect_output(print(plan), "Plan for 50,000 units, 3 regressors")
  expect_type(plan$width, "double")
  expect_error(dp_plan(n = 1.5, d = 3, eps = 1), "n must be a whole number")
})

test_that("plans of families and of moments", {
  needs_python("dp_plan")
  plan <- dp_plan(n = 50000, d = 3, eps = 1, family = binomial())
  expect_output(print(plan), "maximum\\s+likelihood")
  expect_equal(plan$family$name, "binomial")
  extreme <- dp_plan(n = 50000, d = 3, eps = 1, family = Quantile(0.9))
  expect_gt(extreme$width, dp_plan(n = 50000, d = 3, eps = 1, family = Quantile())$width)
  expect_equal(dp_plan(n = 50000, d = 3, eps = 1, method = "moments")$method, "moments")
  expect_error(dp_plan(n = 50000, d = 3, eps = 1, method = "tukey", family = poisson()), "linear models")
})
