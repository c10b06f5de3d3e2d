#' Differentially private linear regression and feature selection
#'
#' [dp_lm()] is the place to start.  A package on CRAN, DPrivStats, has a `dp_lm()` too, with bounds
#' that are read from the data; write `dpreg::dp_lm()` when both are loaded.
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

#' @rawNamespace
#' S3method(emmeans::recover_data, dp_lm)
#' S3method(emmeans::emm_basis, dp_lm)
#' S3method(emmeans::recover_data, dp_not_released)
#' S3method(marginaleffects::get_coef, dp_lm)
#' S3method(marginaleffects::set_coef, dp_lm)
#' S3method(marginaleffects::get_vcov, dp_lm)
#' S3method(marginaleffects::get_predict, dp_lm)
#' S3method(insight::get_data, dp_lm)
#' importFrom(stats, add1, anova, case.names, coef, confint, cooks.distance, deviance, df.residual, dfbeta, dfbetas, drop1, extractAIC, fitted, formula, hatvalues, influence, logLik, model.frame, model.matrix, nobs, predict, residuals, rstandard, rstudent, sigma, simulate, terms, update, variable.names, vcov, weights)
NULL
