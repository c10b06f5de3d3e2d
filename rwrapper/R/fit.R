# The call that spends the budget, and its answer.

#' Linear regression with differential privacy
#'
#' `dp_lm()` is [lm()] with a guarantee: the result reveals almost nothing about whether any one row
#' was in the data. It takes a formula, a data frame and the privacy parameter `eps`; there are no
#' bounds to guess and nothing to tune.
#'
#' @section Methods:
#' * `"auto"`, the default, is `"boosted_adassp"` for fits with standard errors. With
#'   `inference = FALSE` it chooses one of the next three by a private number of rows, the number of
#'   columns, `eps` and `delta`, and says which.
#' * `"boosted_adassp"` standardises the columns privately and solves the score equations from noisy
#'   sums of clipped scores.
#' * `"adassp"` solves the normal equations from noisy second moments.
#' * `"tukey"` fits many small parts of the data and releases a median of these fits, by an
#'   exponential mechanism on Tukey depth. It needs many rows per column, does not clip, and
#'   declines when the fits do not agree well enough.
#' * `"dpsgd"` is noisy stochastic gradient descent.
#' * `"frank_wolfe"` takes privately selected steps inside an l1 ball; most coefficients are exactly
#'   0, and there are no standard errors.
#'
#' [TukeyEM()] and similar functions set the options of a method.
#'
#' @section Formulas:
#' Formulas, factors and contrasts are R's own. A term may be used when its value in one row depends
#' on that row alone: `log(x)`, `I(x^2)`, `x:z`, `poly(x, 3, raw = TRUE)`, `scale(x, 50, 10)`,
#' `factor(x, levels = c("a", "b"))`, `ns(x, knots = c(2, 4), Boundary.knots = c(0, 6))`,
#' `format(day, "%Y")`. Others, such as `scale(x)` or `poly(x, 3)`, are refused with a public
#' alternative. So is `t2 - t1` of date-times, whose unit R chooses by looking at all rows: write
#' `difftime(t2, t1, units = "hours")`.
#'
#' As in [lm()], `x^2` is `x` itself, an interaction with itself: write `I(x^2)` for the square.
#'
#' `offset(x)` is a term whose coefficient is 1.
#'
#' With `unit = "person"`, `y ~ x | person` has a fixed effect of each person: all columns are demeaned
#' by person, and neither the effects nor the intercept is released, so that there are no predictions.
#' `y ~ x | person + period` also has an effect of each period but the first: a factor with public
#' levels.
#'
#' Constants must be typed out. To use the value of a variable, known without the data, put it into the
#' formula: `dp_lm(bquote(y ~ ns(x, knots = .(k), Boundary.knots = c(0, 6))), ...)`.
#'
#' Column names, classes, factor levels and the unit of a difftime are public. Rows with a missing value
#' are dropped silently, because their number is private, unless the formula handles them: with
#' `y ~ is.na(x) + ifelse(is.na(x), 0, x)` rows with a missing `x` are kept.
#'
#' @section Progress:
#' In an interactive session a line shows the number of passes over the rows, after one second, and never
#' the number of rows. `options(dpreg.progress = FALSE)` turns it off, `TRUE` shows it in all sessions.
#'
#' @param formula A formula, as for [lm()], of terms that work row by row. Or the value of [dp_select()]:
#'   then the selected columns are fitted.
#' @param data A data frame, or, for data larger than memory, the path of a Parquet file, of a folder of
#'   them, or a pattern such as `"sales/*.parquet"`; of files only the columns of the formula are read, in
#'   blocks, by pyarrow in Python. Private.
#' @param eps Privacy parameter epsilon, greater than 0: no row changes the probability of a result by a
#'   factor of more than exp(eps), except with probability `delta`.
#' @param delta Privacy parameter delta, in \[0, 1); it should be below 1 / (number of rows). With a
#'   `budget` the default is the same fraction of its delta as `eps` is of its eps.
#' @param method A name or options, such as `TukeyEM(models = 1000)`: see below.
#' @param select `NULL`, or the method to select `k` terms privately before the fit: `"kendall"`,
#'   `"two_stage"`, `"sub_lasso"`, `"sis"`, or options such as [DPKendall()].
#' @param k Number of terms that `select` keeps; the dummies of a factor are one term.
#' @param split Probability that a unit is used for selection instead of estimation. Intervals are then
#'   valid despite the selection.
#' @param levels `list(column = c("first", "second"))` for text columns.
#' @param bounds `list(column = c(low, high))`: public limits of columns of the model matrix, such as
#'   `carat` or `` `log(carat)` ``, of all columns of a term, or of the response. Values outside them are
#'   clipped, and the coefficients are those of clipped values. Bounds must be known without the data; wide
#'   ones cost little. In a study of two or three hundred rows they replace an estimate of the scale of a
#'   column, on which no budget is spent, and should be tight. Terms `poly(x, 2)`, `ns(x, 3)` and `bs(x, 5)`
#'   need the bounds of `x`: polynomials are orthogonal on them, knots divide them into equal parts. Bounds
#'   of columns are used by `"boosted_adassp"`, `"adassp"`, `"dpsgd"` and `"frank_wolfe"`, hence also by
#'   `"auto"`, and by `select = "sis"`, which needs them for all columns.
#' @param unit Name of the column that identifies the protected unit, such as a person with several rows.
#'   It is not a regressor, and `.` leaves it out. `NULL`: one row is one unit.
#' @param max_rows Maximum number of rows used per unit, 1 if `NULL`; units with more rows are sampled, and
#'   noise increases with it. For methods and selectors that have this option.
#' @param weights Name of a column of row weights, such as inverse variances or survey weights; private
#'   like all columns, and left out by `.`. Rows with a weight of 0 or less are dropped. For
#'   `"boosted_adassp"`, `"adassp"` and so for `"auto"`.
#' @param weight_limit Public; larger weights are clipped at this value. `NULL`: four times an upper
#'   quantile of the weights, estimated privately.
#' @param budget Made by [dp_budget()]. It is charged before a record is read; a call that exceeds it is
#'   refused. With one of the strata of [dp_partition()] only the rows of that stratum are used.
#' @param memory Bytes of memory for rows; further rows go to temporary files, with the same result.
#'   Default: a quarter of the machine's memory.
#' @param start An earlier release of the same formula, columns and levels: last month's fit or that of a
#'   pilot, the value of [dp_moments()], or of [public_start()] from public data. Its scales, second
#'   moments and coefficients cost nothing, so that intervals are nearly as narrow as possible at
#'   this `eps`. Where they are out of date, the fit estimates them anew and says so in a note.
#' @param inference Also release standard errors and intervals?
#' @param fit_stats Also release R squared and the residual scale, for 5% of the squared mu of the fit? See
#'   [fit_stats()].
#' @param diagnostics Also release counts of residuals, for 10% of the squared mu? See [plot_diagnostics()].
#' @param rng A whole number makes the result reproducible and **not private**.
#' @param ... Must be empty. There are no `subset`, `na.action` or `contrasts`; the error says what to do
#'   instead.
#' @return An object of class `dp_lm`, or of class [dp_not_released] if the mechanism declined. It
#'   contains no records, so it can be saved and shared. [dp_lm_methods] lists its methods,
#'   [dp_lm_packages] those of other packages.
#' @references
#' Amin, K., Joseph, M., Ribero, M. and Vassilvitskii, S. (2023). Easy differentially private linear
#' regression. *ICLR*. \doi{10.48550/arXiv.2208.07353}
#'
#' Dick, T., Gillenwater, J. and Joseph, M. (2023). Better private linear regression through better
#' private feature selection. *NeurIPS*. \doi{10.48550/arXiv.2306.00920}
#'
#' Wang, Y.-X. (2018). Revisiting differentially private linear regression: optimal and adaptive
#' prediction and estimation in unbounded domain. *UAI*. \doi{10.48550/arXiv.1803.02596}
#'
#' Tang, S., Aydore, S., Kearns, M., Rho, S., Roth, A., Wang, Y., Wang, Y.-X. and Wu, Z. S. (2024).
#' Improved differentially private regression via gradient boosting. *SaTML*.
#' \doi{10.48550/arXiv.2303.03451}
#'
#' Abadi, M., Chu, A., Goodfellow, I., McMahan, H. B., Mironov, I., Talwar, K. and Zhang, L. (2016).
#' Deep learning with differential privacy. *CCS*. \doi{10.1145/2976749.2978318}
#'
#' Talwar, K., Thakurta, A. and Zhang, L. (2015). Nearly optimal private LASSO. *NeurIPS*.
#' @seealso [dp_plan()] before the data are touched, [dp_select()], [dp_budget()],
#'   [predict.dp_lm()], [anova.dp_lm()], [update.dp_lm()].
#' @export
#' @examplesIf dpreg_available()
#' fit <- dp_lm(price ~ carat + depth + table, diamonds, eps = 1)
#' summary(fit)
#' confint(fit)
#' predict(fit, head(diamonds))
dp_lm <- function(formula, data, eps, delta = 1e-5, method = "auto", select = NULL, k = NULL,
                  split = NULL, levels = NULL, bounds = NULL, unit = NULL, max_rows = NULL, weights = NULL,
                  weight_limit = NULL, budget = NULL, inference = TRUE, fit_stats = FALSE, diagnostics = FALSE,
                  memory = NULL, start = NULL, rng = NULL, ...) {
  asked <- begun("dp_lm", LM_HINTS, ...)
  private_fit("lm", asked, start_sent(start))
}

private_fit <- function(name, asked, start = NULL) {
  given <- asked$given
  chosen <- if (inherits(asked$formula, "dp_selection")) asked$formula
  if (!is.null(chosen) && !is.null(given$select))
    refuse("select: the formula is a selection already; leave select out")
  formula <- chosen$formula %||% asked$formula
  groups <- effects_in(formula)
  within <- has_unit_effects(groups, given$unit)
  if (within)
    formula[[3L]] <- effects_as_terms(formula[[3L]][[2L]], setdiff(groups, given$unit), asked$data, given$levels)
  design <- if (is.null(chosen)) seen_design(asked, formula) else chosen_design(chosen, seen_by(asked, formula))
  check_start_levels(start, design)
  asked$given$start <- start$json
  asked$formula <- design$formula
  request <- request_of(asked, design)
  if (within) request$matrix$within <- TRUE
  if (name == "lm") design$note <- c(design$note, about_truth(design$frame))
  fit <- new_fit(call_release(name, request), design, asked$call)
  if (within) fit$within <- given$unit
  fit
}

# Python finds comparisons by their text; R knows the type of a column.
about_truth <- function(frame) {
  name <- names(frame)[1L]
  if (!is.logical(frame[[1L]]) || grepl("[<>!=]=|[<>]", name)) return(NULL)
  paste(name, "is 0 or 1, so this is a linear probability model; dp_glm() fits a logistic regression")
}

# y ~ x | person + period: names of the groups with fixed effects.
effects_in <- function(formula) {
  right <- if (inherits(formula, "formula") && length(formula) == 3L) formula[[3L]]
  if (!is.call(right) || !identical(right[[1L]], as.name("|"))) return(NULL)
  names_in <- function(e) {
    if (is.name(e)) return(as.character(e))
    if (!is.call(e) || !identical(e[[1L]], as.name("+")) || length(e) < 3L)
      refuse("formula: behind | there can be the name of the protected unit, and of factors with ",
             "public levels: y ~ x | person + period")
    c(names_in(e[[2L]]), names_in(e[[3L]]))
  }
  unique(names_in(right[[3L]]))
}

# An effect of each protected unit; of no other group, unless its levels are public.
has_unit_effects <- function(groups, unit) {
  if (is.null(groups)) return(FALSE)
  if (!isTRUE(unit %in% groups))
    refuse("formula: fixed effects of ", sQuote(groups[1L], FALSE), " are not supported because a ",
           "level contains rows of several units; add unit = \"", groups[1L], "\" if that is the ",
           "protected unit, or add a factor with public levels as a term")
  TRUE
}

# Dummies of all levels except one, with or without an intercept in the formula, as there are
# effects of units.
effects_as_terms <- function(right, groups, data, levels) {
  for (group in groups) {
    if (is.null(levels[[group]]) && group %in% names(data) && !is.factor(data[[group]]))
      refuse("formula: effects of ", sQuote(group, FALSE), " need public levels; make it a factor, or add ",
             "levels = list(", group, " = c(...)) to the call")
    right <- call("+", right, as.name(group))
  }
  if (length(groups)) call("+", right, 1) else right
}

# bquote() makes a call, not a formula.
as_formula <- function(formula) {
  if (is.call(formula) && !inherits(formula, "formula") && identical(formula[[1L]], as.name("~")))
    return(stats::as.formula(formula, globalenv()))
  formula
}

# The offset of `dp_survival()`.
EXPOSURE <- "offset(log(exposure))"

new_fit <- function(answer, design, call) {
  formula <- without_records(design$formula)
  if (!isTRUE(answer$released))
    return(new_result("dp_not_released", answer, c("method", "reason", "advice", "text", "json"), nobs = answer$units,
                      formula = formula, selected = answer$selected, call = call))
  names <- sub("^Intercept$", "(Intercept)", answer$names)
  terms <- design$terms
  if (!is.null(terms)) attr(terms, ".Environment") <- globalenv()
  estimates <- stats::setNames(answer$estimates, names)
  covariance <- with_names(answer$covariance, names)
  sampling <- answer$sampling
  clipping <- answer$clipping
  if (!is.null(clipping)) names(clipping) <- names
  limits <- answer$limits
  # An offset is not among the coefficients of lm(): it is 1.
  offset <- names %in% c(offset_names(terms), EXPOSURE)
  if (any(offset)) {
    estimates <- estimates[!offset]
    covariance <- covariance[!offset, !offset, drop = FALSE]
    sampling <- sampling[!offset]
    clipping <- clipping[!offset]
    limits <- limits[c(!offset[names != "(Intercept)"], TRUE), , drop = FALSE]
  }
  unidentified <- unidentified_among(estimates, covariance, answer$method)
  fit <- list(
    coefficients = replace(estimates, unidentified, NA), covariance = covariance,
    sampling = sampling, clipping = clipping, estimand = answer$estimand, estimates = estimates,
    nobs = answer$units, method = answer$method,
    law = lapply(answer$law, as.numeric),
    notes = c(answer$notes, design$note), no_errors = answer$no_errors,
    selected = if (is.null(design$kept)) answer$selected else design$selected,
    limits = limits, privacy = certificate(answer),
    response = answer$response, formula = formula, call = call, terms = terms,
    source = design$source, contrasts = design$contrasts, columns = design$kept,
    xlevels = levels_of(design$frame),
    family = family_of(answer$family), stats = answer$stats, diagnostics = answer$diagnostics, json = answer$json
  )
  # insight treats an object with a NULL component as NULL.
  structure(without_nulls(fit), class = c(if (!is.null(fit$family)) "dp_glm", "dp_lm"))
}

# Like the aliased coefficients of lm(): those that are not estimable at this eps. Without standard
# errors they are the columns that a method left out, whose coefficient is exactly 0; the zeros of a
# sparse method are estimates.
unidentified_among <- function(estimates, covariance, method) {
  if (!is.null(covariance)) return(is.na(diag(covariance)))
  method != "frank_wolfe" & estimates == 0
}

# Other results: parts of the answer, its cost, and what R adds. The object is its own summary.
new_result <- function(class, answer, parts, ...)
  structure(c(list(...), answer[parts], list(privacy = certificate(answer))), class = c(class, "dp_result"))

certificate <- function(answer) structure(answer$privacy, class = "dp_certificate")

# Results have no environments: that of a function could contain the records.
without_records <- function(formula) {
  if (!is.null(formula)) environment(formula) <- globalenv()
  formula
}

with_names <- function(m, names) {
  if (!is.null(m)) dimnames(m) <- list(names, names)
  m
}
