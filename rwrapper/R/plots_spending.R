# Plots of plans and of the remaining budget.

#' @rdname dp_plots
#' @export
plot.dp_plan <- function(x, main = NULL, xlab = NULL, ylab = NULL, xlim = NULL, ylim = NULL,
                         col = NULL, cex = 1, of = c("width", "power"), ...) {
  of <- one_of(of)
  if (of == "power" && is.null(x[["power"]]))
    refuse("of is \"power\", which is not planned for this family; write of = \"width\"")
  col <- chosen_colors(col, COLORS[c("sampling", "accent")])
  main <- main %||% x$title
  drawn <- if (of == "power") plot_power else plot_width
  old <- graphics::par(mar = c(4, 4, 2.2, 1), mgp = c(2.4, 0.6, 0), tcl = -0.3,
                       cex = cex * fitting_size(c(5, 6.2), c(2.5, 1.4)))
  on.exit(graphics::par(old))
  shown <- drawn(x, xlab, ylab, xlim, ylim, col, ...)
  draw_title(main, 0.8)
  invisible(shown)
}

plot_width <- function(x, xlab, ylab, xlim, ylim, col, ...) {
  shown <- as.data.frame(x$curve)
  shown$width[!is.finite(shown$width)] <- NA
  top <- 1.3 * max(2, shown$width, na.rm = TRUE)
  ylab <- ylab %||% paste("interval width /", x$exact)
  graphics::plot.default(shown$eps, shown$width, type = "n", log = "xy", axes = FALSE, ann = FALSE,
                         xlim = xlim %||% range(shown$eps), ylim = ylim %||% c(0.95, top), ...)
  hidden <- is.na(shown$width)
  if (any(hidden)) {
    last <- max(shown$eps[hidden])
    graphics::rect(min(shown$eps), 0.95, last, top, col = "grey93", border = NA)
    graphics::text(min(shown$eps), 1.12, "rarely released", pos = 4, cex = 0.85, col = "grey40")
  }
  graphics::abline(h = 1, col = "grey60")
  graphics::lines(shown$eps, shown$width, lwd = 2 * graphics::par("cex"), col = col[["sampling"]])
  if (is.finite(x$width)) {
    graphics::points(x$eps, x$width, pch = 19, col = col[["accent"]])
    # The curve falls, so there is room above it on the right.
    said <- sprintf("eps = %.3g: %.2g", x$eps, x$width)
    ends <- graphics::par("usr")[1:2]
    long <- diff(ends) * graphics::strwidth(said, "inches") / graphics::par("pin")[1L]
    graphics::text(10^min(log10(x$eps), ends[2L] - 1.1 * long), x$width, said, adj = c(0, -0.9))
  }
  log_axis(1, c(0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100), range(shown$eps))
  log_axis(2, c(1, 1.5, 2, 3, 5, 10, 20, 50, 100), c(1, top))
  graphics::box(bty = "l")
  graphics::title(xlab = xlab %||% "eps")
  tall <- graphics::par("pin")[2L] / graphics::strwidth(ylab, "inches")
  graphics::mtext(ylab, 2, 2.4, cex = min(1, 1.2 * tall) * graphics::par("cex"))
  shown
}

plot_power <- function(x, xlab, ylab, xlim, ylim, col, ...) {
  shown <- as.data.frame(x$detection)
  graphics::plot.default(shown$effect, shown$exact, type = "l", col = "grey60", bty = "l", las = 1,
                         xlab = xlab %||% x$of_effects,
                         ylab = ylab %||% "power of the 5% test",
                         xlim = xlim %||% range(shown$effect), ylim = ylim %||% c(0, 1), ...)
  graphics::lines(shown$effect, shown$power, lwd = 2 * graphics::par("cex"), col = col[["sampling"]])
  if (!is.null(x[["effect"]])) graphics::points(x[["effect"]], x[["power"]], pch = 19, col = col[["accent"]])
  graphics::legend("bottomright", c(x$exact, sprintf("eps = %.3g", x$eps)), lty = 1, lwd = c(1, 2),
                   col = c("grey60", col[["sampling"]]), bty = "n")
  shown
}

log_axis <- function(side, ticks, limits) {
  ticks <- ticks[ticks >= limits[1L] & ticks <= limits[2L]]
  graphics::axis(side, ticks, format(ticks, trim = TRUE, drop0trailing = TRUE), las = 1)
}

#' @rdname dp_plots
#' @export
plot.dp_budget <- function(x, main = NULL, xlab = NULL, xlim = NULL, ylim = NULL, col = NULL,
                           cex = 1, ...) {
  col <- chosen_colors(col, COLORS[c("total", "sampling")])
  state <- budget_state(x)
  charges <- charges_of(state)
  left <- state$remaining
  # The increase of the total by each charge: 0 if another stratum has spent more.
  basic <- identical(x$accounting, "basic")
  total <- if (basic) x$eps else 1
  shares <- total * state$shares
  size <- c(shares, max(0, total - sum(shares)))
  start <- cumsum(c(0, shares))
  at <- rev(seq_along(size))
  long <- nchar(charges$label) > 40L
  charged <- ifelse(long, paste0(substr(charges$label, 1L, 37L), "..."), charges$label)
  labels <- sprintf("%s  (%.3g, %.2g)", c(charged, "left"), c(charges$eps, left$eps),
                    c(charges$delta, left$delta))
  old <- open_plot(
    at, labels, rep("", length(at)), legend = FALSE,
    main = main %||% sprintf("Budget of eps = %.4g, delta = %.3g", x$eps, x$delta),
    xlab = xlab %||% if (basic) "eps" else paste("share of", state$of),
    xlim = xlim %||% c(0, total), ylim = ylim, cex = cex, xaxs = "i", ...)
  on.exit(graphics::par(old))
  graphics::rect(start, at - 0.35, start + size, at + 0.35, border = NA, xpd = NA,
                 col = col[c(rep("total", nrow(charges)), "sampling")])
  invisible(charges)
}
