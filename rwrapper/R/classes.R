# Responses that are classes, in the terms of MASS::polr() and nnet::multinom().

#' Ordered and unordered classes with differential privacy
#'
#' `dp_ordinal()` and `dp_multinomial()` are counterparts of `MASS::polr()` and `nnet::multinom()`
#' with the guarantee of [dp_lm()].
#'
#' `dp_ordinal()` fits a cumulative logit or probit model: a class is at most the k-th with probability
#' F(zeta\[k\] - x'beta), so that a positive coefficient makes higher classes more probable.
#'
#' `dp_multinomial()` fits a multinomial logit: the logarithm of the odds of each class against the first
#' is x'beta of that class.
#'
#' Both estimate what maximum likelihood estimates, by two to six Newton steps from a model without
#' slopes. Each record has one row for each threshold or class, made in batches and never stored;
#' standard errors are clustered.
#'
#' The response is a factor, whose levels are public and in order, or is declared in `levels`.
#'
#' @inheritParams dp_lm
#' @param formula `rating ~ age + region`. The response is a column.
#' @param levels `list(column = c("first", "second"))` for text columns and numbers: those of the response
#'   in their order, the first being the baseline of `dp_multinomial()`.
#' @param bounds As for [dp_lm()]; of covariates.
#' @param method As in `MASS::polr()`: `"logistic"` or `"probit"`.
#' @param object,x,fit A fit made by one of these functions.
#' @param newdata A data frame, not protected.
#' @param type `"class"`: the most probable class; `"probs"`: probabilities of all classes.
#' @param interval `"confidence"`: also give limits of probabilities, for sampling error and privacy noise.
#' @param level Probability with which limits cover.
#' @param winsorise `TRUE` clips covariates to the released limits, to avoid extrapolation.
#' @param conf.int,conf.level,exponentiate As for [tidy()][tidy.dp_lm]; exponentials are odds ratios.
#' @param parm Names or positions of coefficients; slopes, when missing.
#' @param ... Must be empty; of `plot()`, given to [plot()][dp_plots].
#' @return An object of class `dp_ordinal` or `dp_multinomial`, and `dp_classes` and `dp_lm`, or of class
#'   [dp_not_released] if the mechanism declined. It contains no records. [dp_lm_methods] lists
#'   methods: `confint()`, `vcov()`, `summary()`; [anova()][anova.dp_lm] tests terms. `coef()`:
#'   slopes of `dp_ordinal()`, whose thresholds are `fit$zeta`; of `dp_multinomial()` a matrix with
#'   a row for each class but the first. `tidy()`: as of broom, with `coef.type` or `y.level`.
#'   `predict()`: a factor, a matrix of probabilities or, with an interval, a data frame with `row`,
#'   `class`, `fit`, `se.fit`, `lwr` and `upr`. `class_effects()`: effects of variables on
#'   probabilities, averaged over `newdata`: for a numeric variable the derivative through all terms
#'   that contain it, `NaN` if one is discontinuous; for a level the difference from the first
#'   level.
#' @references
#' McCullagh, P. (1980). Regression models for ordinal data. *Journal of the Royal Statistical Society B*.
#'
#' Le Cam, L. (1956). On the asymptotic theory of estimation and testing hypotheses. *Proceedings of the
#' Third Berkeley Symposium*.
#' @name dp_classes
#' @examplesIf dpreg_available("dp_ordinal")
#' fit <- dp_ordinal(cut ~ carat + table, diamonds, eps = 1)
#' summary(fit)
#' predict(fit, data.frame(carat = c(0.5, 1), table = 57), type = "probs")
NULL

#' @rdname dp_classes
#' @export
dp_ordinal <- function(formula, data, eps, delta = 1e-5, method = c("logistic", "probit"), levels = NULL,
                       bounds = NULL, unit = NULL, max_rows = NULL, weights = NULL, weight_limit = NULL,
                       budget = NULL, memory = NULL, rng = NULL, ...) {
  asked <- begun("dp_ordinal", CLASS_HINTS, ...)
  asked$given$method <- NULL
  asked$given$link <- c(logistic = "logit", probit = "probit")[[one_of(method)]]
  fit <- class_fit("ordinal", asked, asked$given$link)
  if (inherits(fit, "dp_ordinal")) fit$zeta <- fit$coefficients[thresholds_of(fit)]
  fit
}

#' @rdname dp_classes
#' @export
dp_multinomial <- function(formula, data, eps, delta = 1e-5, levels = NULL, bounds = NULL, unit = NULL,
                           max_rows = NULL, weights = NULL, weight_limit = NULL, budget = NULL,
                           memory = NULL, rng = NULL, ...)
  class_fit("multinomial", begun("dp_multinomial", CLASS_HINTS, ...), "logit")

CLASS_HINTS <- c(
  LM_HINTS[c("subset", "na.action", "contrasts", "epsilon", "seed", "ledger", "alpha", "level",
             "cluster")],
  ref = "make it the first level before the call: relevel(factor, ref)",
  Hess = "leave it out: standard errors are always there", start = "it finds its own start",
  link = "write method = \"probit\"", family = "leave it out: the function says which model it is"
)

class_fit <- function(model, asked, link) {
  formula <- asked$formula
  posed <- with_class_number(formula)
  response <- as.character(formula[[2L]])
  check_classes(response, seen_by(asked, posed))
  design <- seen_design(asked, posed)
  classes <- design$source[[response]]$levels
  if (response %in% all.vars(design$terms[[3L]]))
    refuse("formula: ", sQuote(response, FALSE), " is the response and on the right too; leave it out there")
  request <- request_of(asked, design, levels = stats::setNames(list(as.list(classes)), response))
  request$matrix$response <- response
  answer <- call_release(model, request)
  answer$names <- sub(":Intercept$", ":(Intercept)", answer$names)
  fit <- new_fit(answer, design, asked$call)
  fit$formula <- without_records(formula)
  if (inherits(fit, "dp_not_released")) return(fit)
  fit$response <- response
  fit$lev <- classes
  fit$family <- list(name = model, link = link)
  fit$covariates <- answer$classes$covariates
  structure(fit, class = c(paste0("dp_", model), "dp_classes", "dp_lm"))
}

# The number of the class as the response, from 0.
with_class_number <- function(formula) {
  if (!inherits(formula, "formula") || length(formula) != 3L || !is.name(formula[[2L]]))
    refuse("formula: the response must be one column, a factor with public levels: write rating ~ age")
  if ("." %in% all.vars(formula[[3L]]))
    refuse("formula: write out the covariates, such as ~ age + region: . would be the response too")
  if (attr(stats::terms(formula), "intercept") == 0L)
    refuse("formula: the model has an intercept for each class or threshold; leave out the 0 or -1")
  number <- call("I", call("-", call("as.integer", formula[[2L]]), 1))
  formula_of(number, formula[[3L]], environment(formula))
}

check_classes <- function(response, asked) {
  shown <- sQuote(response, FALSE)
  if (!response %in% names(asked$seen)) refuse("formula: there is no column ", shown, " in the data")
  x <- asked$seen[[response]]
  if (!is.null(asked$levels[[response]]) || is.factor(x)) return(invisible())
  if (is.logical(x)) refuse("formula: ", shown, " is FALSE or TRUE; dp_glm() fits a logistic regression")
  example <- if (is.numeric(x)) "1:3" else "c(\"low\", \"mid\", \"high\")"
  refuse("levels: column ", shown, " is not a factor, and its classes must not be read from the data; ",
         "add levels = list(", response, " = ", example, ") to the call")
}

thresholds_of <- function(fit) paste(fit$lev[-length(fit$lev)], fit$lev[-1L], sep = "|")

# Names of coefficients other than intercepts and thresholds.
slopes_of <- function(fit) {
  all <- names(fit$coefficients)
  setdiff(all, if (inherits(fit, "dp_ordinal")) thresholds_of(fit) else paste0(fit$lev[-1L], ":(Intercept)"))
}

# The column of the model matrix of each coefficient: several classes have one each.
covariate_of <- function(fit) {
  if (!inherits(fit, "dp_multinomial")) return(names(fit$coefficients))
  rep(c("(Intercept)", fit$covariates), length(fit$lev) - 1L)
}

#' @rdname dp_classes
#' @export
predict.dp_classes <- function(object, newdata, type = c("class", "probs"), interval = c("none", "confidence"),
                               level = 0.95, winsorise = TRUE, ...) {
  hints <- c(PREDICT_HINTS, se.fit = "write interval = \"confidence\"")
  X <- predicted_rows(object, newdata, winsorise, hints, ...)
  type <- one_of(type)
  interval <- one_of(interval)
  check_level(level)
  if (interval != "none" && type == "class")
    refuse("interval: write type = \"probs\": limits are those of probabilities")
  rows <- row.names(newdata)
  whole <- stats::complete.cases(X)
  # By class, row, and quantity: a probability, its error or a limit.
  table <- array(NA_real_, c(length(object$lev), length(rows), 4L))
  table[, whole, ] <- answer_of(object, "probs", alpha = 1 - level, count = sum(whole),
                                rows = pack_doubles(X[whole, , drop = FALSE]))
  if (type == "class") {
    best <- rep(NA_integer_, length(rows))
    best[whole] <- apply(table[, whole, 1L, drop = FALSE], 2L, which.max)
    return(stats::setNames(factor(object$lev[best], object$lev), rows))
  }
  if (interval == "none")
    return(matrix(table[, , 1L], length(rows), byrow = TRUE, dimnames = list(rows, object$lev)))
  columns <- lapply(seq_len(4L), function(k) as.vector(table[, , k]))
  names(columns) <- c("fit", "se.fit", "lwr", "upr")
  data.frame(row = rep(rows, each = length(object$lev)), class = factor(object$lev, object$lev), columns)
}

#' @rdname dp_classes
#' @export
class_effects <- function(fit, newdata, level = 0.95) {
  if (inherits(fit, "dp_not_released")) not_released_stop("dp_ordinal()")
  if (!inherits(fit, "dp_classes")) refuse("fit must be made by dp_ordinal() or dp_multinomial()")
  if (missing(newdata) || is.null(newdata)) private_stop("class_effects() without newdata")
  check_level(level)
  whole <- stats::complete.cases(new_rows(fit, newdata))
  if (!any(whole)) refuse("newdata has no complete row to average over")
  changed <- changes_of(fit, as.data.frame(newdata)[whole, , drop = FALSE])
  X <- do.call(rbind, lapply(changed, function(change) rbind(change$low, change$high)))
  found <- answer_of(fit, "effects", alpha = 1 - level, rows = pack_doubles(X), count = nrow(X),
                     changes = length(changed), widths = pack_doubles(unlist(lapply(changed, `[[`, "width"))))
  terms <- vapply(changed, `[[`, "", "label")
  as_tibble(list(class = rep(fit$lev, each = length(terms)),
                 term = rep(terms, length(fit$lev)), estimate = found[["dy/dx"]],
                 std.error = found[["std err"]], statistic = found$z, p.value = found[["P>|z|"]],
                 conf.low = found$lower, conf.high = found$upper))
}

# Discontinuous functions, which have no derivative.
JUMPS <- c("<", "<=", ">", ">=", "==", "!=", "%/%", "%%", "%in%", "floor", "ceiling", "trunc", "round", "signif",
           "sign", "cut", "findInterval", "ifelse")

# Rows that differ in one variable: a number slightly below and above, or the first level and
# another.
changes_of <- function(fit, newdata) {
  calls <- as.list(attr(stats::delete.response(fit$terms), "variables"))[-1L]
  unlist(lapply(regressors_of(fit), function(name) {
    rows <- function(values) {
      newdata[[name]] <- values
      new_rows(fit, newdata)
    }
    change <- function(label, low, high, width)
      list(list(label = label, low = rows(low), high = rows(high), width = rep_len(width, nrow(newdata))))
    x <- newdata[[name]]
    source <- fit$source[[name]]
    levels <- if (identical(source$kind, "logical")) c(FALSE, TRUE) else source$levels
    if (!is.null(levels)) {
      all <- function(level) if (is.factor(x)) factor(rep(level, length(x)), levels) else rep(level, length(x))
      return(do.call(c, lapply(levels[-1L], function(level) change(
        paste0(name, ": ", level, " - ", levels[1L]), all(levels[1L]), all(level), 1))))
    }
    own <- Filter(function(call) name %in% all.vars(call), calls)
    if (is.matrix(x) || any(unlist(lapply(own, all.names)) %in% JUMPS)) return(change(name, x, x, NA_real_))
    # For 0 the step is that of the largest number.
    size <- abs(as.double(x))
    size[size == 0] <- if (any(size > 0)) max(size) else 1
    low <- x - 1e-6 * size
    high <- x + 1e-6 * size
    change(name, low, high, as.double(high) - as.double(low))
  }), recursive = FALSE)
}

#' @rdname dp_classes
#' @export
coef.dp_ordinal <- function(object, ...) object$coefficients[slopes_of(object)]

#' @rdname dp_classes
#' @export
coef.dp_multinomial <- function(object, ...)
  matrix(object$coefficients, length(object$lev) - 1L, byrow = TRUE,
         dimnames = list(object$lev[-1L], c("(Intercept)", object$covariates)))

#' @rdname dp_classes
#' @export
tidy.dp_ordinal <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  found <- tidy.dp_lm(x, conf.int, conf.level, exponentiate, ...)
  found$coef.type <- ifelse(found$term %in% thresholds_of(x), "scale", "coefficient")
  found
}

#' @rdname dp_classes
#' @export
tidy.dp_multinomial <- function(x, conf.int = FALSE, conf.level = 0.95, exponentiate = FALSE, ...) {
  found <- tidy.dp_lm(x, conf.int, conf.level, exponentiate, ...)
  term <- covariate_of(x)
  columns <- unclass(found)
  columns$term <- term
  as_tibble(c(list(y.level = rep(x$lev[-1L], each = length(term) / (length(x$lev) - 1L))),
              columns[names(found)]))
}

#' @rdname dp_classes
#' @export
augment.dp_classes <- function(x, newdata = NULL, ...) {
  if (is.null(newdata)) private_stop("augment() without newdata")
  no_more("augment()", c(data = "write newdata = "), ...)
  beside(newdata, list(.fitted = stats::predict(x, newdata)))
}

#' @rdname dp_classes
#' @export
plot.dp_classes <- function(x, parm, ...) {
  if (missing(parm)) parm <- slopes_of(x)
  plot.dp_lm(x, parm, ...)
}
