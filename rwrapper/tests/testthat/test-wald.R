# A fit with these numbers, and no mechanism behind it.
fit_with <- function(estimate, covariance, law = list(tail = numeric(), critical = numeric())) {
  names <- c("(Intercept)", "x", "z", "w")[seq_along(estimate)]
  data <- data.frame(y = 0, x = 0, z = 0, w = 0)
  design <- design_of(stats::reformulate(setdiff(names, "(Intercept)"), "y"), data)
  packed <- function(x) list(doubles = pack_doubles(x), dim = as.list(if (is.matrix(x)) dim(x) else length(x)))
  answer <- list(released = TRUE, names = names, estimates = packed(estimate), covariance = packed(covariance),
                 sampling = packed(sqrt(diag(covariance))), units = 100, method = "adassp", law = law,
                 privacy = list(epsilon = 1, delta = 0, unit = "one row"), response = "y")
  new_fit(unpacked(answer), design, quote(dp_lm(y ~ x + z + w)))
}

covariance <- crossprod(matrix(c(2, 1, 0, 1, 0, 2, 1, -1, 1, 0, 2, 1, 0, 1, 1, 2), 4)) / 10
fit <- fit_with(c(1, 0.5, -0.7, 2), covariance)

test_that("tests of terms are quadratic forms of what was released", {
  of <- function(i) drop(coef(fit)[i] %*% solve(vcov(fit)[i, i]) %*% coef(fit)[i])
  table <- anova(fit)
  expect_identical(rownames(table), c("x", "z", "w"))
  expect_equal(table$Chisq, c(of(2), of(3), of(4)))
  expect_equal(table[["Pr(>Chisq)"]], unname(summary(fit)$coefficients[-1, "Pr(>|z|)"]))
  two <- waldtest.dp_lm(fit, . ~ x)
  expect_equal(two$Chisq[2], of(3:4))
  expect_equal(two[["Pr(>Chisq)"]][2], pchisq(of(3:4), 2, lower.tail = FALSE))
  expect_identical(two$Df[2], -2)
  # One after the other, what both add up to is what they are together.
  steps <- waldtest.dp_lm(fit, "z", "w")
  expect_equal(sum(steps$Chisq[-1]), of(3:4))
  expect_equal(steps$Chisq[2], of(3))
  small <- fit_with(coef(fit)[1:2], covariance[1:2, 1:2])
  expect_equal(anova(small, fit)$Chisq[2], of(3:4))
  expect_equal(anova(fit, small)$Chisq[2], of(3:4))
  expect_error(anova(fit, fit), "same coefficients", class = "dpreg_usage")
  expect_error(anova(fit, 1), "one or two fits", class = "dpreg_usage")
})

test_that("what is left out given what was left out before is the test of the restricted fit", {
  # With y = w the estimates given w = 0 are those of the normal law.
  V <- vcov(fit)
  given <- coef(fit)[-4] - V[-4, 4] / V[4, 4] * coef(fit)[4]
  left <- V[-4, -4] - tcrossprod(V[-4, 4]) / V[4, 4]
  steps <- waldtest.dp_lm(fit, "w", "z")
  expect_equal(steps$Chisq[3], given[["z"]]^2 / left[3, 3])
})

test_that("the law of a method gives the probabilities of one coefficient", {
  heavy <- list(tail = c(0.5, 0.1, 0.01, 0.001), critical = c(0.7, 1.8, 3.2, 5))
  slow <- fit_with(coef(fit), covariance, heavy)
  expect_equal(anova(slow)[["Pr(>Chisq)"]], unname(summary(slow)$coefficients[-1, "Pr(>|z|)"]))
  expect_gt(waldtest.dp_lm(slow, . ~ 1)[["Pr(>Chisq)"]][2], waldtest.dp_lm(fit, . ~ 1)[["Pr(>Chisq)"]][2])
})

test_that("coefficients that are not identified are NA, as aliased ones are", {
  unknown <- covariance
  unknown[3, ] <- unknown[, 3] <- NaN
  lost <- fit_with(c(1, 0.5, -0.7, 2), unknown)
  expect_identical(unname(is.na(coef(lost))), c(FALSE, FALSE, TRUE, FALSE))
  expect_identical(names(coef(lost, complete = FALSE)), c("(Intercept)", "x", "w"))
  expect_identical(is.na(vcov(lost)), is.na(unknown), ignore_attr = TRUE)
  expect_false(any(is.nan(vcov(lost)) | is.nan(coef(lost))))
  expect_identical(vcov(lost, complete = FALSE), vcov(fit)[-3, -3])
  expect_output(print(lost), "Coefficients: \\(1 not estimable at this eps\\)")
  printed <- capture.output(print(summary(lost)))
  expect_match(grep("^z ", printed, value = TRUE), "^z +NA +NA +NA +NA +NA +NA")
  expect_false(any(grepl("NaN", printed)))
  table <- anova(lost)
  expect_identical(table$Df, c(1, 0, 1))
  expect_true(is.na(table["z", "Chisq"]))
  # The estimate is good for predictions.
  expect_equal(predict(lost, data.frame(x = 1, z = 1, w = 0), winsorise = FALSE), c(`1` = 0.8))
  none <- fit_with(c(1, 0.5, 0, 2), covariance)
  none$covariance <- NULL
  expect_identical(unname(unidentified_among(c(1, 0.5, 0, 2), NULL, "adassp")), c(FALSE, FALSE, TRUE, FALSE))
  # Where a method makes zeros they are estimates.
  expect_false(any(unidentified_among(c(1, 0.5, 0, 2), NULL, "frank_wolfe")))
  expect_error(anova(none), "no standard errors; inference = TRUE", class = "dpreg_private")
})

test_that("there are no residual degrees of freedom, and no rows", {
  expect_identical(df.residual(fit), Inf)
  expect_identical(dim(model.matrix(fit)), c(0L, 4L))
  expect_identical(attr(model.matrix(fit), "assign"), 0:3)
  expect_identical(nrow(model.frame(fit)), 0L)
  data <- strange_data()[1:3, ]
  for (formula in list(y ~ grade * place + truth, y ~ day + time + whole, y ~ `two words` + poly(whole, 2, raw = TRUE))) {
    design <- design_of(formula, data)
    made <- structure(list(terms = design$terms, source = design$source, contrasts = design$contrasts,
                           coefficients = stats::setNames(numeric(length(design$names)), design$names)),
                      class = "dp_lm")
    expect_identical(colnames(model.matrix(made)), design$names)
    expect_identical(attr(model.matrix(made), "assign"), design$assign)
    expect_identical(lapply(model.frame(made), levels), lapply(design$frame, levels))
    expect_equal(model.matrix(made, data), model.matrix(formula, data), ignore_attr = TRUE)
  }
})

test_that("without covariances tests of several coefficients are Bonferroni's", {
  V <- diag(c(1, 0.1, 0.2, 0.3))
  alone <- fit_with(c(1, 0.5, -0.7, 2), V)
  p <- summary(alone)$coefficients[c("z", "w"), "Pr(>|z|)"]
  two <- waldtest.dp_lm(alone, . ~ x)
  expect_equal(two[["Pr(>Chisq)"]][2], min(1, 2 * min(p)))
  expect_true(is.na(two$Chisq[2]))
})
