panel <- function(persons = 4000L) {
  set.seed(7)
  person <- rep(seq_len(persons), each = 4L)
  effect <- rnorm(persons)[person]
  x <- rnorm(length(person)) + effect
  g <- factor(sample(c("a", "b"), length(person), TRUE), c("a", "b"))
  data.frame(y = 5 * effect + x + 0.5 * (g == "b") + rnorm(length(person)), x = x, g = g, person = person)
}

test_that("effects of the unit are taken off", {
  needs_python()
  data <- panel()
  fit <- dp_lm(y ~ x + g | person, data, eps = 4, delta = 1e-6, unit = "person", rng = 1)
  expect_identical(names(coef(fit)), c("x", "gb"))
  expect_true(all(abs(coef(fit) - c(1, 0.5)) < 4.5 * sqrt(diag(vcov(fit)))))
  expect_identical(rownames(anova(fit)), c("x", "g"))
  expect_identical(deparse(update(fit, . ~ . - g, evaluate = FALSE)$formula), "y ~ x | person")
  expect_error(predict(fit, head(data)), "person", class = "dpreg_private")
})

test_that("effects of other groups are refused", {
  needs_python()
  data <- transform(panel(20L), team = person %% 3)
  expect_error(dp_lm(y ~ x | team, data, eps = 1, unit = "person"), "effects of 'team'", class = "dpreg_usage")
  expect_error(dp_lm(y ~ x | person, data, eps = 1), "unit = \"person\"", class = "dpreg_usage")
  expect_error(dp_lm(y ~ x | person + team, data, eps = 1, unit = "person"), "alone", class = "dpreg_usage")
  expect_error(dp_lm(y ~ x | person, data, eps = 1, unit = "person", method = "tukey"), "mean of each unit",
               class = "dpreg_error")
})
