# poly(), ns() and bs() of a column whose bounds are public.

basis_data <- function(n = 3000L, seed = 1L) {
  set.seed(seed)
  x <- runif(n, 0.5, 6.5)
  data.frame(x = x, z = rnorm(n), y = sin(x) + rnorm(n))
}
BASIS_BOUNDS <- list(x = c(0.5, 6.5))

basis_matrix <- function(formula, data, bounds = BASIS_BOUNDS) {
  design <- design_of(formula, data, bounds = bounds)
  packed <- packed_records(design, data, NULL)
  X <- vapply(packed$columns, function(raw) readBin(raw, "double", nrow(data)), numeric(nrow(data)))
  colnames(X) <- setdiff(design$names, "(Intercept)")
  X
}

test_that("fitted values are those of lm() with the same knots", {
  data <- basis_data()
  same <- list(
    list(y ~ poly(x, 3), y ~ poly(x, 3)),
    list(y ~ ns(x, 3), y ~ splines::ns(x, knots = c(2.5, 4.5), Boundary.knots = c(0.5, 6.5))),
    list(y ~ ns(x, knots = c(1, 3)), y ~ splines::ns(x, knots = c(1, 3), Boundary.knots = c(0.5, 6.5))),
    list(y ~ bs(x, 5), y ~ splines::bs(x, knots = c(2.5, 4.5), Boundary.knots = c(0.5, 6.5))),
    list(y ~ splines::bs(x, df = 4, degree = 2),
         y ~ splines::bs(x, knots = c(2.5, 4.5), degree = 2, Boundary.knots = c(0.5, 6.5))),
    list(y ~ poly(log(x), 2) * z, y ~ poly(log(x), 2) * z)
  )
  for (pair in same) {
    X <- basis_matrix(pair[[1L]], data)
    expect_equal(unname(fitted(lm(data$y ~ X))), unname(fitted(lm(pair[[2L]], data))), tolerance = 1e-8)
  }
})

test_that("splines are those of R, column by column, and have its names", {
  data <- basis_data(50L)
  ns <- basis_matrix(y ~ ns(x, 3), data)
  theirs <- splines::ns(data$x, knots = c(2.5, 4.5), Boundary.knots = c(0.5, 6.5))
  expect_equal(unname(ns), unname(unclass(theirs)), ignore_attr = TRUE, tolerance = 1e-14)
  expect_identical(colnames(ns), paste0("ns(x, 3)", 1:3))
  expect_identical(colnames(basis_matrix(y ~ poly(x, 2), data)), paste0("poly(x, 2)", 1:2))
})

test_that("polynomials have mean 0 and variance 1 on the bounds", {
  x <- (seq_len(1e5) - 0.5) / 1e5 * 6 + 0.5
  P <- basis_matrix(y ~ poly(x, 4), data.frame(x = x, y = 0))
  expect_equal(crossprod(cbind(1, P)) / 1e5, diag(5), ignore_attr = TRUE, tolerance = 1e-6)
})

test_that("columns lie within limits that are public, whatever the cells are", {
  far <- data.frame(x = c(-1e9, seq(0.5, 6.5, length.out = 301), 1e9), y = 0)
  for (formula in list(y ~ poly(x, 4), y ~ ns(x, 4), y ~ bs(x, 6), y ~ ns(x, 4, intercept = TRUE) - 1)) {
    X <- basis_matrix(formula, far)
    limits <- do.call(rbind, design_of(formula, far, bounds = BASIS_BOUNDS)$ranges)[colnames(X), ]
    expect_true(all(t(X) >= limits[, 1L] & t(X) <= limits[, 2L]))
    expect_identical(X[1L, ], X[2L, ])
  }
})

test_that("without bounds they are refused, and the refusal says to give bounds", {
  data <- basis_data(5L)
  for (formula in list(y ~ poly(x, 2), y ~ ns(x, 3), y ~ bs(x, 5), y ~ splines::ns(x, df = 3)))
    expect_error(design_of(formula, data, bounds = list(z = c(0, 1))), "bounds = list(x = c(0, 6))",
                 fixed = TRUE)
  expect_error(design_of(y ~ poly(x * z, 2), data, bounds = list(x = c(0, 1), z = c(0, 1))),
               "depends on the other rows")
  expect_error(design_of(y ~ poly(log(x), 2), data, bounds = list(x = c(0, 1))), "finite numbers")
  expect_error(design_of(y ~ ns(x, knots = 9), data, bounds = BASIS_BOUNDS), "within the bounds")
  expect_error(design_of(y ~ bs(x, 2), data, bounds = BASIS_BOUNDS), "df must be at least 3")
  expect_error(design_of(y ~ ns(x, 3, knots = 2), data, bounds = BASIS_BOUNDS), "depends on the other rows")
})

test_that("a fit predicts with the basis that it was made with, after saveRDS() too", {
  needs_python()
  data <- basis_data()
  fits <- list(
    dp_lm(y ~ ns(x, 3) + z, data, eps = 2, bounds = BASIS_BOUNDS, rng = 1),
    dp_glm(I(y > 0) ~ poly(x, 2), data, eps = 2, family = "binomial", bounds = BASIS_BOUNDS, rng = 1)
  )
  for (fit in fits) {
    expect_true("bounds of x: 0.5 to 6.5" %in% unlist(fit$privacy$public))
    path <- tempfile(fileext = ".rds")
    saveRDS(fit, path)
    few <- basis_data(40L, 2L)
    found <- predict(readRDS(path), few)
    expect_equal(predict(fit, few[1:3, ]), found[1:3])
    expect_equal(unname(predict(fit, few, winsorise = FALSE, type = if (inherits(fit, "dp_glm")) "link" else "response")),
                 unname(drop(cbind(1, if (inherits(fit, "dp_glm")) basis_matrix(y ~ poly(x, 2), few)
                                      else basis_matrix(y ~ ns(x, 3) + z, few)) %*% coef(fit))))
  }
  moments <- dp_moments(~ y + ns(x, 3), data, eps = 2, bounds = BASIS_BOUNDS, rng = 1)
  expect_length(coef(moments_lm(moments, y ~ ns(x, 3))), 4L)
  found <- dp_select(y ~ ns(x, 3) + z, data, k = 1, eps = 2, bounds = BASIS_BOUNDS, method = "kendall", rng = 1)
  expect_true(all(found$selected %in% c("ns(x, 3)", "z")))
})

test_that("a refused basis names the column and the size that were typed", {
  data <- data.frame(y = 1, age = 1, g = factor("a"))
  said <- function(formula) expect_error(design_of(formula, data))$message
  expect_match(said(y ~ poly(age, 2)),
               "write poly(age, 2) and bounds = list(age = c(0, 6)) with public limits, or poly(age, 2, raw = TRUE)",
               fixed = TRUE)
  expect_match(said(y ~ ns(log(age), df = 4)), "write ns(log(age), 4) and bounds = list(age = ", fixed = TRUE)
  expect_match(said(y ~ scale(age)), "write scale(age, center = 50, scale = 10)", fixed = TRUE)
  expect_match(said(y ~ ns(g, 3)), "ns() of a factor; write the factor by itself", fixed = TRUE)
})
