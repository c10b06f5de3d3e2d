# What lm() gives and a private fit does not: functions of the records. And what there is no model for
# where a mechanism declined. Each is a method that stops.

# With the first argument of its generic, and others; `body` is a call.
method_of <- function(generic, body, home = parent.frame()) {
  arguments <- formals(match.fun(generic))
  as.function(c(arguments[c(names(arguments)[1L], "...")], body), home)
}

# How they are registered, and shown on a help page.
registered <- function(generics, class) sprintf("S3method(%s,%s)", generics, class)
usage_of <- function(generics, class) c(
  paste("@aliases", paste0(generics, ".", class, collapse = " ")),
  "@usage", sprintf("\\method{%s}{%s}(%s)", generics, class, vapply(generics, function(generic)
    paste(names(formals(paste0(generic, ".", class))), collapse = ", "), "")))

WITHHELD <- c("residuals", "fitted", "deviance", "logLik")
# What else lm() has, and the records with it.
OF_RECORDS <- c(WITHHELD, "case.names", "weights", "rstandard", "rstudent", "hatvalues", "cooks.distance",
                "influence", "dfbeta", "dfbetas", "drop1", "add1", "simulate", "profile")
for (generic in OF_RECORDS)
  assign(paste0(generic, ".dp_lm"), method_of(generic, call("private_stop", paste0(generic, "()"))))
# step() asks it first.
extractAIC.dp_lm <- method_of("extractAIC", quote(private_stop("extractAIC(), which step() needs,")))

#' @evalNamespace registered(c(OF_RECORDS, "extractAIC"), "dp_lm")
NULL

# Results that are no models. stats::coef() and residuals() would find nothing there, and not say so.
IN_PLACE_OF_MODELS <- c(
  dp_moments = "moments_lm(moments, y ~ x) fits models", dp_curve = "as.data.frame() has its numbers",
  dp_selection = "dp_lm(selection, data, eps = 1) fits the chosen terms", dp_effect = "tidy() has its numbers",
  dp_plan = "print() shows it")
OF_RESULTS <- c("coef", "vcov", "predict", "plot", "anova", "glance", "residuals", "fitted", "update")

no_model <- function(generic, x) {
  hint <- IN_PLACE_OF_MODELS[intersect(class(x), names(IN_PLACE_OF_MODELS))]
  refuse(generic, "() is not for an object of class ", class(x)[1L], if (length(hint)) paste0("; ", hint[[1L]]))
}
for (generic in OF_RESULTS)
  assign(paste0(generic, ".dp_result"),
         method_of(generic, call("no_model", generic, as.name(names(formals(get(generic)))[1L]))))

#' @evalNamespace registered(OF_RESULTS, "dp_result")
NULL

OF_MODELS <- c("coef", "vcov", "confint", "predict", "plot", "tidy", "glance", "residuals", "fitted", "deviance",
               "logLik", "df.residual", "sigma", "terms", "anova", "model.frame", "model.matrix", "augment")
for (generic in OF_MODELS)
  assign(paste0(generic, ".dp_not_released"),
         method_of(generic, call("not_released_stop", paste0(generic, "()"))))
rm(generic)

#' @evalNamespace registered(OF_MODELS, "dp_not_released")
NULL

# emmeans stops with what is returned as text.
recover_data.dp_not_released <- function(object, ...) not_released("emmeans()")

# What stands for a fit when there is none.

#' When a mechanism declines
#'
#' Some mechanisms test privately whether they can release a useful model, and decline if they cannot.
#' Then [dp_lm()] returns an object of class `dp_not_released`: the budget is spent, and nothing else is
#' revealed. It is a result and not an error, because an error that depended on the records would itself
#' reveal something about them. The printed object has the reason and what to do next.
#'
#' @param x,object,formula Such an object.
#' @param ... Not used.
#' @return `print()` and `summary()` return the object, `nobs()` a private estimate of the number of
#'   rows; the others stop with a condition of class `dpreg_not_released`.
#' @seealso [dp_plan()], which gives the probability of this in advance.
#' @name dp_not_released
#' @eval usage_of(OF_MODELS, "dp_not_released")
#' @examplesIf dpreg_available()
#' fit <- dp_lm(price ~ carat, head(diamonds, 50), eps = 0.1)
#' if (inherits(fit, "dp_not_released")) fit
NULL

#' @rdname dp_not_released
#' @export
print.dp_not_released <- function(x, ...) {
  cat("\n", x$text, "\n\n", sep = "")
  invisible(x)
}

