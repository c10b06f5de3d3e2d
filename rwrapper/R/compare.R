# Several fits side by side.

#' Compare several private fits side by side
#'
#' A table of coefficients, with standard errors in parentheses below them, and of what each fit
#' cost. Fits that were not released are refused.
#'
#' @param ... Fits made by [dp_lm()], whose names become the titles of their columns; or one list of
#'   fits.
#' @return An object of class `dp_comparison`. Print it, or make a table of it for a report or a paper:
#'   `knitr::kable(as.data.frame(x))` in an R Markdown document becomes HTML, LaTeX or Word as the document
#'   does, and `format = "latex"`, `booktabs = TRUE` gives the source. `tidy()` has one row for each
#'   coefficient of each fit; [ggplot2::autoplot()][dp_autoplots] draws them.
#' @export
#' @examples
#' if (dpreg_available()) {
#'   small <- dp_lm(price ~ carat, diamonds, eps = 0.5)
#'   large <- dp_lm(price ~ carat + depth, diamonds, eps = 1)
#'   dp_compare(small = small, large = large)
#' }
dp_compare <- function(...) {
  fits <- list(...)
  if (length(fits) == 1L && is.list(fits[[1L]]) && is.null(attr(fits[[1L]], "class")))
    fits <- fits[[1L]]
  if (!length(fits) || !all(vapply(fits, inherits, NA, "dp_lm")))
    refuse("dp_compare() needs one or more released results of dp_lm(), such as ",
           "dp_compare(small = fit1, large = fit2)")
  titles <- if (is.null(names(fits))) rep("", length(fits)) else names(fits)
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
