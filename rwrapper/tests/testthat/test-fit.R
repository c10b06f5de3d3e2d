diamonds <- if (dpreg_available()) load_diamonds()

fit_of <- function(formula = log(price) ~ log(carat) + depth + cut, ..., eps = 4)
  dp_lm(formula, diamonds, eps = eps, delta = 1e-6, rng = 1, ...)

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
  for (f in list(residuals, fitted, deviance, logLik, augment, predict, model.matrix))
    expect_error(f(fit), "function of the private records")
  for (f in list(AIC, anova, df.residual, case.names)) expect_error(f(fit), "private records")
  expect_identical(variable.names(fit), names(coef(fit)))
  expect_identical(labels(fit), c("log(carat)", "depth", "cut"))
  expect_error(sigma(fit), "not released")
  expect_error(predict(fit, diamonds[1, ], interval = "prediction"), "variance of the errors")
})

test_that("predictions are the model matrix times the coefficients", {
  needs_python()
  fit <- fit_of(log(price) ~ log(carat) * cut + I(depth^2))
  new <- diamonds[c(400, 500, 9000), ]
  X <- model.matrix(~ log(carat) * cut + I(depth^2), new)
  expect_equal(predict(fit, new), drop(X %*% coef(fit)))
  all <- predict(fit, new, se.fit = TRUE, interval = "confidence", level = 0.9)
  expect_equal(unname(all$se.fit), unname(sqrt(diag(X %*% vcov(fit) %*% t(X)))))
  expect_identical(colnames(all$fit), c("fit", "lwr", "upr"))
  text <- transform(new, cut = as.character(cut))
  expect_equal(predict(fit, text), predict(fit, new))
  new$carat[2] <- NA
  expect_identical(unname(is.na(predict(fit, new))), c(FALSE, TRUE, FALSE))
  expect_length(predict(fit, new[0, ]), 0)
  expect_error(predict(fit, transform(text, cut = "odd")), "new level 'odd'")
  expect_error(predict(fit, new["carat"]), "no column")
})

test_that("a coefficient without a known error matters only where its regressor is not 0", {
  V <- diag(c(4, NA, 9))
  V[2, ] <- V[, 2] <- NA
  X <- rbind(c(1, 0, 0), c(1, 2, 0), c(0, 0, 2), c(1, NA, 0))
  expect_identical(mean_errors(X, V), c(2, NA, 6, NA))
})

test_that("predictions keep the contrasts of the fit", {
  needs_python()
  old <- options(contrasts = c("contr.sum", "contr.sum"))
  fit <- fit_of(log(price) ~ cut)
  before <- predict(fit, diamonds[1:3, ])
  options(old)
  expect_identical(predict(fit, diamonds[1:3, ]), before)
})

test_that("values beyond the limits of a fit are moved to them", {
  X <- cbind(`(Intercept)` = 1, a = c(-5, 0, 5), b = 1:3)
  limits <- rbind(c(-1, 1), c(0, 2.5), c(0, 10))
  expect_identical(winsorised(X, limits)[, -1], cbind(a = c(-1, 0, 1), b = c(1, 2, 2.5)))
  line <- c(a = -1, b = 5, c = NA, d = 12)
  expect_warning(kept <- response_within(line, limits), "limits of the response were moved")
  expect_identical(kept, c(a = 0, b = 5, c = NA, d = 10))
  expect_silent(expect_identical(response_within(line, rbind(c(NaN, NaN))), line))
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

test_that("emmeans are those of the coefficients, on a public grid", {
  needs_python()
  skip_if_not_installed("emmeans")
  fit <- fit_of(log(price) ~ cut + color)
  means <- as.data.frame(emmeans::emmeans(fit, "cut"))
  grid <- expand.grid(cut = levels(diamonds$cut), color = levels(diamonds$color))
  expected <- tapply(predict(fit, grid), grid$cut, mean)
  expect_equal(means$emmean, as.vector(expected))
  expect_error(emmeans::emmeans(fit_of(), "cut"), "public data frame")
  at <- data.frame(carat = 1, depth = 60, cut = factor("Fair", levels(diamonds$cut)))
  all <- as.data.frame(emmeans::emmeans(fit_of(), "cut", data = at[c("carat", "depth")]))
  expect_identical(as.character(all$cut), levels(diamonds$cut))
  one <- as.data.frame(emmeans::emmeans(fit_of(), "cut", data = at))
  expect_equal(one$emmean[1], unname(predict(fit_of(), at)))
})

test_that("emmeans knows the two values of a logical column", {
  needs_python()
  skip_if_not_installed("emmeans")
  data <- transform(diamonds, clear = clarity > "SI1")
  fit <- dp_lm(log(price) ~ log(carat) + clear, data, eps = 4, method = "tukey", rng = 1)
  means <- as.data.frame(emmeans::emmeans(fit, "clear", data = data.frame(carat = 1)))
  expect_identical(means$clear, c(FALSE, TRUE))
  expect_equal(diff(means$emmean), coef(fit)[["clearTRUE"]])
})

test_that("marginaleffects finds what it needs", {
  needs_python()
  fit <- fit_of()
  expect_true("dp_lm" %in% getOption("marginaleffects_model_classes"))
  expect_identical(get_coef.dp_lm(fit), coef(fit))
  expect_identical(get_vcov.dp_lm(fit), vcov(fit))
  moved <- set_coef.dp_lm(fit, coef(fit) + 1)
  expect_equal(coef(moved), coef(fit) + 1)
  new <- diamonds[400:401, ]
  # The default would average over the records of the call.
  expect_error(get_data.dp_lm(fit), "would not be private")
  expect_equal(get_predict.dp_lm(fit, new)$estimate, unname(predict(fit, new)))
})

test_that("update makes a new release", {
  needs_python()
  budget <- dp_budget(eps = 3, delta = 1e-5)
  fit <- dp_lm(price ~ carat, diamonds, eps = 1, delta = 1e-6, budget = budget)
  again <- update(fit, . ~ . + depth)
  expect_identical(names(coef(again)), c("(Intercept)", "carat", "depth"))
  expect_identical(nrow(as.data.frame(budget)), 2L)
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
  expect_lt(as.numeric(object.size(fit)), 1e5)
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
  expect_error(dp_lm(price ~ carat, diamonds, eps = -1), class = "dpreg_BudgetError")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, delta = 2), "delta must be in")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, method = "magic"), "method must be one of")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, method = TukeyEM(models = 1)), "at least 2")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, method = TukeyEM(models = 10.5)), "whole number")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, rng = 1.5), "rng must be")
  expect_error(dp_lm(price ~ carat, diamonds, eps = 1, budget = 3), "dp_budget")
  expect_error(dp_lm(price ~ carat, as.matrix(1:3), eps = 1), "data frame")
})

test_that("mistakes are named in the words of R", {
  needs_python()
  wrong <- function(...) expect_error(dp_lm(price ~ carat, diamonds, ...), class = "simpleError")
  for (eps in list(NA, NA_real_, NULL, "1", c(1, 2), TRUE, list(1)))
    expect_match(wrong(eps = eps)$message, "eps must be one number, such as eps = 1, not")
  expect_match(wrong(1, delta = NA)$message, "delta must be one number")
  expect_match(wrong(1, inference = NA)$message, "inference must be TRUE or FALSE, not NA")
  expect_match(wrong(1, method = TukeyEM)$message, "TukeyEM\\(\\), not a function; call it")
  expect_match(wrong(1, method = c("tukey", "adassp"))$message, "a vector of length 2")
  expect_match(wrong(1, select = DPKendall)$message, "select must be one name")
  expect_match(wrong(1, select = "kendall", k = "a")$message, "k must be one number")
  expect_error(dp_select(price ~ carat, diamonds, k = NA, eps = 1), "k must be one number")
  expect_error(dp_plan(n = NA, d = 3, eps = 1), "n must be one number")
  expect_error(dp_plan(n = 10, d = 3, eps = 1, method = TukeyEM()), "an object of class dp_options")
  expect_error(dp_budget(NA), "eps must be one number")
  expect_error(confint(fit_of(), "nothing"), "no coefficient 'nothing'")
  expect_error(confint(fit_of(), 99), "no coefficient '99'")
  declined <- dp_lm(price ~ carat, diamonds[1:50, ], eps = 0.1, method = "tukey", rng = 1)
  expect_match(declined$advice, "inference=FALSE")
})

test_that("a budget refuses before a record is read", {
  needs_python()
  budget <- dp_budget(eps = 1)
  read <- FALSE
  data <- data.frame(y = 1, x = 1)
  design <- design_of(y ~ x, data)
  request <- list(formula = "y ~ x", eps = 2, delta = 1e-6, budget = unclass(budget),
                  matrix = sent_design(design, data, NULL))
  request$matrix$read <- function() { read <<- TRUE; packed_records(design, data, NULL) }
  expect_error(call_python("lm", request), class = "dpreg_BudgetError")
  expect_false(read)
  request$eps <- 0.5
  request["budget"] <- NULL
  call_python("lm", request)
  expect_true(read)
})

test_that("budgets count, in memory and on disk", {
  needs_python()
  path <- tempfile(fileext = ".ledger")
  for (budget in list(dp_budget(eps = 1, delta = 1e-5), dp_budget(eps = 1, delta = 1e-5, ledger = path))) {
    dp_lm(price ~ carat, diamonds, eps = 0.75, delta = 1e-6, budget = budget)
    expect_error(dp_lm(price ~ carat, diamonds, eps = 0.5, delta = 1e-6, budget = budget),
                 class = "dpreg_BudgetError")
    expect_identical(as.data.frame(budget)$eps, 0.75)
    expect_output(print(budget), "left: eps = 0.25")
  }
  expect_identical(as.data.frame(dp_budget(eps = 1, delta = 1e-5, ledger = path))$eps, 0.75)
  expect_error(dp_budget(eps = 5, delta = 1e-5, ledger = path))
  lost <- budget
  lost$ledger <- NULL
  lost$key <- "of another session"
  expect_error(print(lost), "another session")
})

test_that("options have the defaults of Python", {
  needs_python()
  constructors <- list(Auto, TukeyEM, AdaSSP, BoostedAdaSSP, DPSGD, Standardisation, DPKendall,
                       DPSIS, TwoStage, SubLasso)
  if (dpreg_available("FrankWolfe")) constructors <- c(constructors, FrankWolfe)
  for (f in constructors) {
    made <- f()
    theirs <- call_python("defaults", list(kind = made$kind))
    ours <- lapply(made$options, function(v) if (inherits(v, "dp_options")) "<object>" else v)
    expect_identical(names(ours), names(theirs))
    expect_equal(ours, theirs)
  }
  expect_output(print(TukeyEM()), "TukeyEM\\(models = NULL, ridge = NULL")
})

test_that("the result does not depend on the name of the method being a name or options", {
  needs_python()
  expect_identical(coef(fit_of(method = "tukey")), coef(fit_of(method = TukeyEM())))
  expect_identical(fit_of(method = TukeyEM(models = 1000))$method, "tukey")
  expect_identical(coef(fit_of(method = "adassp")),
                   coef(fit_of(method = AdaSSP(standardisation = Standardisation(zooms = 3)))))
  bounded <- fit_of(method = AdaSSP(bounds = list(depth = c(40, 80))))
  expect_false(identical(coef(bounded), coef(fit_of(method = "adassp"))))
  expect_error(fit_of(method = AdaSSP(bounds = list(nothing = c(0, 1)))), "no column of the model")
})

test_that("seeds are exact", {
  expect_identical(seed_sent(1), "1")
  expect_identical(seed_sent(2^53 - 1), "9007199254740991")
  expect_error(seed_sent(-1), "rng must be")
  expect_error(seed_sent(TRUE), "rng must be")
})

test_that("selection and planning", {
  needs_python("dp_select")
  found <- dp_select(price ~ ., diamonds, k = 2, eps = 5, rng = 1)
  expect_length(found$selected, 2)
  expect_true(all(found$selected %in% found$candidates))
  expect_output(print(found), "Selected 2 of")
  fit <- dp_lm(price ~ ., diamonds, eps = 5, delta = 1e-6, method = "tukey", select = "kendall", k = 2, rng = 1)
  expect_length(fit$selected, 2)
  expect_setequal(names(coef(fit)), c("(Intercept)", fit$selected))
  expect_length(predict(fit, diamonds[1:2, ]), 2)
})

test_that("planning", {
  needs_python("dp_plan")
  plan <- dp_plan(n = 50000, d = 3, eps = 1)
  expect_output(print(plan), "Plan for 50,000 units, 3 regressors")
  expect_type(plan$width, "double")
  expect_error(dp_plan(n = 1.5, d = 3, eps = 1), "n must be a whole number")
})

test_that("options are checked by name", {
  for (x in list(NA, TRUE, "3", c(1, 2), list(1), Inf, NaN, NULL, NA_character_, TukeyEM)) {
    expect_error(BoostedAdaSSP(clip = x), "^clip must be")
    expect_error(Standardisation(zooms = x), "^zooms must be")
    if (!is.null(x)) expect_error(TukeyEM(ridge = x), "^ridge must be")
    if (!is.null(x)) expect_error(TukeyEM(models = x), "^models must be")
  }
  expect_error(TukeyEM(models = "many"), "models must be one number, such as models = 100, not \"many\"")
  for (x in list(c(x = 1), c(0, 1), list(c(0, 1)), list(), "x", NA, list(2, x = 1:2)))
    expect_error(AdaSSP(bounds = x), "bounds must be a list with names")
  for (x in list(1, "a", NA, c(0, NA), list(0, 1), TRUE, NULL, 1:3))
    expect_error(DPSIS(bounds = list(x = x)), "bounds: 'x' needs a low and a high number")
  expect_error(AdaSSP(bounds = list(x = 1:2, x = 2:3)), "twice")
  for (x in list(5, "a", NULL, TukeyEM()))
    expect_error(AdaSSP(standardisation = x), "made by Standardisation\\(\\)")
  for (x in list(NA, 3, c("slots", "slots"))) expect_error(TukeyEM(partition = x), "partition must be one name")
  expect_error(FrankWolfe(screen = TRUE), "screen must be one name")
  expect_error(Auto(candidates = NA), "candidates must be names of methods")
  expect_s3_class(FrankWolfe(screen = "rnm", steps = 10), "dp_options")
})

test_that("a ledger stays where it was made", {
  needs_python()
  home <- setwd(tempdir())
  on.exit(setwd(home))
  name <- basename(tempfile(fileext = ".ledger"))
  budget <- dp_budget(eps = 1, delta = 1e-5, ledger = name)
  dp_lm(price ~ carat, diamonds, eps = 0.75, delta = 1e-6, budget = budget)
  setwd(home)
  expect_identical(as.data.frame(budget)$eps, 0.75)
  expect_false(file.exists(name))
  expect_error(dp_lm(price ~ carat, diamonds, eps = 0.5, delta = 1e-6, budget = budget), class = "dpreg_BudgetError")
  for (wrong in list(NA_character_, "", 3)) expect_error(dp_budget(1, ledger = wrong), "path of a file")
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

test_that("predictions say what they move to the limits of the fit", {
  needs_python()
  fit <- fit_of(log(price) ~ carat + depth, method = "tukey")
  new <- data.frame(carat = c(0.5, 1000), depth = 61)
  expect_warning(moved <- predict(fit, new), "'carat' beyond the limits.*winsorise = FALSE")
  expect_silent(straight <- predict(fit, new, winsorise = FALSE))
  expect_equal(unname(straight), drop(cbind(1, c(0.5, 1000), 61) %*% coef(fit)), ignore_attr = TRUE)
  expect_equal(moved[[1]], straight[[1]])
  expect_false(isTRUE(all.equal(moved[[2]], straight[[2]])))
  expect_error(predict(fit, new, winsorise = NA), "winsorise must be TRUE or FALSE")
  expect_silent(augment(fit, new, winsorise = FALSE))
  X <- cbind(`(Intercept)` = 1, a = c(-5, 5))
  expect_identical(winsorised(X, rbind(c(NaN, NaN), c(NaN, NaN))), X)
})

test_that("names in a formula that are no columns are not asked of new data", {
  needs_python()
  fit <- fit_of(log(price) ~ C(color, contr.sum) + I(carat * pi))
  expect_length(predict(fit, diamonds[1:2, c("color", "carat")], winsorise = FALSE), 2)
  skip_if_not_installed("emmeans")
  means <- as.data.frame(emmeans::emmeans(fit, "color", at = list(carat = 1)))
  expect_equal(means$emmean, unname(predict(fit, data.frame(color = levels(diamonds$color), carat = 1))))
})

test_that("new data have the types of the fit", {
  needs_python()
  data <- transform(diamonds, clear = clarity > "SI1", day = as.Date("2020-01-01") + seq_along(price) %% 30,
                    gap = as.difftime(depth, units = "mins"), text = as.character(cut))
  fit <- dp_lm(log(price) ~ carat + clear + day + gap + text, data, eps = 20, delta = 1e-6, rng = 1,
               levels = list(text = levels(diamonds$cut)))
  new <- data[1:2, ]
  said <- function(...) expect_error(predict(fit, transform(new, ...)), "^newdata: column")$message
  expect_match(said(clear = 1), "was logical in the fit, and is numeric here")
  expect_match(said(carat = TRUE), "was numeric in the fit, and is logical here")
  expect_match(said(day = 5), "was a date")
  expect_match(said(gap = 5), "was a difftime")
  expect_match(said(text = "odd"), "new level 'odd'")
  hours <- new
  units(hours$gap) <- "hours"
  expect_equal(predict(fit, hours), predict(fit, new))
  expect_identical(unname(is.na(predict(fit, transform(new, carat = NA)))), c(TRUE, TRUE))
})

test_that("emmeans and emtrends need public values, and no more", {
  needs_python()
  skip_if_not_installed("emmeans")
  fit <- fit_of(log(price) ~ cut * carat, method = "tukey")
  grid <- data.frame(cut = levels(diamonds$cut), carat = 1000)
  means <- as.data.frame(emmeans::emmeans(fit, "cut", at = list(carat = 1000)))
  expect_equal(means$emmean, unname(predict(fit, grid, winsorise = FALSE)))
  slopes <- as.data.frame(emmeans::emtrends(fit, "cut", var = "carat", data = data.frame(carat = c(1, 3))))
  one <- function(carat) predict(fit, replace(grid, "carat", carat), winsorise = FALSE)
  expect_equal(slopes$carat.trend, unname(one(1) - one(0)), tolerance = 1e-6)
  expect_error(emmeans::emmeans(fit, "cut"), "at = list\\(carat = 1\\)")
  expect_error(emmeans::emtrends(fit, "cut", var = "carat"), "public data frame")
  some <- fit_of(log(price) ~ factor(cut, levels = c("Fair", "Good", "Ideal")) + carat)
  means <- as.data.frame(emmeans::emmeans(some, "cut", at = list(carat = 1)))
  expect_equal(means$emmean[c(1, 2, 5)],
               unname(predict(some, data.frame(cut = c("Fair", "Good", "Ideal"), carat = 1))))
  expect_true(all(is.na(means$emmean[3:4])))
})

test_that("arguments that would be ignored are refused", {
  needs_python()
  fit <- fit_of()
  wrong <- function(...)
    expect_error(dp_lm(price ~ carat, diamonds, eps = 1, ...), "dp_lm\\(\\) has no argument")$message
  expect_match(wrong(weights = carat), "count alike")
  expect_match(wrong(subset = carat > 1), "data = subset\\(data")
  expect_match(wrong(na.action = na.omit), "dropped")
  expect_match(wrong(contrasts = list(cut = "contr.sum")), "C\\(g, contr.sum\\)")
  expect_error(dp_lm(price ~ carat, diamonds, epsilon = 1), "write eps = 1")
  expect_error(dp_select(price ~ carat, diamonds, k = 1, eps = 1, weights = 1), "no argument 'weights'")
  expect_error(predict(fit, diamonds[1:2, ], type = "terms"), "no argument 'type'")
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

test_that("formulas of other packages are refused with what to write", {
  data <- transform(diamonds[1:50, ], s = as.character(cut), odd = addNA(cut), b = carat > 1)
  said <- function(formula) expect_error(design_of(formula, data), "^formula|^column")$message
  expect_match(said(price ~ (1 | s)), "random effects are not estimated; for 'or' write I\\(a \\| b\\)")
  expect_match(said(price ~ carat %in% c(1, 2)), "I\\(x %in% c\\(1, 2\\)\\)")
  expect_match(said(log(price) ~ carat + offset(log(x))), "I\\(log\\(price\\) - log\\(x\\)\\) ~")
  expect_match(said(price ~ dplyr::lag(carat)), "depends on the other rows")
  expect_match(said(price ~ cut(carat, c(3))), "public breaks")
  expect_match(said(price ~ odd), "NA among its levels")
  without <- design_of(price ~ ., data[c(names(diamonds), "b")])
  expect_identical(design_of(price ~ . - s - odd, data)$names, without$names)
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
               "DPSIS\\(bounds=list\\(`carat` = c\\(low, high\\)")
})
