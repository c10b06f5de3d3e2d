# Plots of coefficients in ggplot2, in the theme that is set there.

# Blue, vermilion, green and purple of the Okabe-Ito palette, and shapes for those who print grey.
BESIDE <- list(colors = c("#0072B2", "#D55E00", "#009E73", "#CC79A7"), shapes = c(15L, 16L, 18L, 17L))

#' Plot coefficients with ggplot2
#'
#' `ggplot2::autoplot()` of one fit, or of several that were put together by [dp_compare()], draws
#' coefficients with their intervals. The theme is the current one of ggplot2, and the result is a plot to
#' which layers, scales and themes can be added.
#'
#' @param object A fit made by [dp_lm()] or [dp_glm()], or what [dp_compare()] returns, of at most four fits.
#' @param parm Names of coefficients, in the order from top to bottom; all but the intercept, when missing.
#' @param level Probability with which an interval covers.
#' @param beside A data frame of estimates of other packages, with columns `model`, `term`, `estimate`, `conf.low`
#'   and `conf.high`, such as `cbind(model = "exact", broom::tidy(fit, conf.int = TRUE))`.
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
