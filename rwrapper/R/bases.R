# Polynomials and splines of a column with public bounds. R's own functions read the interval from
# the column; here it comes from the bounds. Knots that are not given divide it into equal parts.

#' Write the intervals of bases into the terms of a formula
#'
#' @param terms What [check_formula()] returned.
#' @param bounds `list(column = c(low, high))`, public, or `NULL`.
#' @param kinds The kinds of the columns, by name.
#' @return The terms, with what is to be evaluated as their "predvars"; names stay as they were typed. The
#'   attribute "bounds" has the bounds that were used.
#' @noRd
with_intervals <- function(terms, bounds, kinds) {
  numbers <- names(kinds)[vapply(kinds, `[[`, "", "name") == "number"]
  bounds <- bounds[intersect(names(bounds), numbers)]
  calls <- attr(terms, "variables")
  used <- character()
  for (i in seq_along(calls)[-1L]) {
    call <- basis_call(calls[[i]])
    column <- if (!is.null(call)) intersect(all.vars(call$x), names(kinds))
    if (length(column) != 1L || is.null(bounds[[column]])) next
    calls[[i]] <- over_interval(call, calls[[i]], column, bounds[[column]])
    used <- union(used, column)
  }
  if (!length(used)) return(terms)
  structure(terms, predvars = calls, bounds = bounds[used])
}

# The call of a basis that has no interval, with the names of its arguments; NULL for anything else.
basis_call <- function(e) {
  e <- unqualified(e)
  if (!is.call(e) || !is.name(e[[1L]])) return(NULL)
  name <- as.character(e[[1L]])
  if (!name %in% c("poly", "ns", "bs")) return(NULL)
  call <- tryCatch(match.call(ROW_FUNCTIONS[[name]]$arguments, e), error = function(err) NULL)
  if (is.null(call$x) || !is.null(call$Boundary.knots) || !(is.null(call$raw) || identical(call$raw, FALSE)))
    return(NULL)
  call
}

over_interval <- function(call, term, column, limits) {
  shown <- list(c(limits[1L], seq(limits[1L], limits[2L], length.out = 1001L), limits[2L]))
  names(shown) <- column
  x <- tryCatch(suppressWarnings(as.numeric(eval(call$x, shown, row_environment()))),
                error = function(err) NULL)
  # Expressions that cannot be evaluated are refused when the terms are checked.
  if (is.null(x)) return(term)
  if (!all(is.finite(x)) || min(x) == max(x))
    refuse_term(term, paste("a basis needs finite numbers, and more than one, where", sQuote(column, FALSE),
                            "is within its bounds"), "give other bounds")
  interval <- range(x)
  knots <- if (is.numeric(call$knots) || is.call(call$knots))
    tryCatch(eval(call$knots, baseenv()), error = function(err) NULL)
  if (is.numeric(knots) && any(knots <= interval[1L] | knots >= interval[2L]))
    refuse_term(term, "a knot is not within the bounds of its column", "give other knots, or other bounds")
  call$x <- bquote(pmin(pmax(.(call$x), .(interval[1L])), .(interval[2L])))
  call$Boundary.knots <- interval
  call
}

# Legendre polynomials, of mean 0 and variance 1 under the uniform distribution on the interval.
polynomials <- function(x, degree, limits) {
  t <- (pmin(pmax(as.numeric(x), limits[1L]), limits[2L]) - sum(limits) / 2) / (diff(limits) / 2)
  found <- list(rep(1, length(t)), t)
  for (k in seq_len(degree - 1))
    found[[k + 2L]] <- ((2 * k + 1) * t * found[[k + 1L]] - k * found[[k]]) / (k + 1)
  k <- seq_len(degree)
  matrix(unlist(found[-1L]), length(t), degree) * rep(sqrt(2 * k + 1), each = length(t))
}

# The given knots, or as many as give `df` columns; no knots give `least` columns.
inner_knots <- function(knots, df, least, limits) {
  if (!is.null(knots)) return(knots)
  if (df < least) stop("df must be at least ", least)
  seq(limits[1L], limits[2L], length.out = df - least + 2)[-c(1L, df - least + 2)]
}

# Proven limits of the columns of a basis: see python/dpreg/data/rows.md.
basis_ranges <- function(design) {
  calls <- as.list(attr(design$terms, "predvars"))[-1L]
  factors <- attr(design$terms, "factors")
  found <- list()
  for (term in seq_len(if (length(calls)) NCOL(factors) else 0L)) {
    at <- which(factors[, term] > 0)
    typed <- as.list(attr(design$terms, "variables"))[-1L][at]
    if (length(at) != 1L || identical(typed[[1L]], calls[[at]])) next
    limits <- basis_limits(calls[[at]])
    names <- design$names[design$assign == term]
    if (nrow(limits) == length(names))
      for (j in seq_along(names)) found[[names[j]]] <- limits[j, ] + c(-1e-9, 1e-9)
  }
  found
}

basis_limits <- function(call) {
  given <- lapply(as.list(call)[-(1:2)], eval, baseenv())
  name <- as.character(call[[1L]])
  if (name == "poly") return(outer(sqrt(2 * seq_len(given$degree) + 1), c(-1, 1)))
  free <- isTRUE(given$intercept)
  if (name == "bs") {
    least <- (given$degree %||% 3) + free
    size <- least + length(inner_knots(given$knots, given$df, least, given$Boundary.knots))
    return(cbind(rep(0, size), 1))
  }
  knots <- inner_knots(given$knots, given$df, 1 + free, given$Boundary.knots)
  ends <- given$Boundary.knots
  places <- sort(c(rep(ends, 4L), knots))
  seconds <- splines::splineDesign(places, ends, 4L, c(2L, 2L))
  if (!free) seconds <- seconds[, -1L, drop = FALSE]
  coefficients <- qr.Q(qr(t(seconds)), complete = TRUE)[, -(1:2), drop = FALSE]
  t(apply(coefficients, 2L, function(b) range(b, 0)))
}
