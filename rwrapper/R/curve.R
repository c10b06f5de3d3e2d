# Survival curves on a public grid, with the syntax of the package survival.

#' Private survival curves
#'
#' `dp_curve()` releases one noisy table of events and censored times by interval of a public grid.
#' The life table (Kaplan-Meier) estimates with limits, the log-rank test, restricted means and
#' quantiles follow from it at no further cost.
#'
#' A person is in one cell of the table, so the noise of a cell does not grow with the number of
#' intervals. Within an interval the hazard is assumed to be constant and censoring uniform, so that
#' persons censored inside it count about half, and those censored at its end fully. If the cuts are
#' all the times that can occur, the estimate without noise is that of `survival::survfit()`.
#' Standard errors combine sampling error and privacy noise. No `delta` is needed.
#'
#' `Surv()` is not called, so the package survival need not be installed. The event is 0 or 1, or
#' `FALSE` or `TRUE`; a status coded 1 and 2 is not detected: write `Surv(time, status == 2)`.
#'
#' @inheritParams dp_lm
#' @param formula `Surv(time, event) ~ arm`, or `Surv(start, stop, event) ~ arm` with delayed entry;
#'   `~ 1` for one curve, `~ arm + sex` for one for each combination of levels.
#' @param cuts Public increasing times: the ends of the intervals. Do not choose them by looking at the
#'   data. Times after the last are censored there.
#' @param start Where the first interval begins, itself included; curves are conditional on survival
#'   up to it.
#' @param x A curve.
#' @param level Probability with which limits cover.
#' @param simultaneous `FALSE`: at each time by itself; `TRUE`: at all times of a group together.
#' @param time Upper limit of the restricted mean; `NULL`: the last cut.
#' @param count Number of cuts; fewer are returned if one interval of the table has too large a share of the
#'   events.
#' @param probs Shares of persons who have had the event; 0.5 is the median.
#' @param main,xlab,ylab,col As for [plot.default()]; one colour for each group.
#' @param row.names,optional,na.rm Ignored.
#' @param ... Must be empty; of `plot()`, given to [plot.default()].
#' @return `dp_curve()`: an object of class `dp_curve`, which contains no records: `groups`, `curve` (a
#'   data frame), `notes` and `privacy`, its cost. `as.data.frame()` and `tidy()`: the curves, with
#'   other limits if wanted; where too few are at risk at this eps, survival is `NA`, the lower
#'   limit is 0 and the upper limit is the one before. `curve_rmst()`: restricted mean survival
#'   times. `quantile()` and `median()`: times by which shares have had the event, `NA` if the curve
#'   does not fall so far. `curve_logrank()`: an `htest`. `curve_cuts()`: cuts for [dp_survival()]
#'   that divide the events about evenly, computed from the noisy table at no further cost.
#'   `curve_concordance()`: Harrell's concordance of the groups, whose levels are in order of
#'   increasing risk; if the groups are classes of the risk predicted by a fit, it is the
#'   concordance of the fit.
#' @export
#' @examplesIf dpreg_available("dp_curve")
#' n <- 5000
#' trial <- data.frame(arm = factor(rep(c("placebo", "drug"), n / 2), c("placebo", "drug")))
#' days <- rexp(n, ifelse(trial$arm == "drug", 1 / 400, 1 / 300))
#' end <- runif(n, 100, 730)
#' trial <- transform(trial, days = pmin(days, end), died = days <= end)
#' curve <- dp_curve(Surv(days, died) ~ arm, trial, eps = 1, cuts = c(90, 180, 365, 730))
#' curve
#' curve_logrank(curve)
#' curve_rmst(curve, 365)
dp_curve <- function(formula, data, eps, cuts, start = 0, levels = NULL, unit = NULL, max_rows = NULL,
                     budget = NULL, rng = NULL, ...) {
  asked <- begun("dp_curve", CURVE_HINTS, ...)
  check_cuts(asked$given$cuts, start)
  columns <- surv_columns(asked$formula)
  check_event(attr(columns, "event"), asked$data)
  check_groups(columns, asked$data, levels)
  design <- seen_design(asked, columns)
  answer <- call_release("curve", request_of(
    asked, design, levels = group_levels(design, attr(columns, "given"))))
  found <- new_result("dp_curve", answer, c("groups", "nobs", "notes", "json"),
                      formula = without_records(asked$formula), start = start)
  found$curve <- as.data.frame(found)
  found
}

CURVE_HINTS <- c(
  LM_HINTS, delta = "leave it out: the guarantee is (eps, 0)", breaks = "write cuts = c(90, 180)",
  times = "write cuts = c(90, 180)", start.time = "write start = 0"
)

SURV_EXAMPLES <- "write Surv(time, event) ~ arm, or Surv(start, stop, event) ~ arm with delayed entry"

# The same as a formula with time as response, and start, event and groups as regressors.
surv_columns <- function(formula) {
  given <- surv_given(formula, SURV_EXAMPLES)
  right <- stats::terms(formula[-2L], data = data.frame())
  check_surv_terms(right)
  wrapped <- lapply(as.list(attr(right, "variables"))[-1L], function(v) call("C", v, quote(contr.treatment)))
  parts <- c(lapply(given[-1L], function(e) call("I", e)), wrapped)
  structure(formula_of(call("I", given[[1L]]), parts, environment(formula)), given = length(given), event = given[[length(given)]],
            groups = as.list(attr(right, "variables"))[-1L])
}

# Time first, then start if there is one, and the event.
surv_given <- function(formula, examples) {
  if (!inherits(formula, "formula") || length(formula) != 3L) refuse("formula: ", examples)
  left <- formula[[2L]]
  name <- if (is.call(left)) deparsed(left[[1L]]) else ""
  if (!name %in% c("Surv", "survival::Surv"))
    refuse("formula: the left-hand side must be Surv(); ", examples)
  given <- as.list(left)[-1L]
  of <- list(c("time", "event"), c("time", "time2", "event"))[[max(1L, min(2L, length(given) - 1L))]]
  named <- names(given) %||% rep("", length(given))
  if (length(given) != length(of) || !all(named %in% c("", of)))
    refuse("formula: Surv() supports right-censored times to one event and delayed entry only; ",
           examples)
  named[named == ""] <- setdiff(of, named)
  given <- given[match(of, named)]
  if (length(given) == 3L) given[c(2L, 1L, 3L)] else given
}

# Terms of the package survival that are not supported here.
check_surv_calls <- function(terms, instead) {
  called <- vapply(as.list(attr(terms, "variables"))[-1L], function(v)
    if (is.call(v)) basename_of(deparsed(v[[1L]])) else "", "")
  for (name in intersect(called, names(instead)))
    refuse("formula: ", name, "() is not a term of these models; ", instead[[name]])
}

check_surv_terms <- function(terms) {
  check_surv_calls(terms, c(strata = "write the groups themselves, ~ a + b",
                            cluster = "write unit = \"person\" as an argument of the call",
                            frailty = "write unit = \"person\" as an argument of the call",
                            tt = "make the column before the call"))
  if (any(attr(terms, "order") > 1L) || attr(terms, "intercept") == 0L || length(attr(terms, "offset")))
    refuse("formula: the right-hand side must name groups, such as ~ arm + sex, or be 1")
}

# Columns that are groups themselves have levels; those of files are determined with the design.
check_groups <- function(columns, data, levels) {
  if (!is.data.frame(data)) return(invisible())
  for (e in attr(columns, "groups")) {
    name <- if (is.name(e)) as.character(e) else ""
    if (!name %in% names(data) || name %in% names(levels) || is.factor(data[[name]])) next
    refuse("formula: ", sQuote(name, FALSE), " is not a factor, and its levels must not be read from the data; ",
           "add levels = list(", name, " = c(...)) to the call",
           if (is.numeric(data[[name]])) ", or write cut() with public breaks")
  }
}

# The levels of each group, by the name of its term.
group_levels <- function(design, given) {
  frame <- design$frame
  groups <- names(frame)[-seq_len(given)]
  lapply(stats::setNames(groups, groups), function(name) as.list(levels(frame[[name]])))
}

# Results derived from a curve, as a data frame with these names.
of_curve <- function(x, what, names, level, ...) {
  check_number(level, "level", "0.95")
  answer <- answer_of_curve(x, what, alpha = 1 - level, ...)
  if (!is.null(answer$group)) answer$group <- factor(answer$group, unique(answer$group))
  stats::setNames(as.data.frame(answer), names)
}

answer_of_curve <- function(x, ...) {
  if (!inherits(x, "dp_curve")) refuse("x must be a curve made by dp_curve()")
  answer_of(x, ...)
}

#' @rdname dp_curve
#' @export
as.data.frame.dp_curve <- function(x, row.names = NULL, optional = FALSE, level = 0.95,
                                   simultaneous = FALSE, ...) {
  check_flag(simultaneous, "simultaneous")
  of_curve(x, "curve", c("strata", "time", "n.risk", "n.event", "n.censor", "surv", "std.err", "lower", "upper"),
           level, simultaneous = simultaneous)
}

#' @rdname dp_curve
#' @export
tidy.dp_curve <- function(x, level = 0.95, simultaneous = FALSE, ...) {
  no_more("tidy()", c(conf.level = "write level = 0.95"), ...)
  table <- as.data.frame(x, level = level, simultaneous = simultaneous)
  names(table)[6:9] <- c("estimate", "std.error", "conf.low", "conf.high")
  as_tibble(c(unclass(table)[names(table) != "strata"], list(strata = as.character(table$strata))))
}

#' @rdname dp_curve
#' @export
curve_rmst <- function(x, time = NULL, level = 0.95) {
  if (!is.null(time)) check_number(time, "time", "365")
  of_curve(x, "rmst", c("strata", "rmst", "std.err", "lower", "upper"), level, time = time)
}

#' @rdname dp_curve
#' @export
quantile.dp_curve <- function(x, probs = 0.5, level = 0.95, ...) {
  no_more("quantile()", character(), ...)
  if (!is.numeric(probs) || !length(probs)) refuse("probs must be numbers, such as 0.5, not ", described(probs))
  do.call(rbind, lapply(probs, function(q) {
    check_number(q, "probs", "0.5")
    found <- of_curve(x, "quantile", c("strata", "time", "lower", "upper"), level, q = q)
    data.frame(found["strata"], prob = q, found[-1L])
  }))
}

#' @rdname dp_curve
#' @export
median.dp_curve <- function(x, na.rm = FALSE, level = 0.95, ...) {
  no_more("median()", character(), ...)
  stats::quantile(x, 0.5, level)
}

#' @rdname dp_curve
#' @export
curve_logrank <- function(x) {
  answer <- answer_of_curve(x, "logrank")
  chi_squared_test(answer$statistic, answer$df, answer$pvalue, "Private log-rank test", x)
}

#' @rdname dp_curve
#' @export
curve_concordance <- function(x, level = 0.95)
  of_curve(x, "concordance", c("concordance", "std.err", "lower", "upper"), level)

#' @rdname dp_curve
#' @export
curve_cuts <- function(x, count = 6L) {
  if (!is.numeric(count) || length(count) != 1L || !is.finite(count) || count < 1 || count != round(count))
    refuse("count must be a whole number of at least 1, such as 6, not ", described(count))
  as.vector(answer_of_curve(x, "cuts", count = as.double(count)))
}

#' @rdname dp_curve
#' @export
print.dp_curve <- function(x, ...) {
  cat("Private survival curves of about", format(round(x$nobs), big.mark = ","), "rows\n")
  for (group in x$groups) {
    rows <- x$curve[x$curve$strata == group, -1L]
    cat("\n", if (length(x$groups) > 1L) paste0(group, "\n"), sep = "")
    print(format(rows, digits = 4L), row.names = FALSE)
  }
  if (length(x$groups) > 1L) {
    test <- curve_logrank(x)
    cat(sprintf("\nLog-rank test: chisq = %.4g on %g df, p-value = %.4g\n", test$statistic,
                test$parameter, test$p.value))
  }
  print_cost(x)
}

#' @rdname dp_curve
#' @export
plot.dp_curve <- function(x, level = 0.95, simultaneous = TRUE, main = NULL, xlab = "time",
                          ylab = "survival", col = NULL, ...) {
  table <- as.data.frame(x, level = level, simultaneous = simultaneous)
  draw_curves(split(table, table$strata), x, x$start, main, xlab, ylab, col, ...)
  invisible(table)
}

# One curve with its band for each part.
draw_curves <- function(parts, of, begin, main, xlab, ylab, col, ...) {
  col <- rep_len(col %||% unname(c(COLORS, grDevices::palette.colors(8)[-1L])), length(parts))
  main <- main %||% paste0("Survival, eps = ", format(of$privacy$epsilon))
  last <- max(vapply(parts, function(part) max(part$time), 0))
  graphics::plot(c(begin, last), c(0, 1), type = "n", main = main, xlab = xlab, ylab = ylab, ...)
  for (k in seq_along(parts)) {
    part <- parts[[k]]
    at <- c(begin, part$time)
    graphics::polygon(c(at, rev(at)), c(1, part$lower, rev(c(1, part$upper))), border = NA,
                      col = grDevices::adjustcolor(col[k], 0.2))
    graphics::lines(at, c(1, part$surv), type = "b", pch = 19, cex = 0.5, col = col[k])
  }
  # Curves begin at the top left; if one also ends at the top, there is room below.
  ends <- vapply(parts, function(part) part$upper[nrow(part)], 0)
  place <- if (max(ends) > 0.6) "bottomleft" else "topright"
  if (length(parts) > 1L) graphics::legend(place, names(parts), col = col, lty = 1, bty = "n")
}
