# Several fits side by side.

#' Compare several private fits side by side
#'
#' A table of coefficients, with standard errors in parentheses below them, and of the cost of each
#' fit. Fits that were not released are refused.
#'
#' @param ... Fits made by [dp_lm()], whose names become the titles of their columns; or one list of
#'   fits.
#' @return An object of class `dp_comparison`. Print it, or make a table of it for a report or a paper:
#'   `knitr::kable(as.data.frame(x))` in an R Markdown document becomes HTML, LaTeX or Word,
#'   whichever the document becomes; `format = "latex"`, `booktabs = TRUE` gives the source.
#'   `tidy()` has one row for each coefficient of each fit; [ggplot2::autoplot()][dp_autoplots]
#'   draws them.
#' @export
#' @examplesIf dpreg_available()
#' small <- dp_lm(price ~ carat, diamonds, eps = 0.5)
#' large <- dp_lm(price ~ carat + depth, diamonds, eps = 1)
#' dp_compare(small = small, large = large)
dp_compare <- function(...) {
  fits <- list(...)
  if (length(fits) == 1L && is.list(fits[[1L]]) && is.null(attr(fits[[1L]], "class")))
    fits <- fits[[1L]]
  if (any(vapply(fits, inherits, NA, "dp_not_released"))) not_released_stop("dp_compare()")
  if (!length(fits) || !all(vapply(fits, inherits, NA, "dp_lm")))
    refuse("dp_compare() needs one or more released results of dp_lm(), such as ",
           "dp_compare(small = fit1, large = fit2)")
  titles <- names(fits) %||% rep("", length(fits))
  titles[titles == ""] <- sprintf("(%d)", seq_along(fits))[titles == ""]
  terms <- unique(unlist(lapply(fits, function(f) names(f$coefficients))))
  cells <- vapply(fits, function(f) c(coefficient_cells(f, terms), foot_cells(f)),
                  character(2L * length(terms) + length(FOOT)))
  stubs <- c(rbind(terms, rep("", length(terms))), FOOT)
  seeded <- vapply(fits, function(f) isTRUE(f$privacy$seeded), NA)
  notes <- c(
    "Standard errors, sampling and privacy noise together, in parentheses.",
    if (any(seeded)) paste0("NOT PRIVATE, made from a seed: ", paste(titles[seeded], collapse = ", "), "."),
    "Each fit spent its own eps and delta; the costs of fits to the same units add up."
  )
  structure(list(table = matrix(cells, length(stubs), dimnames = list(stubs, titles)), notes = notes,
                 fits = stats::setNames(fits, titles)),
            class = "dp_comparison")
}

FOOT <- c("Response", "Method", "Epsilon", "Delta", "Unit", "Units (private)")

coefficient_cells <- function(fit, terms) {
  estimate <- fit$coefficients[terms]
  error <- standard_errors(fit)[terms]
  c(rbind(ifelse(is.na(estimate), "", sprintf("%.5g", estimate)),
          ifelse(is.na(error), "", sprintf("(%.3g)", error))))
}

foot_cells <- function(fit) {
  c(fit$response, fit$method, sprintf("%.4g", fit$privacy$epsilon),
    sprintf("%.3g", fit$privacy$delta), sub("all rows of one ", "one ", fit$privacy$unit),
    format(round(fit$nobs), big.mark = ",", scientific = FALSE))
}

#' @export
as.data.frame.dp_comparison <- function(x, ...) {
  columns <- data.frame(rownames(x$table), unname(x$table), row.names = NULL)
  stats::setNames(columns, c("term", colnames(x$table)))
}

#' @export
print.dp_comparison <- function(x, ...) {
  print(x$table, quote = FALSE, right = TRUE)
  cat("\n")
  for (note in x$notes) cat_wrapped(note)
  invisible(x)
}

# Plots of coefficients in ggplot2, in the theme that is set there.

# Blue, vermilion, green and purple of the Okabe-Ito palette, and shapes for those who print grey.
BESIDE <- list(colors = c("#0072B2", "#D55E00", "#009E73", "#CC79A7"), shapes = c(15L, 16L, 18L, 17L))

#' Plot coefficients with ggplot2
#'
#' `ggplot2::autoplot()` of one fit, or of several that were put together by [dp_compare()], draws
#' coefficients with their intervals. The theme is the current one of ggplot2, and the result is a plot to
#' which layers, scales and themes can be added.
#'
#' @param object A fit made by [dp_lm()] or [dp_glm()], or what [dp_compare()] returns, of at most four
#'   fits.
#' @param parm Names of coefficients, in the order from top to bottom; all but the intercept, when missing.
#' @param level Probability with which an interval covers.
#' @param beside A data frame of estimates of other packages, with columns `model`, `term`, `estimate`,
#'   `conf.low` and `conf.high`, such as `cbind(model = "exact", broom::tidy(fit, conf.int = TRUE))`.
#' @param ... Must be empty.
#' @return A ggplot. Its `data` has what is drawn.
#' @seealso [plot.dp_lm()] for base graphics.
#' @name dp_autoplots
#' @examplesIf requireNamespace("ggplot2", quietly = TRUE) && dpreg_available()
#' fit <- dp_lm(log(price) ~ log(carat) + depth, diamonds, eps = 1)
#' ggplot2::autoplot(fit)
#' exact <- lm(log(price) ~ log(carat) + depth, diamonds)
#' rows <- data.frame(model = "exact", term = names(coef(exact)), estimate = coef(exact),
#'                    conf.low = confint(exact)[, 1], conf.high = confint(exact)[, 2])
#' ggplot2::autoplot(fit, parm = "log(carat)", beside = rows)
NULL

#' @rdname dp_autoplots
#' @exportS3Method ggplot2::autoplot
autoplot.dp_lm <- function(object, parm, level = 0.95, beside = NULL, ...)
  autoplot.dp_comparison(dp_compare(private = object), parm, level, beside, ...)

#' @rdname dp_autoplots
#' @exportS3Method ggplot2::autoplot
autoplot.dp_comparison <- function(object, parm, level = 0.95, beside = NULL, ...) {
  no_more("autoplot()", character(), ...)
  check_level(level)
  rows <- drawn_rows(object, level, beside)
  all <- unique(rows$term)
  if (missing(parm)) parm <- if (length(setdiff(all, "(Intercept)"))) setdiff(all, "(Intercept)") else all
  odd <- setdiff(parm, all)
  if (length(odd)) refuse("parm: there is no coefficient ", sQuote(odd[1L], FALSE), ", only ", listed(all))
  models <- unique(rows$model)
  if (length(models) > length(BESIDE$colors))
    refuse("autoplot() draws at most ", length(BESIDE$colors), " fits, not ", length(models))
  rows <- rows[rows$term %in% parm & !is.na(rows$conf.low) & !is.na(rows$conf.high), ]
  rows$model <- factor(rows$model, models)
  # The first is at the top.
  rows$term <- factor(rows$term, rev(parm))
  dodge <- ggplot2::position_dodge2(width = 0.5, reverse = TRUE)
  ggplot2::ggplot(rows, ggplot2::aes(
    x = .data$estimate, y = .data$term, xmin = .data$conf.low, xmax = .data$conf.high,
    colour = .data$model, shape = .data$model)) +
    ggplot2::geom_vline(xintercept = 0, colour = "grey60") +
    ggplot2::geom_pointrange(position = dodge) +
    ggplot2::scale_colour_manual(values = BESIDE$colors) +
    ggplot2::scale_shape_manual(values = BESIDE$shapes) +
    ggplot2::scale_y_discrete(drop = FALSE) +
    ggplot2::labs(x = sprintf("coefficient, with %.3g%% interval", 100 * level), y = NULL, colour = NULL,
                  shape = NULL)
}

# Those of other packages come first.
drawn_rows <- function(object, level, beside) {
  columns <- c("model", "term", "estimate", "conf.low", "conf.high")
  rows <- tidy.dp_comparison(object, conf.int = TRUE, conf.level = level)
  seeded <- vapply(object$fits, function(f) isTRUE(f$privacy$seeded), NA)[rows$model]
  rows$model <- paste0(rows$model, ifelse(seeded, " (seeded: NOT PRIVATE)", ""))
  rows <- as.data.frame(rows)[columns]
  if (is.null(beside)) return(rows)
  if (!is.data.frame(beside) || !all(columns %in% names(beside)))
    refuse("beside must be a data frame with columns ", listed(columns))
  rbind(as.data.frame(beside)[columns], rows)
}
