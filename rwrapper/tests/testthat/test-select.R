test_that("columns are chosen, and fitted", {
  needs_python()
  found <- dp_select(price ~ ., diamonds, k = 2, eps = 5, rng = 1)
  expect_length(found$selected, 2)
  expect_true(all(found$selected %in% found$candidates))
  expect_output(print(found), "Selected 2 of")
  fit <- dp_lm(price ~ ., diamonds, eps = 5, delta = 1e-6, method = "tukey", select = "kendall", k = 2, rng = 1)
  expect_length(fit$selected, 2)
  expect_setequal(names(coef(fit)), c("(Intercept)", fit$selected))
  expect_length(predict(fit, diamonds[1:2, ]), 2)
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

# What dp_select() returns when it chose these columns.
choice <- function(formula, selected, data) {
  design <- design_of(formula, data)
  columns <- design$names != "(Intercept)"
  structure(list(formula = formula, selected = selected, candidates = design$names[columns],
                 terms = attr(design$terms, "term.labels")[design$assign[columns]],
                 intercept = attr(design$terms, "intercept") == 1L,
                 privacy = list(epsilon = 1, delta = 0)), class = "dp_selection")
}

test_that("a selection is fitted as it is, one contrast of a factor alone", {
  data <- strange_data()
  found <- choice(y ~ grade + place + whole + `two words`, c("`two words`", "grade.Q", "placeBern"), data)
  expect_equal(formula(found), y ~ grade + place + `two words`, ignore_attr = TRUE)
  design <- chosen_design(found, data, NULL)
  expect_identical(regressor_names(design), c("grade.Q", "placeBern", "`two words`"))
  sent <- sent_design(design, data, NULL)
  expect_identical(unlist(sent$names), regressor_names(design))
  expect_identical(names(sent$ranges), c("grade.Q", "placeBern"))
  X <- model.matrix(y ~ grade + place + whole + `two words`, data)
  columns <- lapply(sent$read()$columns, function(raw) readBin(raw, "double", length(raw) / 8))
  for (i in 1:3) expect_equal(columns[[i]], unname(X[, regressor_names(design)[i]]))
  # A column that was not chosen need not be there.
  expect_silent(chosen_design(found, data[names(data) != "whole"], NULL))
  expect_error(chosen_design(choice(y ~ whole, "whole", data), data.frame(y = 1, whole = TRUE), NULL),
               "do not have the column 'whole'")
})

test_that("coding is that of the selection, whatever terms are left out", {
  data <- strange_data()
  # Without `place` its product with `truth` would have other dummies.
  found <- choice(y ~ place * truth, "placeBern:truthTRUE", data)
  design <- chosen_design(found, data, NULL)
  expect_identical(regressor_names(design), "placeBern:truthTRUE")
  X <- model.matrix(y ~ place * truth, data)
  sent <- sent_design(design, data, NULL)$read()
  expect_equal(readBin(sent$columns[[1]], "double", 60), unname(X[, "placeBern:truthTRUE"]))
  without <- choice(y ~ whole + big - 1, "big", data)
  expect_equal(formula(without), y ~ big - 1, ignore_attr = TRUE)
  expect_false(sent_design(chosen_design(without, data, NULL), data, NULL)$intercept)
})

test_that("a fit of a selection says so, predicts, and is not updated to another formula", {
  needs_python()
  data <- transform(diamonds, depth = replace(depth, 1:30000, NA))
  found <- dp_select(log(price) ~ log(carat) + color + depth, diamonds, k = 2, eps = 5, rng = 1)
  expect_false("depth" %in% found$selected)
  fit <- dp_lm(found, data, eps = 5, delta = 1e-6, rng = 1)
  expect_identical(names(coef(fit)), c("(Intercept)", intersect(found$candidates, found$selected)))
  # Rows that lack what was not chosen are used.
  expect_gt(nobs(fit), 50000)
  expect_match(tail(fit$notes, 1), "chosen by dp_select\\(\\) at eps = 5.*adds to the cost")
  X <- model.matrix(~ log(carat) + color, diamonds[1:3, ])[, names(coef(fit))]
  expect_equal(predict(fit, diamonds[1:3, ], winsorise = FALSE), drop(X %*% coef(fit)))
  expect_equal(predict(fit, diamonds[1:3, ], winsorise = FALSE),
               predict(readRDS({ saveRDS(fit, path <- tempfile()); path }), diamonds[1:3, ], winsorise = FALSE))
  expect_error(update(fit, . ~ . + x), "columns that dp_select\\(\\) chose", class = "dpreg_usage")
  expect_error(dp_lm(found, data, eps = 1, select = "kendall", k = 1), "a selection already", class = "dpreg_usage")
})
