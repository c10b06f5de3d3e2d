# What releases begin with, and what they send: each argument is checked and sent by its name.

# Arguments that are one number, each with an example for whoever gave something else.
NUMBERS_GIVEN <- c(eps = "1", mu = "0.5", rho = "0.1", delta = "1e-6", k = "5", split = "0.5", max_rows = "5",
                   weight_limit = "10", memory = "2e9", propensity = "0.5", blocks = "12", threshold = "0.2",
                   n = "50000", d = "10", effect = "0.2", power = "0.8", events = "1000", event_rate = "0.3",
                   classes = "4", treated = "0.5")
# Arguments that are a name in quotes.
QUOTED <- c("unit", "treatment", "strata", "time_varying", "method", "select")
FLAGS_GIVEN <- c("inference", "fit_stats", "diagnostics")

# What is sent in another form than it was given.
SENT <- list(
  budget = function(x) budget_sent(x), rng = function(x) seed_sent(x), family = function(x) family_sent(x),
  bounds = function(x) lapply(x, as.list), time_varying = as.list, cuts = function(x) as.list(as.double(x)),
  overlap = function(x) as.list(as.double(x))
)

#' The arguments of the function that calls it, checked
#'
#' What is not given, or `NULL`, is left to Python, whose defaults these are; delta may be a share of the
#' budget's.
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
  needs_eps(absent("eps"))
  # Before all else: dp_records() stops here when the call is evaluated again.
  force(frame$data)
  others <- setdiff(names(formals(f)), c("formula", "data", "weights", "statistic", "..."))
  data <- data_of(frame$data)
  for (argument in intersect(QUOTED, names(typed))) check_quoted(argument, typed, frame, names(data))
  # Without the call of mget(), which nobody typed.
  given <- tryCatch(mget(Filter(Negate(absent), others), frame),
                    simpleError = function(e) stop(conditionMessage(e), call. = FALSE))
  check_numbers(given["eps"])
  given <- Filter(Negate(is.null), given)
  check_numbers(given)
  for (argument in intersect(FLAGS_GIVEN, names(given))) check_flag(given[[argument]], argument)
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

check_numbers <- function(given) {
  for (name in intersect(names(NUMBERS_GIVEN), names(given)))
    check_number(given[[name]], name, NUMBERS_GIVEN[[name]])
}

# What is given of levels and units is used here: they are among the columns that are sent.
sent_of <- function(given) {
  sent <- given[setdiff(names(given), c("levels", "unit"))]
  for (name in intersect(names(SENT), names(sent))) sent[[name]] <- SENT[[name]](sent[[name]])
  lapply(sent, as_sent)
}

# The public side of a problem and what was given; `...`: more, of which what is NULL is left out.
request_of <- function(asked, design, ...)
  c(list(formula = deparsed(asked$formula), matrix = sent_design(design, asked)), sent_of(asked$given),
    Filter(Negate(is.null), list(...)))

# With the data as a formula may see them, and the levels of what it sees.
seen_by <- function(asked, formula) {
  given <- asked$given
  stratum <- given$budget$stratum
  asked$seen <- without_weights(seen_by_formula(asked$data, formula, given$unit, stratum), formula, given$weights)
  asked$levels <- levels_seen(given$levels, given$unit, stratum)
  asked
}

seen_design <- function(asked, formula = asked$formula) {
  asked <- seen_by(asked, formula)
  design_of(formula, asked$seen, asked$levels, asked$given$bounds)
}
