# Fits that start where an earlier release or public data end.

rows <- function(n, seed) {
  set.seed(seed)
  d <- data.frame(x = rnorm(n, 3), g = factor(sample(c("a", "b", "c"), n, TRUE)), t = runif(n))
  transform(d, y = 1 + x + (g == "b") + rnorm(n))
}

test_that("a fit starts from a fit, moments and public data, and says so", {
  needs_python("public_start")
  last <- dp_lm(y ~ x + g, rows(3000, 1), eps = 1, rng = 1)
  starts <- list(last, dp_moments(~ y + x + g, rows(3000, 1), eps = 1, rng = 2),
                 public_start(y ~ x + g, rows(500, 2)))
  for (start in starts) {
    fit <- dp_lm(y ~ x + g, rows(3000, 3), eps = 1, start = start, rng = 4)
    expect_true("number of rows" == fit$privacy$parts[[1L]]$label)
    expect_match(fit$privacy$parts[[2L]]$label, "as of the start")
    expect_match(unlist(fit$privacy$public)[5L], "^start: ")
    expect_lt(max(abs(coef(fit) - c(1, 1, 1, 0))), 0.6)
  }
  expect_output(print(starts[[3L]]), "public data of 'y ~ x [+] g', 500 rows")
})

test_that("a start survives saveRDS, and the same start gives the same fit", {
  needs_python("public_start")
  last <- dp_lm(y ~ x, rows(2000, 1), eps = 1, rng = 1)
  path <- tempfile()
  saveRDS(last, path)
  fits <- lapply(list(last, readRDS(path)), function(start)
    dp_lm(y ~ x, rows(2000, 3), eps = 1, start = start, rng = 4))
  expect_identical(coef(fits[[1L]]), coef(fits[[2L]]))
})

test_that("a start of another model is refused", {
  needs_python("public_start")
  d <- rows(500, 1)
  last <- dp_lm(y ~ x + g, d, eps = 5, rng = 1)
  expect_error(dp_lm(y ~ x, d, eps = 1, start = last), "start is of another model: 2 other columns")
  expect_error(dp_lm(y ~ x + g, transform(d, g = relevel(g, "b")), eps = 1, start = last),
               "levels of 'g' differ")
  expect_error(dp_lm(y ~ x, d, eps = 1, start = 3), "start must be a released fit")
  plain <- dp_lm(y ~ x, d, eps = 5, method = "adassp", rng = 1)
  expect_s3_class(plain, "dp_lm")
  expect_error(dp_lm(y ~ x, d, eps = 1, start = plain), "has no scales")
})
