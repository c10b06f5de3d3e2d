# Tables and printing.

#' @rdname dp_lm_methods
#' @export
summary.dp_lm <- function(object, ...) {
  no_more("summary()", SUMMARY_HINTS, ...)
  estimate <- object$coefficients
  error <- standard_errors(object)
  sampling <- object$sampling %||% rep(NA_real_, length(error))
  ratio <- estimate / error
  coefficients <- cbind(estimate, error, sampling, sqrt(pmax(error^2 - sampling^2, 0)), ratio,
                        p_values(object$law, ratio))
  dimnames(coefficients) <- list(names(estimate), c("Estimate", "Std. Error", "Sampling",
                                                    "Privacy", "z value", "Pr(>|z|)"))
  kept <- object[intersect(names(object), c("call", "formula", "method", "nobs", "privacy", "notes", "selected",
                   "no_errors", "family", "stats", "estimand", "reference", "within"))]
  structure(c(list(coefficients = coefficients, inference = !is.null(object$covariance),
                   least_p = least_p(object$law)), kept),
            class = "summary.dp_lm")
}

SUMMARY_HINTS <- c(digits = "write print(summary(fit), digits = 3)", correlation = "write cov2cor(vcov(fit))",
                   conf.int = "write confint(fit)", level = "write confint(fit, level = 0.95)",
                   robust = RELEASED_ERRORS, vcov = RELEASED_ERRORS, vcov. = RELEASED_ERRORS,
                   cluster = VCOV_HINTS[["cluster"]], dispersion = "it is in the standard errors already")

#' @export
print.summary.dp_lm <- function(x, digits = max(3L, getOption("digits") - 3L),
                                signif.stars = getOption("show.signif.stars"), ...) {
  print_head(x)
  table <- x$coefficients
  if (x$inference) {
    stats::printCoefmat(table, digits = digits, signif.stars = signif.stars, na.print = "NA",
                        cs.ind = 1:4, tst.ind = 5L, P.values = TRUE, has.Pvalue = TRUE,
                        eps.Pvalue = x$least_p)
    cat("\nStd. Error: sampling and privacy noise together; their squares add up.\n")
  } else {
    print(table[, 1L, drop = FALSE], digits = digits)
    cat("\n")
    cat_wrapped("Standard errors: ", if (is.null(x$no_errors) || !nzchar(x$no_errors)) "not asked for"
                else paste0("none, because ", x$no_errors), ".")
  }
  print_stats(x$stats, digits)
  print_privacy(x)
}

#' @export
print.dp_lm <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  print_head(x)
  print(format(x$coefficients, digits = digits), print.gap = 2L, quote = FALSE)
  cat("\n")
  print_stats(x$stats, digits)
  print_privacy(x)
}

# R squared and sigma with their standard errors, if they were released.
print_stats <- function(stats, digits) {
  if (is.null(stats)) return(invisible())
  sigma <- sqrt(stats$scale)
  # With the digits that the error leaves, which has two of its own.
  shown <- function(estimate, error) {
    if (!isTRUE(error > 1e-9 && error < 1e6)) return(format(estimate, digits = digits))
    places <- max(1 - floor(log10(error)), 0)
    fixed <- formatC(c(estimate, error), digits = places, format = "f")
    paste0(fixed[1L], " (s.e. ", fixed[2L], ")")
  }
  cat("R-squared: ", shown(stats$rsquared, stats$rsquared_error), ", sigma: ",
      shown(sigma, stats$scale_error / (2 * sigma)), "\n", sep = "")
}

print_head <- function(x) {
  cat("\nPrivate ", family_title(x$family), " regression, method ", x$method, "\n\n", sep = "")
  if (!is.null(x$call))
    cat("Call:\n", paste(deparse(typed_call(x$call)), collapse = "\n"), "\n\n", sep = "")
  head <- c(Estimand = x$estimand$name, "Fixed effects" = x$within)
  if (length(head)) cat(paste0(names(head), ": ", head, "\n"), "\n", sep = "")
  unidentified <- sum(is.na(if (is.matrix(x$coefficients)) x$coefficients[, 1L] else x$coefficients))
  cat("Coefficients:", if (unidentified) paste0(" (", unidentified, " not estimable at this eps)"),
      "\n", sep = "")
}

# More are in `fit$notes`.
SHOWN_NOTES <- 2L

print_privacy <- function(x) {
  # Methods that add rows up count those that units gave.
  whole <- !identical(x$privacy$unit, "one row") && x$method %in% c("tukey", "frank_wolfe")
  units <- if (whole) "Units" else "Rows"
  cat(units, ": about ", format(round(x$nobs), big.mark = ",", scientific = FALSE),
      " (private estimate)\n", sep = "")
  if (!is.null(x$reference)) cat_wrapped("Reference: ", x$reference, ".")
  cat_wrapped("Privacy: ", x$privacy$claim)
  for (note in utils::head(x$notes, SHOWN_NOTES)) cat_wrapped("Note: ", note, ".")
  more <- length(x$notes) - SHOWN_NOTES
  if (more > 0) cat(more, if (more == 1L) " more note" else " more notes", " in fit$notes.\n", sep = "")
  cat("\n")
  invisible(x)
}

# What results share that are no fits: they are shown as Python says them, and are their own summary.

#' @export
print.dp_result <- function(x, ...) {
  cat(x$text, "\n", sep = "")
  invisible(x)
}

#' @export
summary.dp_result <- function(object, ...) object

#' @export
nobs.dp_result <- function(object, ...) object$nobs

print_cost <- function(x) {
  cat("\n", x$privacy$text, "\n", sep = "")
  for (note in x$notes) cat_wrapped("Note: ", note, ".")
  invisible(x)
}

cat_wrapped <- function(...) {
  for (line in strsplit(paste0(...), "\n", fixed = TRUE)[[1L]]) {
    indent <- nchar(line) - nchar(sub("^ +", "", line))
    cat(strwrap(line, width = 0.95 * getOption("width"), indent = indent, exdent = indent + 2L),
        sep = "\n")
  }
}

#' @export
print.dp_certificate <- function(x, ...) {
  cat_wrapped(x$text)
  invisible(x)
}
