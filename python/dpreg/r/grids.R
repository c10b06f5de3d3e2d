# For packages that evaluate models on grids: emmeans, marginaleffects and those on insight.
# Their default, means over the records, would be private.

# The reference grid is made of public values: all levels of the factors, and for numeric
# regressors those of `data` or `at`.  Before it is known what `at` has, infinite values, whose
# mean is none, stand for what is still lacking.
recover_data.dp_lm <- function(object, data = NULL, ...) {
  if (is.null(object$terms)) return("this fit was made in Python from a formula that R cannot read")
  needed <- regressors_of(object)
  if (is.null(data)) data <- scattered_data(...)
  lacking <- setdiff(needed, names(data))
  values <- lapply(object$source[lacking], function(s)
    if (s$kind == "logical") c(FALSE, TRUE) else s$levels)
  unknown <- lacking[vapply(values, is.null, NA)]
  kinds <- vapply(object$source[unknown], `[[`, "", "kind")
  if (any(kinds %in% c("text", "matrix"))) return(public_values(unknown))
  grid <- expand.grid(values[setdiff(lacking, unknown)], KEEP.OUT.ATTRS = FALSE,
                      stringsAsFactors = FALSE)
  if (is.null(data)) data <- grid
  else if (length(grid)) data <- merge(data, grid)
  if (length(unknown)) {
    if (!length(data)) data <- data.frame(row.names = 1:2)
    if (nrow(data) < 2L) data <- data[rep_len(seq_len(nrow(data)), 2L), , drop = FALSE]
    for (name in unknown) data[[name]] <- rep_len(c(-Inf, Inf), nrow(data))
  }
  for (name in needed) {
    s <- object$source[[name]]
    if (!is.null(s$levels))
      data[[name]] <- factor(data[[name]], s$levels, ordered = s$kind == "ordered")
  }
  structure(data[needed], call = if (is.null(object$call)) quote(dp_lm()) else object$call,
            terms = grid_terms(object, needed), predictors = needed, responses = character())
}

# emtrends() hands the columns of its data on one by one, as data.x.
scattered_data <- function(...) {
  given <- list(...)
  given <- given[startsWith(as.character(names(given)), "data.")]
  if (!length(given)) return(NULL)
  names(given) <- sub("^data[.]", "", names(given))
  structure(given, class = "data.frame", row.names = .set_row_names(length(given[[1L]])))
}

# With factor(x, levels = ...) in a term emmeans would look for other levels than those of x.
grid_terms <- function(object, needed) {
  terms <- stats::delete.response(object$terms)
  of_factors <- vapply(as.list(attr(terms, "variables"))[-1L], function(v) is.call(v) &&
    any(vapply(all.vars(v), function(name) !is.null(object$source[[name]]$levels) ||
      called_factor(v), NA)), NA)
  if (!any(of_factors)) return(terms)
  stats::terms(stats::reformulate(vapply(needed, function(name)
    deparsed(as.name(name), backtick = TRUE), "")))
}

called_factor <- function(v) any(all.names(v) %in% c("factor", "ordered", "cut", "C", "relevel"))

public_values <- function(names) {
  paste0("data: give a public data frame with values of ",
         paste(names, collapse = ", "), ", such as ",
         "data = data.frame(", names[1L], " = c(1, 2)), or at = list(", names[1L],
         " = 1), at which means are ",
         "wanted; those of the records are private")
}

emm_basis.dp_lm <- function(object, trms, xlev, grid, ...) {
  needed <- regressors_of(object)
  unknown <- needed[vapply(grid[needed], function(x) is.numeric(x) && !all(is.finite(x)), NA)]
  if (length(unknown)) stop(public_values(unknown), call. = FALSE)
  for (name in needed) grid[[name]] <- dated(grid[[name]], object$source[[name]])
  list(X = new_rows(object, grid), bhat = object$coefficients, nbasis = matrix(NA),
       V = vcov(object),
       dffun = function(k, dfargs) Inf, dfargs = list(), misc = list())
}

# Means of dates come as numbers.
dated <- function(x, source) {
  if (!is.numeric(x)) return(x)
  switch(source$kind, date = structure(x, class = "Date"),
         time = structure(x, class = c("POSIXct", "POSIXt")),
         span = structure(x, class = "difftime", units = source$units), x)
}

# marginaleffects
get_coef.dp_lm <- function(model, ...) model$coefficients

set_coef.dp_lm <- function(model, coefs, ...) {
  model$coefficients[names(coefs)] <- coefs
  model
}

get_vcov.dp_lm <- function(model, ...) vcov(model)

get_predict.dp_lm <- function(model, newdata, ...) {
  data.frame(rowid = seq_len(nrow(newdata)),
             estimate = unname(stats::predict(model, newdata, winsorise = FALSE)))
}

# Packages that build on insight would find the data of the call, and average over the records.
get_data.dp_lm <- function(x, ...) {
  stop("averages over the records of the fit would not be private; give the rows to average over, ",
       "such as newdata = a public data frame", call. = FALSE)
}
