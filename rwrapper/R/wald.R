# Tests of several coefficients at once, from released numbers: no other fit is needed.

#' Test terms of a private fit
#'
#' Wald tests from the released coefficients and their covariance, which includes sampling error and
#' privacy noise. They cost nothing.
#'
#' With one fit each term is tested given all others, and main effects given their interactions too,
#' so with interactions the tests depend on the contrasts, as type III tests do. With two fits the
#' smaller must be nested in the larger, and the additional coefficients of the larger are tested.
#'
#' With `lmtest`, `waldtest(fit, . ~ . - x)` tests whether terms may be left out, one set after the
#' other, without fitting again.
#'
#' Where the method releases no covariances (`method = "tukey"`), tests of several coefficients are
#' Bonferroni tests, without `Chisq`.
#'
#' The chi-squared statistic is compared with its distribution for normal errors. If the distribution of
#' the mechanism is not normal, the p-value is transformed by that of a single z statistic: exact for one
#' coefficient, an approximation for more.
#'
#' @param object A fit made by [dp_lm()].
#' @param ... A second fit, or none.
#' @return A data frame of class `anova` with the columns `Df`, `Chisq` and `Pr(>Chisq)`.
#'   Coefficients that are not estimable are left out.
#' @seealso [dp_lm_packages] for the tests of `car`, `multcomp` and `survey`.
#' @export
#' @examplesIf dpreg_available()
#' fit <- dp_lm(log(price) ~ log(carat) + cut, diamonds, eps = 4)
#' anova(fit)
anova.dp_lm <- function(object, ...) {
  check_covariance(object, "anova()")
  others <- list(...)
  if (!length(others)) {
    labels <- attr(stats::terms(object), "term.labels")
    of <- term_columns(object)
    found <- lapply(seq_along(labels), function(term) wald(object, which(of == term)))
    return(wald_table(found, labels, paste0("Wald tests of terms, each given all others\n\nResponse: ",
                                            object$response)))
  }
  if (length(others) > 1L || !inherits(others[[1L]], "dp_lm"))
    refuse("anova() takes one or two fits made by dp_lm(); its tests are Wald tests, without a choice: write ",
           "anova(fit) or anova(small, large)")
  nested_test(object, others[[1L]])
}

nested_test <- function(first, second) {
  fits <- list(first, second)
  names <- lapply(fits, function(f) names(f$coefficients))
  large <- if (length(names[[1L]]) > length(names[[2L]])) 1L else 2L
  small <- 3L - large
  if (!all(names[[small]] %in% names[[large]]) || !identical(first$response, second$response))
    refuse("anova(): the fits are not nested: the smaller must have the response and some of the ",
           "coefficients of the larger")
  check_covariance(fits[[large]], "anova()")
  added <- which(!names[[large]] %in% names[[small]])
  if (!length(added)) refuse("anova(): both fits have the same coefficients")
  models <- vapply(fits[c(small, large)], function(f) deparsed(f$formula), "")
  wald_table(list(c(NA, NA, NA), wald(fits[[large]], added)), c("1", "2"),
             paste0("Wald test from the larger of two private fits\n\n",
                    paste0("Model ", 1:2, ": ", models, collapse = "\n")))
}

check_covariance <- function(object, what) {
  if (is.null(object$covariance))
    dpreg_stop("private", what, " is not available: this fit has no standard errors",
               if (nzchar(paste0(object$no_errors, ""))) paste(", because", object$no_errors)
               else "; inference = TRUE releases them")
}

# To which term each coefficient belongs; 0 for the intercept.
term_columns <- function(object) {
  X <- stats::model.matrix(object)
  stats::setNames(attr(X, "assign"), colnames(X))[covariate_of(object)]
}

# Degrees of freedom, statistic and probability of the coefficients at `columns` all being 0.
wald <- function(object, columns) {
  columns <- columns[!is.na(object$coefficients[columns])]
  if (!length(columns)) return(c(0, NA, NA))
  estimate <- object$coefficients[columns]
  if (length(columns) > 1L && !covariances_known(object)) {
    ratio <- abs(estimate) / sqrt(diag(object$covariance)[columns])
    return(c(length(columns), NA, min(1, length(columns) * min(p_values(object$law, ratio)))))
  }
  solved <- tryCatch(solve(object$covariance[columns, columns, drop = FALSE], estimate),
                     error = function(e) NA)
  statistic <- sum(estimate * solved)
  c(length(columns), statistic, joint_p(object$law, statistic, length(columns)))
}

# Without covariances those of slopes are 0, which noise never makes of a covariance that it is in.
covariances_known <- function(object) {
  slopes <- names(object$coefficients)[!is.na(object$coefficients)]
  V <- object$covariance[slopes, slopes, drop = FALSE]
  V <- V[slopes != "(Intercept)", slopes != "(Intercept)", drop = FALSE]
  !anyNA(V) && (nrow(V) < 2L || any(V[upper.tri(V)] != 0))
}

joint_p <- function(law, statistic, df) {
  rarity <- stats::pchisq(statistic, df, lower.tail = FALSE, log.p = TRUE)
  if (!length(law$tail)) return(exp(rarity))
  p_values(law, stats::qnorm(rarity - log(2), lower.tail = FALSE, log.p = TRUE))
}

chi_squared_test <- function(statistic, df, p, method, x)
  structure(list(statistic = c(chisq = statistic), parameter = c(df = df), p.value = p, method = method,
                 data.name = deparsed(x$formula)), class = "htest")

wald_table <- function(found, rows, heading) {
  table <- as.data.frame(do.call(rbind, found), row.names = rows)
  names(table) <- c("Df", "Chisq", "Pr(>Chisq)")
  structure(table, heading = paste0(heading, "\n"), class = c("anova", "data.frame"))
}

# lmtest: what is left out is tested in the fit itself. waldtest.default() would fit again.
waldtest.dp_lm <- function(object, ...) {
  check_covariance(object, "waldtest()")
  others <- list(...)
  odd <- setdiff(names(others), c("", "test"))
  if (length(odd)) refuse("waldtest(): the argument ", odd[1L], " is not for private fits")
  if (!identical(others$test, "Chisq") && !is.null(others$test))
    refuse("waldtest(): the test is \"Chisq\"; there are no residual degrees of freedom for F")
  others$test <- NULL
  if (length(others) == 1L && inherits(others[[1L]], "dp_lm")) return(nested_test(object, others[[1L]]))
  if (!length(others)) others <- list(. ~ 1)
  labels <- attr(stats::terms(object), "term.labels")
  of <- term_columns(object)
  kept <- labels
  formulas <- list(object$formula)
  found <- list(c(NA, NA, NA))
  before <- c(0, 0, NA)
  for (change in others) {
    formula <- smaller_formula(formulas[[length(formulas)]], change, labels)
    left <- attr(stats::terms(formula), "term.labels")
    if (!all(left %in% kept) || length(left) == length(kept))
      refuse("waldtest(): write formulas that leave terms out, such as . ~ . - ", kept[1L])
    now <- wald(object, which(of %in% which(!labels %in% left)))
    gain <- now[1:2] - before[1:2]
    first <- length(found) == 1L
    p <- if (first) now[3L] else joint_p(object$law, gain[2L], gain[1L])
    found[[length(found) + 1L]] <- c(-gain[1L], gain[2L], p)
    formulas[[length(formulas) + 1L]] <- formula
    before <- now
    kept <- left
  }
  models <- vapply(formulas, deparsed, "")
  wald_table(found, as.character(seq_along(models)),
             paste0("Wald test\n\n", paste0("Model ", seq_along(models), ": ", models, collapse = "\n")))
}

smaller_formula <- function(formula, change, labels) {
  if (is.numeric(change)) change <- labels[change]
  if (is.character(change))
    change <- stats::as.formula(paste(". ~ . -", paste(change, collapse = " - ")))
  if (!inherits(change, "formula")) refuse("waldtest(): give formulas, such as . ~ . - x")
  stats::update(formula, change)
}
