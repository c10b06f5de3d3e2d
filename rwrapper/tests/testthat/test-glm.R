# dp_glm(): families as R has them, the numbers of Python, predictions by the link.

binary <- function(n = 4000) {
  set.seed(1)
  x <- rnorm(n)
  group <- factor(sample(c("a", "b", "c"), n, TRUE))
  data.frame(x, group, y = runif(n) < plogis(-1 + x + (group == "b")), count = rpois(n, exp(0.5 * x)))
}

test_that("a logistic fit is near that of glm() and covers it", {
  needs_python()
  data <- binary(20000)
  fit <- dp_glm(y ~ x + group, data, eps = 20, rng = 1)
  exact <- stats::glm(y ~ x + group, stats::binomial(), data)
  expect_s3_class(fit, c("dp_glm", "dp_lm"), exact = TRUE)
  expect_identical(names(coef(fit)), names(coef(exact)))
  expect_true(all(abs(coef(fit) - coef(exact)) < 4 * sqrt(diag(vcov(fit)))))
  expect_output(print(summary(fit)), "Private logistic regression")
  expect_identical(family(fit)$family, "binomial")
})

test_that("predictions are means by default, and intervals lie between 0 and 1", {
  needs_python()
  fit <- dp_glm(y ~ x, binary(), eps = 5, rng = 1)
  new <- data.frame(x = c(-1, 0, 1))
  link <- predict(fit, new, type = "link")
  expect_equal(predict(fit, new), plogis(link))
  both <- predict(fit, new, interval = "confidence", se.fit = TRUE)
  expect_true(all(both$fit > 0 & both$fit < 1))
  expect_equal(unname(both$fit[, "fit"]), unname(plogis(link)))
  expect_equal(unname(both$se.fit),
               unname(dlogis(link) * predict(fit, new, type = "link", se.fit = TRUE)$se.fit))
  expect_equal(tidy(fit, exponentiate = TRUE)$estimate, unname(exp(coef(fit))))
})

test_that("families may be functions, objects or names, with their own link", {
  needs_python()
  data <- binary()
  fits <- lapply(list(poisson, poisson(), "poisson"), function(family)
    dp_glm(count ~ x, data, eps = 1, family = family, rng = 1))
  expect_identical(coef(fits[[1L]]), coef(fits[[2L]]))
  expect_identical(coef(fits[[1L]]), coef(fits[[3L]]))
  expect_output(print(fits[[1L]]), "Private Poisson regression")
  median <- dp_glm(x ~ group, data, eps = 1, family = Quantile(0.5), rng = 1)
  expect_output(print(median), "quantile \\(0.5\\)")
  expect_error(dp_glm(y ~ x, data, eps = 1, family = binomial("cauchit")),
               "link of binomial is logit, probit or cloglog")
  expect_error(dp_glm(y ~ x, data, eps = 1, family = 3), "family must be")
  expect_error(dp_glm(y ~ x, data, eps = 1, family = "binomal"), "family")
  expect_error(dp_glm(y ~ x, data, eps = 1, link = "probit"), "into the family")
})

test_that("gamma and negative binomial families are those of stats and MASS", {
  needs_python()
  data <- binary()
  data$size <- exp(data$x / 2) * (1 + data$y)
  fit <- dp_glm(size ~ x, data, eps = 5, family = Gamma("log"), rng = 1)
  expect_output(print(fit), "Private gamma regression")
  expect_equal(family(fit)$link, "log")
  expect_equal(unname(predict(fit, data.frame(x = 0))), exp(unname(coef(fit)[1L])))
  expect_identical(coef(fit), coef(dp_glm(size ~ x, data, eps = 5, family = "gamma", rng = 1)))
  expect_error(dp_glm(size ~ x, data, eps = 1, family = Gamma()), "write family = Gamma\\(link = \"log\"\\)")
  skip_if_not_installed("MASS")
  counts <- dp_glm(count ~ x, data, eps = 5, family = MASS::negative.binomial(2), rng = 1)
  expect_equal(counts$family$alpha, 0.5)
  expect_output(print(counts), "negative binomial \\(theta 2\\)")
  expect_error(dp_glm(count ~ x, data, eps = 5, family = MASS::negative.binomial(2, "sqrt")), "link")
})

test_that("a probit is a link of binomial()", {
  needs_python()
  data <- binary()
  fit <- dp_glm(y ~ x, data, eps = 5, family = binomial("probit"), rng = 1)
  new <- data.frame(x = c(-1, 0, 1))
  link <- predict(fit, new, type = "link")
  expect_equal(predict(fit, new), pnorm(link))
  both <- predict(fit, new, interval = "confidence", se.fit = TRUE)
  expect_equal(unname(both$se.fit),
               unname(dnorm(link) * predict(fit, new, type = "link", se.fit = TRUE)$se.fit))
  exact <- stats::glm(y ~ x, stats::binomial("probit"), data)
  expect_true(all(abs(coef(fit) - coef(exact)) < 6 * sqrt(diag(vcov(fit)))))
})

test_that("a complementary log-log is a link of binomial()", {
  needs_python()
  data <- binary()
  fit <- dp_glm(y ~ x, data, eps = 5, family = binomial("cloglog"), rng = 1)
  new <- data.frame(x = c(-1, 0, 1))
  link <- predict(fit, new, type = "link")
  theirs <- stats::make.link("cloglog")
  expect_equal(unname(predict(fit, new)), theirs$linkinv(unname(link)))
  both <- predict(fit, new, interval = "confidence", se.fit = TRUE)
  expect_equal(unname(both$se.fit),
               unname(theirs$mu.eta(link) * predict(fit, new, type = "link", se.fit = TRUE)$se.fit))
  exact <- stats::glm(y ~ x, stats::binomial("cloglog"), data)
  expect_true(all(abs(coef(fit) - coef(exact)) < 6 * sqrt(diag(vcov(fit)))))
  expect_identical(family(fit)$link, "cloglog")
})

test_that("a gaussian dp_glm() is dp_lm()", {
  needs_python()
  data <- binary()
  fit <- dp_glm(x ~ group, data, eps = 1, family = gaussian(), rng = 1)
  expect_s3_class(fit, "dp_lm", exact = TRUE)
  expect_identical(coef(fit), coef(dp_lm(x ~ group, data, eps = 1, rng = 1)))
})
