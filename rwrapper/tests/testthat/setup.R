# A skipped Python must not make the tests green: CI sets DPREG_REQUIRE_PYTHON.
needs_python <- function(what = NULL) {
  if (dpreg_available(what)) return(invisible())
  if (nzchar(Sys.getenv("DPREG_REQUIRE_PYTHON")) && is.null(what)) stop(python_missing())
  testthat::skip(paste("the Python package lacks", if (is.null(what)) "itself" else what))
}

# The model matrix as dpreg makes it, put together again.
our_matrix <- function(formula, data, levels = NULL) {
  design <- design_of(formula, data, levels)
  packed <- packed_records(design, data, NULL)
  columns <- lapply(packed$columns, function(raw) readBin(raw, "double", length(raw) / 8))
  y <- readBin(packed$y, "double", length(packed$y) / 8)
  X <- if (length(columns)) do.call(cbind, columns) else matrix(0, length(y), 0)
  colnames(X) <- setdiff(design$names, "(Intercept)")
  complete <- is.finite(y) & rowSums(!is.finite(X)) == 0
  list(X = X, y = y, complete = complete)
}

expect_model_matrix <- function(formula, data) {
  ours <- our_matrix(formula, data)
  frame <- suppressWarnings(stats::model.frame(formula, data, na.action = stats::na.pass))
  theirs <- suppressWarnings(stats::model.matrix(formula, frame))
  theirs <- theirs[, colnames(theirs) != "(Intercept)", drop = FALSE]
  testthat::expect_identical(colnames(ours$X), colnames(theirs))
  good <- ours$complete
  testthat::expect_equal(ours$X[good, , drop = FALSE], theirs[good, , drop = FALSE],
                         ignore_attr = TRUE, tolerance = 0)
  testthat::expect_equal(ours$y[good], as.double(stats::model.response(frame))[good], tolerance = 0)
}

# Rows of every kind, 60 of them.
strange_data <- function() {
  n <- 60L
  wave <- sin(seq_len(n) * 1.7)
  data <- data.frame(
    y = round(10 * wave, 2), whole = seq_len(n), big = 2^31 + 1000 * seq_len(n),
    truth = rep(c(TRUE, FALSE, TRUE), 20),
    day = as.Date("2020-02-27") + seq_len(n), time = as.POSIXct("2020-01-01", tz = "UTC") + 3600 * seq_len(n),
    grade = factor(rep(c("low", "mid", "high"), 20), c("low", "mid", "high"), ordered = TRUE),
    place = factor(rep(c("Aix", "Bern", "K\u00f6ln"), each = 20), c("Aix", "Bern", "K\u00f6ln", "nowhere"))
  )
  data[["two words"]] <- cos(seq_len(n))
  data[["gr\u00f6\u00dfe"]] <- seq_len(n) / 7
  data
}

fit_of <- function(formula = log(price) ~ log(carat) + depth + cut, ..., eps = 4)
  dp_lm(formula, diamonds, eps = eps, delta = 1e-6, rng = 1, ...)

# No window, and no file, for what tests draw.
grDevices::pdf(NULL)
