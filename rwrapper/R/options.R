# One function for each options class of the Python package, with its name, its arguments and
# its defaults; tests/testthat/test-options.R compares them.

new_options <- function(kind, ...) {
  no_more(paste0(kind, "()"), OPTION_HINTS, ...)
  names <- setdiff(names(formals(sys.function(sys.parent()))), "...")
  structure(list(kind = kind, options = mget(names, parent.frame())), class = "dp_options")
}

OPTION_HINTS <- c(standardisation = "leave it out: columns are scaled by a few noisy counts",
                  inference = "write inference = TRUE in the call of dp_lm()")

#' Options of the methods
#'
#' One function for each method of [dp_lm()]; give the result as its `method`. All options are
#' public: choose them without looking at the data.
#'
#' @param models Number of fits to parts of the data; `NULL`: chosen automatically.
#' @param ridge Ridge of each fit, relative to the diagonal of its correlation matrix; `NULL`:
#'   chosen automatically.
#' @param refinements Further steps of iterated Tikhonov regularisation.
#' @param partition Assignment of rows to batches: `"slots"` or `"independent"`.
#' @param count_share Share of the budget for the noisy number of rows.
#' @param limits_share Share of the budget for limits at which `predict()` winsorises.
#' @param grid_exponent Coefficients are released as multiples of `2^grid_exponent`.
#' @param ... Must be empty.
#' @return An object of class `dp_options`.
#' @seealso [dp_selectors] for those of private selection.
#' @name dp_methods
#' @examples
#' TukeyEM(models = 1000)
#' AdaSSP(cov_type = "nonrobust")
NULL

#' @param candidates The methods that `Auto()` chooses from.
#' @rdname dp_methods
#' @export
Auto <- function(candidates = c("boosted_adassp", "adassp", "tukey"), count_share = 0.01,
                 max_rows = 1, ...)
  new_options("Auto", ...)

#' @rdname dp_methods
#' @export
TukeyEM <- function(models = NULL, ridge = NULL, refinements = 0, partition = "slots",
                    count_share = 0.02, limits_share = 0.05, grid_exponent = -60, ...)
  new_options("TukeyEM", ...)

#' @param response_limit Clipping threshold of the response, in its standard deviations, without
#'   inference.
#' @param row_factor Rows are clipped at this multiple of their expected norm.
#' @param max_rows Maximum number of rows per unit, with `dp_lm(unit = )`; units with more rows are
#'   sampled.
#' @param cov_type Standard errors: `"robust"` to heteroscedasticity; `"nonrobust"`, for errors of
#'   constant variance; or `"bootstrap"`, also for constant variance, by a parametric bootstrap from the
#'   released values that corrects the bias of the estimate.
#' @rdname dp_methods
#' @export
AdaSSP <- function(response_limit = 4, row_factor = 1.2, max_rows = 1,
                   scatter_share = 0.08, cov_type = "robust", ...)
  new_options("AdaSSP", ...)

#' @param rounds Number of rounds of boosting, without inference.
#' @param average Without inference the result is the mean of the last `average` rounds.
#' @param gram_share,scatter_share Shares of the budget for second moments, without inference, and
#'   for the covariance of the scores, at most 0.2.
#' @param first_clip,clip Clipping thresholds of residuals without inference: in the first round, and in
#'   later rounds.
#' @rdname dp_methods
#' @export
BoostedAdaSSP <- function(rounds = 6, average = 2, gram_share = 0.2, first_clip = 5, clip = 2.5,
                          row_factor = 1.2, max_rows = 1, ...)
  new_options("BoostedAdaSSP", ...)

#' @param steps Number of steps; `NULL`, for `FrankWolfe()`: chosen automatically.
#' @param rate Probability that a row is used in a step.
#' @param learning_rate Step size for the mean gradient; `NULL`: chosen automatically.
#' @rdname dp_methods
#' @export
DPSGD <- function(steps = 400, rate = 0.1, clip = 2.5, learning_rate = NULL, row_factor = 1.2, ...)
  new_options("DPSGD", ...)

#' @param l1 Radius of the ball of coefficients, in columns mapped to \[-1, 1\].
#' @param screen `NULL`, `"rnm"` or `"adp"`: also screen coefficients that are 0.
#' @param reach Without bounds, the number of standard deviations that is mapped to \[-1, 1\].
#' @param standardisation Made by `Standardisation()`.
#' @rdname dp_methods
#' @export
FrankWolfe <- function(l1 = 1, steps = NULL, screen = NULL, reach = 3,
                       standardisation = Standardisation(), count_share = 0.02, ...)
  new_options("FrankWolfe", ...)

#' @param magnitude_share,zoom_share,moment_share Shares of the squared mu of a release.
#' @param zooms,bins Number of histograms of equal bins, and of bins.
#' @rdname dp_methods
#' @export
Standardisation <- function(magnitude_share = 0.07, zoom_share = 0.03, moment_share = 0.06,
                            zooms = 3, bins = 16, ...)
  new_options("Standardisation", ...)

#' Options of private feature selection
#'
#' One function for each selector; give the result as the `method` of [dp_select()] or as the
#' `select` of [dp_lm()]. All options are public.
#'
#' @param share Share of eps for the selection in [dp_lm()].
#' @param ranges `"tight"` or `"published"`, which is noisier.
#' @param max_rows Maximum number of rows per unit, with `unit`; units with more rows are sampled.
#' @param ... Must be empty.
#' @return An object of class `dp_options`.
#' @seealso [dp_methods] for those of the regressions.
#' @name dp_selectors
#' @examples
#' DPKendall(share = 0.1)
#' DPSIS(top_k = "peel")
NULL

#' @rdname dp_selectors
#' @export
DPKendall <- function(share = 0.05, ranges = "tight", max_rows = 1, ...)
  new_options("DPKendall", ...)

#' @param top_k `"canonical"`, one draw, or `"peel"`, k draws.
#' @param gamma,noise Options of the canonical mechanism.
#' @rdname dp_selectors
#' @export
DPSIS <- function(top_k = "canonical", gamma = 0.5, noise = "exponential",
                  share = 0.05, max_rows = 1, ...)
  new_options("DPSIS", ...)

#' @param models Number of Lasso fits that vote; `NULL`: chosen automatically.
#' @param penalty Penalty of the Lasso on columns and response of variance 1.
#' @param partition Assignment of units to batches: `"slots"` or `"independent"`.
#' @param count_share Share of the epsilon of the selection for the noisy number of units.
#' @rdname dp_selectors
#' @export
TwoStage <- function(models = NULL, penalty = 0.1, partition = "slots", count_share = 0.1,
                     share = 0.05, ...)
  new_options("TwoStage", ...)

#' @param batch `"k"` or `"d"`: as many models as there are batches of k, or of d, units.
#' @rdname dp_selectors
#' @export
SubLasso <- function(models = NULL, penalty = 0.1, partition = "slots", count_share = 0.1,
                     share = 0.05, batch = "k", ...)
  new_options("SubLasso", ...)

#' @export
print.dp_options <- function(x, ...) {
  shown <- vapply(x$options, function(v) {
    if (inherits(v, "dp_options")) return(paste0(v$kind, "()"))
    deparsed(v)
  }, "")
  items <- paste(names(shown), "=", shown)
  # Lines end between options only.
  items <- gsub(" ", "\u00a0", paste0(items, c(rep(",", length(items) - 1L), ")")))
  lines <- strwrap(paste(c(paste0(x$kind, "(", items[1L]), items[-1L]), collapse = " "),
                   width = 0.95 * getOption("width"), exdent = nchar(x$kind) + 1L)
  cat(gsub("\u00a0", " ", lines), sep = "\n")
  invisible(x)
}
