#' Differentially private linear regression and feature selection
#'
#' Start with [dp_lm()] and `vignette("getting-started", "dpreg")`.
#'
#' Every refusal is an error of class `dpreg_error`: `tryCatch(..., dpreg_error = )` catches them
#' all. A second class says more: `dpreg_usage` (an argument is wrong), `dpreg_budget` (a privacy
#' parameter is wrong, or a budget is exceeded), `dpreg_private` (the answer would need the
#' records), `dpreg_not_released` (the mechanism declined, so there is no model) and `dpreg_python`.
#'
#' A package on CRAN, DPrivStats, has a `dp_lm()` too, with bounds that are read from the data. Write
#' `dpreg::dp_lm()` when both are loaded.
#'
#' @keywords internal
#' @aliases dpreg-package
"_PACKAGE"

#' @importFrom generics augment glance tidy
#' @export
generics::augment

#' @export
generics::glance

#' @export
generics::tidy

#' Prices of diamonds
#'
#' Prices and qualities of 53,940 diamonds: the `diamonds` of the package ggplot2, as a plain data
#' frame. They are public, and so suitable for examples.
#'
#' @format A data frame with 53,940 rows and the columns `carat`, `cut`, `color` and `clarity`
#'   (ordered factors), `depth`, `table`, `price` (US dollars), `x`, `y` and `z` (millimetres).
#' @source The package ggplot2 (MIT licence).
"diamonds"

#' @evalNamespace of_packages()
#' @rawNamespace
#' importFrom(stats, add1, anova, case.names, coef, confint, cooks.distance, deviance, df.residual, dfbeta, dfbetas, drop1, extractAIC, family, fitted, formula, hatvalues, influence, logLik, model.frame, model.matrix, median, nobs, predict, profile, quantile, residuals, rstandard, rstudent, sigma, simulate, terms, update, variable.names, vcov, weights)
NULL

# A name that ggplot2 knows within aes().
utils::globalVariables(".data")
