# Average treatment effects.

#' Private treatment effects
#'
#' `dp_effect()` estimates the mean outcome if every row were treated, the mean outcome if none
#' were, and their difference, with intervals that include sampling error and privacy noise.
#'
#' With `method = "aipw"` the outcome is regressed on covariates in both arms at once, the treatment
#' on covariates by logistic regression, and the effect is the mean of doubly robust scores:
#' consistent if one of the two models is right. Noise in the coefficients affects it to second
#' order only, and the standard error allows for that. `"regression"` relies on the model of the
#' outcome alone, and `"difference"` is the difference in means of a randomised trial.
#'
#' The estimate relies on assumptions that the data cannot confirm: that all confounders are among
#' the covariates, and that rows with any covariates may be treated or not. For the latter,
#' `$overlap` has the noisy number of rows whose estimated probability of treatment is at a limit.
#'
#' Scores are clipped as in `dp_lm()`. In tables of a few thousand rows whose outcomes are 0 for
#' many and very large for a few, mean outcomes by `"aipw"` are those of clipped outcomes, while the
#' effect changes little; `"regression"` and `"difference"`, which spend more on each mean, are
#' closer.
#'
#' @inheritParams dp_lm
#' @param formula The outcome and the covariates, without the treatment: `pressure ~ age + stage`; `~ 1` for
#'   none.
#' @param treatment Name of the column of the treatment: a factor with two levels, the control first, 0 or
#'   1, or `FALSE` or `TRUE`. Rows with other values are dropped.
#' @param method `"aipw"`, `"regression"` or `"difference"`.
#' @param family Family of the outcome, or its name: `gaussian()`, or `binomial()`, whose effect is a
#'   difference of risks.
#' @param propensity Public probability of the treatment in a randomised trial, for `"aipw"`. Then no budget
#'   is spent on a model of the treatment.
#' @param overlap Public limits at which estimated probabilities of the treatment are clipped.
#' @param x An effect.
#' @param parm Which of the rows of `tidy()`; all by default.
#' @param main,xlab,xlim,ylim,col,cex As for [plot.dp_lm()].
#' @param level,conf.level Probability with which intervals cover.
#' @param conf.int Also give intervals?
#' @param digits Significant digits that are printed.
#' @return `dp_effect()`: an object of class `dp_effect`, which contains no records, or of class
#'   [dp_not_released]. `coef()`: the effect and the mean outcome of each arm; `vcov()`, `confint()` and
#'   `tidy()`: their errors; `plot()`: the intervals that it shows, invisibly: means in the units of the
#'   outcome, and the effect as a distance from the control's mean, with an axis of its own above.
#' @seealso [dp_lm()].
#' @export
#' @examplesIf dpreg_available("dp_effect")
#' n <- 20000
#' age <- runif(n, 40, 80)
#' drug <- rbinom(n, 1, plogis((age - 60) / 20))
#' cohort <- data.frame(age, drug, pressure = 90 + 0.8 * age - 5 * drug + rnorm(n, 0, 10))
#' found <- dp_effect(pressure ~ age, cohort, eps = 1, treatment = "drug")
#' found
#' confint(found)
#' plot(found)
dp_effect <- function(formula, data, eps, delta = 1e-5, treatment, method = "aipw",
                      family = stats::gaussian(), propensity = NULL, overlap = c(0.05, 0.95),
                      levels = NULL, bounds = NULL, unit = NULL, max_rows = NULL, budget = NULL,
                      memory = NULL, rng = NULL, ...) {
  asked <- begun("dp_effect", EFFECT_HINTS, ...)
  if (!is.numeric(overlap) || length(overlap) != 2L || anyNA(overlap) || any(overlap < 0.001 | overlap > 0.999) ||
      overlap[1L] >= overlap[2L])
    refuse("overlap must be two increasing numbers from 0.001 to 0.999, such as overlap = c(0.05, 0.95), not ",
           described(overlap))
  formula <- asked$formula
  treatment <- asked$given$treatment
  design <- seen_design(asked, with_treatment(formula, treatment, asked$data, levels))
  arms <- levels(design$frame[[2L]])
  answer <- call_release("effect", request_of(
    asked, design, levels = if (length(arms)) stats::setNames(list(as.list(arms)), treatment)))
  if (!isTRUE(answer$released)) return(new_fit(answer, list(formula = formula), asked$call))
  names <- answer$names
  new_result(
    "dp_effect", answer, c("nobs", "treated", "overlap", "notes", "text", "json"),
    formula = without_records(formula), treatment = treatment, method = method,
    family = family_sent(family),
    coefficients = stats::setNames(answer$coefficients, names), covariance = with_names(answer$covariance, names),
    sampling = stats::setNames(answer$sampling, names), call = asked$call)
}

EFFECT_HINTS <- c(LM_HINTS[c("subset", "na.action", "epsilon", "seed", "ledger", "alpha", "level", "cluster")],
                  weights = "leave it out: rows count alike")

# The formula with the treatment as its first term; a factor as one column of 0 and 1.
with_treatment <- function(formula, treatment, data, levels) {
  if (!is_text(treatment))
    refuse("treatment must be the name of one column, such as treatment = \"arm\", not ", described(treatment))
  if (length(formula) != 3L) refuse("formula: write an outcome on the left-hand side, outcome ~ age")
  if (treatment %in% all.vars(formula))
    refuse("formula: ", sQuote(treatment, FALSE), " is the treatment, and cannot be in the formula too; leave it out there")
  if ("." %in% all.vars(formula[[3L]])) refuse("formula: name the covariates, or write ~ 1 for none")
  name <- as.name(treatment)
  if (is.data.frame(data) && !treatment %in% names(data)) no_such_column("treatment", treatment, names(data))
  group <- treatment %in% names(levels) || (is.data.frame(data) && is.factor(data[[treatment]]))
  if (!group && is.data.frame(data) && is.character(data[[treatment]]))
    refuse("treatment: column ", sQuote(treatment, FALSE), " is text, and its levels must not be read from the data; ",
           "add levels = list(", treatment, " = c(\"control\", \"treated\"))")
  # FALSE and TRUE have contrasts; multiplied by 1 they have none.
  term <- if (group) call("C", name, quote(contr.treatment)) else call("I", call("*", 1, name))
  formula_of(formula[[2L]], list(term, formula[[3L]]), environment(formula))
}

#' @rdname dp_effect
#' @export
tidy.dp_effect <- function(x, conf.int = TRUE, conf.level = 0.95, ...)
  as.data.frame(tidy.dp_lm(x, conf.int, conf.level, ...))

#' @rdname dp_effect
#' @export
plot.dp_effect <- function(x, parm, level = 0.95, main = NULL, xlab = NULL, xlim = NULL, ylim = NULL,
                           col = NULL, cex = 1, ...) {
  col <- chosen_colors(col, COLORS[c("total", "sampling")])
  all <- names(x$coefficients)
  parm <- if (missing(parm)) all else chosen_terms(parm, all)
  outcome <- deparsed(x$formula[[2L]])
  limits <- confint(x, parm, level)
  shown <- on_scale(x, parm, level, "response")
  drawn <- !is.na(shown$upper)
  control <- x$coefficients[[2L]]
  ends <- c("estimate", "lower", "upper")
  shown[parm == "effect", ends] <- shown[parm == "effect", ends] + control
  at <- rev(seq_along(parm))
  old <- open_plot(
    at, parm, with_error(x$coefficients[parm], standard_errors(x)[parm]), legend = TRUE,
    main = main %||% sprintf("%s on %s: %s, %s", x$treatment, outcome, x$method, cost_of(x$privacy)),
    xlab = xlab %||% sprintf("mean of %s, with %g%% intervals", outcome, 100 * level),
    xlim = xlim %||% range(control, unlist(shown[drawn, ends])), ylim = ylim, cex = cex, axis = EFFECT_AXIS, ...)
  on.exit(graphics::par(old))
  graphics::abline(v = control, col = "grey60")
  draw_intervals(shown, at, drawn, col, control)
  ticks <- pretty(graphics::par("usr")[1:2] - control)
  graphics::axis(3, ticks + control, ticks)
  kind <- if (x$family == "binomial") "risks" else "means"
  graphics::mtext(paste("effect, a difference of", kind), 3, 1.7, cex = graphics::par("cex"))
  draw_legend(FALSE, col, EFFECT_AXIS)
  invisible(limits)
}

# Lines of the axis above the plot.
EFFECT_AXIS <- 2.9

#' @rdname dp_effect
#' @export
print.dp_effect <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Private effect of ", x$treatment, " on ", deparsed(x$formula[[2L]]), "\n\n", sep = "")
  rows <- tidy.dp_effect(x)
  table <- cbind(Estimate = rows$estimate, "Std. Error" = rows$std.error, stats::confint(x),
                 "z value" = rows$statistic, "Pr(>|z|)" = rows$p.value)
  stats::printCoefmat(table, digits = digits, na.print = "NA", cs.ind = 1:4, tst.ind = 5L)
  cat("\n")
  cat_wrapped(x$text)
  invisible(x)
}
