# Where a fit may start: an earlier release, or public data.

#' Start a private fit from public data
#'
#' `public_start()` fits public data exactly. `dp_lm(start = )` takes scales, second moments and
#' starting values from it at no cost.
#'
#' The public data need not be from the same population: the fit spends a part of the budget on a
#' check for changes. **Never use private records here**: no noise is added, and every fit that
#' starts from the result would reveal something about them.
#'
#' @param formula As for [dp_lm()]; it must be that of the private fit.
#' @param data A data frame, or paths of Parquet files. **Public**: nothing here is protected.
#' @param levels As for [dp_lm()].
#' @return An object of class `dp_start`.
#' @seealso The `start` of [dp_lm()].
#' @export
#' @examplesIf dpreg_available("public_start")
#' start <- public_start(price ~ carat, head(diamonds, 2000))
#' start
#' dp_lm(price ~ carat, diamonds, eps = 1, start = start)
public_start <- function(formula, data, levels = NULL) {
  needs_data(missing(data), formula)
  data <- data_of(data)
  formula <- as_formula(formula)
  design <- design_of(formula, data, levels)
  request <- list(formula = deparsed(design$formula), matrix = sent_design(design, list(data = data)))
  answer <- call_python("public_start", request)
  structure(list(json = answer$json, source = answer$source, names = answer$names,
                 xlevels = levels_of(design$frame)), class = "dp_start")
}

#' @export
print.dp_start <- function(x, ...) {
  cat("Start of a private fit: ", x$source, "\n", sep = "")
  invisible(x)
}

levels_of <- function(columns) without_nulls(lapply(columns, base::levels))

# JSON, and the levels of factors, which Python does not see.
start_sent <- function(start) {
  if (is.null(start)) return(NULL)
  if (inherits(start, "dp_moments"))
    return(list(json = start$json, xlevels = levels_of(start$columns)))
  if (!inherits(start, c("dp_lm", "dp_start", "dp_not_released")))
    refuse("start must be a released fit, moments or what public_start() returns, not ", described(start))
  start[c("json", "xlevels")]
}

check_start_levels <- function(start, design) {
  levels <- levels_of(design$frame)
  for (name in intersect(names(levels), names(start$xlevels)))
    if (!identical(levels[[name]], start$xlevels[[name]]))
      refuse("start is of another model: levels of ", sQuote(name, FALSE), " differ; start from a fit of the ",
             "same formula, columns and levels, or leave start out")
}
