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

test_that("values beyond the limits of a fit are clipped to them", {
  X <- cbind(`(Intercept)` = 1, a = c(-5, 0, 5), b = 1:3)
  limits <- rbind(c(-1, 1), c(0, 2.5), c(0, 10))
  expect_identical(winsorised(X, limits)[, -1], cbind(a = c(-1, 0, 1), b = c(1, 2, 2.5)))
  line <- c(a = -1, b = 5, c = NA, d = 12)
  expect_warning(kept <- response_within(line, limits), "limits of the response were clipped")
  expect_identical(kept, c(a = 0, b = 5, c = NA, d = 10))
  expect_silent(expect_identical(response_within(line, rbind(c(NaN, NaN))), line))
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
  expect_match(said(clear = 1), "was TRUE or FALSE in the fit, and is a number here")
  expect_match(said(carat = TRUE), "was a number in the fit, and is TRUE or FALSE here")
  expect_match(said(day = 5), "was a date")
  expect_match(said(gap = 5), "was a difftime")
  expect_match(said(text = "odd"), "new level 'odd'")
  hours <- new
  units(hours$gap) <- "hours"
  expect_equal(predict(fit, hours), predict(fit, new))
  expect_identical(unname(is.na(predict(fit, transform(new, carat = NA)))), c(TRUE, TRUE))
})
