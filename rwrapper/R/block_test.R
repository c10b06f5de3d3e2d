# Any test by blocks: R makes the p-value of each block, Python draws the blocks and the noise.

#' A private test of any hypothesis that has a p-value
#'
#' Units are assigned to blocks at random, `statistic` computes a p-value in each block, and the number
#' of small p-values is released with noise. Under the null hypothesis this number is binomial plus
#' noise, and its distribution is known exactly. No bounds are needed, and no `delta`.
#'
#' Blocks and noise reduce the power: at `eps = 1` a two-sided test with 80% power at the 5% level needs
#' about four times as many units as without privacy.
#'
#' @param statistic A function of a data frame, the rows of one block, that returns a p-value which is
#'   valid there: `function(d) t.test(d$x)$p.value`. It is given the records themselves. The test is
#'   private if its value depends on these rows only and it leaves nothing behind: no variable,
#'   file, connection or process. Run a function that somebody else wrote in a process of its own.
#'   An error or a value that is not a number is treated as a p-value of 1; output and warnings are
#'   discarded. R's random seed is set anew in each block.
#' @param data A data frame. Private.
#' @param blocks Default: 12 / eps, and at least 5. For one-sided p-values use more, up to hundreds, and
#'   `threshold = 0.5`.
#' @param threshold P-values up to this are small.
#' @param unit Name of the column of the protected unit; `NULL`: one row is one unit. Rows without one
#'   are left out.
#' @inheritParams dp_lm
#' @param ... Must be empty.
#' @return An object of class `dp_test`, which is an `htest` too: `statistic`, the noisy count of
#'   small p-values; `parameter`, blocks and threshold; `p.value`; and `privacy`, its cost.
#' @references
#' Awan, J. and Slavkovic, A. (2018). Differentially private uniformly most powerful tests for
#' binomial data. *NeurIPS*. \\doi{10.48550/arXiv.1805.09236}
#' @export
#' @examplesIf dpreg_available()
#' dp_test(function(d) cor.test(d$depth, d$price, method = "spearman", exact = FALSE)$p.value,
#'         diamonds, eps = 1)
dp_test <- function(statistic, data, eps, blocks = NULL, threshold = 0.2, unit = NULL, budget = NULL,
                    rng = NULL, ...) {
  name <- substr(deparsed(substitute(statistic)), 1L, 60L)
  if (!is.function(statistic)) refuse("statistic must be a function of a data frame, not ", described(statistic))
  if (!is.data.frame(data)) refuse("data must be a data frame, whose rows `statistic` is given, not ", described(data))
  asked <- begun("dp_test", LM_HINTS, ...)
  request <- c(sent_of(asked$given[names(asked$given) != "threshold"]), list(
    name = name, threshold = one_sent(threshold), unit = unit,
    p_value = function(block) p_value_of(statistic, data, block),
    labels = function() pack_labels(if (is.null(unit)) seq_len(nrow(data)) else data[[unit]])
  ))
  # The state of the generator after the statistic must not be visible. It is reset after the call,
  # not after each block: the bridge restores the state that it finds when the call ends.
  before <- globalenv()$.Random.seed
  on.exit(if (is.null(before)) suppressWarnings(rm(".Random.seed", envir = globalenv()))
          else assign(".Random.seed", before, globalenv()))
  answer <- call_python("test", request)
  found <- new_result(
    "dp_test", answer, "text", statistic = c(count = answer$count),
    parameter = c(blocks = answer$blocks, threshold = answer$threshold),
    p.value = answer$p_value, method = "Private test by blocks", data.name = name)
  structure(found, class = c(class(found), "htest"))
}

# The p-value of some rows, numbered from 0; an error counts as 1, without a message.
p_value_of <- function(statistic, data, block) {
  rows <- readBin(block$rows, "integer", length(block$rows) %/% 4L, endian = "little") + 1L
  part <- as.data.frame(data)[rows, , drop = FALSE]
  # Other attributes, such as the index of a data.table or a comment, depend on all rows.
  attributes(part) <- list(names = names(part), class = "data.frame", row.names = .set_row_names(length(rows)))
  set.seed(block$seed %/% 2)
  value <- NULL
  utils::capture.output(value <- tryCatch(
    suppressMessages(suppressWarnings(as.double(statistic(part)))), error = function(e) 1))
  if (length(value) != 1L || is.na(value)) 1 else value
}
