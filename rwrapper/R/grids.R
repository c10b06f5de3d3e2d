# For packages that evaluate models on grids: emmeans and marginaleffects. Their default, means
# over the records, would be private.

# The reference grid has public values: all levels of the factors, and for numeric regressors those
# of `data` or `at`. Until `at` is known, missing values are marked by infinite values, which have
# no mean.
recover_data.dp_lm <- function(object, data = NULL, ...) {
  if (is.null(object$terms)) return("this fit was made in Python from a formula that R cannot read")
  if (!is.null(object$within)) return("the effects of units are not released, and without them there are no means")
  if (inherits(object, "dp_multinomial"))
    return(paste("a multinomial logit has one mean for each class; write predict(fit, newdata, type = \"probs\",",
                 "interval = \"confidence\"), or class_effects(fit, newdata)"))
  if (length(object$periods$varying) || length(object$periods$strata))
    return("hazards change with time or stratum; write predict(fit, newdata) for survival curves")
  needed <- regressors_of(object)
  data <- data %||% scattered_data(...)
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
  structure(data[needed], call = object$call %||% quote(dp_lm()),
            terms = grid_terms(object, needed), predictors = needed, responses = character())
}

# emtrends() passes the columns of its data one by one, as data.x.
scattered_data <- function(...) {
  given <- list(...)
  given <- given[startsWith(as.character(names(given)), "data.")]
  if (!length(given)) return(NULL)
  names(given) <- sub("^data[.]", "", names(given))
  structure(given, class = "data.frame", row.names = .set_row_names(length(given[[1L]])))
}

# The terms with plain columns in them: emmeans evaluates its terms, and would look for the levels
# of factor(x, levels = ...), or take logarithms of values that are not there yet.
grid_terms <- function(object, needed) {
  terms <- stats::delete.response(stats::terms(object))
  columns <- lapply(as.list(attr(terms, "variables"))[-1L], function(v) intersect(all.vars(v), needed))
  factors <- attr(terms, "factors")
  of_term <- function(term) unique(unlist(columns[factors[, term] > 0]))
  quoted <- function(names) vapply(names, function(n) deparsed(as.name(n), backtick = TRUE), "")
  labels <- vapply(seq_len(NCOL(factors)), function(term)
    paste(quoted(of_term(term)), collapse = ":"), "")
  stats::terms(stats::reformulate(c(quoted(needed), labels)))
}

public_values <- function(names) {
  example <- names[1L]
  paste0("means of ", listed(names), " over the records would be private: give values of yours, ",
         "such as at = list(", example, " = 1) or data = data.frame(", example, " = c(1, 2)); ",
         "emtrends() with at needs delta.var too")
}

emm_basis.dp_lm <- function(object, trms, xlev, grid, ...) {
  needed <- regressors_of(object)
  unknown <- needed[vapply(grid[needed], function(x) is.numeric(x) && !all(is.finite(x)), NA)]
  if (length(unknown)) dpreg_stop("private", public_values(unknown))
  # Means of dates come as numbers.
  for (name in needed)
    if (is.numeric(grid[[name]])) grid[[name]] <- timed(grid[[name]], object$source[[name]])
  # Thresholds and baseline hazards are no part of the means of a model of classes or of hazards.
  X <- new_rows(object, grid)
  own <- intersect(colnames(X), names(object$coefficients))
  estimate <- object$coefficients[own]
  V <- vcov(object)[own, own, drop = FALSE]
  X <- X[, own, drop = FALSE]
  # An offset has the coefficient 1, which is known.
  offset <- new_offset(object, grid)
  if (length(offset) > 1L) {
    X <- cbind(X, offset)
    estimate <- c(estimate, offset = 1)
    V <- rbind(cbind(V, offset = 0), offset = 0)
  }
  # A mean that involves a coefficient without a known error is not estimable.
  unidentified <- is.na(estimate)
  basis <- if (any(unidentified)) diag(length(unidentified))[, unidentified, drop = FALSE]
           else matrix(NA)
  list(X = X, bhat = estimate, nbasis = basis, V = V[!unidentified, !unidentified, drop = FALSE],
       dffun = function(k, dfargs) Inf, dfargs = list(), misc = mean_scale(object))
}

# Names in emmeans of the scale of the means and of the response.
mean_scale <- function(object) {
  if (inherits(object, "dp_ordinal")) return(list())
  link <- object$family$link %||% "identity"
  if (link != "identity") {
    label <- switch(object$family$name, binomial = "prob", poisson = "rate", survival = "hazard", "response")
    return(list(tran = link, inv.lbl = label))
  }
  # As of lm(): a response of log(y).
  left <- if (length(object$formula) == 3L) object$formula[[2L]]
  name <- if (is.call(left) && length(left) == 2L) deparsed(left[[1L]])
  if (isTRUE(name %in% c("log", "sqrt"))) list(tran = name, inv.lbl = "response") else list()
}
