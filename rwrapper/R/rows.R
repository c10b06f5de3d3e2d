# Which terms a formula may have: those whose value in one row is a function of that row
# alone. What decides is the text of the formula, never the data.

ROW_OPERATORS <- c("+", "-", "*", "/", "^", "%%", "%/%", "(", "<", "<=", ">", ">=", "==", "!=",
                   "&", "|", "!")
# Of one number.
ROW_MATHS <- c("log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs", "sign", "sin", "cos", "tan",
               "asin", "acos", "atan", "sinh", "cosh", "tanh", "floor", "ceiling", "trunc")

NUMBERS <- c("number", "logical")
WITH_NUMBERS <- c(NUMBERS, "factor", "ordered", "date", "time", "span")
# What levels can be given to. A label is text that a formula makes of dates.
CODED <- c(NUMBERS, "factor", "ordered", "text", "label")

# Functions: their arguments, of which those of `CONSTANT_TYPES` are constants, and the others hold
# rows and are of the kinds `takes`; what must be given has no default. `gives`: the kind of the
# result, when it is not that of the first argument.
row_function <- function(arguments, takes = NUMBERS, gives = "number") {
  constants <- intersect(names(formals(arguments)), names(CONSTANT_TYPES))
  given <- vapply(formals(arguments), function(default) is.null(default), NA)
  list(arguments = arguments, takes = takes, constants = constants,
       needs = setdiff(names(given)[!given], "..."), gives = gives)
}

CONSTANT_TYPES <- c(
  knots = "number", Boundary.knots = "number", breaks = "number", degree = "number",
  df = "number", digits = "number", base = "number", how.many = "number", dig.lab = "number",
  raw = "flag", na.rm = "flag", intercept = "flag", include.lowest = "flag", right = "flag",
  ordered = "flag", ordered_result = "flag", units = "text",
  center = "number", scale = "number", pattern = "text", format = "text",
  ignore.case = "flag", perl = "flag", fixed = "flag", abbreviate = "flag",
  labels = "any", levels = "any", table = "any", ref = "any", contr = "any"
)

ROW_FUNCTIONS <- c(
  lapply(stats::setNames(ROW_MATHS, ROW_MATHS), function(name)
    row_function(function(x) NULL, c(NUMBERS, "matrix"), NULL)),
  list(
    I = row_function(function(x) NULL, c(WITH_NUMBERS, "text", "matrix"), NULL),
    log = row_function(function(x, base = NULL) NULL, c(NUMBERS, "matrix"), NULL),
    round = row_function(function(x, digits = NULL) NULL, c(NUMBERS, "matrix"), NULL),
    pmin = row_function(function(..., na.rm = NULL) NULL),
    pmax = row_function(function(..., na.rm = NULL) NULL),
    ifelse = row_function(function(test, yes, no) NULL, WITH_NUMBERS),
    as.numeric = row_function(function(x, units = NULL) NULL, c(WITH_NUMBERS, "label")),
    as.double = row_function(function(x, units = NULL) NULL, c(WITH_NUMBERS, "label")),
    as.integer = row_function(function(x) NULL, c(WITH_NUMBERS, "label")),
    as.logical = row_function(function(x) NULL, c(NUMBERS, "factor", "ordered")),
    difftime = row_function(function(time1, time2, units) NULL, c("date", "time"), "span"),
    poly = row_function(function(x, degree, raw = NULL, Boundary.knots = NULL) NULL, gives = "matrix"),
    ns = row_function(function(x, df = NULL, knots = NULL, intercept = NULL, Boundary.knots = NULL) NULL,
                      gives = "matrix"),
    bs = row_function(function(x, df = NULL, knots = NULL, degree = NULL, intercept = NULL,
                               Boundary.knots = NULL) NULL, gives = "matrix"),
    scale = row_function(function(x, center, scale) NULL),
    offset = row_function(function(object) NULL),
    is.na = row_function(function(x) NULL, c(WITH_NUMBERS, "text", "label")),
    nchar = row_function(function(x) NULL, c("text", "label")),
    grepl = row_function(function(pattern, x, ignore.case = NULL, perl = NULL, fixed = NULL) NULL,
                         c("text", "label")),
    weekdays = row_function(function(x, abbreviate = NULL) NULL, c("date", "time"), "label"),
    months = row_function(function(x, abbreviate = NULL) NULL, c("date", "time"), "label"),
    quarters = row_function(function(x) NULL, c("date", "time"), "label"),
    format = row_function(function(x, format) NULL, c("date", "time"), "label"),
    factor = row_function(function(x, levels, labels = NULL, ordered = NULL) NULL, CODED, "factor"),
    ordered = row_function(function(x, levels, labels = NULL) NULL, CODED, "ordered"),
    cut = row_function(function(x, breaks, labels = NULL, include.lowest = NULL, right = NULL,
                                dig.lab = NULL, ordered_result = NULL) NULL, gives = "factor"),
    relevel = row_function(function(x, ref) NULL, "factor", NULL),
    C = row_function(function(object, contr = NULL, how.many = NULL) NULL, c("factor", "ordered"), NULL),
    `%in%` = row_function(function(x, table) NULL, CODED)
  )
)

# Constants that are vectors; all others are single values.
VECTORS <- c("knots", "Boundary.knots", "levels", "labels", "breaks", "table")

# One advice for several names.
alike <- function(names, advice) stats::setNames(rep(advice, length(names)), names)

# Functions that learn something from all rows, and what to write instead.
LEARNS_FROM_DATA <- c(
  scale = "write scale(x, center = 50, scale = 10) with a public centre and width",
  center = "write I(x - 50) with a centre that is public",
  poly = "write poly(x, 3) and bounds = list(x = c(0, 6)) with public limits, or poly(x, 3, raw = TRUE)",
  ns = paste("write ns(x, 3) and bounds = list(x = c(0, 6)) with public limits, or ns(x, knots = c(2, 4),",
             "Boundary.knots = c(0, 6)) with public knots"),
  bs = paste("write bs(x, 5) and bounds = list(x = c(0, 6)) with public limits, or bs(x, knots = c(2, 4),",
             "Boundary.knots = c(0, 6)) with public knots"),
  alike(c("factor", "as.factor"), "write factor(x, levels = c(\"a\", \"b\")) with public levels"),
  ordered = "write factor(x, levels = c(\"a\", \"b\"), ordered = TRUE) with public levels",
  cut = "write cut(x, breaks = c(0, 10, 20)) with public breaks",
  difftime = "write difftime(end, start, units = \"days\")",
  format = "write format(x, \"%Y-%m\") with a format of your own, without %OS",
  rank = "leave the ranks out: they compare rows",
  alike(c("mean", "median", "min", "max", "sd"), "write the public number itself"),
  alike(c("lag", "lead", "diff", "cumsum", "ave"), "leave it out, or make the column before the call from public numbers")
)

# Words of other packages, and what to write here.
ELSEWHERE <- c(
  alike(c("s", "te", "lo", "rcs", "pspline"), "write ns(x, 5) and bounds = list(x = c(0, 6)) with public limits"),
  cbind = paste("a model has one response: fit one after the other, or use dp_moments(); for successes and failures",
                "make a row with 0 or 1 for each trial"),
  interaction = "write a:b, or a * b with main effects too",
  alike(c("Error", "strata", "cluster"), "write unit = \"person\" as an argument of the call: errors are clustered by unit"),
  weights = "write weights = w as an argument of the call"
)

CONTRASTS <- c("contr.treatment", "contr.sum", "contr.helmert", "contr.poly", "contr.SAS",
               "treatment", "sum", "helmert", "poly", "SAS")
UNITS_OF_TIME <- c("secs", "mins", "hours", "days", "weeks")

# Where terms are evaluated. What R's own functions would say or do about missing or odd
# values (an error of poly(), a type that depends on them in ifelse()) is not wanted here.
row_environment <- function() {
  e <- new.env(parent = baseenv())
  e$poly <- function(x, degree = 1, raw = FALSE, Boundary.knots) {
    powers <- if (raw) outer(as.numeric(x), seq_len(degree), `^`)
              else polynomials(x, degree, Boundary.knots)
    # R's own poly() has no names for a single column.
    if (degree > 1) dimnames(powers) <- list(NULL, seq_len(degree))
    powers
  }
  e$ns <- function(x, df = NULL, knots = NULL, intercept = FALSE, Boundary.knots)
    spline_rows(splines::ns, x, Boundary.knots, intercept = intercept,
                knots = inner_knots(knots, df, 1 + intercept, Boundary.knots))
  e$bs <- function(x, df = NULL, knots = NULL, degree = 3, intercept = FALSE, Boundary.knots)
    spline_rows(splines::bs, x, Boundary.knots, degree = degree, intercept = intercept,
                knots = inner_knots(knots, df, degree + intercept, Boundary.knots))
  # With the arguments that a formula may give, in the order in which it may give them.
  e$difftime <- function(time1, time2, units) base::difftime(time1, time2, units = units)
  e$factor <- function(x, levels, labels = levels, ordered = is.ordered(x))
    base::factor(x, levels, labels, ordered = ordered)
  e$scale <- function(x, center, scale) (as.numeric(x) - center) / scale
  e$nchar <- function(x) base::nchar(x, "chars", allowNA = TRUE, keepNA = TRUE)
  e$grepl <- function(pattern, x, ...) {
    usable <- !is.na(x) & validEnc(x)
    found <- rep_len(NA, length(x))
    # A letter that is not ASCII comes along, or how letters are read would depend on other rows.
    found[usable] <- base::grepl(pattern, c("\u00e9", enc2utf8(x[usable])), ...)[-1L]
    found
  }
  e$format <- function(x, format) base::format(x, format)
  # R's own quarters() gives one value for no rows.
  e$quarters <- function(x) base::quarters(x)[seq_along(x)]
  e$ifelse <- function(test, yes, no) {
    test <- as.logical(test)
    out <- rep_len(as.numeric(no), length(test))
    at <- which(test)
    out[at] <- rep_len(as.numeric(yes), length(test))[at]
    out[is.na(test)] <- NA
    out
  }
  for (name in c("C", "offset", "relevel", "contr.treatment", "contr.sum", "contr.helmert", "contr.poly",
                 "contr.SAS"))
    assign(name, getExportedValue("stats", name), envir = e)
  e
}

spline_rows <- function(basis, x, limits, ...) {
  x <- as.numeric(x)
  usable <- is.finite(x)
  # The last bits of a product of BLAS depend on how many rows lie beyond the limits: of bs() with
  # OpenBLAS 204 of 252 such rows were others alone.
  before <- options(matprod = "internal")
  on.exit(options(before))
  # The limits come along, so that there is a basis even when no value is usable.
  rows <- suppressWarnings(basis(c(limits, x[usable]), Boundary.knots = limits, ...))
  out <- matrix(NA_real_, length(x), ncol(rows), dimnames = list(NULL, colnames(rows)))
  out[usable, ] <- rows[-(1:2), ]
  out
}
