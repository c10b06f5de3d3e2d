# Calls that take the same time whatever the records are.

#' Calls whose duration is public
#'
#' Evaluates an expression and makes its duration a multiple of `seconds`, for services whose users
#' can observe when an answer comes. Choose `seconds` so that no call takes longer; one that does
#' ends at the next multiple.
#'
#' The time shows how many times `seconds` it took and nothing else about the records: whether a
#' result was released, the mechanism declined, or an error was raised after the charge. Include
#' what is done with the result, such as writing it, in the expression. Memory, power, and how busy
#' the processor is can still be observed from the same machine.
#'
#' @param expr What to evaluate.
#' @param seconds A number greater than 0.
#' @return The value of `expr`.
#' @export
#' @examples
#' dp_padded(sum(1:10), seconds = 0.1)
dp_padded <- function(expr, seconds) {
  if (missing(seconds)) refuse("seconds must be given; write seconds = 10, for example")
  check_number(seconds, "seconds", 10)
  if (seconds <= 0) refuse("seconds must be greater than 0, not ", described(seconds))
  start <- proc.time()[["elapsed"]]
  on.exit({
    taken <- proc.time()[["elapsed"]] - start
    Sys.sleep(max(1, ceiling(taken / seconds)) * seconds - taken)
  })
  force(expr)
}
