cohort <- function(n = 8000L) {
  set.seed(20260101)
  age <- stats::rnorm(n)
  drug <- stats::rbinom(n, 1L, stats::plogis(0.5 * age))
  data.frame(y = 1 + age + 2 * drug + stats::rnorm(n), age = age, drug = drug,
             arm = factor(c("placebo", "drug")[drug + 1L], c("placebo", "drug")),
             text = c("placebo", "drug")[drug + 1L], person = rep(seq_len(n / 2), 2))
}

test_that("a factor, numbers, truth and declared levels are one treatment", {
  needs_python("dp_effect")
  data <- transform(cohort(), truth = drug == 1)
  one <- dp_effect(y ~ age, data, eps = 2, treatment = "drug", rng = 1)
  expect_s3_class(one, "dp_effect")
  expect_lt(abs(coef(one)[["effect"]] - 2), 4 * sqrt(vcov(one)[1, 1]))
  withr_contrasts <- options(contrasts = c("contr.sum", "contr.poly"))
  on.exit(options(withr_contrasts))
  for (name in c("arm", "truth", "text")) {
    levels <- if (name == "text") list(text = c("placebo", "drug"))
    other <- dp_effect(y ~ age, data, eps = 2, treatment = name, levels = levels, rng = 1)
    expect_equal(unname(coef(other)), unname(coef(one)))
  }
  expect_identical(names(coef(dp_effect(y ~ age, data, eps = 2, treatment = "arm", rng = 1))),
                   c("effect", "mean[arm=placebo]", "mean[arm=drug]"))
})

test_that("errors, intervals and the table agree", {
  needs_python("dp_effect")
  found <- dp_effect(y ~ age, cohort(), eps = 2, treatment = "arm", propensity = 0.5, rng = 1)
  table <- tidy(found, conf.level = 0.9)
  expect_equal(table$std.error, unname(sqrt(diag(vcov(found)))))
  expect_equal(unname(confint(found, "effect", level = 0.9)), cbind(table$conf.low[1], table$conf.high[1]))
  expect_equal(table$estimate[1], table$estimate[3] - table$estimate[2])
  expect_equal(vcov(found)[1, 1], vcov(found)[2, 2] + vcov(found)[3, 3] - 2 * vcov(found)[2, 3])
  expect_null(found$overlap)
  expect_output(print(found), "Private effect of arm on y")
  expect_match(found$json, "dpreg_effect")
  expect_identical(plot(found), confint(found))
  expect_identical(plot(found, "effect"), confint(found, "effect"))
  expect_identical(plot(found, level = 0.5), confint(found, level = 0.5))
  expect_silent(plot(found, col = "grey70", xlim = c(-1, 3)))
  expect_error(plot(found, "arm"), "no coefficient 'arm'")
  modelled <- dp_effect(y ~ age, cohort(), eps = 2, treatment = "arm", rng = 1)
  expect_named(modelled$overlap, c("rows", "std_err", "units", "low", "high"), ignore.order = TRUE)
})

test_that("the effect on an outcome of 0 and 1 is drawn as a difference of risks", {
  needs_python("dp_effect")
  written <- function(...) {
    found <- dp_effect(..., cohort(), eps = 3, treatment = "drug", rng = 1)
    grDevices::dev.control("enable")
    plot(found)
    paste(deparse(grDevices::recordPlot()[[1L]]), collapse = "")
  }
  expect_match(written(I(y > 1) ~ age, family = binomial()), "effect, a difference of risks")
  expect_match(written(y ~ age), "effect, a difference of means")
})

test_that("units, budgets and outcomes that are no number", {
  needs_python("dp_effect")
  data <- cohort()
  budget <- dp_budget(eps = 9, delta = 1e-4)
  found <- dp_effect(I(y > 1) ~ age, data, eps = 3, treatment = "arm", family = binomial(), unit = "person",
                     max_rows = 2, budget = budget)
  expect_gt(coef(found)[["effect"]], 0.2)
  expect_equal(nrow(as.data.frame(budget)), 1L)
  few <- dp_effect(y ~ age, data[1:20, ], eps = 0.1, treatment = "arm")
  expect_s3_class(few, "dp_not_released")
})

test_that("wrong use is refused", {
  needs_python("dp_effect")
  data <- cohort(100L)
  refused <- function(text, formula = y ~ age, treatment = "arm", ...)
    expect_error(dp_effect(formula, data, eps = 1, treatment = treatment, ...), text, class = "dpreg_usage")
  refused("is the treatment", y ~ arm + age)
  refused("name of one column", treatment = 3)
  refused("treatment: there is no column 'amr' in the data; did you mean '.*arm'", treatment = "amr")
  refused("text, and its levels must not be read from the data; add levels", treatment = "text")
  refused("overlap must be two", overlap = 0.1)
  refused("one of", method = "tmle")
  refused("uses none", method = "difference")
  refused("propensity", propensity = 2)
  refused("binomial", family = poisson())
  refused("two public levels", treatment = "text", levels = list(text = c("placebo", "drug", "x")))
})
