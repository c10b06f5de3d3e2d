test_that("mistakes are named in the words of R", {
  needs_python()
  wrong <- function(...) expect_error(dp_lm(price ~ carat, diamonds, ...), class = "dpreg_error")
  for (eps in list(NA, NA_real_, "1", c(1, 2), TRUE, list(1)))
    expect_match(wrong(eps = eps)$message, "eps must be a number, got .*; write eps = 1")
  expect_match(wrong(eps = NULL)$message, "eps must be given; write eps = 1")
  expect_match(wrong(1, delta = NA)$message, "delta must be a number, got NA")
  expect_match(wrong(1, inference = NA)$message, "inference must be TRUE or FALSE, got NA")
  expect_match(wrong(1, method = TukeyEM)$message, "TukeyEM\\(\\), got a function; call it")
  expect_match(wrong(1, method = c("tukey", "adassp"))$message, "a vector of length 2")
  expect_match(wrong(1, select = DPKendall)$message, "select must be a name or options such as DPKendall")
  expect_match(wrong(1, select = "kendall", k = "a")$message, "k must be a whole number, got 'a'; write k = 5")
  expect_error(dp_select(price ~ carat, diamonds, k = NA, eps = 1), "k must be a whole number, got NA")
  expect_error(dp_plan(n = NA, d = 3, eps = 1), "n must be a whole number, got NA")
  expect_error(dp_plan(n = 10, d = 3, eps = 1, method = TukeyEM()), "method must be one of")
  expect_error(dp_budget(NA), "eps must be a number, got NA")
  expect_error(confint(fit_of(), "nothing"), "no coefficient 'nothing'")
  expect_error(confint(fit_of(), 99), "no coefficient '99'")
  declined <- dp_lm(price ~ carat, diamonds[1:50, ], eps = 0.1, method = "tukey", rng = 1)
  expect_match(declined$advice, "inference = FALSE")
})

test_that("what is missing or long is named without its length", {
  needs_python()
  wrong <- function(e) expect_error(e, class = "dpreg_error")$message
  expect_match(wrong(dp_lm(price ~ carat, eps = 1)), "^data must be given")
  expect_match(wrong(dp_glm(price ~ carat, eps = 1)), "^data must be given")
  expect_match(wrong(dp_select(price ~ carat, diamonds, eps = 1)), "^k must be given")
  expect_match(wrong(dp_curve(Surv(carat, cut) ~ 1, diamonds, eps = 1)), "^cuts must be increasing numbers, such as")
  expect_match(wrong(dp_curve(Surv(carat, price) ~ 1, diamonds, cuts = 1)), "^eps must be given")
  expect_match(wrong(dp_plan(n = 1000, eps = 1)), "^d must be given")
  for (e in expression(dp_moments(diamonds, 1), dp_lm(diamonds, eps = 1), dp_glm(diamonds, 1)))
    expect_match(wrong(eval(e)), "^formula and data are in the wrong order; write the formula first")
  expect_match(wrong(dp_lm(price ~ carat, diamonds, eps = 1, cluster = "id")), "write unit = \"id\"")
  expect_match(wrong(dp_multinomial(cut ~ carat, diamonds, eps = 1, ref = "Ideal")), "relevel")
  expect_match(wrong(dp_effect(price ~ carat, diamonds, eps = 1, treatment = arm)), "in quotes; write treatment = \"arm\"")
  expect_match(wrong(dp_lm(price ~ carat, diamonds, eps = diamonds$carat)), "got a long vector; write")
  expect_match(wrong(dp_lm(price ~ carat, diamonds, eps = as.list(diamonds$carat))), "got a long list; write")
})

test_that("names without quotes are answered with the name in quotes", {
  needs_python()
  wrong <- function(e) expect_error(e, class = "dpreg_usage")$message
  expect_identical(wrong(dp_lm(price ~ carat, diamonds, 1, unit = pid)), "unit must be in quotes; write unit = \"pid\"")
  expect_match(wrong(dp_glm(price ~ carat, diamonds, 1, unit = cut)), "write unit = \"cut\"")
  expect_match(wrong(dp_lm(price ~ carat, diamonds, 1, method = tukey)), "write method = \"tukey\"")
  expect_match(wrong(dp_lm(price ~ carat, diamonds, 1, select = kendall, k = 1)), "write select = \"kendall\"")
  expect_match(wrong(dp_lm(price ~ carat, diamonds, 1, weights = depht)), "did you mean 'depth'")
  none <- NULL
  expect_s3_class(dp_lm(price ~ carat, diamonds, 1, unit = none, rng = 1), "dp_lm")
})

test_that("second arguments of generics are refused with what to write", {
  needs_python()
  fit <- fit_of()
  wrong <- function(e) expect_error(e, class = "dpreg_usage")$message
  expect_match(wrong(vcov(fit, "x")), "complete must be TRUE or FALSE, not \"x\"")
  expect_match(wrong(vcov(fit, type = "HC3")), "no argument 'type': standard errors were released")
  expect_match(wrong(coef(fit, "depth")), "complete must be TRUE or FALSE")
  expect_match(wrong(summary(fit, 3)), "too many arguments")
  expect_match(wrong(summary(fit, digits = 3)), "write print\\(summary\\(fit\\), digits = 3\\)")
  expect_match(wrong(confint(fit, 0.9)), "write level = 0.9")
  expect_match(wrong(confint(fit, 1.5)), "no coefficient '1.5'")
  expect_identical(rownames(confint(fit, -1)), names(coef(fit))[-1])
  expect_match(wrong(confint(fit, conf.level = 0.9)), "write level =")
  expect_match(wrong(tidy(fit, conf.int = TRUE, conf.level = 95)), "^conf.level must be between 0 and 1")
  expect_match(wrong(predict(fit, diamonds[1, ], "confidence")), "se.fit must be TRUE or FALSE")
  expect_match(wrong(predict(fit, diamonds[1, ], interval = TRUE)),
               "interval must be \"none\", \"confidence\" or \"prediction\", not TRUE")
  expect_match(wrong(dp_ordinal(cut ~ carat, diamonds, 1, method = "logit")), "method must be \"logistic\" or \"probit\"")
  expect_match(wrong(anova(fit, test = "F")), "Wald tests, without a choice")
  expect_error(plot(fit, which = 1), "plot_diagnostics", class = "dpreg_private")
})

test_that("users of lm() and glm() are told what to write", {
  needs_python()
  data <- transform(diamonds, text = as.character(cut), dear = price > 5000, day = as.Date("2020-01-01"))
  said <- function(e) expect_error(eval(e), class = "dpreg_usage")$message
  asked <- expression(
    dp_lm(price, carat, data), "formula must be a formula, such as price ~ x",
    dp_lm(text ~ carat, data, 1), "for text write I(text == \"level\")",
    dp_glm(cut ~ carat, data, 1), "for a factor write I(cut == \"Ideal\"), or fit all levels with dp_ordinal()",
    dp_lm(price ~ months(day), data, 1), "write factor(months(day), levels = c(\"first\", \"second\", ...)) in the formula",
    dp_lm(price ~ carat, data, 1, weights = 1 / depth), "weights must be the name of one column",
    dp_lm(price ~ carat, data, 1, levels = list(carat = c("a", "b"))), "'carat' is a column of numbers, and \"a\" is not",
    dp_lm(price ~ text, data, 1, levels = list(txt = c("a", "b"))), "did you mean 'text'?",
    dp_lm(price ~ carat, data, 1, bonds = list(carat = 1:2)), "did you mean 'bounds'?",
    dp_lm(price ~ carat, data, 1, x = TRUE), "?dp_lm has its arguments",
    dp_glm(dear ~ carat, data, 1, fit_stats = TRUE), "are those of dp_lm()",
    dp_glm(dear ~ carat, data, 1, family = "logit"), "write family = \"binomial\"",
    dp_glm(price ~ carat, data, 1, family = quasipoisson), "write family = \"poisson\", whose standard errors allow",
    dp_glm(price ~ carat, data, 1, family = lm), "family must be a family or its name",
    dp_lm(price ~ carat, data, 1, rng = "a"), "must be NULL (private) or an integer in [0, 2^64), which",
    dp_glm(price ~ carat, data, 1, family = "Poisson"), "write family = \"poisson\"",
    dp_glm(price ~ carat, data, 1, family = inverse.gaussian), "or Quantile(q = 0.9), got 'inverse.gaussian'",
    dp_lm(price ~ interaction(cut, color), data, 1), "write a:b",
    dp_glm(cbind(price, carat) ~ depth, data, 1), "make a row with 0 or 1 for each trial",
    dp_lm(price ~ 0, data, 1), "write y ~ x, or y ~ 1",
    dp_survival(Surv(price, text) ~ carat, data, 1, cuts = 1:2), "write Surv(time, text == \"dead\")",
    dp_curve(Surv(price, cut) ~ 1, data, 1, cuts = 1:2), "write Surv(time, cut == \"Ideal\")",
    dp_survival(Surv(price, dear) ~ carat, data, 1, cuts = 1:2, family = "cox"), "leave it out",
    dp_ordinal(dear ~ carat, data, 1), "dp_glm() fits a logistic",
    dp_ordinal(table ~ carat, data, 1), "add levels = list(table = 1:3)",
    dp_effect(dear ~ carat, data, 1, treatment = "cut", overlap = c(0.9, 0.1)), "from 0.001 to 0.999, such as overlap = c(0.05, 0.95)",
    dp_effect(dear ~ carat, data, 1, treatment = "cut", weights = "depth"), "rows count alike",
    public_start(price ~ carat), "data must be given",
    install_dpreg(3), "source must be what pip installs"
  )
  for (i in seq(1L, length(asked), 2L)) expect_match(said(asked[[i]]), asked[[i + 1L]], fixed = TRUE)
  error <- expect_error(dp_lm(price ~ carat, data, 1, budget = nothing), "object 'nothing' not found")
  expect_null(error$call)
  expect_match(dp_lm(dear ~ carat, data, 1, rng = 1)$notes, "linear probability model; dp_glm", all = FALSE)
})

test_that("results that are no models say what to do with them", {
  needs_python("dp_effect")
  moments <- dp_moments(~ price + carat, diamonds, eps = 1, rng = 1)
  effect <- dp_effect(price ~ carat, transform(diamonds, arm = rep(0:1, length.out = nrow(diamonds))), eps = 1, treatment = "arm", rng = 1)
  wrong <- function(e) expect_error(e, class = "dpreg_usage")$message
  expect_match(wrong(coef(moments)), "not for an object of class dp_moments; moments_lm\\(moments, y ~ x\\) fits models")
  expect_match(wrong(predict(effect, diamonds)), "tidy\\(\\) has its numbers")
  for (generic in c(residuals, update, plot)) expect_match(wrong(generic(moments)), "moments_lm")
  expect_match(wrong(moments_lm(moments)), "formula must be given")
  expect_named(tidy(effect, conf.int = FALSE), c("term", "estimate", "std.error", "statistic", "p.value"))
  expect_match(wrong(plot(fit_of(), reference = 3)), "reference = c(`cut^4` = 2)", fixed = TRUE)
  few <- dp_lm(price ~ carat, diamonds[1:30, ], eps = 0.1)
  expect_error(dp_compare(fit_of(), few), class = "dpreg_not_released")
})

test_that("levels are spelled as R has them", {
  needs_python()
  expect_error(dp_effect(price ~ carat, diamonds, eps = 1, treatment = "cut"),
               "add levels = list(cut = c(\"control\", \"treated\"))", fixed = TRUE, class = "dpreg_usage")
})

test_that("a response of 1 and 2 is refused with what to write", {
  needs_python()
  expect_error(dp_glm(carat ~ depth, diamonds, eps = 1, bounds = list(carat = c(1, 2))),
               "write I(carat == 2)", fixed = TRUE, class = "dpreg_usage")
})

test_that("options are checked by name", {
  needs_python()
  said <- function(method)
    expect_error(dp_lm(price ~ carat, diamonds, 1, method = method), class = "dpreg_usage")$message
  for (x in list(NA, TRUE, "3", c(1, 2), list(1), Inf, NaN, NULL, NA_character_, TukeyEM)) {
    expect_match(said(BoostedAdaSSP(clip = x)), "^clip must be")
    expect_match(said(FrankWolfe(standardisation = Standardisation(zooms = x))), "^zooms must be")
    if (!is.null(x)) expect_match(said(TukeyEM(ridge = x)), "^ridge must be")
    if (!is.null(x)) expect_match(said(TukeyEM(models = x)), "^models must be")
  }
  expect_match(said(TukeyEM(models = "many")), "models must be a whole number or NULL, got 'many'")
  for (x in list(5, "a", NULL, TukeyEM()))
    expect_match(said(FrankWolfe(standardisation = x)), "standardisation must be a Standardisation")
  for (x in list(NA, 3, c("slots", "slots"))) expect_match(said(TukeyEM(partition = x)), "partition must be 'slots' or")
  expect_match(said(FrankWolfe(screen = TRUE)), "screen must be 'rnm' or")
  expect_match(said(Auto(candidates = NA)), "candidates must be a character vector")
  expect_s3_class(FrankWolfe(screen = "rnm", steps = 10), "dp_options")
})

test_that("bounds are checked before all else", {
  calls <- list(function(b) dp_lm(price ~ carat, diamonds, 1, bounds = b), function(b) dp_glm(price ~ carat, diamonds, 1, bounds = b),
                function(b) dp_moments(~ carat, diamonds, 1, bounds = b), function(b) dp_select(price ~ carat, diamonds, 1, 1, bounds = b))
  for (call in calls) {
    for (x in list(c(x = 1), c(0, 1), list(c(0, 1)), list(), "x", NA, list(2, x = 1:2)))
      expect_error(call(x), "bounds must be a list with names")
    for (x in list(1, "a", NA, c(0, NA), list(0, 1), TRUE, NULL, 1:3))
      expect_error(call(list(x = x)), "bounds: 'x' needs a low and a high number")
    expect_error(call(list(x = 1:2, x = 2:3)), "twice")
  }
})

test_that("formulas of other packages are refused with what to write", {
  data <- transform(diamonds[1:50, ], s = as.character(cut), odd = addNA(cut), b = carat > 1)
  said <- function(formula) expect_error(design_of(formula, data), "^formula|^column")$message
  expect_match(said(price ~ (1 | s)), "random effects are not estimated; for 'or' write I\\(a \\| b\\)")
  expect_match(said(price ~ carat %in% c(1, 2)), "I\\(x %in% c\\(1, 2\\)\\)")
  expect_match(said(price ~ stats::lag(carat)), "depends on the other rows")
  expect_match(said(price ~ cut(carat, c(3))), "public breaks")
  expect_match(said(price ~ s(carat)), "write ns\\(x, 5\\)")
  expect_match(said(cbind(price, carat) ~ depth), "one response")
  expect_match(said(price ~ nowhere$carat), "the name of the column alone")
  expect_match(said(price ~ odd), "NA among its levels")
  without <- design_of(price ~ ., data[c(names(diamonds), "b")])
  expect_identical(design_of(price ~ . - s - odd, data)$names, without$names)
})

# What a typical mistake is answered with, from R's own checks and from Python's.
mistakes <- expression(
  dp_lm(price ~ carat, diamonds, -1), dp_lm(price ~ carat, diamonds, 1000),
  dp_lm(price ~ carat, diamonds, 1, delta = 2), dp_lm(price ~ carat, diamonds, 1, delta = 0),
  dp_lm(price ~ carat, diamonds, 1, method = "magic"), dp_lm(price ~ carat, diamonds, 1, method = TukeyEM(models = 1)),
  dp_lm(price ~ carat, diamonds, 1, method = TukeyEM(ridge = -1)),
  dp_lm(price ~ carat, diamonds, 1, method = TukeyEM(partition = "x")),
  dp_lm(price ~ carat, diamonds, 1, method = TukeyEM(models = 10.5)),
  dp_lm(price ~ carat, diamonds, 1, select = "kendall"), dp_lm(price ~ carat, diamonds, 1, k = 3),
  dp_lm(price ~ carat, diamonds, 1, split = 0.3), dp_lm(price ~ carat, diamonds, 1, select = "kendall", k = 3),
  dp_lm(price ~ carat, diamonds, 1, select = "magic", k = 1), dp_lm(price ~ ., diamonds, 1, select = "sis", k = 1),
  dp_lm(price ~ carat, diamonds, 1, bounds = list(nope = c(0, 1))),
  dp_lm(price ~ carat, diamonds, 1, bounds = list(carat = c(1, 0))),
  dp_lm(price ~ carat, diamonds, 1, method = "tukey", bounds = list(carat = c(0, 6))),
  dp_lm(price ~ carat, diamonds, 1, method = AdaSSP(cov_type = "z")),
  dp_lm(price ~ carat, diamonds, 1, method = BoostedAdaSSP(max_rows = 0)),
  dp_lm(price ~ carat, diamonds, 1, method = BoostedAdaSSP(average = 30)),
  dp_lm(price ~ carat, diamonds, 1, method = FrankWolfe(l1 = -1)),
  dp_lm(price ~ carat, diamonds, 1, method = FrankWolfe(screen = "q")),
  dp_lm(price ~ carat, diamonds, 1, method = DPSGD(rate = 3)),
  dp_lm(price ~ carat, diamonds, 1, method = Auto(candidates = "x")),
  dp_lm(price ~ carat, diamonds, 1, method = FrankWolfe(standardisation = Standardisation(zooms = 999))),
  dp_lm(price ~ carat, diamonds, 2, budget = dp_budget(1)), dp_lm(price ~ carat, diamonds, 1, budget = dp_budget(1, 0)),
  dp_lm(price ~ carat, diamonds, 1, unit = "nobody"), dp_lm(price ~ carat, as.matrix(1:3), 1), dp_lm("price ~ carat", diamonds, 1),
  dp_lm(price ~ scale(carat), diamonds, 1), dp_lm(price ~ carot, diamonds, 1), dp_lm(price ~ carat, diamonds, epsilon = 1),
  dp_plan(0, 3, 1), dp_plan(1e5, 3, 1, method = "dpsgd"), dp_plan(1000.5, 3, 1), dp_plan(1000, 3, -1),
  dp_budget(-1), dp_budget(1, 2), dp_budget(1, ledger = "/nonexistent/x"), dp_budget(1, ledger = 3),
  dp_select(price ~ carat, diamonds, k = 5, eps = 1),
  dp_select(price ~ carat + x, diamonds, k = 1, eps = 1, method = SubLasso(models = 0)),
  confint(fit_of(), level = 2), predict(fit_of(), 3), predict(fit_of(), diamonds["carat"]), plot(fit_of(), reference = 1:3),
  dp_lm(price ~ carat, diamonds), dp_glm(price ~ carat, diamonds), dp_select(price ~ carat, diamonds, k = 1),
  dp_moments(~ price, diamonds), dp_lm(diamonds, price ~ carat, 1), dp_lm(price ~ poly(carat, 2), diamonds, 1),
  dp_compare(1), anova(fit_of(), 3), residuals(fit_of()), predict(fit_of()), update(fit_of(), data = 3, eps = -1)
)
PYTHON <- "\\b(True|False|None)\\b|\\b[a-z_]+=[^=]|dpreg\\.|(?<![\\w.])\\d+\\.0(?![\\w.])|options object|\\*\\*|\\b(dict|tuple|ValueError)\\b"

test_that("every refusal is one condition, in the syntax of R", {
  needs_python()
  for (call in as.list(mistakes)) {
    error <- tryCatch(eval(call), error = identity)
    shown <- deparse(call)[1L]
    expect(inherits(error, "dpreg_error"), paste(shown, "is", paste(class(error), collapse = " ")))
    expect(is.null(error$call), paste(shown, "shows a call of its own"))
    expect(!grepl(PYTHON, error$message, perl = TRUE), paste0(shown, ": ", error$message))
  }
})

test_that("notes, certificates and charges are in the syntax of R", {
  needs_python()
  budget <- dp_budget(eps = 100)
  fits <- list(fit_of(budget = budget), fit_of(method = "frank_wolfe", budget = budget), fit_of(inference = FALSE),
               fit_of(select = "kendall", k = 2, method = "adassp"), dp_select(price ~ carat + x, diamonds, k = 1, eps = 1),
               dp_lm(price ~ carat, diamonds[1:50, ], eps = 0.1, method = "tukey"), dp_plan(50000, 3, 1), dp_plan(100, 30, 0.1))
  for (made in c(fits, list(budget, fits[[1L]]$privacy, summary(fits[[2L]])))) {
    printed <- paste(capture.output(print(made)), collapse = "\n")
    words <- sub("effect: [0-9.]+ std", "", printed)  # 1.0 of which is no number of Python
    expect(!grepl(PYTHON, words, perl = TRUE), printed)
  }
  expect_identical(as.data.frame(budget)$label[1L],
                   "dp_lm(log(price) ~ log(carat) + depth + cut, method = \"auto\")")
})

test_that("levels, comparisons and tables that are typed as elsewhere are answered", {
  data <- data.frame(y = 1, g = factor("a"))
  said <- function(formula) expect_error(design_of(formula, data), class = "dpreg_usage")$message
  expect_match(said(I(g = "a") ~ y), "write == for a comparison")
  expect_match(said(I(g == a) ~ y), "no column 'a' in the data; write a level in quotes, \"a\"")
  expect_match(said(I(g == "b") ~ y), "compare it with one of its levels, \"a\"")
  expect_match(said("y ~ g"), "such as y ~ x \\+ z, without quotes")
  secret <- matrix("a private cell")
  message <- expect_error(dp_lm(y ~ x, secret, eps = 1), class = "dpreg_usage")$message
  expect_match(message, "write as.data.frame\\(data\\)")
  expect_no_match(message, "private cell")
})
