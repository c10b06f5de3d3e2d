# Pictures of what was released, in base graphics, with the look of those of the Python package.

# Blue and orange of the Okabe-Ito palette, told apart by all eyes.
COLORS <- c(sampling = "#0072B2", total = "#E69F00", accent = "#D55E00")
# Coefficients that are more standard errors from 0 than this are clear of it anyhow.
FARTHEST <- 25

#' Plot released results
#'
#' `plot()` of a fit shows its coefficients with intervals: blue is the interval that sampling
#' alone would give, orange what privacy adds. Coefficients are divided by their standard error,
#' so that columns in any unit share an axis; an arrow leads to what is too far out, and when
#' everything is, intervals are drawn around their estimates. That of a plan
#' shows the width of intervals, relative to least squares, against eps. That of a budget shows
#' what each release took of eps, and what is left.
#'
#' @param x A fit, a plan or a budget, made by [dp_lm()], [dp_plan()] or [dp_budget()].
#' @param parm Names or positions of coefficients; all but the intercept, when missing.
#' @param level Probability with which an interval covers.
#' @param scale `"errors"`: coefficients over their standard errors; `"response"`: as they are.
#' @param reference Named numbers to be marked beside the coefficients of the same names, such as
#'   those of an earlier study.
#' @param main,xlab,ylab Titles; `NULL` for those that say what is shown.
#' @param xlim,ylim Limits of the axes; `NULL` for those that show everything.
#' @param ... Given to [plot.default()].
#' @return What is shown, invisibly: the intervals, a data frame of `eps` and `width`, or the
#'   charges.
#' @name dp_plots
#' @examples
#' if (dpreg_available()) {
#'   plot(dp_lm(log(price) ~ log(carat) + cut, load_diamonds(), eps = 4, delta = 1e-6))
#'   plot(dp_plan(n = 20000, d = 5, eps = 1))
#' }
NULL

#' @rdname dp_plots
#' @export
plot.dp_lm <- function(x, parm, level = 0.95, scale = c("errors", "response"), reference = NULL,
                       main = NULL, xlab = NULL, xlim = NULL, ylim = NULL, ...) {
  scale <- match.arg(scale)
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
  if (is.null(xlab)) xlab <- axis_title(bare, if (around) "around" else scale, level)
  if (is.null(xlim)) xlim <- plotted_range(shown, drawn, mark, scale)
  if (is.null(main))
    main <- sprintf("%s: %s, %s", x$response, x$method,
                    if (isTRUE(x$privacy$seeded)) "seeded: NOT PRIVATE"
                    else sprintf("eps = %.4g", x$privacy$epsilon))
  values <- if (bare) sprintf("%.4g", x$coefficients[parm])
            else with_error(x$coefficients[parm], standard_errors(x)[parm])
  old <- open_plot(rep(0, length(at)), at, parm, values, legend = !bare, main = main, xlab = xlab,
                   xlim = xlim, ylim = ylim, ...)
  on.exit(graphics::par(old))
  graphics::abline(v = 0, col = "grey60")
  if (bare) {
    graphics::segments(0, at, shown$estimate, at, lwd = 4, lend = 1, col = COLORS[["sampling"]])
  } else {
    for (part in c("total", "sampling")) {
      half <- if (part == "total") shown$upper - shown$estimate else shown$inner
      graphics::segments((shown$estimate - half)[drawn], at[drawn], (shown$estimate + half)[drawn],
                         at[drawn], lwd = 6, lend = 1, col = COLORS[[part]])
    }
    draw_unusual(shown, at, drawn)
  }
  graphics::points(shown$estimate[drawn], at[drawn], pch = 19, cex = 0.8)
  if (length(mark)) draw_marks(mark, at)
  if (!bare) draw_legend(length(mark) > 0L)
  invisible(limits)
}

around_estimates <- function(shown, mark) {
  centre <- shown$estimate
  for (end in c("estimate", "lower", "upper")) shown[[end]] <- shown[[end]] - centre
  list(shown = shown, mark = if (length(mark)) mark - centre)
}

check_reference <- function(reference, all) {
  if (is.null(reference)) return(invisible())
  if (!is.numeric(reference) || is.null(names(reference)))
    refuse("reference must be named numbers, such as reference = c(", all[length(all)], " = 2), not ",
           described(reference))
  odd <- setdiff(names(reference), all)
  if (length(odd))
    refuse("reference: there is no coefficient ", listed(odd), "; there are ", listed(all))
}

# A cross, or an arrow to one beyond the axis.
draw_marks <- function(mark, at) {
  ends <- graphics::par("usr")[1:2]
  inside <- !is.na(mark) & mark >= ends[1L] & mark <= ends[2L]
  graphics::points(mark[inside], at[inside], pch = 4, lwd = 2, col = COLORS[["accent"]])
  out <- which(!is.na(mark) & !inside)
  if (!length(out)) return(invisible())
  edge <- ifelse(mark[out] > ends[2L], ends[2L], ends[1L])
  inward <- ifelse(mark[out] > ends[2L], -1, 1) * 0.06 * diff(ends)
  graphics::arrows(edge + inward, at[out] - 0.2, edge, at[out] - 0.2, length = 0.06, lwd = 2,
                   col = COLORS[["accent"]])
}

# As many decimals as the error has with two digits.
with_error <- function(estimate, error) {
  decimals <- pmax(0, 1 - floor(log10(error)))
  plain <- is.finite(decimals) & decimals <= 7 & error < 1e7
  decimals[!plain] <- 0
  ifelse(is.na(error), "", ifelse(plain,
    sprintf("%.*f \u00b1 %.*f", as.integer(decimals), estimate, as.integer(decimals), error),
    sprintf("%.4g \u00b1 %.2g", estimate, error)))
}

chosen_terms <- function(parm, all) {
  named <- if (is.numeric(parm)) all[parm] else parm
  odd <- is.na(named) | !named %in% all
  if (any(odd))
    refuse("parm: there is no coefficient ", listed(parm[odd]), "; there are ", listed(all))
  named
}

# Estimates, intervals and the half width that sampling alone would give.
on_scale <- function(x, parm, level, scale) {
  table <- summary(x)$coefficients[parm, , drop = FALSE]
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

# What has no error, and what is too far out.
draw_unusual <- function(shown, at, drawn) {
  hidden <- is.na(shown$upper)
  if (any(hidden))
    graphics::text(0, at[hidden], "not identified at this eps", pos = 4, cex = 0.85, col = "grey40")
  far <- which(!drawn & !hidden)
  if (!length(far)) return(invisible())
  edge <- sign(shown$estimate[far]) * max(abs(graphics::par("usr")[1:2])) * 0.97
  graphics::arrows(0.86 * edge, at[far], edge, at[far], length = 0.06, col = COLORS[["total"]],
                   lwd = 1.5)
  graphics::text(0.77 * edge, at[far], round(shown$estimate[far]), cex = 0.9)
}

# Axes without a box, names on the left, values on the right. Returns what par() was.
open_plot <- function(x, y, labels, values, legend, main, xlab, xlim, ylim = NULL, ...) {
  if (is.null(ylim)) ylim <- c(0.4, length(y) + 0.6)
  old <- graphics::par(mar = c(3.6, label_lines(labels), if (legend) 3.6 else 2.2,
                               label_lines(values, 0.8)), mgp = c(2.2, 0.6, 0), tcl = -0.3)
  graphics::plot.default(x, y, type = "n", axes = FALSE, ann = FALSE,
                         xlim = xlim, ylim = ylim, ...)
  graphics::axis(1)
  # Every name is shown, in smaller letters where there are many.
  small <- min(1, graphics::par("pin")[2L] / (1.1 * graphics::par("csi") * (length(y) + 0.2)))
  graphics::axis(2, y, labels, las = 1, gap.axis = -1, cex.axis = small)
  graphics::axis(4, y, values, las = 1, gap.axis = -1, cex.axis = 0.8 * small, tick = FALSE,
                 line = -0.6)
  graphics::box(bty = "l")
  graphics::title(xlab = xlab)
  # To the left of the axes where it would not end before the figure.
  right <- graphics::grconvertX(0.98, "nfc", "user")
  left <- min(graphics::par("usr")[1L], right - graphics::strwidth(main, cex = 1.1))
  graphics::mtext(main, 3, if (legend) 2.1 else 0.8, at = left, adj = 0, cex = 1.1 * graphics::par("cex"))
  old
}

draw_legend <- function(marked) {
  usr <- graphics::par("usr")
  graphics::legend(usr[1L], usr[4L], yjust = 0, horiz = TRUE, bty = "n", xpd = NA, cex = 0.9,
                   x.intersp = 0.6, seg.len = 1.4,
                   legend = c("with privacy noise  ", "sampling alone  ", if (marked) "reference"),
                   col = COLORS[c("total", "sampling", if (marked) "accent")],
                   lwd = c(6, 6, if (marked) NA), pch = c(NA, NA, if (marked) 4))
}

label_lines <- function(labels, cex = 1) {
  # A device must be there before widths of text can be asked for.
  if (grDevices::dev.cur() == 1L) grDevices::dev.new()
  graphics::plot.new()
  on.exit(graphics::par(new = TRUE))
  1.2 + cex * max(graphics::strwidth(labels, units = "inches")) / graphics::par("csi")
}

#' @rdname dp_plots
#' @export
plot.dp_plan <- function(x, main = NULL, xlab = "eps", ylab = "interval width / least squares",
                         xlim = range(shown$eps), ylim = c(0.95, top), ...) {
  shown <- data.frame(eps = unpack_doubles(x$curve$eps), width = unpack_doubles(x$curve$width))
  shown$width[!is.finite(shown$width)] <- NA
  top <- 1.3 * max(2, shown$width, na.rm = TRUE)
  if (is.null(main))
    main <- sprintf("%s units, %d regressor%s, %s", format(x$n, big.mark = ",", scientific = FALSE),
                    as.integer(x$d), if (x$d == 1) "" else "s", x$method)
  old <- graphics::par(mar = c(4, 4, 2.2, 1), mgp = c(2.4, 0.6, 0), tcl = -0.3)
  on.exit(graphics::par(old))
  graphics::plot.default(shown$eps, shown$width, type = "n", log = "xy", axes = FALSE, xlab = xlab,
                         ylab = ylab, xlim = xlim, ylim = ylim, ...)
  hidden <- is.na(shown$width)
  if (any(hidden)) {
    last <- max(shown$eps[hidden])
    graphics::rect(min(shown$eps), 0.95, last, top, col = "grey93", border = NA)
    graphics::text(min(shown$eps), 1.12, "rarely released", pos = 4, cex = 0.85, col = "grey40")
  }
  graphics::abline(h = 1, col = "grey60")
  graphics::lines(shown$eps, shown$width, lwd = 2, col = COLORS[["sampling"]])
  if (is.finite(x$width)) {
    graphics::points(x$eps, x$width, pch = 19, col = COLORS[["accent"]])
    graphics::text(x$eps, x$width, sprintf("eps = %.3g: %.2g", x$eps, x$width), adj = c(-0.1, -0.6))
  }
  log_axis(1, c(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100), range(shown$eps))
  log_axis(2, c(1, 1.5, 2, 3, 5, 10, 20, 50, 100), c(1, top))
  graphics::box(bty = "l")
  graphics::title(main = main, adj = 0, font.main = 1, cex.main = 1.1, line = 0.8)
  invisible(shown)
}

log_axis <- function(side, ticks, limits) {
  ticks <- ticks[ticks >= limits[1L] & ticks <= limits[2L]]
  graphics::axis(side, ticks, format(ticks, trim = TRUE, drop0trailing = TRUE), las = 1)
}

#' @rdname dp_plots
#' @export
plot.dp_budget <- function(x, main = NULL, xlab = "eps", xlim = c(0, x$eps), ylim = NULL, ...) {
  charges <- as.data.frame(x)
  left <- budget_state(x)$remaining
  size <- c(charges$eps, left$eps)
  start <- cumsum(c(0, charges$eps))
  at <- rev(seq_along(size))
  long <- nchar(charges$label) > 40L
  charged <- ifelse(long, paste0(substr(charges$label, 1L, 37L), "..."), charges$label)
  labels <- sprintf("%s  (%.3g, %.2g)", c(charged, "left"), size, c(charges$delta, left$delta))
  if (is.null(main)) main <- sprintf("Budget of eps = %.4g, delta = %.3g", x$eps, x$delta)
  old <- open_plot(rep(0, length(at)), at, labels, rep("", length(at)), legend = FALSE, main = main,
                   xlab = xlab, xlim = xlim, ylim = ylim, xaxs = "i", ...)
  on.exit(graphics::par(old))
  graphics::rect(start, at - 0.35, start + size, at + 0.35, border = NA, xpd = NA,
                 col = COLORS[c(rep("total", nrow(charges)), "sampling")])
  invisible(charges)
}
