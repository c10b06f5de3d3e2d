# Data in Parquet files: the same release as of a data frame, bit for bit.

# Visits of persons in three files, with all that may be missing or odd, written by Python.
WRITE_VISITS <- '
import os, datetime
import numpy as np, pyarrow as pa, pyarrow.parquet as pq
r = np.random.default_rng(1)
n = 6000
day = [None if i % 97 == 0 else datetime.date(2020, 1, 1) + datetime.timedelta(int(k))
       for i, k in enumerate(r.integers(0, 700, n))]
seen = [None if i % 89 == 0 else datetime.datetime(2021, 3, 1) + datetime.timedelta(seconds=int(k))
        for i, k in enumerate(r.integers(0, 10**6, n))]
place = [["north", "south", None, "caf\\u00e9", "a\\x00b"][i % 5] for i in range(n)]
x = r.normal(size=n)
y = 2 * x + np.array([0 if d is None else d.year - 2020 for d in day]) + r.normal(size=n)
y[5] = np.nan
x[7] = np.inf
table = pa.table({"y": y, "x": x, "day": day, "seen": pa.array(seen, pa.timestamp("us")),
                  "place": pa.array(place).dictionary_encode(), "person": r.integers(0, 3000, n),
                  "odd": [[1]] * n})
for i in range(3):
    pq.write_table(table[i * 2000:(i + 1) * 2000], os.path.join(folder, f"{i}.parquet"))
columns = {name: table.column(name).cast(pa.float64()).to_pylist() for name in ("y", "x", "person")}
columns["day"] = [None if d is None else d.toordinal() - 719163.0 for d in day]
columns["seen"] = [None if s is None else (s - datetime.datetime(1970, 1, 1)).total_seconds() for s in seen]
columns["place"] = [None if p is None else p.replace("\\x00", "?") for p in place]
'

visits_in <- function(folder) {
  found <- reticulate::py_run_string(paste0("folder = ", deparse(folder), WRITE_VISITS))$columns
  columns <- lapply(found, function(column) {
    column[vapply(column, is.null, NA)] <- NA
    unlist(column)
  })
  data <- as.data.frame(columns)
  data$day <- structure(data$day, class = "Date")
  data$seen <- structure(data$seen, class = c("POSIXct", "POSIXt"))
  data
}

folder <- tempfile("visits")
dir.create(folder)
visits <- if (dpreg_available()) visits_in(folder)

same_release <- function(formula, ..., fit = dp_lm) {
  from_files <- fit(formula, folder, ..., rng = 1)
  from_frame <- fit(formula, visits, ..., rng = 1)
  expect_s3_class(from_files, "dp_lm")
  expect_identical(from_files$estimates, from_frame$estimates)
  expect_identical(vcov(from_files), vcov(from_frame))
  expect_identical(nobs(from_files), nobs(from_frame))
}

test_that("files give the release that a data frame gives", {
  needs_python()
  same_release(y ~ x, eps = 2)
  same_release(y ~ x + as.numeric(day) + I(format(day, "%Y") == "2021"), eps = 2)
  same_release(y ~ x + I(as.numeric(seen) / 1e6), eps = 2)
  same_release(y ~ x + place, eps = 2, levels = list(place = c("north", "south", "caf\u00e9")))
  same_release(y ~ is.na(place) + x, eps = 2)
  same_release(y ~ x, eps = 2, unit = "person")
  same_release(y ~ x | person, eps = 2, unit = "person", method = BoostedAdaSSP(max_rows = 2))
  same_release(I(y > 1) ~ x, eps = 2, fit = dp_glm)
})

test_that("memory and the number of blocks are not seen", {
  needs_python()
  paths <- file.path(folder, c("2.parquet", "0.parquet", "1.parquet"))
  fit <- dp_lm(y ~ x, paths, eps = 2, memory = 1e6, rng = 1)
  expect_identical(coef(fit), coef(dp_lm(y ~ x, file.path(folder, "*.parquet"), eps = 2, rng = 1)))
})

test_that("strata of files are those of a data frame", {
  needs_python()
  strata <- function() dp_partition(dp_budget(2, 1e-5), "place", c("north", "south"))
  same <- lapply(list(folder, visits), function(data)
    coef(dp_lm(y ~ x, data, eps = 2, budget = strata()$north, unit = "person", rng = 1)))
  expect_identical(same[[1L]], same[[2L]])
})

test_that("selections and moments take files", {
  needs_python()
  found <- lapply(list(folder, visits), function(data)
    dp_select(y ~ x + as.numeric(day), data, k = 1, eps = 1, rng = 1)$selected)
  expect_identical(found[[1L]], found[[2L]])
  moments <- lapply(list(folder, visits), function(data)
    moments_lm(dp_moments(~ y + x, data, eps = 1, rng = 1), y ~ x))
  expect_identical(coef(moments[[1L]]), coef(moments[[2L]]))
})

test_that("what cannot be read is refused before anything is spent", {
  needs_python()
  budget <- dp_budget(1)
  refused <- function(formula, data, text, ...)
    expect_error(dp_lm(formula, data, eps = 1, budget = budget, ...), text, class = "dpreg_usage")
  refused(y ~ x, file.path(folder, "none.parquet"), "no such file")
  refused(y ~ x, character(), "write the path")
  refused(y ~ x, list(1), "a data frame, or the path of Parquet files, is needed")
  refused(y ~ x, structure(list(), class = c("tbl_dbi", "tbl_lazy")), "write Parquet files")
  refused(y ~ odd, folder, "of class list")
  refused(y ~ place, folder, "its levels must not be read")
  refused(y ~ nothing, folder, "no column")
  refused(y ~ x, folder, "of class list", unit = "odd")
  refused(y ~ x, folder, "memory", memory = NA)
  expect_equal(nrow(as.data.frame(budget)), 0L)
})
