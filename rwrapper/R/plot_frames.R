# Common parts of all plots: axes with names, legend and titles, in text that fits the device.

# The given arguments come first.
chosen_colors <- function(given, defaults) {
  if (is.null(given)) return(defaults)
  if (!(is.character(given) || is.numeric(given)) || !length(given) || length(given) > length(defaults))
    refuse("col must be up to ", length(defaults), " colours, such as col = c(\"grey70\", \"black\"), not ",
           described(given))
  defaults[seq_along(given)] <- given
  defaults
}

# The largest text size, up to 1, at which `lines` of text around the plot leave `room` (inches at
# that size) for it.
fitting_size <- function(lines, room) {
  old <- graphics::par(cex = 1)
  on.exit(graphics::par(old))
  min(1, graphics::par("fin") / (lines * graphics::par("csi") + room))
}

# Axes without a box, names on the left, values on the right; `axis` lines are left for an axis
# above. Returns the old par().
open_plot <- function(y, labels, values, legend, main, xlab, xlim, ylim = NULL, cex = 1, axis = 0, ...) {
  check_number(cex, "cex", "1.2")
  before <- graphics::par(c("cex", "mar", "mgp", "tcl"))
  graphics::par(cex = 1)
  left <- label_lines(labels)
  right <- label_lines(values, 0.8)
  above <- axis + if (legend) 3.6 else 2.2
  graphics::par(cex = cex * fitting_size(c(left + right, 3.6 + above + min(length(y), 12)), c(1.6, 0.2)))
  graphics::par(mar = c(3.6, left, above, right), mgp = c(2.2, 0.6, 0), tcl = -0.3)
  graphics::plot.default(rep(0, length(y)), y, type = "n", axes = FALSE, ann = FALSE, xlim = xlim,
                         ylim = ylim %||% c(0.4, length(y) + 0.6), ...)
  graphics::axis(1)
  # Every name is shown, in smaller letters where there are many.
  small <- min(1, graphics::par("pin")[2L] / (1.1 * graphics::par("csi") * (length(y) + 0.2)))
  graphics::axis(2, y, labels, las = 1, gap.axis = -1, cex.axis = small)
  graphics::axis(4, y, values, las = 1, gap.axis = -1, cex.axis = 0.8 * small, tick = FALSE,
                 line = -0.3)
  graphics::box(bty = "l")
  size <- min(1, 0.95 * figure_width() / graphics::strwidth(xlab))
  # In the middle of the axis, or as near as the figure allows.
  half <- graphics::strwidth(xlab, cex = size) / 2
  ends <- graphics::grconvertX(c(0.01, 0.99), "nfc", "user") + c(half, -half)
  middle <- min(max(mean(graphics::par("usr")[1:2]), ends[1L]), ends[2L])
  graphics::mtext(xlab, 1, 2.2, at = middle, cex = size * graphics::par("cex"))
  draw_title(main, axis + if (legend) 2.1 else 0.8)
  before
}

# Of the figure, with a margin, in units of the x axis.
figure_width <- function() diff(graphics::grconvertX(c(0.01, 0.99), "nfc", "user"))

# Left of the axes if it would not fit otherwise, and in smaller text if it is longer still.
draw_title <- function(main, line) {
  log <- graphics::par("xlog")
  ends <- graphics::grconvertX(c(0.01, 0.99), "nfc", "inches")
  # Devices round the size of letters.
  size <- min(1.1, 0.95 * diff(ends) / graphics::strwidth(main, "inches"))
  start <- graphics::grconvertX(if (log) 10^graphics::par("usr")[1L] else graphics::par("usr")[1L],
                                "user", "inches")
  start <- max(ends[1L], min(start, ends[2L] - graphics::strwidth(main, "inches", cex = size)))
  graphics::mtext(main, 3, line, at = graphics::grconvertX(start, "inches", "user"), adj = 0,
                  cex = size * graphics::par("cex"))
}

# Above an axis of so many lines.
draw_legend <- function(marked, col, axis = 0) {
  usr <- graphics::par("usr")
  bottom <- graphics::grconvertY(graphics::grconvertY(usr[4L], "user", "inches") +
                                   axis * graphics::par("csi"), "inches", "user")
  shown <- c("total", "sampling", if (marked) "accent")
  draw <- function(x, size, plot = TRUE)
    graphics::legend(x, bottom, yjust = 0, horiz = TRUE, bty = "n", xpd = NA, cex = size, plot = plot,
                     x.intersp = 0.6, seg.len = 1.4,
                     legend = c("with privacy noise  ", "sampling alone  ", if (marked) "reference"),
                     col = col[shown], lwd = c(6, 6, if (marked) NA) * graphics::par("cex"),
                     pch = c(NA, NA, if (marked) 4))
  size <- min(0.9, 0.9 * figure_width() / draw(usr[1L], 0.9, plot = FALSE)$rect$w)
  width <- draw(usr[1L], size, plot = FALSE)$rect$w
  ends <- graphics::grconvertX(c(0.01, 0.99), "nfc", "user")
  draw(max(ends[1L], min(usr[1L], ends[2L] - width)), size)
}

label_lines <- function(labels, cex = 1) {
  # Widths of text need an open device.
  if (grDevices::dev.cur() == 1L) grDevices::dev.new()
  # Text is measured without a figure, as margins may not fit the device yet.
  old <- graphics::par(mar = c(0, 0, 0, 0))
  graphics::plot.new()
  on.exit(graphics::par(new = TRUE))
  width <- max(graphics::strwidth(labels, units = "inches"))
  graphics::par(old)
  1.2 + cex * width / graphics::par("csi")
}
