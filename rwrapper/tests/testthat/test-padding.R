elapsed <- function(expr) system.time(try(expr, silent = TRUE))[["elapsed"]]

test_that("an expression ends at a multiple of its time, whether it fails or not", {
  expect_identical(dp_padded(sum(1:10), seconds = 0.1), 55L)
  expect_gt(elapsed(dp_padded(1, 0.3)), 0.29)
  expect_gt(elapsed(dp_padded(stop("no"), 0.3)), 0.29)
  expect_gt(elapsed(dp_padded(Sys.sleep(0.4), 0.3)), 0.59)
  expect_error(dp_padded(stop("said"), 0.1), "said")
})

test_that("seconds are a number greater than 0", {
  expect_error(dp_padded(1), "seconds must be given; write seconds = 10")
  expect_error(dp_padded(1, 0), "seconds must be greater than 0")
  expect_error(dp_padded(1, "a"), "seconds must be one number")
})
