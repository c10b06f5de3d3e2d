# Families with a link, and quantiles.

#' Logistic, Poisson, gamma, negative binomial and quantile regression with differential privacy
#'
#' `dp_glm()` is [glm()] with the guarantee of [dp_lm()]. The score equations are solved iteratively from
#' noisy sums of clipped scores. There are no bounds to guess and nothing to tune.
#'
#' The estimand is that of maximum likelihood with influential rows and scores clipped;
#' `fit$estimand` has the thresholds and the estimated effect of clipping. Standard errors are
#' sandwich estimates plus the privacy noise, so they are valid for overdispersed counts. For
#' separated data the coefficients are finite, because each step is bounded; without inference they
#' are shrunk.
#'
#' @inheritParams dp_lm
#' @param formula A formula, as for [dp_lm()]. The response of `binomial()` is `TRUE` or `FALSE`, 1 or 0,
#'   or a proportion; that of `poisson()` and of the families with a log link is not negative. Other
#'   values are clipped. `offset(log(years))`
#'   is added to the linear predictor as it is.
#' @param family `binomial()`, `binomial("probit")`, `binomial("cloglog")`, `poisson()`, `gaussian()`,
#'   `Gamma("log")`, `MASS::negative.binomial(theta)`, or the names `"binomial"`, `"poisson"`,
#'   `"gaussian"`, `"gamma"` and `"negativebinomial"` (whose `theta` is estimated for 5% of the squared
#'   mu; `1 / fit$family$alpha`); or [Quantile()].
#' @param method `"auto"`, `"boosted_adassp"` or [BoostedAdaSSP()]; of `binomial()` and `poisson()` also
#'   `"tukey"` or [TukeyEM()], the Tukey median of Firth fits to many parts of the data.
#' @return An object of class `dp_glm` and `dp_lm`, or of class [dp_not_released] if the mechanism
#'   declined. [dp_lm_methods] lists its methods. [predict()][predict.dp_lm] gives means unless
#'   `type = "link"`; `tidy(fit, exponentiate = TRUE)` gives odds ratios, or ratios of means.
#' @seealso [dp_lm()].
#' @export
#' @examplesIf dpreg_available()
#' fit <- dp_glm(I(price > 5000) ~ carat, diamonds, eps = 1)
#' summary(fit)
#' exp(confint(fit))
#' predict(fit, data.frame(carat = c(0.5, 1)), interval = "confidence")
dp_glm <- function(formula, data, eps, delta = 1e-5, family = stats::binomial(), method = "auto",
                   select = NULL, k = NULL, split = NULL, levels = NULL, bounds = NULL, unit = NULL,
                   max_rows = NULL, weights = NULL, weight_limit = NULL, budget = NULL, inference = TRUE,
                   diagnostics = FALSE, memory = NULL, rng = NULL, ...) {
  asked <- begun("dp_glm", GLM_HINTS, ...)
  asked$given$link <- link_sent(family)
  private_fit("glm", asked)
}

#' The family of a quantile regression
#'
#' @param q In \[0.01, 0.99\]; 0.5 is the median.
#' @return What `dp_glm(family = )` takes.
#' @seealso [dp_glm()].
#' @export
#' @examples
#' Quantile(0.9)
Quantile <- function(q = 0.5) new_options("Quantile")

LINKS <- c(binomial = "logit", poisson = "log", gaussian = "identity", Gamma = "log")
OTHER_LINKS <- c("probit", "cloglog")

family_sent <- function(family) {
  if (is.function(family)) family <- tryCatch(family(), error = function(e) family)
  if (is.function(family)) refuse("family must be a family or its name, such as binomial(), not a function")
  if (!inherits(family, "family")) return(family)
  if (startsWith(family$family, "Negative Binomial")) return(negative_binomial_sent(family))
  canonical <- LINKS[family$family]
  other <- family$family == "binomial" && family$link %in% OTHER_LINKS
  if (!is.na(canonical) && family$link != canonical && !other)
    refuse("family: the link of ", family$family, " is ", canonical,
           if (family$family == "binomial") ", probit or cloglog", "; write family = ",
           family$family, if (family$family == "Gamma") "(link = \"log\")" else "()")
  if (family$family == "Gamma") "gamma" else family$family
}

# As in MASS: theta is in the name, and with all digits in the variance function.
negative_binomial_sent <- function(family) {
  if (family$link != "log")
    refuse("family: the link of negative.binomial is log; write family = negative.binomial(theta)")
  theta <- get0(".Theta", environment(family$variance))
  structure(list(kind = "NegativeBinomial", options = list(alpha = 1 / theta)), class = "dp_options")
}

# NULL is the canonical link.
link_sent <- function(family)
  if (inherits(family, "family") && family$link %in% OTHER_LINKS) family$link

GLM_HINTS <- c(
  LM_HINTS[c("subset", "na.action", "contrasts", "epsilon", "seed", "max_rows",
             "ledger", "alpha", "level")],
  offset = "write it into the formula: y ~ x + offset(log(years))",
  link = "write it into the family: binomial(link = \"probit\")",
  fit_stats = "R squared and sigma are those of dp_lm(); diagnostics = TRUE is there"
)

# A family as plain data; NULL is the linear model.
family_of <- function(answer) {
  if (is.null(answer) || identical(answer$loss, "squared")) return(NULL)
  without_nulls(answer[c("name", "link", "loss", "level", "alpha")])
}

mean_of <- function(family, predictor)
  switch(family$link %||% "identity", logit = stats::plogis(predictor),
         probit = stats::pnorm(predictor), cloglog = -expm1(-exp(predictor)),
         log = exp(predictor), predictor)

# The derivative of mean_of().
slope_of <- function(family, predictor)
  switch(family$link %||% "identity", logit = stats::dlogis(predictor),
         probit = stats::dnorm(predictor), cloglog = exp(pmin(predictor, 700) - exp(predictor)),
         log = exp(predictor), 1)

family_title <- function(family)
  switch(family$name %||% "gaussian", gaussian = "linear", binomial = "logistic",
         poisson = "Poisson", gamma = "gamma", survival = "proportional hazards",
         ordinal = paste("ordered", family$link), multinomial = "multinomial logit",
         negativebinomial = paste0("negative binomial (theta ", format(1 / family$alpha, digits = 3L), ")"),
         quantile = paste0("quantile (", family$level, ")"))
