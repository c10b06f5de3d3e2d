test_that("model matrices are those of R, for columns of every kind", {
  data <- strange_data()
  formulas <- list(
    y ~ whole + big, y ~ truth, y ~ day + time, y ~ grade, y ~ place, y ~ `two words`,
    as.formula("y ~ gr\u00f6\u00dfe"), y ~ grade * place, y ~ truth:place + whole, y ~ place - 1, y ~ 0 + whole:grade,
    y ~ grade:truth, log(y + 20) ~ poly(whole, 3, raw = TRUE) + I(big / 2^31), y ~ (whole + big + truth)^2,
    y ~ C(place, contr.sum) + C(grade, "contr.helmert"), y ~ factor(whole %% 3, levels = c(0, 1, 2)),
    y ~ cut(whole, breaks = c(0, 10, 30, 100)), y ~ relevel(place, ref = "Bern") * whole, y ~ 1,
    y ~ pmin(whole, 30) + I(whole > 20) + sqrt(big), y ~ ., I(y > 0) ~ whole, truth ~ whole
  )
  for (formula in formulas) expect_model_matrix(formula, data)
})

test_that("splines with public knots are those of R", {
  skip_if_not_installed("splines")
  ns <- splines::ns
  bs <- splines::bs
  data <- strange_data()
  expect_model_matrix(y ~ ns(whole, knots = c(20, 40), Boundary.knots = c(0, 70)), data)
  expect_model_matrix(y ~ bs(whole, knots = 30, Boundary.knots = c(0, 70)) + truth, data)
  expect_model_matrix(y ~ splines::ns(whole, knots = 30, Boundary.knots = c(0, 70)), data)
})

test_that("other contrasts are respected", {
  old <- options(contrasts = c("contr.sum", "contr.helmert"))
  on.exit(options(old))
  expect_model_matrix(y ~ grade * place + whole, strange_data())
  data <- strange_data()
  contrasts(data$place) <- "contr.SAS"
  expect_model_matrix(y ~ place, data)
})

test_that("a missing value of any type makes its row incomplete, and no other", {
  columns <- c("y", "whole", "big", "truth", "day", "time", "grade", "place", "two words")
  formula <- y ~ whole + log(big) + truth + day + time + grade * place + `two words`
  for (row in seq_along(columns)) {
    data <- strange_data()
    data[[columns[row]]][row] <- NA
    expect_identical(which(!our_matrix(formula, data)$complete), row)
  }
  data <- strange_data()
  data$big[1:5] <- c(NA, NaN, Inf, -Inf, -1)
  expect_silent(found <- our_matrix(formula, data))
  expect_identical(which(!found$complete), 1:5)
  expect_model_matrix(formula, data)
})

test_that("a variable that is missing counts even where its term does not show it", {
  data <- data.frame(y = c(1, 2, 3), x = c(-Inf, NA, 1))
  expect_identical(our_matrix(y ~ exp(x), data)$complete, c(FALSE, FALSE, TRUE))
  expect_identical(our_matrix(y ~ I(x > 0), data)$complete, c(FALSE, FALSE, TRUE))
})

test_that("frames without rows, and rows without values, have the same columns", {
  data <- strange_data()
  formulas <- list(y ~ ., y ~ grade * place, y ~ ns(whole, knots = 30, Boundary.knots = c(0, 70)),
                   y ~ ifelse(whole > 3, 1, 0), y ~ cut(whole, c(0, 10, 99)), y ~ poly(whole, 2, raw = TRUE))
  for (formula in formulas) {
    full <- our_matrix(formula, data)
    none <- our_matrix(formula, data[0, ])
    lost <- data
    lost[] <- lapply(data, function(x) { x[] <- NA; x })
    expect_identical(colnames(none$X), colnames(full$X))
    expect_identical(nrow(none$X), 0L)
    expect_silent(gone <- our_matrix(formula, lost))
    expect_identical(colnames(gone$X), colnames(full$X))
    expect_false(any(gone$complete))
  }
})

test_that("frames without rows have the model matrix that R makes of them", {
  data <- strange_data()[0, ]
  for (formula in list(y ~ ., y ~ grade * place + truth, y ~ poly(whole, 2, raw = TRUE) + day, y ~ 0 + place))
    expect_model_matrix(formula, data)
})

test_that("a missing text is an incomplete row", {
  data <- data.frame(y = 1:3, text = c("a", NA, "b"))
  expect_identical(our_matrix(y ~ text, data, list(text = c("a", "b")))$complete, c(TRUE, FALSE, TRUE))
})

test_that("columns of every type come back from Python bit by bit", {
  needs_python()
  numpy <- reticulate::import("numpy", convert = FALSE)
  python <- reticulate::import_builtins()
  there_and_back <- function(bytes, type) python$bytearray(numpy$frombuffer(bytes, type)$tobytes())
  data <- strange_data()
  data$big[1:6] <- c(NA, NaN, Inf, -Inf, 2^53, -2^31 - 1)
  for (name in names(data)) data[[name]][7] <- NA
  packed <- packed_records(design_of(y ~ ., data), data, NULL)
  for (bytes in c(packed$columns, list(packed$y)))
    expect_identical(there_and_back(bytes, "<f8"), bytes)
  labels <- pack_labels(c("K\u00f6ln", NA, "Aix", "K\u00f6ln"))
  expect_identical(there_and_back(labels, "<i4"), labels)
  expect_identical(readBin(labels, "integer", 4, endian = "little"), c(0L, -1L, 1L, 0L))
})

test_that("columns that are not numbers are refused, with a remedy", {
  data <- data.frame(y = 1:2, text = c("a", "b"), one = factor(c("a", "a")))
  data$list <- list(1, 2)
  data$complex <- 1:2 + 1i
  data$wide <- structure(c(1, 2), class = "integer64")
  expect_error(design_of(y ~ text, data), "factor\\(text, levels = ")
  expect_error(design_of(y ~ one, data), "at least two levels")
  expect_error(design_of(y ~ list, data), "neither numeric nor a factor")
  expect_error(design_of(y ~ complex, data), "neither numeric nor a factor")
  expect_error(design_of(y ~ wide, data), "as.double\\(data.wide\\)")
  expect_error(design_of(one ~ y, data.frame(y = 1, one = factor("a", c("a", "b")))),
               "one numeric column; for a factor write I\\(one == \"b\"\\)")
  expect_identical(colnames(our_matrix(y ~ factor(text, levels = c("a", "b", "c")), data)$X),
                   paste0("factor(text, levels = c(\"a\", \"b\", \"c\"))", c("b", "c")))
  expect_identical(our_matrix(y ~ text, data, list(text = c("b", "c")))$complete, c(FALSE, TRUE))
})

test_that("terms that learn from the data are refused, with a public alternative", {
  data <- strange_data()
  refused <- list(
    y ~ scale(whole), y ~ poly(whole, 2), y ~ poly(whole, 2, raw = FALSE), y ~ ns(whole, df = 3),
    y ~ bs(whole), y ~ factor(whole), y ~ as.factor(whole), y ~ cut(whole, 3), y ~ I(whole - mean(whole)),
    y ~ rank(whole), y ~ log(scale(whole)), scale(y) ~ whole
  )
  for (formula in refused) expect_error(design_of(formula, data), "depends on the other rows")
  expect_error(design_of(y ~ scale(whole), data), "scale\\(whole, center = 50, scale = 10\\)")
  expect_error(design_of(y ~ rev(whole), data), "not known to work row by row")
  expect_error(design_of(y ~ I(whole + c(1, 2)), data), "recycled")
  expect_error(design_of(y ~ I(whole - middle_of_it), data), "no column 'middle_of_it'")
  expect_error(design_of(y ~ cut(whole, breaks = big), data), "not a constant")
  expect_error(design_of(y ~ poly(whole, degree = truth, raw = TRUE), data), "not a constant")
  expect_error(design_of(y ~ nothing, data), "no column 'nothing' in the data, which have 'y', 'whole'")
  expect_error(design_of(y ~ whale, data), "no column 'whale' in the data; did you mean 'whole'\\?")
  # Of one letter any other letter would be meant.
  expect_error(design_of(y ~ w, data), "no column 'w' in the data, which have 'y'")
  expect_error(design_of(~whole, data), "with a response")
  expect_error(design_of(y ~ 0, data), "nothing on its right-hand side")
  expect_error(design_of(y ~ I(2), data), "reads no column")
})

test_that("constants of the session are put into the formula by whoever knows that they are public", {
  data <- strange_data()
  k <- c(20, 40)
  centre <- 3
  said <- function(formula) expect_error(design_of(formula, data), class = "dpreg_usage")$message
  expect_true(grepl("write bquote(y ~ ns(whole, knots = .(k), Boundary.knots = c(0, 70))) in place",
                    said(y ~ ns(whole, knots = k, Boundary.knots = c(0, 70))), fixed = TRUE))
  expect_true(grepl("bquote(y ~ I(whole - .(centre)))", said(y ~ I(whole - centre)), fixed = TRUE))
  made <- as_formula(bquote(y ~ ns(whole, knots = .(k), Boundary.knots = c(0, 70)) + I(whole - .(centre))))
  expect_identical(design_of(made, data)$names,
                   design_of(y ~ ns(whole, knots = c(20, 40), Boundary.knots = c(0, 70)) + I(whole - 3), data)$names)
})

test_that("all products of levels beside an intercept are refused", {
  data <- strange_data()
  refused <- function(formula) expect_error(check_whole_products(design_of(formula, data)), class = "dpreg_usage")
  expect_match(refused(y ~ grade:truth)$message, "write grade * truth, or 0 + grade:truth", fixed = TRUE)
  refused(y ~ whole + grade:place)
  for (formula in c(y ~ 0 + grade:truth, y ~ grade / truth, y ~ grade * place, y ~ truth:whole, y ~ grade, y ~ 1))
    expect_no_error(check_whole_products(design_of(formula, data)))
})

test_that("functions of the user's session are not called", {
  log <- function(x) stop("mine")
  sqrt <- log
  expect_model_matrix <- NULL
  formula <- y ~ sqrt(whole)
  expect_silent(our_matrix(formula, strange_data()))
})

test_that("ranges of columns made of levels are those of the coding", {
  data <- strange_data()
  ranges <- design_of(y ~ place + truth + whole + whole:place, data)$ranges
  expect_identical(names(ranges), c("placeBern", "placeK\u00f6ln", "placenowhere", "truthTRUE"))
  expect_identical(unique(unname(ranges)), list(c(0, 1)))
  grade <- design_of(y ~ grade, data)$ranges
  expect_equal(grade$grade.L, range(contr.poly(3)[, 1]))
  both <- design_of(y ~ grade * place, data)
  expect_identical(names(both$ranges), setdiff(both$names, "(Intercept)"))
})
