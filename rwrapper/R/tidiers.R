# tidy(), glance() and augment(), for the generics of the package generics.

#' Tidy private linear models
#'
#' Tables of released numbers, for the generics that broom and modelsummary use.
#'
#' @param x A fit made by [dp_lm()]; for `tidy()` also a selection or what [dp_compare()] returns.
#' @param conf.int Also give intervals?
#' @param conf.level Probability with which they cover.
#' @param exponentiate Give `exp()` of estimates and intervals, as for a response `log(y)`? Standard
#'   errors stay those of the coefficients.
#' @param newdata A data frame, not protected, for `augment()`.
#' @param interval `"confidence"`: also give intervals for the mean response.
#' @param winsorise As for [predict.dp_lm()].
#' @param ... Must be empty.
#' @return Tibbles. `tidy()` of a fit has one row for each coefficient, and of several fits their titles
#'   as `model`; of a selection, one for each
#'   candidate, with its `rank` in the order of choice, if there is one. `glance()` has one row.
#'   `augment()` has the rows of `newdata` with `.fitted` and `.se.fit`, and with `interval` also
#'   `.lower` and `.upper`.
#' @seealso [dp_lm_methods], [dp_lm_packages].
#' @name dp_lm_tidiers
#' @examplesIf dpreg_available()
#' fit <- dp_lm(price ~ carat, diamonds, eps = 1)
#' tidy(fit, conf.int = TRUE)
#' glance(fit)
#' augment(fit, newdata = data.frame(carat = c(0.5, 1)))
NULL

as_tibble <- function(columns) {
  structure(columns, class = c("tbl_df", "tbl", "data.frame"),
            row.names = .set_row_names(length(columns[[1L]])))
}

#' @rdname dp_lm_tidiers
#' @export
tidy.dp_lm <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  no_more("tidy()", character(), ...)
  check_flag(conf.int, "conf.int")
  check_flag(exponentiate, "exponentiate")
  check_level(conf.level, "conf.level")
  table <- summary.dp_lm(x)$coefficients
  columns <- list(
    term = rownames(table), estimate = unname(table[, "Estimate"]),
    std.error = unname(table[, "Std. Error"]), statistic = unname(table[, "z value"]),
    p.value = unname(table[, "Pr(>|z|)"])
  )
  if (conf.int) {
    limits <- confint(x, level = conf.level)
    columns$conf.low <- unname(limits[, 1L])
    columns$conf.high <- unname(limits[, 2L])
  }
  changed <- if (exponentiate) intersect(c("estimate", "conf.low", "conf.high"), names(columns))
  columns[changed] <- lapply(columns[changed], exp)
  as_tibble(columns)
}

#' @rdname dp_lm_tidiers
#' @export
tidy.dp_selection <- function(x, ...) {
  no_more("tidy()", character(), ...)
  rank <- match(x$candidates, x$selected)
  # Some selectors choose all at once.
  if (!isTRUE(x$ordered)) rank <- rep(NA_integer_, length(rank))
  as_tibble(list(term = x$candidates, selected = x$candidates %in% x$selected, rank = rank))
}

#' @rdname dp_lm_tidiers
#' @export
tidy.dp_comparison <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  no_more("tidy()", character(), ...)
  tables <- lapply(x$fits, tidy.dp_lm, conf.int, conf.level, exponentiate)
  rows <- do.call(rbind, lapply(tables, as.data.frame))
  as_tibble(c(list(model = rep(names(x$fits), vapply(tables, nrow, 0L))), as.list(rows)))
}

#' @rdname dp_lm_tidiers
#' @export
glance.dp_lm <- function(x, ...) {
  stats <- if (!is.null(x$stats)) list(r.squared = x$stats$rsquared, sigma = sqrt(x$stats$scale))
  as_tibble(c(stats, list(nobs = x$nobs, epsilon = x$privacy$epsilon, delta = x$privacy$delta,
                          method = x$method, seeded = x$privacy$seeded)))
}

#' @rdname dp_lm_tidiers
#' @export
augment.dp_lm <- function(x, newdata = NULL, interval = c("none", "confidence"), conf.level = 0.95,
                          winsorise = TRUE, ...) {
  if (is.null(newdata)) private_stop("augment() without newdata")
  no_more("augment()", c(se_fit = "standard errors are always given", data = "write newdata = "),
          ...)
  interval <- one_of(interval)
  check_level(conf.level, "conf.level")
  predicted <- stats::predict(x, newdata, se.fit = TRUE, interval = "confidence",
                              level = conf.level,
                              winsorise = winsorise)
  found <- list(.fitted = predicted$fit[, "fit"], .lower = predicted$fit[, "lwr"],
                .upper = predicted$fit[, "upr"], .se.fit = predicted$se.fit)
  beside(newdata, found[interval == "confidence" | !names(found) %in% c(".lower", ".upper")])
}

# Public rows, and columns of what was predicted for them.
beside <- function(newdata, found) {
  columns <- unclass(as.data.frame(newdata))
  attr(columns, "row.names") <- NULL
  as_tibble(c(columns, lapply(found, unname)))
}
