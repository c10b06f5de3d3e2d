visits <- function(n = 3000L) {
  set.seed(4)
  region <- sample(c("north", "south", "west", NA), n, TRUE)
  x <- stats::rnorm(n)
  data.frame(y = ifelse(region %in% "north", 1, -1) * x + stats::rnorm(n) / 10, x = x, region = region,
             ward = factor(region, c("west", "south", "north")), year = rep(2024:2026, length.out = n),
             person = rep(seq_len(n / 2), each = 2))
}

# The rows that Python takes.
taken <- function(data, column, levels, level, unit = NULL) {
  stratum <- list(column = column, position = match(level, levels) - 1, levels = levels)
  design <- design_of(y ~ x, seen_by_formula(data, y ~ x, unit, stratum))
  packed <- packed_records(design, data, unit, stratum)
  codes <- readBin(packed$strata, "integer", nrow(data), endian = "little")
  expect_identical(codes, match(as.character(data[[column]]), as.character(levels), nomatch = 0L) - 1L)
  codes == stratum$position
}

test_that("rows of a stratum are found by level, in text, factors and numbers", {
  data <- visits()
  for (column in c("region", "ward"))
    expect_identical(taken(data, column, c("north", "south"), "north"), data$region %in% "north")
  expect_identical(taken(data, "year", c(2024, 2026), 2026), data$year == 2026)
  odd <- data.frame(y = 1:4, x = 1, place = c("K\u00f6ln", "K\xf6ln", "Bonn", NA))
  Encoding(odd$place)[2] <- "latin1"
  expect_identical(taken(odd, "place", c("K\u00f6ln", "Bonn"), "K\u00f6ln"), c(TRUE, TRUE, FALSE, FALSE))
})

test_that("a fit of a stratum is that of its rows, and costs what the dearest stratum costs", {
  needs_python()
  data <- visits()
  budget <- dp_budget(2, 1e-5, accounting = "gdp")
  strata <- dp_partition(budget, "region", c("north", "south"))
  expect_identical(names(strata), c("north", "south"))
  fit <- dp_lm(y ~ ., data[c("y", "x", "region")], eps = 1, delta = 1e-6, method = "adassp", rng = 1,
               budget = strata$north)
  alone <- dp_lm(y ~ x, subset(data, region == "north"), eps = 1, delta = 1e-6, method = "adassp", rng = 1)
  expect_identical(coef(fit), coef(alone))
  expect_identical(nobs(fit), nobs(alone))
  expect_match(paste(fit$notes, collapse = " "), "only rows with region = \"north\" were used")
  one <- budget_state(budget)$spent
  dp_lm(y ~ x, data, eps = 1, delta = 1e-6, method = "adassp", budget = strata[["south"]])
  expect_identical(budget_state(budget)$spent, one)
  found <- dp_select(y ~ x, data, k = 1, eps = 0.1, budget = strata$south)
  expect_match(paste(unlist(found$notes), collapse = " "), "region = \"south\"")
  expect_identical(as.data.frame(budget)$stratum, paste0("region = \"", c("north", "south", "south"), "\""))
  expect_identical(nrow(as.data.frame(strata$south)), 2L)
  expect_output(print(strata), "region = \"south\"; left: eps = ")
  expect_output(print(strata$south), "for region = \"south\"; spent")
  expect_output(print(budget), "stratum")
  # No charge is drawn but those that raised the total.
  expect_identical(nrow(plot(budget)), 3L)
})

test_that("a unit with rows in several strata is in none", {
  needs_python()
  data <- visits()
  moves <- ave(data$region, data$person, FUN = function(r) length(unique(r[r %in% c("north", "south")]))) == "2"
  strata <- dp_partition(dp_budget(9), "region", c("north", "south"))
  fit <- dp_lm(y ~ x, data, eps = 4, method = "adassp", unit = "person", rng = 1, budget = strata$north)
  alone <- dp_lm(y ~ x, data[data$region %in% "north" & !moves, ], eps = 4, delta = fit$privacy$delta,
                 method = "adassp", unit = "person", rng = 1)
  expect_identical(coef(fit), coef(alone))
})

test_that("a partition stays as it was declared, in a ledger that Python reads too", {
  needs_python()
  path <- tempfile(fileext = ".ledger")
  years <- dp_partition(dp_budget(1, ledger = path), "year", c(2024, 2025))
  dp_lm(y ~ x, visits(), eps = 0.75, method = "adassp", budget = years[["2025"]])
  again <- dp_budget(ledger = path)
  expect_identical(names(dp_partition(again, "year")), c("2024", "2025"))
  expect_identical(as.data.frame(again)$stratum, "year = 2025")
  expect_equal(budget_state(dp_partition(again, "year")[["2024"]])$remaining$eps, 1)
  expect_error(dp_lm(y ~ x, visits(), eps = 0.5, budget = dp_partition(again, "year")[["2025"]]),
               "only eps = 0.25", class = "dpreg_budget")
  expect_error(dp_partition(again, "year", c(2024, 2026)), "were declared before, as 2024, 2025")
})

test_that("no mistake with strata is a fit of all rows, or uncharged", {
  needs_python()
  data <- visits()
  budget <- dp_budget(1)
  strata <- dp_partition(budget, "region", c("north", "south"))
  expect_error(strata$nort, "there is no stratum \"nort\"; the levels are 'north' and 'south'")
  expect_error(strata[["west"]], "there is no stratum")
  expect_error(strata[[3]], "there is no stratum 3")
  fit <- function(..., formula = y ~ x, budget = strata$north) dp_lm(formula, ..., eps = 0.5, budget = budget)
  expect_error(fit(data, budget = strata), "strata[[\"north\"]]", fixed = TRUE)
  expect_error(fit(data, budget = unclass(strata)), "budget must be made by dp_budget()", fixed = TRUE)
  expect_error(fit(data, formula = y ~ x + region), "'region' divides the budget")
  expect_error(fit(data[c("x", "y")]), "which is not a column of the data; they have 'x' and 'y'")
  expect_error(fit(transform(data, region = year)), "levels that are text, and the column is of class integer")
  expect_error(dp_partition(strata$north, "ward", c("a", "b")), "not that of a stratum")
  expect_error(dp_partition(budget, "ward"), 'write levels = c("first", "second", ...)', fixed = TRUE)
  expect_error(dp_partition(budget, "ward", "a"), "at least two levels")
  expect_error(dp_partition(budget, 3, c("a", "b")), "column must be the name of a column, got 3")
  expect_error(dp_partition(budget, "region", c("north", "west")), "were declared before")
  expect_identical(nrow(as.data.frame(budget)), 0L)
})

test_that("levels come as vectors, factors or lists, and those of the stratum are declared already", {
  needs_python()
  for (levels in list(c(a = "north", b = "south"), factor(c("north", "south")), list("north", "south")))
    expect_identical(names(dp_partition(dp_budget(1), "region", levels)), c("north", "south"))
  strata <- dp_partition(dp_budget(1), "region", c("north", "south"))
  dp_lm(y ~ x, visits(), eps = 0.5, budget = strata$north, levels = list(region = c("north", "south")))
  expect_identical(nrow(as.data.frame(strata$north)), 1L)
})

test_that("the unit is no regressor", {
  needs_python()
  data <- visits()[c("y", "x", "person")]
  fit <- dp_lm(y ~ ., data, eps = 1, method = "adassp", unit = "person")
  expect_identical(names(coef(fit)), c("(Intercept)", "x"))
  expect_identical(dp_select(y ~ ., data, k = 1, eps = 1, unit = "person")$candidates, "x")
  expect_error(dp_lm(y ~ x + person, data, eps = 1, unit = "person"), "'person' names the protected unit")
})
