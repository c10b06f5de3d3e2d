trial <- function(n = 400L) {
  set.seed(20260101)
  arm <- factor(sample(c("a", "b"), n, TRUE), c("a", "b"))
  days <- ceiling(stats::rexp(n, ifelse(arm == "b", 1 / 8, 1 / 6)))
  end <- sample(1:12, n, TRUE)
  data.frame(time = pmin(days, end), status = ifelse(days <= end, 2, 1), arm = arm,
             sex = rep(c("f", "m"), length.out = n), start = 0, person = rep(seq_len(n / 2), 2))
}

test_that("without noise it is survfit and survdiff", {
  needs_python("dp_curve")
  skip_if_not_installed("survival")
  data <- trial()
  curve <- dp_curve(Surv(time, status == 2) ~ arm, data, eps = 400, cuts = 1:12)
  theirs <- summary(survival::survfit(survival::Surv(time, status == 2) ~ arm, data), times = 1:12, extend = TRUE)
  ours <- as.data.frame(curve)
  known <- !is.na(ours$surv)
  expect_gt(sum(known), 20)
  expect_equal(ours$surv[known], theirs$surv[known])
  expect_equal(ours$std.err[known], theirs$std.err[known])
  expect_equal(ours$n.risk, theirs$n.risk)
  expect_identical(levels(ours$strata), levels(theirs$strata))
  test <- survival::survdiff(survival::Surv(time, status == 2) ~ arm, data)
  expect_s3_class(curve_logrank(curve), "htest")
  expect_equal(unname(curve_logrank(curve)$statistic), test$chisq)
  late <- dp_curve(survival::Surv(start, time, status == 2) ~ arm, data, eps = 400, cuts = 1:12)
  expect_equal(late$curve$surv, curve$curve$surv)
})

test_that("it is Python's curve of the same seed, and cells are those of the data", {
  needs_python("dp_curve")
  data <- trial()
  one <- dp_curve(Surv(time, status == 2) ~ sex + arm, data, eps = 400, cuts = c(3, 6), levels = list(sex = c("m", "f")))
  expect_identical(one$groups, c("sex=m, arm=a", "sex=m, arm=b", "sex=f, arm=a", "sex=f, arm=b"))
  first <- one$curve[c(1, 3, 5, 7), ]
  expect_equal(first$n.risk, as.vector(table(data$arm, data$sex)[, c("m", "f")]))
  again <- dp_curve(Surv(time, status == 2) ~ 1, data, eps = 1, cuts = c(3, 6), rng = 1)
  expect_identical(again$json, dp_curve(Surv(time, status == 2) ~ 1, data, eps = 1, cuts = c(3, 6), rng = 1)$json)
  expect_identical(again$groups, "all")
})

test_that("means, quantiles, tables and plots come from what was released", {
  needs_python("dp_curve")
  curve <- dp_curve(Surv(time, status == 2) ~ arm, trial(), eps = 20, cuts = c(2, 4, 6, 8), rng = 1)
  mean <- curve_rmst(curve, 4)
  hazard <- -diff(rbind(0, log(matrix(curve$curve$surv, 4)[1:2, ])))
  expect_equal(mean$rmst, 2 * (1 - exp(-hazard[1, ])) / hazard[1, ] +
                 2 * exp(-hazard[1, ]) * (1 - exp(-hazard[2, ])) / hazard[2, ])
  expect_identical(names(tidy(curve)), c("time", "n.risk", "n.event", "n.censor", "estimate", "std.error",
                                         "conf.low", "conf.high", "strata"))
  expect_true(all(as.data.frame(curve, simultaneous = TRUE)$lower < curve$curve$lower))
  expect_identical(dim(quantile(curve, c(0.2, 0.5))), c(4L, 5L))
  expect_identical(median(curve, level = 0.9), quantile(curve, 0.5, level = 0.9))
  expect_error(median(curve, probs = 0.4), "median\\(\\)")
  expect_identical(curve_cuts(curve, 1), 8)
  expect_true(all(curve_cuts(curve, 3) %in% c(2, 4, 6, 8)))
  expect_error(curve_cuts(curve, 0), "count must be a whole number")
  found <- curve_concordance(curve)
  expect_identical(names(found), c("concordance", "std.err", "lower", "upper"))
  expect_true(found$lower < found$concordance && found$concordance < found$upper)
  expect_output(print(curve), "Log-rank test: chisq = .* on 1 df")
  expect_identical(nrow(plot(curve)), 8L)
})

test_that("units and strata are as for fits", {
  needs_python("dp_curve")
  data <- trial()
  unit <- dp_curve(Surv(time, status == 2) ~ 1, data, eps = 400, cuts = 12, unit = "person")
  expect_equal(unit$nobs, 200)
  both <- dp_curve(Surv(time, status == 2) ~ 1, data, eps = 400, cuts = 12, unit = "person", max_rows = 2)
  expect_equal(both$nobs, 400)
  strata <- dp_partition(dp_budget(eps = 400), "arm", levels(data$arm))
  part <- dp_curve(Surv(time, status == 2) ~ 1, data, eps = 400, cuts = 12, budget = strata[["a"]])
  expect_equal(part$nobs, sum(data$arm == "a"))
})

test_that("what cannot be used is refused with a rewrite", {
  data <- trial(20L)
  refused <- function(formula, text, ...)
    expect_error(dp_curve(formula, data, eps = 1, ...), text, class = "dpreg_usage")
  refused(time ~ arm, "must be Surv\\(\\)", cuts = 2)
  refused(Surv(time) ~ arm, "write Surv\\(time, event\\)", cuts = 2)
  refused(Surv(time, status, type = "left") ~ arm, "right-censored times", cuts = 2)
  refused(Surv(time, status == 2) ~ strata(arm), "write the groups themselves", cuts = 2)
  refused(Surv(time, status == 2) ~ cluster(person), "unit = \"person\"", cuts = 2)
  refused(Surv(time, status == 2) ~ frailty(person), "unit = \"person\"", cuts = 2)
  refused(Surv(time, status == 2) ~ arm:sex, "must name groups", cuts = 2)
  refused(Surv(time, status == 2) ~ sex, "add levels = list\\(sex = ", cuts = 2)
  refused(Surv(time, status == 2) ~ person, "or write cut\\(\\)", cuts = 2)
  refused(Surv(time, status == 2) ~ arm, "cuts must be increasing", cuts = c(2, 1))
  expect_error(dp_curve(Surv(time, status == 2) ~ arm, data, eps = 1, cuts = 2, delta = 1e-5),
               "guarantee is \\(eps, 0\\)", class = "dpreg_usage")
})

test_that("an event that is a factor is refused with a rewrite", {
  needs_python("dp_curve")
  expect_error(dp_curve(Surv(time, arm) ~ 1, trial(20L), eps = 1, cuts = 2),
               "event must be 0 or 1; write Surv\\(time, arm == \"b\"\\)", class = "dpreg_usage")
})
