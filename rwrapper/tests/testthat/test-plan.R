test_that("planning", {
  needs_python("dp_plan")
  plan <- dp_plan(n = 50000, d = 3, eps = 1)
  expect_output(print(plan), "Plan for 50,000 units, 3 regressors")
  expect_type(plan$width, "double")
  expect_error(dp_plan(n = 1.5, d = 3, eps = 1), "n must be a whole number")
})
