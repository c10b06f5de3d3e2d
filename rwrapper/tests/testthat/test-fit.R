test_that("a fit has the parts that R users ask for", {
  needs_python()
  fit <- fit_of()
  expect_s3_class(fit, "dp_lm")
  terms <- c("(Intercept)", "log(carat)", "depth", "cut.L", "cut.Q", "cut.C", "cut^4")
  expect_identical(names(coef(fit)), terms)
  expect_identical(dimnames(vcov(fit)), list(terms, terms))
  expect_identical(rownames(confint(fit)), terms)
  expect_identical(colnames(confint(fit, level = 0.9)), c("5 %", "95 %"))
  expect_equal(deparse(formula(fit)), "log(price) ~ log(carat) + depth + cut")
  expect_s3_class(terms(fit), "terms")
  expect_lt(abs(nobs(fit) - 53940), 2000)
  table <- summary(fit)$coefficients
  expect_equal(table[, "Sampling"]^2 + table[, "Privacy"]^2, table[, "Std. Error"]^2)
  expect_equal(table[, "Std. Error"], sqrt(diag(vcov(fit))))
  inside <- confint(fit)[, 1] > 0 | confint(fit)[, 2] < 0
  expect_identical(table[, "Pr(>|z|)"] < 0.05, inside)
  expect_identical(names(fit$clipping), terms)
  expect_true(all(fit$clipping > 0))
})

test_that("what is printed says what was promised", {
  needs_python()
  expect_output(print(fit_of()), "NOT PRIVATE")
  expect_output(print(summary(fit_of())), "Std. Error +Sampling +Privacy")
  private <- dp_lm(price ~ carat, diamonds, eps = 1, delta = 1e-6)
  printed <- gsub("\\s+", " ", paste(capture.output(print(private)), collapse = " "))
  expect_match(printed, "(1, 1e-06)-differentially private for the addition or removal of one row",
               fixed = TRUE)
  expect_output(print(summary(fit_of(inference = FALSE))), "not asked for")
  expect_output(print(summary(fit_of(method = "frank_wolfe"))), "none, because")
})

test_that("functions of the records stop with the reason", {
  needs_python()
  fit <- fit_of()
  for (f in list(residuals, fitted, deviance, logLik, augment, predict))
    expect_error(f(fit), "function of the private records", class = "dpreg_private")
  for (f in list(AIC, case.names)) expect_error(f(fit), "private records", class = "dpreg_private")
  expect_identical(variable.names(fit), names(coef(fit)))
  expect_identical(labels(fit), c("log(carat)", "depth", "cut"))
  expect_error(sigma(fit), "not released; dp_lm\\(fit_stats = TRUE\\)")
  expect_error(predict(fit, diamonds[1, ], interval = "prediction"), "variance of the errors")
})

test_that("saving and reading keep a fit as it is, and no record is in it", {
  needs_python()
  secret <- data.frame(y = rnorm(5000), x = rnorm(5000), secret_column = 12345.678)
  inner <- function() {
    mine <- secret
    dp_lm(y ~ x, mine, eps = 8, delta = 1e-5)
  }
  direct <- do.call(dp_lm, list(y ~ x, secret, eps = 8, delta = 1e-5))
  for (fit in list(inner(), direct)) {
    path <- tempfile()
    saveRDS(fit, path)
    expect_lt(file.size(path), 20000)
    again <- readRDS(path)
    expect_identical(again, fit)
    expect_identical(predict(again, secret, winsorise = FALSE), predict(fit, secret, winsorise = FALSE))
    expect_output(print(summary(again)))
    expect_false(grepl("12345.678", paste(deparse(fit), collapse = ""), fixed = TRUE))
  }
})

test_that("tidiers have the columns of broom", {
  needs_python()
  fit <- fit_of()
  expect_identical(names(tidy(fit)), c("term", "estimate", "std.error", "statistic", "p.value"))
  with <- tidy(fit, conf.int = TRUE, conf.level = 0.9)
  expect_equal(with$conf.low, unname(confint(fit, level = 0.9)[, 1]))
  expect_identical(nrow(glance(fit)), 1L)
  new <- diamonds[1:3, ]
  expect_equal(augment(fit, new)$.fitted, unname(predict(fit, new)))
  skip_if_not_installed("broom")
  expect_identical(broom::tidy(fit), tidy(fit))
})

test_that("a mechanism that declines gives a value that says so", {
  needs_python()
  declined <- dp_lm(price ~ carat, diamonds[1:50, ], eps = 0.1, method = "tukey", rng = 1)
  expect_s3_class(declined, "dp_not_released")
  expect_output(print(declined), "Not released")
  for (f in list(coef, vcov, confint, predict, plot, tidy, glance))
    expect_error(f(declined), "did not release")
  expect_type(nobs(declined), "double")
})

test_that("no record is kept after a fit", {
  needs_python()
  trace <- reticulate::import("tracemalloc")
  held <- function() {
    reticulate::import("gc")$collect()
    c(python = trace$get_traced_memory()[[1]], r = 8 * gc()[2, 1])
  }
  n <- 200000L # 17.6 MB
  wide <- as.data.frame(matrix(rnorm(n * 10), n))
  wide$y <- rnorm(n)
  fit <- dp_lm(y ~ ., wide, eps = 5, delta = 1e-6)
  trace$start()
  on.exit(trace$stop())
  before <- held()
  fit <- dp_lm(y ~ ., wide, eps = 5, delta = 1e-6)
  expect_true(all(held() - before < 1e6))
  # A hundred times less than the records; half of it is the certificate, step by step.
  expect_lt(as.numeric(object.size(fit)), 1.5e5)
  # One column that is kept would be seen, on either side.
  kept <- reticulate::import_builtins(convert = FALSE)$bytearray(8L * n)
  here <- rnorm(n)
  expect_true(all(held() - before > 1e6))
})

test_that("strange data go all the way, silently", {
  needs_python()
  data <- strange_data()
  for (rows in list(0, 1, 1:60)) {
    expect_silent(fit <- dp_lm(y ~ ., data[rows, ], eps = 100, method = "tukey", rng = 1))
    expect_true(inherits(fit, c("dp_lm", "dp_not_released")))
  }
  data[] <- lapply(data, function(x) { x[] <- NA; x })
  expect_silent(dp_lm(y ~ ., data, eps = 100, method = "tukey", rng = 1))
})

test_that("units come in any type", {
  needs_python()
  data <- diamonds
  labels <- rep_len(1:9000, nrow(data))
  fit <- function(unit) {
    data$who <- unit
    dp_lm(log(price) ~ log(carat), data, eps = 4, unit = "who", method = "tukey", rng = 1)
  }
  numbers <- fit(labels)
  expect_lt(abs(nobs(numbers) - 9000), 500)
  expect_match(numbers$privacy$unit, "all rows of one 'who'")
  expect_identical(coef(fit(paste("person", labels))), coef(numbers))
  expect_identical(coef(fit(factor(labels, sample(9000)))), coef(numbers))
  expect_identical(coef(fit(labels + 2^40)), coef(numbers))
  expect_error(dp_lm(price ~ carat, data, eps = 1, unit = "nobody"), "unit:")
})

test_that("wrong use is an error with a class, before a record is read", {
  needs_python()
  expect_error(dp_lm(price ~ carat, diamonds, eps = -1), class = "dpreg_budget")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, delta = 2), "delta must be in")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, method = "magic"), "method must be one of")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, method = TukeyEM(models = 1)), "at least 2")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, method = TukeyEM(models = 10.5)),
               "whole number, got 10.5; write models = 10")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, unit = "x", max_rows = 2.5),
               "max_rows must be a whole number, got 2.5; write max_rows = 2")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, unit = "Carat"),
               "unit: there is no column 'Carat' in the data; did you mean 'carat'")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, weights = "cart"),
               "weights: there is no column 'cart' in the data; did you mean 'carat'")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, level = 0.9), "list with names, such as .*, not 0.9")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, method = "ols"), 'write method = "auto"')
  expect_error(dp_glm(price ~ carat, diamonds, eps = 1, family = Quantile(90)), "write q = 0.9")
  expect_error(dp_lm(price ~ carat, list(price = 1, carat = 1), eps = 1), "as.data.frame")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, rng = 1.5), "rng must be .* write rng = 1")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, budget = 3), "dp_budget")
  expect_error(dp_lm(price ~ carat, as.matrix(1:3), eps = 1), "data frame")
})

test_that("the result does not depend on the name of the method being a name or options", {
  needs_python()
  expect_identical(coef(fit_of(method = "tukey")), coef(fit_of(method = TukeyEM())))
  expect_identical(fit_of(method = TukeyEM(models = 1000))$method, "tukey")
  expect_identical(coef(fit_of(method = "adassp")),
                   coef(fit_of(method = AdaSSP(max_rows = 1))))
  expect_identical(coef(fit_of(method = "frank_wolfe")),
                   coef(fit_of(method = FrankWolfe(standardisation = Standardisation(zooms = 3)))))
})

test_that("columns with public bounds are looked at within them, and the certificate names them", {
  needs_python()
  searched <- function(fit) {
    labels <- vapply(fit$privacy$parts, `[[`, "", "label")
    any(grepl("magnitude", labels) & !grepl("with bounds$", labels))
  }
  some <- list(depth = c(40, 80))
  all <- c(some, list(`log(price)` = c(5, 10), `log(carat)` = c(-2, 2)))
  expect_true(searched(fit_of(bounds = some)))
  bounded <- fit_of(bounds = all)
  expect_false(searched(bounded))
  expect_identical(tail(unlist(bounded$privacy$public), 1L), "bounds of log(carat): -2 to 2")
  expect_false(identical(coef(bounded), coef(fit_of())))
  expect_error(fit_of(bounds = list(nothing = c(0, 1))), "is not a column of the model")
  expect_error(fit_of(method = "tukey", bounds = some), "bounds is not used by 'tukey', only by 'auto'")
  logistic <- dp_glm(I(price > 5000) ~ carat, diamonds, eps = 1, bounds = list(carat = c(0, 6)), rng = 1)
  expect_false(searched(logistic))
  moments <- dp_moments(~ carat + depth, diamonds, eps = 1, bounds = list(carat = c(0, 6), depth = c(40, 80)), rng = 1)
  expect_false(searched(moments))
  # The dummies of a factor need none, or share those of their term.
  for (more in list(list(), list(cut = c(-1, 1))))
    expect_length(dp_select(price ~ carat + cut, diamonds, k = 1, eps = 5, method = "sis", rng = 1,
                            bounds = c(list(price = c(0, 20000), carat = c(0, 6)), more))$selected, 1L)
})

test_that("seeds are whole numbers", {
  needs_python()
  for (rng in list(-1, 1.5, TRUE, NA, "a"))
    expect_error(dp_lm(price ~ carat, diamonds, 1, rng = rng), "rng must be NULL \\(private\\) or an integer", class = "dpreg_usage")
})

test_that("a unit is named by a column of plain values", {
  needs_python()
  data <- diamonds[1:100, ]
  data$table2 <- matrix(1:200, 100)
  data$frame <- data.frame(a = 1:100)
  data$many <- as.list(1:100)
  data$big <- structure(as.numeric(1:100), class = "integer64")
  for (unit in c("table2", "frame", "many", "big"))
    expect_error(dp_lm(price ~ carat, data, eps = 1, unit = unit), "does not name units")
  at <- as.POSIXct("2020-01-01", tz = "UTC") + c(0, 0.25, 0.25, 86400, NA)
  expect_identical(readBin(pack_labels(at), "integer", 5, endian = "little"), c(0L, 1L, 1L, 2L, -1L))
})

test_that("arguments that would be ignored are refused", {
  needs_python()
  fit <- fit_of()
  wrong <- function(...)
    expect_error(dp_lm(price ~ carat, diamonds, eps = 1, ...), "dp_lm\\(\\) has no argument")$message
  expect_match(wrong(offset = carat), "y ~ z + offset(x)", fixed = TRUE)
  expect_match(wrong(subset = carat > 1), "data = subset\\(data")
  expect_match(wrong(na.action = na.omit), "dropped")
  expect_match(wrong(contrasts = list(cut = "contr.sum")), "C\\(g, contr.sum\\)")
  expect_error(dp_lm(price ~ carat, diamonds, epsilon = 1), "write eps = 1")
  expect_error(dp_select(price ~ carat, diamonds, k = 1, eps = 1, weights = 1), "no argument 'weights'")
  expect_error(predict(fit, diamonds[1:2, ], type = "terms"), "type must be \"response\"")
  expect_error(tidy(fit, exponential = TRUE), "no argument 'exponential'")
  expect_error(augment(fit, diamonds[1:2, ], se_fit = TRUE), "always given")
  expect_equal(tidy(fit, conf.int = TRUE, exponentiate = TRUE)$conf.low, unname(exp(confint(fit)[, 1])))
  expect_equal(tidy(fit, exponentiate = TRUE)$std.error, tidy(fit)$std.error)
  with <- augment(fit, diamonds[1:2, ], interval = "confidence", conf.level = 0.9)
  limits <- predict(fit, diamonds[1:2, ], interval = "confidence", level = 0.9)[, -1]
  expect_equal(cbind(with$.lower, with$.upper), unname(limits))
})

test_that("what needs residuals stops with the reason", {
  needs_python()
  fit <- fit_of()
  for (f in list(weights, rstandard, rstudent, hatvalues, cooks.distance, influence, dfbeta, dfbetas, drop1, add1,
                 extractAIC, step, simulate, BIC))
    expect_error(f(fit), "function of the private records")
  declined <- dp_lm(price ~ carat, diamonds[1:50, ], eps = 0.1, method = "tukey", rng = 1)
  for (f in list(residuals, fitted, deviance, logLik, AIC, terms, augment, df.residual, sigma, anova, model.matrix,
                 model.frame))
    expect_error(f(declined), "did not release")
  skip_if_not_installed("emmeans")
  expect_error(emmeans::emmeans(declined, "carat"), "did not release")
})

test_that("numbers, probabilities and counts are printed as they should be", {
  needs_python()
  fit <- fit_of()
  fit$nobs <- 100000
  expect_output(print(fit), "Rows: about 100,000 ", fixed = TRUE)
  expect_output(print(summary(fit_of(method = "tukey"))), "< ?5e-16")
  expect_output(print(dp_plan(n = 1000, d = 1, eps = 1)), "1 regressor,")
  budget <- dp_budget(1)
  expect_output(print(summary(budget)), "Budget: eps = 1")
  expect_output(print(summary(dp_select(price ~ carat + x, diamonds, k = 1, eps = 1, rng = 1))), "Selected 1 of 2")
  expect_error(dp_select(price ~ carat + x, diamonds, k = 1, eps = 1, method = "sis"),
               "write bounds = list(carat = c(low, high)", fixed = TRUE)
})

test_that("the zeros of a sparse method are estimates, with standard errors asked for or not", {
  needs_python()
  bounds <- list(price = c(0, 20000), carat = c(0, 6), depth = c(40, 80), table = c(40, 100))
  for (inference in c(TRUE, FALSE)) {
    fit <- dp_lm(price ~ carat + depth + table, diamonds, eps = 0.5, method = "frank_wolfe",
                 bounds = bounds, inference = inference, rng = 1)
    expect_true(any(coef(fit) == 0))
    expect_false(anyNA(coef(fit)))
  }
})

test_that("a power outside of I() is R's: the column itself", {
  needs_python()
  expect_identical(coef(dp_lm(price ~ carat^2, load_diamonds()[1:3000, ], eps = 4, rng = 1)),
                   coef(dp_lm(price ~ carat, load_diamonds()[1:3000, ], eps = 4, rng = 1)))
})
