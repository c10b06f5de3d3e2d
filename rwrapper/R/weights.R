# Weights of rows and offsets of linear predictors.

# The name of a column, typed as lm() takes it or as text.
weight_column <- function(expression, value, data) {
  if (is.null(expression)) return(NULL)
  data <- data_of(data)
  name <- if (is.name(expression) && as.character(expression) %in% names(data)) as.character(expression)
          else value()
  if (is.null(name)) return(NULL)
  if (!is.character(name) || length(name) != 1L || !name %in% names(data))
    refuse("weights: name one column of the data, such as weights = w; make it before the call")
  x <- data[[name]]
  if (!is.numeric(x) || length(dim(x)) || inherits(x, "integer64"))
    refuse("weights: column ", sQuote(name, FALSE), " of class ", class(x)[1L], " weighs nothing; ",
           "name a column of numbers")
  name
}

# What a dot stands for: all columns but the weights.
without_weights <- function(data, formula, weights) {
  if (is.null(weights) || weights %in% all.vars(formula)) return(data)
  data[setdiff(names(data), weights)]
}

# As they are named in the formula.
offset_names <- function(terms)
  vapply(as.list(attr(terms, "variables"))[attr(terms, "offset") + 1L], deparsed, "")

refuse_offsets <- function(design, what) {
  if (length(attr(design$terms, "offset")))
    refuse("formula: ", what, " does not support ", offset_names(design$terms)[1L], "; leave it out")
  design
}

# What offsets add to the linear predictor of each row.
offset_sum <- function(terms, frame)
  Reduce(`+`, lapply(frame[offset_names(terms)], as.double), 0)
