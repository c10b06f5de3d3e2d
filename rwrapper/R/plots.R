# Plots of released results in base graphics, styled as in the Python package.

# Blue and orange of the Okabe-Ito palette, which is safe for colour-blind readers.
COLORS <- c(sampling = "#0072B2", total = "#E69F00", accent = "#D55E00")
# Coefficients more standard errors from 0 are beyond the axis and have an arrow.
FARTHEST <- 25

#' Plot released results
#'
#' `plot()` of a fit shows its coefficients with intervals: blue is the interval without
#' noise, orange the part added by privacy. Coefficients are divided by their standard errors, so that
#' they share an axis; an arrow points to coefficients beyond the axis, and if all are, intervals are
#' drawn around the estimates. The plot of a plan shows the width of intervals, relative to
#' those without privacy, against eps or, with `of = "power"`, the power against the size of an effect: see
#' [dp_plan()].
#' The plot of a budget shows the share of eps (`"gdp"`: mu^2, `"zcdp"`: rho) of each release, and the
#' remainder.
#'
#' @param x A fit, a plan or a budget, made by [dp_lm()], [dp_plan()] or [dp_budget()].
#' @param parm Names or positions of coefficients; all but the intercept, when missing.
#' @param level Probability with which an interval covers.
#' @param scale `"errors"`: coefficients over their standard errors; `"response"`: as they are.
#' @param reference Named numbers to be marked beside the coefficients of the same names, such as
#'   those of an earlier study.
#' @param main,xlab,ylab Titles; `NULL` for those that say what is shown.
#' @param xlim,ylim Limits of the axes; `NULL` for those that show everything.
#' @param col Colours, the first ones or all: of a fit, of what privacy adds, of sampling alone and of
#'   the reference; of a plan, of the line and of its point; of a budget, of charges and of what is left.
#' @param cex Size of letters and points, relative to that which fits the device.
#' @param of What the plot of a plan shows: `"width"` or `"power"`.
#' @param ... Given to [plot.default()].
#' @return What is shown, invisibly: the intervals; a data frame of `eps` and `width`, or of `effect`,
#'   `power` and `exact`, the power without privacy; or the charges.
#' @name dp_plots
#' @examplesIf dpreg_available()
#' plot(dp_lm(log(price) ~ log(carat) + cut, load_diamonds(), eps = 4, delta = 1e-6))
#' plot(dp_plan(n = 20000, d = 5, eps = 1))
NULL

#' @rdname dp_plots
#' @export
plot.dp_lm <- function(x, parm, level = 0.95, scale = c("errors", "response"), reference = NULL,
                       main = NULL, xlab = NULL, xlim = NULL, ylim = NULL, col = NULL, cex = 1, ...) {
  if ("which" %in% ...names())
    private_stop("plot() of residuals", "plot(fit) draws the coefficients, and plot_diagnostics(fit) what diagnostics = TRUE released")
  scale <- one_of(scale)
  col <- chosen_colors(col, COLORS[c("total", "sampling", "accent")])
  check_reference(reference, names(x$coefficients))
  all <- names(x$coefficients)
  if (missing(parm)) parm <- setdiff(all, "(Intercept)")
  if (!length(parm)) parm <- all
  parm <- chosen_terms(parm, all)
  bare <- is.null(x$covariance)
  if (bare) scale <- "response"
  limits <- confint(x, parm, level)
  shown <- on_scale(x, parm, level, scale)
  at <- rev(seq_along(parm))
  drawn <- if (scale == "errors") !is.na(shown$upper) & pmax(-shown$lower, shown$upper) <= FARTHEST
           else rep(TRUE, length(parm))
  mark <- if (length(reference)) (reference[parm] / shown$unit)
  around <- !any(drawn) && !all(is.na(shown$upper))
  if (around) {
    drawn <- !is.na(shown$upper)
    moved <- around_estimates(shown, mark)
    shown <- moved$shown
    mark <- moved$mark
  }
  values <- if (bare) sprintf("%.4g", x$coefficients[parm])
            else with_error(x$coefficients[parm], standard_errors(x)[parm])
  old <- open_plot(
    at, parm, values, legend = !bare,
    main = main %||% sprintf("%s: %s, %s", x$response, x$method, cost_of(x$privacy)),
    xlab = xlab %||% axis_title(bare, if (around) "around" else scale, level),
    xlim = xlim %||% plotted_range(shown, drawn, mark, scale), ylim = ylim, cex = cex, ...)
  on.exit(graphics::par(old))
  graphics::abline(v = 0, col = "grey60")
  if (bare) {
    graphics::segments(0, at, shown$estimate, at, lwd = 4 * graphics::par("cex"), lend = 1,
                       col = col[["sampling"]])
    graphics::points(shown$estimate, at, pch = 19, cex = 0.8)
  } else {
    draw_intervals(shown, at, drawn, col)
  }
  if (length(mark)) draw_marks(mark, at, col[["accent"]])
  if (!bare) draw_legend(length(mark) > 0L, col)
  invisible(limits)
}

cost_of <- function(privacy)
  if (isTRUE(privacy$seeded)) "seeded: NOT PRIVATE" else sprintf("eps = %.4g", privacy$epsilon)

around_estimates <- function(shown, mark) {
  centre <- shown$estimate
  for (end in c("estimate", "lower", "upper")) shown[[end]] <- shown[[end]] - centre
  list(shown = shown, mark = if (length(mark)) mark - centre)
}

check_reference <- function(reference, all) {
  if (is.null(reference)) return(invisible())
  if (!is.numeric(reference) || is.null(names(reference)))
    refuse("reference must be named numbers, such as reference = c(", deparsed(as.name(all[length(all)]), backtick = TRUE), " = 2), not ",
           described(reference))
  odd <- setdiff(names(reference), all)
  if (length(odd))
    refuse("reference: there is no coefficient ", listed(odd), "; there are ", listed(all))
}

# A cross, or an arrow if it is beyond the axis.
draw_marks <- function(mark, at, col) {
  ends <- graphics::par("usr")[1:2]
  inside <- !is.na(mark) & mark >= ends[1L] & mark <= ends[2L]
  graphics::points(mark[inside], at[inside], pch = 4, lwd = 2, col = col)
  out <- which(!is.na(mark) & !inside)
  if (!length(out)) return(invisible())
  edge <- ifelse(mark[out] > ends[2L], ends[2L], ends[1L])
  inward <- ifelse(mark[out] > ends[2L], -1, 1) * 0.06 * diff(ends)
  graphics::arrows(edge + inward, at[out] - 0.2, edge, at[out] - 0.2, length = 0.06, lwd = 2,
                   col = col)
}

# Decimals that show two digits of the error.
with_error <- function(estimate, error) {
  decimals <- pmax(0, 1 - floor(log10(error)))
  plain <- is.finite(decimals) & decimals <= 7 & error < 1e7
  decimals[!plain] <- 0
  ifelse(is.na(error), "", ifelse(plain,
    sprintf("%.*f \u00b1 %.*f", as.integer(decimals), estimate, as.integer(decimals), error),
    sprintf("%.4g \u00b1 %.2g", estimate, error)))
}

chosen_terms <- function(parm, all) {
  if (is.numeric(parm) && length(parm) == 1L && !is.na(parm) && parm > 0 && parm < 1)
    refuse("parm must be names or positions of coefficients, not ", described(parm), "; write level = ", parm)
  if (is.numeric(parm) && any(parm < 0, na.rm = TRUE)) parm <- seq_along(all)[parm]
  named <- if (is.numeric(parm)) all[replace(parm, parm != trunc(parm), NA)] else parm
  odd <- is.na(named) | !named %in% all
  if (any(odd))
    refuse("parm: there is no coefficient ", listed(parm[odd]), "; there are ", listed(all))
  named
}

# Estimates, intervals, and half widths from sampling alone.
on_scale <- function(x, parm, level, scale) {
  table <- summary.dp_lm(x)$coefficients[parm, , drop = FALSE]
  error <- table[, "Std. Error"]
  error[!is.finite(error) | error <= 0] <- NA
  unit <- if (scale == "errors") error else rep(1, length(parm))
  limits <- confint(x, parm, level) / unit
  data.frame(estimate = table[, "Estimate"] / unit, lower = limits[, 1L], upper = limits[, 2L],
             inner = critical_value(x$law, 1 - level) * table[, "Sampling"] / unit, unit = unit)
}

axis_title <- function(bare, scale, level) {
  if (bare) return("coefficient, without standard errors")
  sprintf("%s, with %g%% intervals", switch(scale, errors = "coefficient / standard error",
          around = sprintf("standard errors from the estimate (all are beyond %g from 0)",
                           FARTHEST),
          "coefficient"), 100 * level)
}

plotted_range <- function(shown, drawn, mark, scale) {
  mark <- as.numeric(mark)[drawn]
  if (scale == "errors") mark <- mark[!is.na(mark) & abs(mark) <= FARTHEST]
  ends <- range(0, shown$estimate[drawn], shown$lower[drawn], shown$upper[drawn], mark, na.rm = TRUE)
  if (scale == "errors") c(-1, 1) * max(6, abs(ends)) else ends
}

# Estimates with both intervals; those without an error are named at `zero`, those beyond the axis
# have an arrow.
draw_intervals <- function(shown, at, drawn, col, zero = 0) {
  for (part in c("total", "sampling")) {
    half <- if (part == "total") shown$upper - shown$estimate else shown$inner
    graphics::segments((shown$estimate - half)[drawn], at[drawn], (shown$estimate + half)[drawn],
                       at[drawn], lwd = 6 * graphics::par("cex"), lend = 1, col = col[[part]])
  }
  graphics::points(shown$estimate[drawn], at[drawn], pch = 19, cex = 0.8)
  hidden <- is.na(shown$upper)
  if (any(hidden))
    graphics::text(zero, at[hidden], "not estimable at this eps", pos = 4, cex = 0.85, col = "grey40")
  far <- which(!drawn & !hidden)
  if (!length(far)) return(invisible())
  usr <- graphics::par("usr")
  ahead <- shown$estimate[far] > 0
  edge <- ifelse(ahead, usr[2L], usr[1L])
  start <- edge + ifelse(ahead, -0.08, 0.08) * diff(usr[1:2])
  graphics::arrows(start, at[far], edge, at[far], length = 0.06, col = col[["total"]], lwd = 1.5)
  graphics::text(start, at[far], round(shown$estimate[far]), pos = ifelse(ahead, 2, 4), offset = 0.2,
                 cex = 0.9)
}
