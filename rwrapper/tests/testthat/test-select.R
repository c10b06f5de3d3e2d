test_that("columns are chosen, and fitted", {
  needs_python()
  found <- dp_select(price ~ ., diamonds, k = 2, eps = 5, rng = 1)
  expect_length(found$selected, 2)
  expect_true(all(found$selected %in% found$candidates))
  expect_output(print(found), "Selected 2 of")
  fit <- dp_lm(price ~ ., diamonds, eps = 5, delta = 1e-6, method = "tukey", select = "kendall", k = 2, rng = 1)
  expect_length(fit$selected, 2)
  expect_length(predict(fit, diamonds[1:2, ]), 2)
})

test_that("a factor is chosen with all its columns", {
  needs_python()
  found <- dp_select(price ~ clarity + depth, diamonds, k = 1, eps = 50, rng = 1)
  expect_identical(found$candidates, c("clarity", "depth"))
  expect_identical(found$selected, "clarity")
  expect_identical(found$columns, colnames(model.matrix(price ~ clarity, diamonds))[-1])
  fit <- dp_lm(price ~ clarity + depth, diamonds, eps = 50, delta = 1e-6, select = "kendall", k = 1, rng = 1)
  expect_identical(fit$selected, "clarity")
  expect_identical(names(coef(fit)), c("(Intercept)", found$columns))
  expect_identical(names(coef(dp_lm(found, diamonds, eps = 5, delta = 1e-6))), names(coef(fit)))
})

test_that("a table of a selection has the order of choice", {
  needs_python()
  found <- dp_select(price ~ carat + depth + color, diamonds, k = 3, eps = 5, rng = 1)
  table <- tidy(found)
  expect_identical(names(table), c("term", "selected", "rank"))
  expect_identical(table$term[order(table$rank)][1:3], found$selected)
  expect_identical(is.na(table$rank), !table$selected)
  votes <- tidy(dp_select(price ~ carat + depth + x, diamonds, k = 2, eps = 5, method = "sub_lasso",
                          rng = 1))
  expect_type(votes$rank, "integer")
})

# What dp_select() returns when it chose these terms.
choice <- function(formula, selected, data) {
  design <- design_of(formula, data)
  groups <- columns_by_term(design)
  structure(list(formula = formula, selected = selected, candidates = names(groups),
                 columns = unlist(groups[selected], use.names = FALSE),
                 intercept = attr(design$terms, "intercept") == 1L,
                 privacy = list(epsilon = 1, delta = 0)), class = "dp_selection")
}

test_that("a selection is fitted as it is", {
  data <- strange_data()
  found <- choice(y ~ grade + place + whole + `two words`, c("`two words`", "grade"), data)
  expect_equal(formula(found), y ~ grade + `two words`, ignore_attr = TRUE)
  design <- chosen_design(found, list(seen = data))
  X <- model.matrix(y ~ grade + `two words`, data)
  expect_identical(regressor_names(design), colnames(X)[-1])
  sent <- sent_design(design, list(data = data))
  expect_identical(unlist(sent$names), regressor_names(design))
  expect_identical(names(sent$ranges), grep("grade", colnames(X), value = TRUE))
  columns <- lapply(sent$read()$columns, function(raw) readBin(raw, "double", length(raw) / 8))
  for (i in seq_along(columns)) expect_equal(columns[[i]], unname(X[, regressor_names(design)[i]]))
  # A column that was not chosen need not be there.
  expect_silent(chosen_design(found, list(seen = data[names(data) != "whole"])))
  expect_error(chosen_design(choice(y ~ whole, "whole", data), list(seen = data.frame(y = 1, whole = TRUE))),
               "do not have the column 'whole'")
})

test_that("coding is that of the selection, whatever terms are left out", {
  data <- strange_data()
  # Without `place` its product with `truth` would have other dummies.
  found <- choice(y ~ place * truth, "place:truth", data)
  design <- chosen_design(found, list(seen = data))
  X <- model.matrix(y ~ place * truth, data)
  expect_identical(regressor_names(design), grep(":", colnames(X), value = TRUE))
  sent <- sent_design(design, list(data = data))$read()
  for (j in seq_along(sent$columns))
    expect_equal(readBin(sent$columns[[j]], "double", 60), unname(X[, regressor_names(design)[j]]))
  without <- choice(y ~ whole + big - 1, "big", data)
  expect_equal(formula(without), y ~ big - 1, ignore_attr = TRUE)
  expect_false(sent_design(chosen_design(without, list(seen = data)), list(data = data))$intercept)
})

test_that("a fit of a selection says so, predicts, and is not updated to another formula", {
  needs_python()
  data <- transform(diamonds, depth = replace(depth, 1:30000, NA))
  found <- dp_select(log(price) ~ log(carat) + color + depth, data, k = 2, eps = 20,
                     method = SubLasso(models = 300), rng = 1)
  expect_false("depth" %in% found$selected)
  fit <- dp_lm(found, data, eps = 5, delta = 1e-6, rng = 1)
  expect_identical(names(coef(fit)), colnames(model.matrix(formula(found), diamonds[1:3, ])))
  # Rows that lack what was not chosen are used.
  expect_gt(nobs(fit), 50000)
  expect_match(tail(fit$notes, 1), "selected by dp_select\\(\\) at eps = 20.*adds to the cost")
  X <- model.matrix(~ log(carat) + color, diamonds[1:3, ])[, names(coef(fit))]
  expect_equal(predict(fit, diamonds[1:3, ], winsorise = FALSE), drop(X %*% coef(fit)))
  expect_equal(predict(fit, diamonds[1:3, ], winsorise = FALSE),
               predict(readRDS({ saveRDS(fit, path <- tempfile()); path }), diamonds[1:3, ], winsorise = FALSE))
  expect_error(update(fit, . ~ . + x), "terms that dp_select\\(\\) chose", class = "dpreg_usage")
  expect_error(dp_lm(found, data, eps = 1, select = "kendall", k = 1), "a selection already", class = "dpreg_usage")
})
