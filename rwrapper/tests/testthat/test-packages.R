# Each generic of the packages that are loaded with a fit: it works from released numbers or stops,
# and in no case reads the records or spends. inst/generics.csv has the calls.

world <- if (dpreg_available()) watched()

expect_outcome <- function(expected, ...) {
  for (call in as.list(substitute(list(...)))[-1L])
    testthat::expect_identical(outcome(call, world), expected, label = deparse(call)[1L])
}

test_that("what reads the records or spends is seen here", {
  needs_python()
  expect_identical(outcome(quote(nrow(secret)), world), "the records were read, or a release was made")
  expect_identical(outcome(quote(update(fit, eps = 7)), world), "the records were read, or a release was made")
  expect_identical(outcome(quote(stop("of another kind")), world), "an error without a reason: of another kind")
})

test_that("what other packages do with a fit is what the table of it says", {
  needs_python()
  table <- generics_tried()
  expect_setequal(table$outcome, c("works", "stops", "not installable here"))
  lacking <- character()
  for (package in setdiff(unique(table$package), "stats"))
    if (!nzchar(system.file(package = package))) lacking <- c(lacking, package)
  tried <- table[!table$package %in% lacking & table$outcome != "not installable here", ]
  for (i in seq_len(nrow(tried)))
    expect_identical(outcome(str2lang(tried$call[i]), world), tried$outcome[i], label = tried$call[i])
  # CI names those that it installed: there one that is missing is a failure.
  wanted <- strsplit(Sys.getenv("DPREG_REQUIRE_PACKAGES"), " ")[[1L]]
  expect_identical(intersect(wanted, lacking), character())
  expect_gt(nrow(tried), 30L)
})

test_that("the data of the call are not found by whoever evaluates it", {
  needs_python()
  expect_outcome("stops", eval(fit$call), eval(fit$call$data), eval(getCall(fit)), as.data.frame(unclass(fit)),
               stats::update.default(fit, . ~ . - depth))
  expect_error(eval(world$fit$call), "records behind a private fit.*'secret'", class = "dpreg_private")
  expect_false("secret" %in% all.vars(world$fit$call))
  expect_output(print(world$fit), "data = secret")
  direct <- do.call(dp_lm, list(price ~ carat, diamonds, eps = 1))
  expect_identical(deparse(direct$call$data), "dpreg::dp_records()")
  expect_error(update(direct, eps = 2), "does not name its data; write update\\(fit, data = \\)")
  expect_message(update(direct, data = diamonds), "another release")
})

test_that("their answers are those of the fit", {
  needs_python()
  fit <- world$fit
  if (requireNamespace("car", quietly = TRUE)) {
    ours <- anova(fit)
    theirs <- car::Anova(fit, type = 3)[-1, ]
    expect_equal(ours$Chisq, theirs$Chisq)
    expect_equal(ours$Df, theirs$Df)
  }
  if (requireNamespace("insight", quietly = TRUE))
    expect_equal(as.vector(insight::get_predicted(fit, data = world$new)), unname(predict(fit, world$new)))
  if (requireNamespace("parameters", quietly = TRUE)) {
    found <- parameters::model_parameters(fit, ci = 0.9)
    expect_equal(cbind(found$CI_low, found$CI_high), unname(confint(fit, level = 0.9)))
  }
  if (requireNamespace("lmtest", quietly = TRUE))
    expect_error(lmtest::waldtest(world$crossed, . ~ . + depth), "leave terms out", class = "dpreg_usage")
  if (requireNamespace("survey", quietly = TRUE))
    expect_equal(c(survey::regTermTest(fit, ~cut, df = Inf)$chisq), anova(fit)["cut", "Chisq"])
  if (requireNamespace("multcomp", quietly = TRUE))
    expect_equal(unname(summary(multcomp::glht(fit, "depth = 0"))$test$tstat),
                 unname(summary(fit)$coefficients["depth", "z value"]))
  # Logarithms of values that are not known yet would be warned of.
  if (requireNamespace("emmeans", quietly = TRUE))
    expect_silent(emmeans::emmeans(fit, "cut", at = list(carat = 1, depth = 60)))
})

test_that("marginaleffects, which is not in Debian, finds what it needs", {
  needs_python()
  fit <- fit_of()
  expect_true("dp_lm" %in% getOption("marginaleffects_model_classes"))
  expect_identical(get_coef.dp_lm(fit), coef(fit))
  expect_identical(get_vcov.dp_lm(fit), vcov(fit))
  moved <- set_coef.dp_lm(fit, coef(fit) + 1)
  expect_equal(coef(moved), coef(fit) + 1)
  new <- diamonds[400:401, ]
  expect_equal(get_predict.dp_lm(fit, new)$estimate, unname(predict(fit, new)))
  expect_false(isTRUE(all.equal(get_predict.dp_lm(moved, new), get_predict.dp_lm(fit, new))))
})

test_that("fits of classes and of hazards work in other packages, or stop with a reason", {
  needs_python("dp_ordinal")
  fits <- list(dp_ordinal(cut ~ carat, diamonds, eps = 4, rng = 1), dp_multinomial(cut ~ carat, diamonds, eps = 4, rng = 1))
  for (fit in fits) {
    all <- fit$coefficients
    slope <- if (inherits(fit, "dp_ordinal")) "carat" else "Ideal:carat"
    z <- summary(fit)$coefficients[slope, "z value"]
    if (requireNamespace("car", quietly = TRUE)) {
      L <- rbind(as.numeric(names(all) == slope))
      expect_equal(car::linearHypothesis(fit, L)$Chisq[2], z^2)
      expect_error(car::Anova(fit), "anova\\(fit\\) has Wald tests", class = "dpreg_private")
    }
    if (requireNamespace("lmtest", quietly = TRUE)) {
      expect_identical(rownames(lmtest::coeftest(fit)), names(all))
      expect_equal(lmtest::coeftest(fit)[slope, "z value"], z)
    }
    if (requireNamespace("multcomp", quietly = TRUE))
      expect_error(multcomp::glht(fit, "carat = 0"), "linearHypothesis", class = "dpreg_private")
  }
  data <- data.frame(arm = factor(rep(c("a", "b"), 3000)), time = 1:6, died = 1L)
  hazards <- dp_survival(Surv(time, died) ~ arm, data, eps = 4, cuts = c(2, 4, 6), rng = 1)
  expect_error(survival::survfit(hazards), "predict\\(fit, newdata\\) has curves", class = "dpreg_private")
  expect_error(profile(hazards), class = "dpreg_private")
  expect_error(confint(hazards, exp = TRUE), "exp\\(confint\\(fit\\)\\)", class = "dpreg_usage")
  logit <- dp_glm(cut == "Ideal" ~ carat, diamonds, eps = 1, rng = 1)
  expect_error(sigma(logit), "has no separate error variance", class = "dpreg_private")
})
