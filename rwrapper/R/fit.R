# The calls that spend: each sends one request to Python and makes plain R data of the answer.

#' Linear regression with differential privacy
#'
#' No bounds on the data and nothing to tune.  The result holds released numbers only.
#'
#' Formulas, factors and contrasts are R's own.  A formula may use terms whose value in one row
#' depends on that row alone: `log(x)`, `I(x^2)`, `x:z`, `poly(x, 3, raw = TRUE)`,
#' `factor(x, levels = c("a", "b"))`, `ns(x, knots = c(2, 4), Boundary.knots = c(0, 6))`.  Others
#' (`scale(x)`, `poly(x, 3)`) are refused with a public alternative.  So is `t2 - t1` of
#' date-times, whose unit R chooses by looking at all rows: write
#' `difftime(t2, t1, units = "hours")`.  What the data frame says of its columns is public: names,
#' classes, the levels of a factor, the unit of a difftime.  Rows with a missing value are dropped one by one,
#' silently: how many is private.
#'
#' [update()] makes a new release, and spends again.
#'
#' @param formula A formula, as for [lm()], made of terms that work row by row.
#' @param data A data frame.  Private.
#' @param eps Privacy loss in nats, greater than 0.
#' @param delta Failure probability, in \[0, 1); below 1 / (number of rows).
#' @param method `"auto"`, `"tukey"`, `"adassp"`, `"boosted_adassp"`, `"dpsgd"` or
#'   `"frank_wolfe"`, or options such as [TukeyEM()].
#' @param select `NULL`, or how to choose `k` columns privately first: `"kendall"`,
#'   `"two_stage"`, `"sub_lasso"`, `"sis"`, or options such as [DPKendall()].
#' @param k How many columns `select` keeps.
#' @param split Chance of a unit to be used for `select` and not for the fit: then intervals are
#'   honest, not conditional on the choice.
#' @param levels `list(column = c("first", "second"))` for text columns.
#' @param unit Name of the column that says which rows belong together, such as a person with
#'   several rows; `NULL`: one row is one unit.
#' @param budget Made by [dp_budget()]; charged before a record is read, and may refuse.
#' @param inference Also release what standard errors and intervals need?
#' @param rng A whole number makes the result reproducible and **not private**.
#' @param ... Must be empty: there are no `weights`, `subset`, `na.action` or `contrasts`, and the
#'   error says what to do instead.
#' @return An object of class `dp_lm`, or of class `dp_not_released` when the mechanism itself
#'   declined.  Plain data: it can be saved, and holds no record.
#' @export
#' @examples
#' if (dpreg_available()) {
#'   diamonds <- load_diamonds()
#'   fit <- dp_lm(price ~ carat + depth + table, diamonds, eps = 1, delta = 1e-6)
#'   print(summary(fit))
#'   print(confint(fit))
#'   predict(fit, head(diamonds))
#' }
dp_lm <- function(formula, data, eps, delta = 1e-5, method = "auto", select = NULL, k = NULL,
                  split = NULL, levels = NULL, unit = NULL, budget = NULL, inference = TRUE, rng = NULL,
                  ...) {
  no_more("dp_lm()", LM_HINTS, ...)
  call <- match.call()
  check_number(eps, "eps", "1")
  check_number(delta, "delta", "1e-6")
  check_method(method, "method")
  if (!is.null(select)) check_method(select, "select")
  if (!is.null(k)) check_number(k, "k", "5")
  if (!is.null(split)) check_number(split, "split", "0.5")
  check_flag(inference, "inference")
  check_unit(unit, data)
  design <- design_of(formula, data, levels)
  request <- list(
    formula = public_text(formula), eps = eps, delta = delta, inference = inference,
    matrix = sent_design(design, data, unit)
  )
  # What is not given is left to Python, whose defaults these are.
  if (!missing(method)) request$method <- as_sent(method)
  request$select <- as_sent(select)
  request$k <- k
  request$split <- split
  request$budget <- budget_sent(budget)
  request$rng <- seed_sent(rng)
  answer <- call_python("lm", request)
  new_fit(answer, design, formula, public_call(call))
}

new_fit <- function(answer, design, formula, call) {
  # No environment goes with the fit: one of a function could hold the records.
  if (!is.null(formula)) environment(formula) <- globalenv()
  if (!isTRUE(answer$released))
    return(structure(c(answer[c("method", "reason", "advice", "text")],
                       list(nobs = answer$units, privacy = certificate(answer), formula = formula,
                            selected = unlist(answer$selected), call = call)),
                     class = "dp_not_released"))
  names <- sub("^Intercept$", "(Intercept)", unlist(answer$names))
  terms <- design$terms
  if (!is.null(terms)) attr(terms, ".Environment") <- globalenv()
  fit <- list(
    coefficients = stats::setNames(unpack_doubles(answer$estimates), names),
    covariance = with_names(unpack_doubles(answer$covariance), names),
    sampling = unpack_doubles(answer$sampling),
    nobs = answer$units, method = answer$method,
    law = lapply(answer$law, function(v) as.numeric(unlist(v))),
    notes = as.character(unlist(answer$notes)), no_errors = answer$no_errors,
    selected = unlist(answer$selected),
    limits = unpack_doubles(answer$limits), privacy = certificate(answer),
    response = answer$response, formula = formula, call = call, terms = terms,
    source = design$source, contrasts = design$contrasts,
    xlevels = Filter(Negate(is.null), lapply(design$frame, base::levels))
  )
  structure(fit, class = "dp_lm")
}

certificate <- function(answer) structure(answer$privacy, class = "dp_certificate")

#' The same object for a fit that was made in Python
#'
#' Terms come with it when R reads the formula the same way: then it can predict here too.
#' @noRd
fit_from_python <- function(answer) {
  text <- answer$formula
  formula <- tryCatch(stats::as.formula(text, globalenv()), error = function(e) NULL)
  if (!isTRUE(answer$released)) return(new_fit(answer, NULL, formula, NULL))
  answer$names <- gsub("\\[T\\.([^]]*)\\]", "\\1", unlist(answer$names))
  design <- tryCatch(design_of_schema(formula, answer$schema), error = function(e) NULL)
  names <- sub("^Intercept$", "(Intercept)", answer$names)
  if (!all(names %in% design$names)) design <- NULL
  new_fit(answer, design, formula, NULL)
}

design_of_schema <- function(formula, schema) {
  # What formulaic does with every factor.
  old <- options(contrasts = c("contr.treatment", "contr.treatment"))
  on.exit(options(old))
  design_of(formula, structure(lapply(schema, function(column)
    if (is.null(column$levels)) numeric() else factor(character(), unlist(column$levels))),
    class = "data.frame", row.names = integer()))
}

with_names <- function(m, names) {
  if (!is.null(m)) dimnames(m) <- list(names, names)
  m
}

#' Private feature selection
#'
#' @inheritParams dp_lm
#' @param formula A formula; the columns of its model matrix are the candidates, the dummies of a
#'   factor one by one.  `y ~ .` takes all columns.
#' @param k How many columns to choose.
#' @param method `"kendall"`, `"two_stage"`, `"sub_lasso"`, `"sis"`, or options such as
#'   [DPSIS()].
#' @param ... Must be empty.
#' @return An object of class `dp_selection`, with `selected`, `candidates` and `privacy`.
#' @export
#' @examples
#' if (dpreg_available("dp_select")) {
#'   dp_select(price ~ carat + depth + table, load_diamonds(), k = 1, eps = 0.5)
#' }
dp_select <- function(formula, data, k, eps, delta = 0, method = "kendall", levels = NULL,
                      unit = NULL, budget = NULL, rng = NULL, ...) {
  no_more("dp_select()", LM_HINTS, ...)
  check_number(k, "k", "5")
  check_number(eps, "eps", "0.5")
  check_number(delta, "delta", "1e-6")
  check_method(method, "method")
  check_unit(unit, data)
  design <- design_of(formula, data, levels)
  request <- list(
    formula = public_text(formula), k = k, eps = eps, delta = delta, method = as_sent(method),
    matrix = sent_design(design, data, unit)
  )
  request$budget <- budget_sent(budget)
  request$rng <- seed_sent(rng)
  answer <- call_python("select", request)
  environment(formula) <- globalenv()
  answer$formula <- formula
  answer$privacy <- certificate(answer)
  answer$selected <- as.character(unlist(answer$selected))
  answer$candidates <- as.character(unlist(answer$candidates))
  structure(answer, class = "dp_selection")
}

#' Plan a private regression before any data are touched
#'
#' What to expect of [dp_lm()], from public numbers only.
#'
#' @param n A guess of the number of rows, made without the data or with a private count.
#' @param d The number of columns of the model matrix, the intercept not among them.
#' @param eps,delta As for [dp_lm()].
#' @param method `"auto"`, `"tukey"`, `"adassp"` or `"boosted_adassp"`.
#' @return An object of class `dp_plan`; print it, or plot it: see [dp_plots].
#' @export
#' @examples
#' if (dpreg_available("dp_plan")) dp_plan(n = 50000, d = 10, eps = 1)
dp_plan <- function(n, d, eps, delta = 1e-5, method = "auto") {
  check_number(n, "n", "50000")
  check_number(d, "d", "10")
  check_number(eps, "eps", "1")
  check_number(delta, "delta", "1e-6")
  check_method(method, "method", options = FALSE)
  request <- list(n = n, d = d, eps = eps, delta = delta, method = method)
  structure(call_python("plan", request), class = "dp_plan")
}

#' An allowance over many releases
#'
#' Releases that name a budget are charged to it before a record is read, and refused when it
#' cannot cover them.  Without a `ledger` a budget ends with the session.
#'
#' @param eps Total privacy loss, in nats, that the releases may add up to.
#' @param delta Total failure probability.
#' @param ledger Path of a file that keeps the charges, shared by all sessions that name it, those
#'   of Python too.
#' @return An object of class `dp_budget`.  [as.data.frame()] gives its charges.
#' @export
#' @examples
#' if (dpreg_available()) {
#'   budget <- dp_budget(eps = 2, delta = 1e-5)
#'   fit <- dp_lm(price ~ carat, load_diamonds(), eps = 0.5, delta = 1e-6, budget = budget)
#'   budget
#' }
dp_budget <- function(eps, delta = 0, ledger = NULL) {
  check_number(eps, "eps", "1")
  check_number(delta, "delta", "1e-5")
  budget <- list(eps = eps, delta = delta, ledger = ledger)
  if (is.null(ledger)) {
    budget$key <- call_python("new_budget", list(eps = eps, delta = delta))
  } else {
    if (!is.character(ledger) || length(ledger) != 1L || is.na(ledger) || !nzchar(ledger))
      refuse("ledger: the path of a file is needed")
    budget$ledger <- absolute(ledger)
  }
  budget <- structure(budget, class = "dp_budget")
  budget_state(budget) # makes the file, or says what is wrong with it
  budget
}

# The same file after setwd(); normalizePath() leaves a file that is not there yet as it is.
absolute <- function(path) {
  path <- path.expand(path)
  if (!grepl("^(/|[A-Za-z]:[/\\\\]|\\\\\\\\)", path)) path <- file.path(getwd(), path)
  file.path(normalizePath(dirname(path), mustWork = FALSE), basename(path))
}

budget_state <- function(budget) call_python("budget_state", budget_sent(budget))

budget_sent <- function(budget) {
  if (is.null(budget)) return(NULL)
  if (!inherits(budget, "dp_budget")) refuse("budget: make one with dp_budget(eps, delta)")
  unclass(budget)
}

#' Public data to try things on
#'
#' Prices and qualities of 53,940 diamonds (`diamonds` of the package ggplot2): `price` in US
#' dollars, `carat`, `cut`, `color` and `clarity` (ordered), `depth`, `table`, `x`, `y`, `z`.
#'
#' @return A data frame.
#' @export
#' @examples
#' if (dpreg_available()) str(load_diamonds())
load_diamonds <- function() {
  columns <- lapply(call_python("diamonds", list()), function(column) {
    if (is.null(column$codes)) return(unpack_doubles(column$values))
    codes <- as.integer(unpack_doubles(column$codes))
    factor(column$levels[codes], column$levels, ordered = column$ordered)
  })
  columns$price <- as.integer(columns$price)
  structure(columns, class = "data.frame", row.names = .set_row_names(length(columns$price)))
}

# Plain values for the other side: scalars stay, longer vectors become lists.
as_sent <- function(x) {
  if (inherits(x, "dp_options"))
    return(list(kind = x$kind, options = lapply(x$options, as_sent)))
  if (is.list(x)) return(lapply(x, as_sent))
  if (length(x) > 1L || !is.null(names(x))) return(lapply(as.list(x), as_sent))
  x
}

# As text: R has no integers beyond 2^31.
seed_sent <- function(rng) {
  if (is.null(rng)) return(NULL)
  if (!is.numeric(rng) || length(rng) != 1L || is.na(rng) || rng < 0 || rng != trunc(rng) || rng >= 2^53)
    refuse("rng must be NULL (private) or a whole number below 2^53, for a reproducible result ",
           "that is not private")
  format(rng, scientific = FALSE, digits = 17)
}

public_text <- function(formula) {
  if (inherits(formula, "formula")) deparsed(formula) else ""
}

# do.call(dp_lm, list(y ~ x, data)) puts the data themselves into the call, and a formula brings
# its environment; what was typed stays.
public_call <- function(call) {
  if (!is.language(call[[1L]])) call[[1L]] <- quote(dp_lm)
  for (name in names(call)[-1L]) {
    e <- call[[name]]
    if (is.null(e)) next
    if (inherits(e, "formula")) attributes(e) <- NULL
    call[[name]] <- if (is.language(e) || (is.atomic(e) && length(e) == 1L)) e else as.name(name)
  }
  call
}

unpack_doubles <- function(packed) {
  if (is.null(packed)) return(NULL)
  dim <- as.integer(unlist(packed$dim))
  values <- readBin(packed$doubles, "double", prod(dim), endian = "little")
  if (length(dim) > 1L) dim(values) <- dim
  values
}

# Errors of Python come as values; here they become conditions with a class.
call_python <- function(name, request) {
  answer <- python_backend()(name, request)
  if (is.null(answer$error)) return(answer$value)
  kind <- answer$error$kind
  stop(structure(class = c(paste0("dpreg_", kind), "dpreg_error", "error", "condition"),
                 list(message = answer$error$message, call = NULL)))
}
