# First steps of releases, and the arguments that they send, by name, for Python to check.

# Arguments that are a quoted name.
QUOTED <- c("unit", "treatment", "strata", "time_varying", "method", "select")

# Arguments that are not sent as one value.
SENT <- list(
  budget = function(x) budget_sent(x), family = function(x) one_sent(family_sent(x)),
  bounds = function(x) lapply(x, as.list), time_varying = as.list, cuts = function(x) as.list(as.double(x)),
  overlap = function(x) as.list(as.double(x))
)

#' The arguments of the function that calls it
#'
#' What is not given, or `NULL`, is left to Python, whose defaults these are and which says what has to be
#' given; delta may be a share of the budget's. Checked here is what is about the data, or is used here.
#'
#' @param name Of the function.
#' @param hints What to write in place of arguments of other packages.
#' @param ... The `...` of the function.
#' @return A list: `call`, for the fit to keep, `formula`, `data`, and `given`, the other arguments.
#' @noRd
begun <- function(name, hints, ...) {
  no_more(paste0(name, "()"), hints, ...)
  frame <- parent.frame()
  f <- sys.function(sys.parent())
  typed <- match.call(f, sys.call(sys.parent()), envir = parent.frame(2L))
  absent <- function(argument) eval(call("missing", as.name(argument)), frame)
  needs_data(absent("data"), given_formula(typed$formula, frame))
  # Before all else: dp_records() stops here when the call is evaluated again.
  force(frame$data)
  others <- setdiff(names(formals(f)), c("formula", "data", "weights", "statistic", "..."))
  data <- data_of(frame$data)
  for (argument in intersect(QUOTED, names(typed))) check_quoted(argument, typed, frame, names(data))
  # Without the call of mget(), which the user did not type.
  given <- tryCatch(mget(Filter(Negate(absent), others), frame),
                    simpleError = function(e) stop(conditionMessage(e), call. = FALSE))
  given <- without_nulls(given)
  check_bounds(given$bounds)
  budget_sent(given$budget)
  check_unit(given$unit, data)
  given$weights <- weight_column(typed$weights, function() frame$weights, data)
  list(call = public_call(typed, name), formula = as_formula(frame$formula), data = data, given = given)
}

given_formula <- function(typed, frame) {
  if (is.null(typed)) return(NULL)
  tryCatch(frame$formula, simpleError = function(e) {
    if (is.name(typed)) refuse("formula must be a formula, such as ", typed, " ~ x, not ", typed)
    stop(conditionMessage(e), call. = FALSE)
  })
}

# Levels and units are used here, since they are part of the columns that are sent.
sent_of <- function(given) {
  sent <- given[setdiff(names(given), c("levels", "unit"))]
  Map(function(x, name) if (name %in% names(SENT)) as_sent(SENT[[name]](x)) else one_sent(x), sent, names(sent))
}

# The public side of a problem and the given arguments; `...`: more, without those that are NULL.
request_of <- function(asked, design, ...)
  c(list(formula = deparsed(asked$formula), matrix = sent_design(design, asked)), sent_of(asked$given),
    without_nulls(list(...)))

# With the data as a formula may see them, and the levels of what it sees.
seen_by <- function(asked, formula) {
  given <- asked$given
  stratum <- given$budget$stratum
  asked$seen <- without_weights(seen_by_formula(asked$data, formula, given$unit, stratum), formula, given$weights)
  # Declarations for columns that the formula does not use are dropped.
  if (is.list(given$levels)) given$levels[c(given$unit, stratum$column)] <- NULL
  asked$levels <- given$levels
  asked
}

seen_design <- function(asked, formula = asked$formula) {
  asked <- seen_by(asked, formula)
  check_whole_products(design_of(formula, asked$seen, asked$levels, asked$given$bounds))
}
