test_that("plots of fits show what they return", {
  needs_python()
  fit <- fit_of()
  before <- par("mar", "mgp", "tcl")
  expect_identical(plot(fit), confint(fit)[-1, ])
  expect_identical(par("mar", "mgp", "tcl"), before)
  expect_identical(rownames(plot(fit, "depth", level = 0.5)), "depth")
  expect_identical(rownames(plot(fit, 2:3, scale = "response", reference = coef(fit))),
                   c("log(carat)", "depth"))
  expect_silent(plot(fit_of(inference = FALSE)))
  expect_silent(plot(dp_lm(price ~ cut + color + clarity, diamonds[1:500, ], eps = 0.1,
                           method = "adassp", bounds = list(price = c(0, 20000)), rng = 1)))
  expect_error(plot(fit, "nothing"), "no coefficient 'nothing'")
})

test_that("coefficients that are all far from 0 have intervals too", {
  needs_python()
  fit <- dp_lm(log(price) ~ log(carat), diamonds, eps = 8, delta = 1e-6, rng = 1)
  expect_gt(coef(fit)[[2]] / sqrt(vcov(fit)[2, 2]), FARTHEST)
  expect_identical(plot(fit), confint(fit)[-1, , drop = FALSE])
  # Around the estimate: 6 standard errors to either side, and the 4 % that R adds.
  expect_equal(par("usr")[1:2], 1.08 * c(-6, 6))
  near <- on_scale(fit, "log(carat)", 0.95, "errors")
  around <- around_estimates(near, c(a = near$estimate + 3))
  expect_equal(c(around$shown$lower, around$shown$upper), c(-1, 1) * critical_value(fit$law, 0.05))
  expect_equal(around$mark, 3, ignore_attr = TRUE)
})

test_that("references are named, and seen", {
  needs_python()
  fit <- fit_of()
  expect_error(plot(fit, reference = c(dept = 1)), "reference: there is no coefficient 'dept'; there are")
  expect_error(plot(fit, reference = 1:3), "named numbers, such as")
  expect_silent(plot(fit, reference = c(depth = 1e6, `log(carat)` = NA)))
  expect_silent(plot(fit, xlim = c(-3, 3), ylim = c(0, 9)))
  expect_equal(par("usr")[1:2], c(-3.24, 3.24))
  marked <- data.frame(estimate = 1, lower = 0, upper = 2)
  expect_identical(plotted_range(marked, TRUE, c(a = 1e6), "errors"), c(-6, 6))
  expect_identical(plotted_range(marked, TRUE, c(a = 20), "errors"), c(-20, 20))
  budget <- dp_budget(eps = 2)
  expect_silent(plot(budget, xlim = c(0, 4)))
  expect_silent(plot(dp_plan(n = 1000, d = 1, eps = 1), xlim = c(0.1, 10), ylim = c(1, 9)))
})

test_that("coefficients share an axis in units of their errors", {
  needs_python()
  fit <- fit_of()
  shown <- on_scale(fit, names(coef(fit)), 0.95, "errors")
  table <- summary(fit)$coefficients
  expect_equal(shown$estimate, unname(table[, "z value"]))
  expect_equal((shown$upper - shown$estimate) * table[, "Sampling"] / table[, "Std. Error"],
               shown$inner, ignore_attr = TRUE)
})

test_that("values have as many decimals as their errors have", {
  expect_identical(with_error(c(1.69777, -0.0102, 10761.17, 5, 1e-12), c(0.00205, 0.00133, 369.4, NA, 1e-13)),
                   c("1.6978 \u00b1 0.0021", "-0.0102 \u00b1 0.0013", "10761 \u00b1 369", "",
                     "1e-12 \u00b1 1e-13"))
})

test_that("the plot of a plan goes through the plan", {
  needs_python()
  plan <- dp_plan(n = 20000, d = 5, eps = 1, delta = 1e-6, method = "tukey")
  shown <- plot(plan)
  expect_equal(approx(log(shown$eps), shown$width, log(plan$eps))$y, plan$width, tolerance = 0.05)
  expect_true(anyNA(shown$width))
  path <- tempfile()
  saveRDS(plan, path)
  expect_identical(plot(readRDS(path)), shown)
  expect_silent(plot(dp_plan(n = 100, d = 50, eps = 0.1)))
})

test_that("the plot of a budget has a bar for each charge", {
  needs_python()
  budget <- dp_budget(eps = 2, delta = 1e-5)
  expect_identical(nrow(plot(budget)), 0L)
  dp_lm(price ~ carat, diamonds, eps = 0.5, delta = 1e-6, budget = budget)
  expect_identical(plot(budget), as.data.frame(budget))
})

test_that("fits are laid out side by side", {
  needs_python()
  fits <- list(all = fit_of(), fit_of(inference = FALSE))
  shown <- do.call(dp_compare, fits)
  expect_identical(dp_compare(fits), shown)
  table <- as.data.frame(shown)
  expect_identical(names(table), c("term", "all", "(2)"))
  expect_identical(table$all[3:4], c(sprintf("%.5g", coef(fits$all)[[2]]),
                                     sprintf("(%.3g)", sqrt(vcov(fits$all)[2, 2]))))
  expect_identical(table[["(2)"]][4], "")
  expect_output(print(shown), "NOT PRIVATE, made from a seed: all, \\(2\\)")
  declined <- dp_lm(price ~ carat, diamonds[1:50, ], eps = 0.1, method = "tukey", rng = 1)
  for (wrong in list(list(), list(declined), list(1)))
    expect_error(dp_compare(wrong), "one or more released results|did not release")
})

# What is drawn, as text.
drawn <- function(width, height, draw) {
  path <- tempfile(fileext = ".svg")
  grDevices::svg(path, width, height)
  on.exit(unlink(path))
  value <- tryCatch(draw(), finally = grDevices::dev.off())
  list(value = value, text = readLines(path))
}

test_that("pictures fit small devices", {
  needs_python()
  fit <- fit_of()
  budget <- dp_budget(eps = 2)
  dp_lm(price ~ carat, diamonds, eps = 0.5, budget = budget)
  plan <- dp_plan(n = 20000, d = 5, eps = 1)
  half <- transform(diamonds, large = carat > 1)[seq(1, nrow(diamonds), 5), ]
  effect <- dp_effect(price ~ depth, half, eps = 1, treatment = "large", rng = 1)
  for (size in list(c(2.2, 1.8), c(3.2, 2.4), c(7, 4.5))) {
    expect_silent(drawn(size[1L], size[2L], function() plot(fit, reference = coef(fit))))
    expect_silent(drawn(size[1L], size[2L], function() plot(budget)))
    expect_silent(drawn(size[1L], size[2L], function() plot(plan)))
    expect_silent(drawn(size[1L], size[2L], function() plot(effect)))
  }
  inside <- function(size) {
    grDevices::pdf(NULL, size[1L], size[2L])
    on.exit(grDevices::dev.off())
    seen <- list()
    open_plot(2:1, c("one", "another"), c("1", "2"), TRUE, strrep("a title ", 9), "x", c(-1, 1))
    seen$plot <- graphics::par("pin")
    seen$size <- graphics::par("cex")
    seen
  }
  small <- inside(c(2.2, 1.8))
  large <- inside(c(7, 5))
  expect_true(all(small$plot > 0.3))
  expect_lt(small$size, 0.9)
  expect_identical(large$size, 1)
})

test_that("colours and sizes are those that were asked for", {
  needs_python()
  fit <- fit_of()
  red <- "rgb\\(100%, ?0%, ?0%\\)"
  asked <- function(...) drawn(6, 4, function() plot(fit, ...))$text
  expect_false(any(grepl(red, asked())))
  expect_true(any(grepl(red, asked(col = "#FF0000"))))
  expect_true(any(grepl(red, asked(col = c("black", "#FF0000")))))
  expect_false(identical(asked(cex = 0.5), asked()))
  budget <- dp_budget(eps = 2)
  expect_true(any(grepl(red, drawn(6, 4, function() plot(budget, col = c("black", "#FF0000")))$text)))
  plan <- dp_plan(n = 20000, d = 5, eps = 1)
  expect_true(any(grepl(red, drawn(6, 4, function() plot(plan, col = "#FF0000"))$text)))
  for (wrong in list(TRUE, character(), rep("red", 4)))
    expect_error(plot(fit, col = wrong), "col must be up to 3 colours", class = "dpreg_usage")
  expect_error(plot(fit, cex = "big"), "cex", class = "dpreg_usage")
})
