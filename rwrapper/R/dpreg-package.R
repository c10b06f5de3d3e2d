#' Differentially private linear regression and feature selection
#'
#' Start with [dp_lm()] and `vignette("getting-started", "dpreg")`.
#'
#' Every refusal is a condition of class `dpreg_error`: `tryCatch(..., dpreg_error = )` catches them
#' all. A second class says more: `dpreg_usage` (an argument is wrong), `dpreg_budget` (a privacy
#' parameter is wrong, or a budget cannot pay), `dpreg_private` (the answer would need the records),
#' `dpreg_not_released` (the mechanism declined, so there is no model) and `dpreg_python`.
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

#' @rawNamespace
#' S3method(bayestestR::ci, dp_lm)
#' S3method(car::avPlot, dp_lm)
#' S3method(car::Boot, dp_lm)
#' S3method(car::boxCox, dp_lm)
#' S3method(car::ceresPlot, dp_lm)
#' S3method(car::crPlot, dp_lm)
#' S3method(car::durbinWatsonTest, dp_lm)
#' S3method(car::hccm, dp_lm)
#' S3method(car::infIndexPlot, dp_lm)
#' S3method(car::influencePlot, dp_lm)
#' S3method(car::inverseResponsePlot, dp_lm)
#' S3method(car::invTranPlot, dp_lm)
#' S3method(car::leveragePlot, dp_lm)
#' S3method(car::mmp, dp_lm)
#' S3method(car::ncvTest, dp_lm)
#' S3method(car::outlierTest, dp_lm)
#' S3method(car::qqPlot, dp_lm)
#' S3method(car::residualPlots, dp_lm)
#' S3method(car::sigmaHat, dp_lm)
#' S3method(car::spreadLevelPlot, dp_lm)
#' S3method(datawizard::standardize, dp_lm)
#' S3method(effects::effSources, dp_lm)
#' S3method(emmeans::emm_basis, dp_lm)
#' S3method(emmeans::recover_data, dp_lm)
#' S3method(insight::get_data, dp_lm)
#' S3method(insight::get_deviance, dp_lm)
#' S3method(insight::get_df, dp_lm)
#' S3method(insight::get_residuals, dp_lm)
#' S3method(insight::get_statistic, dp_lm)
#' S3method(lmtest::lrtest, dp_lm)
#' S3method(lmtest::waldtest, dp_lm)
#' S3method(marginaleffects::get_coef, dp_lm)
#' S3method(marginaleffects::get_predict, dp_lm)
#' S3method(marginaleffects::get_vcov, dp_lm)
#' S3method(marginaleffects::set_coef, dp_lm)
#' S3method(MASS::boxcox, dp_lm)
#' S3method(parameters::model_parameters, dp_lm)
#' S3method(parameters::p_value, dp_lm)
#' S3method(performance::check_model, dp_lm)
#' S3method(performance::check_normality, dp_lm)
#' S3method(performance::check_predictions, dp_lm)
#' S3method(performance::model_performance, dp_lm)
#' S3method(performance::performance_mse, dp_lm)
#' S3method(performance::r2, dp_lm)
#' S3method(prediction::find_data, dp_lm)
#' S3method(prediction::prediction, dp_lm)
#' S3method(sandwich::bread, dp_lm)
#' S3method(sandwich::estfun, dp_lm)
#' S3method(sandwich::vcovBS, dp_lm)
#' S3method(sandwich::vcovHC, dp_lm)
#' S3method(xtable::xtable, dp_lm)
#' S3method(emmeans::recover_data, dp_not_released)
#' importFrom(stats, add1, anova, case.names, coef, confint, cooks.distance, deviance, df.residual, dfbeta, dfbetas, drop1, extractAIC, family, fitted, formula, hatvalues, influence, logLik, model.frame, model.matrix, nobs, predict, quantile, residuals, rstandard, rstudent, sigma, simulate, terms, update, variable.names, vcov, weights)
NULL

# A name that ggplot2 knows within aes().
utils::globalVariables(".data")
