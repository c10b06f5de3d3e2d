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
  for (shown in list(fit, summary(fit))) expect_output(print(shown), "Fixed effects: person\n", fixed = TRUE)
})

test_that("effects of other groups are refused", {
  needs_python()
  data <- transform(panel(20L), team = person %% 3)
  expect_error(dp_lm(y ~ x | team, data, eps = 1, unit = "person"), "effects of 'team'", class = "dpreg_usage")
  expect_error(dp_lm(y ~ x | person, data, eps = 1), "unit = \"person\"", class = "dpreg_usage")
  refused <- function(formula, says)
    expect_error(dp_lm(formula, data, eps = 1, unit = "person"), says, class = "dpreg_usage")
  refused(y ~ x | person + team, "levels = list\\(team")
  refused(y ~ x | person + era, "no column 'era'")
  refused(y ~ x | person:team, "public levels")
  expect_error(dp_lm(y ~ x | person, data, eps = 1, unit = "person", method = "tukey"), "model with unit effects",
               class = "dpreg_error")
})

test_that("effects of declared periods are columns", {
  needs_python()
  data <- transform(panel(), period = rep_len(2001:2004, 16000L))
  data$y <- data$y + (data$period == 2003)
  fit_to <- function(formula, levels = list(period = 2001:2004), data = data)
    dp_lm(formula, data, eps = 10, delta = 1e-6, unit = "person", levels = levels,
          method = BoostedAdaSSP(max_rows = 4), rng = 1)
  fit <- fit_to(y ~ x | person + period, data = data)
  expect_identical(names(coef(fit)), c("x", "period2002", "period2003", "period2004"))
  expect_true(all(abs(coef(fit) - c(1, 0, 1, 0)) < 4.5 * sqrt(diag(vcov(fit)))))
  data$period <- factor(data$period, 2001:2004)
  for (formula in list(y ~ x | period + person, y ~ 0 + x | person + period))
    expect_identical(coef(fit_to(formula, NULL, data)), coef(fit))
  expect_identical(rownames(anova(fit)), c("x", "period"))
})
