# Coefficients in ggplot2, and tables for papers.

test_that("autoplot() draws what tidy() says, in the theme that is set", {
  needs_python()
  skip_if_not_installed("ggplot2")
  fit <- fit_of()
  rows <- tidy(fit, conf.int = TRUE)
  rows <- rows[rows$term != "(Intercept)", ]
  plot <- ggplot2::autoplot(fit)
  drawn <- ggplot2::layer_data(plot, 2L)
  expect_setequal(drawn$xmin, rows$conf.low)
  expect_setequal(drawn$xmax, rows$conf.high)
  expect_identical(levels(plot$data$term), rev(rows$term))
  expect_length(plot$theme, 0L)
  expect_match(levels(plot$data$model), "NOT PRIVATE")
  wide <- ggplot2::layer_data(ggplot2::autoplot(fit, parm = rows$term[1L], level = 0.99), 2L)
  expect_lt(wide$xmin, rows$conf.low[1L])
})

test_that("several fits, and those of other packages, lie side by side", {
  needs_python()
  skip_if_not_installed("ggplot2")
  fit <- fit_of()
  both <- dp_compare(small = fit, large = fit_of(eps = 8))
  term <- names(coef(fit))[2L]
  exact <- data.frame(model = "exact", term = term, estimate = 1, conf.low = 0, conf.high = 2, more = 3)
  plot <- ggplot2::autoplot(both, beside = exact)
  expect_identical(sub(" .*", "", levels(plot$data$model)), c("exact", "small", "large"))
  drawn <- ggplot2::layer_data(plot, 2L)
  expect_length(unique(drawn$colour), 3L)
  expect_length(unique(drawn$shape), 3L)
  expect_length(unique(drawn$y), nrow(drawn))
  expect_error(ggplot2::autoplot(both, parm = "nope"), "no coefficient 'nope'")
  expect_error(ggplot2::autoplot(both, beside = 1), "columns 'model', 'term'")
  expect_error(ggplot2::autoplot(do.call(dp_compare, rep(list(fit), 5L))), "at most 4 fits")
  # Without intervals there is nothing to draw, but the terms are named.
  bare <- ggplot2::autoplot(fit_of(inference = FALSE))
  expect_identical(nrow(bare$data), 0L)
})

test_that("tidy() of several fits has that of each", {
  needs_python()
  fits <- list(a = fit_of(), b = fit_of(inference = FALSE))
  both <- tidy(dp_compare(fits), conf.int = TRUE)
  expect_identical(as.data.frame(both[both$model == "a", -1L]), as.data.frame(tidy(fits$a, conf.int = TRUE)))
  expect_identical(unique(both$model), c("a", "b"))
})

test_that("one fit and several become LaTeX, HTML and Word", {
  needs_python()
  skip_if_not_installed("knitr")
  both <- dp_compare(first = fit_of(), second = fit_of(eps = 8))
  for (table in list(as.data.frame(both), tidy(fit_of()))) {
    expect_match(paste(knitr::kable(table, "latex", booktabs = TRUE), collapse = ""), "\\toprule", fixed = TRUE)
    expect_match(paste(knitr::kable(table, "html"), collapse = ""), "<table>", fixed = TRUE)
  }
  skip_if_not(nzchar(Sys.which("pandoc")))
  text <- tempfile(fileext = ".md")
  word <- tempfile(fileext = ".docx")
  writeLines(knitr::kable(as.data.frame(both), "pipe"), text)
  expect_identical(system2("pandoc", c(text, "-o", word)), 0L)
  expect_identical(readBin(word, "raw", 2L), charToRaw("PK"))
})

test_that("what modelsummary and gtsummary ask of a fit is there", {
  needs_python()
  fit <- fit_of()
  expect_true(all(c("term", "estimate", "std.error", "statistic", "p.value", "conf.low", "conf.high") %in%
                    names(tidy(fit, conf.int = TRUE, conf.level = 0.9))))
  expect_identical(dim(glance(fit))[1L], 1L)
  expect_true(all(vapply(glance(fit), function(x) length(x) == 1L && is.atomic(x), NA)))
})
