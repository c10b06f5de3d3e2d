# Columns of every class, with what is odd in each of them.
odd_data <- function() {
  day <- as.POSIXct("2020-01-01", tz = "UTC")
  data <- data.frame(
    y = c(1.5, -2, NA, 4, 5, 6.25, -7, 8, Inf, 10, 11, 12), whole = c(1:10, NA, .Machine$integer.max),
    truth = rep(c(TRUE, FALSE, NA, TRUE), 3), day = as.Date("2020-02-27") + c(0:9, NA, 400),
    day2 = as.Date("2019-02-27") + 12:1, t1 = day + c(0, 86400, NA, 3, 1e6, 0.5, 0:5 * 86400),
    t2 = day + c(5, 8640000, 1, NA, 1, 0.5, 0:5 * 86400), text = rep(c("a", "b", "2020-01-01", NA), 3),
    f = factor(c("a", NA, rep(c("b", "c"), 5)), c("a", "b", "c", "none")),
    g = factor(rep(c("a", "b"), 6), c("a", "b", "c", "none")),
    o = factor(rep(c("lo", "hi", "mid"), 4), c("lo", "mid", "hi"), ordered = TRUE),
    span = as.difftime(c(1:11, NA), units = "hours"), span2 = as.difftime(12:1 * 3, units = "mins")
  )
  data$m <- cbind(a = c(1:11, NA) / 3, b = 12:1)
  data$list <- as.list(1:12)
  data$labelled <- structure(1:12 / 2, class = c("haven_labelled", "vctrs_vctr", "double"), label = "q")
  data$T <- rep(0:1, 6)
  # Times that calendars do not have, and text that no encoding has.
  data$ages <- structure(c(0, 1e5, 1e10, 1e15, 1e300, -1e300, Inf, -Inf, NaN, NA, 0.5, -1), class = "Date")
  data$eons <- structure(c(0, 1e5, 1e10, 1e15, 1e300, -1e300, Inf, -Inf, NaN, NA, 0.5, -1),
                         class = c("POSIXct", "POSIXt"))
  data$odd <- c("a", "K\u00f6ln", "\xff", NA, "", "A b", "\u00e9", "a.b", "NA", "x", "\xe9t", "b")
  Encoding(data$odd[3]) <- "bytes"
  Encoding(data$odd[11]) <- "latin1"
  data
}

design_values <- function(design, data) {
  frame <- model_variables(design, unclass(data)[names(design$source)], nrow(data))
  list(y = as.double(frame[[1L]]), columns = model_columns(design, frame))
}

# Is what is said of some rows what is said of them among others?
expect_row_by_row <- function(formula, data, design = design_of(formula, data)) {
  full <- design_values(design, data)
  for (rows in c(as.list(seq_len(nrow(data))), list(integer(), 1:2, 12:1, c(1, 3, 5)))) {
    some <- design_values(design, data[rows, , drop = FALSE])
    expected <- list(y = full$y[rows], columns = lapply(full$columns, `[`, rows))
    if (!identical(some, expected)) return(testthat::fail(paste("not row by row:", deparsed(formula))))
  }
  testthat::succeed()
}

test_that("differences of date-times need a unit", {
  data <- odd_data()
  for (formula in list(y ~ as.numeric(t2 - t1), y ~ I(t2 - t1), y ~ I((t2 - t1) > 5), t2 - t1 ~ whole,
                       y ~ I(as.numeric(whole) + (t2) - (t1)), y ~ I(t2 - day), y ~ I(day - t1),
                       y ~ I(t1 - as.POSIXct("2020-01-01", tz = "UTC"))))
    expect_error(design_of(formula, data), "depends on the other rows|is - of")
  expect_error(design_of(y ~ I(t2 - t1), data), "difftime\\(t2, t1, units = \"hours\"\\)")
  expect_error(design_of(y ~ difftime(t2, t1), data), "depends on the other rows")
  for (units in c("auto", "a", "d", "days "))
    expect_error(design_of(eval(bquote(y ~ difftime(t2, t1, units = .(units)))), data), "units")
  expect_error(design_of(y ~ difftime(t2, t1, units = text), data), "not a constant")
  for (formula in list(y ~ difftime(t2, t1, units = "days"), y ~ I(as.numeric(t2) - as.numeric(t1)),
                       y ~ I(as.numeric(day - day2)), y ~ I(day - as.Date("2020-01-01")), y ~ span,
                       y ~ as.numeric(difftime(t2, t1, units = "mins"), units = "hours"),
                       y ~ difftime(t2, t1, "days"), y ~ I(span + span2), y ~ I(t1 + 3600)))
    expect_row_by_row(formula, data)
})

test_that("dates and text give what formulas need of them", {
  data <- odd_data()
  for (formula in list(
    y ~ factor(weekdays(day), levels = c("Monday", "Sunday")) + factor(months(day), month.name), y ~ I(months(day) == "March"),
    y ~ factor(months(t1, TRUE), levels = month.abb), y ~ factor(quarters(day), c("Q1", "Q2")),
    y ~ as.numeric(format(day, "%Y")) + I(format(t1, "%H:%M") == "00:00"), y ~ as.integer(format(ages, "%m")),
    y ~ factor(format(eons, "%Y"), levels = c("1970", "2286")), y ~ I(weekdays(ages) %in% c("Sunday", "Inf")),
    y ~ nchar(odd) + nchar(text), y ~ grepl("^a", odd) + grepl("[[:alpha:]]", odd), y ~ grepl("k", odd, ignore.case = TRUE),
    y ~ grepl("\u00e9", odd, fixed = TRUE), y ~ grepl("\\\\w", odd, perl = TRUE), y ~ is.na(text) + is.na(f) + is.na(eons),
    y ~ scale(whole, 50, 10), y ~ scale(whole, center = -1, scale = 0)))
    expect_row_by_row(formula, data)
  for (formula in list(y ~ format(t1), y ~ format(t1, ""), y ~ I(format(t1, "%OS3") == "a"), y ~ format(t1, "%H:%M:%OS"),
                       y ~ scale(whole), y ~ scale(whole, TRUE, 10), y ~ scale(whole, 50), y ~ scale(whole, whole, 10)))
    expect_error(design_of(formula, data), "depends on the other rows|not one constant|not a constant|arguments of")
  for (formula in list(y ~ grepl(text, odd), y ~ grepl("(", odd), y ~ weekdays(text), y ~ nchar(f), y ~ grepl("a", f),
                       y ~ as.numeric(text), y ~ format(whole, "%Y"), y ~ months(whole)))
    expect_error(design_of(formula, data), "^formula: ")
  expect_error(design_of(y ~ weekdays(day), data), "column 'weekdays\\(day\\)' is text.*factor\\(weekdays\\(day\\), levels")
})

test_that("what R says of dates and text is said here", {
  data <- data.frame(y = 1:3, day = as.Date(c("2020-02-29", "2021-12-31", "1999-01-01")), text = c("abc", "", "K\u00f6ln"))
  expect_model_matrix(y ~ as.numeric(format(day, "%j")) + nchar(text) + grepl("K", text) + is.na(text), data)
  expect_equal(our_matrix(y ~ scale(day2, 50, 10), transform(data, day2 = c(40, 50, 65)))$X,
               cbind(c(-1, 0, 1.5)), ignore_attr = TRUE)
})

test_that("rows with what is.na() was asked of are kept", {
  data <- data.frame(y = 1:4, x = c(5, NA, 7, Inf), z = c(1, 2, NA, 4), g = factor(c("a", "b", NA, "a")))
  kept <- function(formula) our_matrix(formula, data)$complete
  expect_identical(kept(y ~ is.na(x) + ifelse(is.na(x), 0, x)), c(TRUE, TRUE, TRUE, FALSE))
  expect_identical(kept(y ~ is.na(x) + x), c(TRUE, FALSE, TRUE, FALSE))
  expect_identical(kept(y ~ is.na(x) + z), c(TRUE, TRUE, FALSE, TRUE))
  expect_identical(kept(y ~ is.na(g) + I(x > 0)), c(TRUE, FALSE, TRUE, FALSE))
  expect_equal(our_matrix(y ~ is.na(x) + ifelse(is.na(x), 0, x), data)$X[1:3, ], cbind(c(0, 1, 0), c(5, 0, 7)),
               ignore_attr = TRUE)
})

test_that("one record does not change the others' difference of date-times", {
  data <- odd_data()[c(1, 6:12), ]
  far <- data
  far$t2[1] <- far$t2[1] + 1e8
  values <- function(data) our_matrix(y ~ difftime(t2, t1, units = "days"), data)$X[-1, ]
  expect_identical(values(far), values(data))
})

test_that("text is compared with text alone", {
  data <- odd_data()
  for (formula in list(y ~ I(day > text), y ~ I(t1 < text), y ~ I(text == day), y ~ as.Date(text),
                       y ~ as.numeric(text), y ~ I(text < "b"), y ~ I(f == text), y ~ pmin(text, "b")))
    expect_error(design_of(formula, data), "formula: the term")
  expect_error(design_of(y ~ text, data), "must not be read")
  expect_error(design_of(y ~ I(day > "soon"), data), "formula: .*unambiguous")
  for (formula in list(y ~ I(day > "2020-03-01"), y ~ I(t1 <= "2020-01-02"), y ~ I(text == "a"),
                       y ~ I(text %in% c("a", "b")), y ~ factor(text, levels = c("a", "b")), y ~ . - text - list - odd))
    expect_row_by_row(formula, data)
})

test_that("a text of unknown encoding is one like any other", {
  data <- data.frame(y = 1:3, text = c("a", "K\u00f6ln", "\xff"))
  Encoding(data$text[3]) <- "bytes"
  expect_error(match(data$text, c("a", "K\u00f6ln")), "bytes") # what R itself says
  expect_silent(found <- our_matrix(y ~ text, data, list(text = c("a", "K\u00f6ln"))))
  expect_identical(found$complete, c(TRUE, TRUE, FALSE))
  expect_row_by_row(y ~ I(text %in% c("a", "K\u00f6ln")) + I(text == "K\u00f6ln"), data[c(1:3, rep(1, 9)), ])
  expect_identical(readBin(pack_labels(data$text), "integer", 3, endian = "little"), 0:2)
})

test_that("columns that are lists are refused wherever they are read", {
  data <- odd_data()
  data$lt <- as.POSIXlt(data$t1)
  data$frame <- data.frame(a = 1:12)
  for (formula in list(y ~ list, y ~ as.numeric(list), y ~ I(list > 0), list ~ y, y ~ I(whole * 0 + as.numeric(list)),
                       y ~ frame, y ~ I(frame > 0)))
    expect_error(design_of(formula, data), "neither numeric nor a factor")
  expect_error(design_of(y ~ lt, data), "POSIXlt.*as.POSIXct")
  data$units <- structure(as.numeric(1:12), class = "units")
  expect_error(design_of(y ~ units, data), "as.numeric\\(data.units\\)")
})

test_that("constants are constants, whatever columns are called", {
  data <- odd_data()
  for (formula in list(y ~ cut(whole, c(0, T, 10)), y ~ factor(whole, levels = c(1, T)),
                       y ~ poly(whole, T, raw = TRUE),
                       y ~ pmax(whole, 3, na.rm = T)))
    expect_error(design_of(formula, data), "not a constant")
  expect_row_by_row(y ~ I(whole * T), data)
  names(data)[names(data) == "m"] <- "contr.sum"
  expect_error(design_of(y ~ C(f, contr.sum), data), "not a constant")
})

test_that("arguments have the shape that makes functions work row by row", {
  data <- odd_data()
  for (formula in list(
    y ~ cut(whole, c(3)), y ~ cut(whole, c(3, 3)), y ~ cut(day, "month"), y ~ factor(t1, levels = c("2020-01-01")),
    y ~ I(t1 %in% c("2020-01-01")), y ~ ifelse(TRUE, whole, 0), y ~ I(y + ifelse(TRUE, whole, 0)),
    y ~ I(y + ifelse(3 > 2, whole, 0)),
    y ~ I(whole + NULL), y ~ I(m > 0), y ~ ifelse(m > 0, 1, 0), y ~ pmin(whole, m), y ~ pmin(whole, m, na.rm = truth),
    y ~ I(f + 1), y ~ I(f < "b"), y ~ I(f == "typo"), y ~ I(o > "typo"), y ~ round(t1, "days"), y ~ log(day),
    y ~ C(whole, contr.sum), y ~ I(whole %in% c("a")), y ~ I(whole == "1"), y ~ I(x[1]), y ~ I(whole %*% y),
    y ~ bs(whole, knots = 3, Boundary.knots = 1:3), y ~ ns(whole, "a", c(0, 6)), y ~ trunc(t1, "days")
  )) expect_error(design_of(formula, data), "^formula: ")
  expect_error(design_of(y ~ t1, data, levels = list(t1 = c("2020-01-01", "2020-01-02"))), "cannot have levels")
  expect_error(design_of(y ~ text, data, levels = list(text = c("a", NA))), "none NA")
  for (formula in list(y ~ m, y ~ log(m) + I(m * whole), y ~ I(f == "b"), y ~ I(o >= "mid"), y ~ as.numeric(o),
                       y ~ ifelse(y == 5, NA, y), y ~ I(labelled > 2) + labelled, y ~ I(whole + pi),
                       y ~ I(whole / sqrt(2)), y ~ cut(whole, c(0, 5, Inf), labels = FALSE), y ~ whole + truth:m))
    expect_row_by_row(formula, data)
})

test_that("columns of haven are text or numbers, and never what SPSS takes as missing", {
  of_haven <- function(x, ...) structure(x, class = c(..., "haven_labelled", "vctrs_vctr", typeof(x)))
  data <- data.frame(y = 1:4)
  data$text <- of_haven(c("a", "b", "a", "b"))
  expect_identical(design_of(y ~ text, data, levels = list(text = c("a", "b")))$names, c("(Intercept)", "textb"))
  data$spss <- of_haven(c(1, -99, 2, 3), "haven_labelled_spss")
  expect_error(design_of(y ~ spss, data), "write data\\$spss <- haven::zap_missing\\(data\\$spss\\) before the call")
})

# Expressions of all shapes, most of them wrong.
any_expression <- function(depth, columns) {
  constants <- list(3, 0, 2L, TRUE, NA, "a", "lo", "2020-01-03", quote(pi), quote(T), quote(c(1, 2)), quote(c(3)),
                    quote(c("a", "b")), quote(c(0, 5, 10)), NULL, quote(as.Date("2020-01-05")), "days", "auto",
                    quote(contr.sum))
  any_of <- function(x) x[[sample(length(x), 1L)]]
  inner <- function(...) any_expression(depth - 1, columns)
  if (depth == 0 || stats::runif(1) < 0.25)
    return(if (stats::runif(1) < 0.7) as.name(any_of(columns)) else any_of(constants))
  name <- any_of(c(ROW_OPERATORS, names(ROW_FUNCTIONS), "-", "==", "as.Date", "rev", "[", "length", "match", "%*%",
                   "xor", "if", "cumsum", "scale", "outer", "c", "rep"))
  rule <- ROW_FUNCTIONS[[name]]
  if (is.null(rule) || stats::runif(1) < 0.3) {
    arguments <- lapply(seq_len(sample(3L, 1L)), inner)
  } else {
    known <- setdiff(names(formals(rule$arguments)), "...")
    known <- known[known %in% rule$needs | stats::runif(length(known)) < 0.3]
    arguments <- lapply(stats::setNames(known, known), function(argument)
      if (argument %in% rule$constants) any_of(constants) else inner())
    if ("..." %in% names(formals(rule$arguments)) || !length(arguments)) arguments <- c(inner(), arguments)
    if (stats::runif(1) < 0.4) names(arguments) <- NULL
  }
  as.call(c(as.name(name), arguments))
}

test_that("whatever is accepted works row by row", {
  # Fifteen seconds, with Python or without.
  skip_on_cran()
  data <- odd_data()
  set.seed(20260101)
  accepted <- 0
  for (i in 1:1500) {
    e <- call("I", any_expression(sample(3L, 1L), names(data)))
    formula <- eval(if (i %% 5) call("~", quote(y), e) else call("~", e, quote(whole)))
    design <- tryCatch(suppressWarnings(design_of(formula, data)), error = function(e) conditionMessage(e))
    if (is.character(design)) expect_match(design, "^(formula|column|levels|data)")
    else expect_row_by_row(formula, data, design)
    accepted <- accepted + is.list(design)
  }
  expect_gt(accepted, 150)
})

test_that("rows of a unit may be an argument of the fit", {
  needs_python()
  set.seed(1)
  data <- data.frame(who = rep(1:2000, 3), x = rnorm(6000))
  data$y <- data$x + rnorm(6000)
  fit <- dp_lm(y ~ x, data, eps = 2, unit = "who", max_rows = 3, rng = 1)
  same <- dp_lm(y ~ x, data, eps = 2, unit = "who", method = Auto(max_rows = 3), rng = 1)
  expect_identical(coef(fit), coef(same))
  expect_error(dp_lm(y ~ x, data, eps = 2, max_rows = 3), "add unit", class = "dpreg_usage")
})

test_that("rows beyond the limits of a spline are multiplied alike, however many they are", {
  # Products of BLAS are not: one row, and several of bs() with OpenBLAS, differed in the last bits.
  before <- getOption("matprod")
  basis <- function(x, Boundary.knots) {
    said <<- getOption("matprod")
    cbind(x)
  }
  said <- NULL
  expect_identical(spline_rows(basis, c(1, NA, 3), c(0, 2))[, 1L], c(1, NA, 3))
  expect_identical(said, "internal")
  expect_identical(getOption("matprod"), before)
})

test_that("a factor's code without a level is missing", {
  # What lies in memory beyond the contrasts was its row.
  data <- data.frame(y = 1:5 + 0)
  data$g <- structure(c(1L, 99L, 2L, -5L, NA), levels = c("a", "b"), class = "factor")
  expect_identical(our_matrix(y ~ g, data)$X[, "gb"], c(0, NA, 1, NA, NA))
})

test_that("numbers are levels whether they are held as integers or as doubles", {
  # 100000 is the text 1e+05 as a double: each such row was dropped without a word.
  numbers <- c(5, 100000, 2e5, 0.3)
  for (levels in list(numbers[1:3], as.integer(numbers[1:3]), c("5", "100000", "2e5")))
    for (held in list(numbers, as.integer(numbers))) {
      found <- our_matrix(y ~ g, data.frame(y = 1:4, g = held), list(g = levels))$X
      expect_identical(unname(found[1:3, ]), cbind(c(0, 1, 0), c(0, 0, 1)))
      expect_identical(new_levels(held[1:3], as.character(levels)), character())
    }
  expect_identical(level_places(c(NA, NaN, 1, 0.1 + 0.2), c("1", "a", "0.3")), c(NA, NA, 1L, 3L))
  expect_identical(level_places(c(NA, "a"), c("1", "a")), c(NA, 2L))
  expect_identical(new_levels(c(1, 7, NA), c("1", "2")), "7")
  expect_identical(new_levels(factor(c("b", NA)), "a"), "b")
})
