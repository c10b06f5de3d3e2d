# Allowances over many releases. Python counts; here is a key or a path, and what to print.

#' An allowance over many releases
#'
#' Releases that name a budget are charged to it before a record is read, and refused when it cannot
#' cover them. What several releases from the same data reveal adds up: their eps, and their delta.
#'
#' The defaults of `dp_budget()` and [dp_lm()] go together: a fit that names a budget and no delta
#' takes the same share of the budget's delta as of its eps, so that neither is left over. Give
#' `delta = 0` for a budget of selections and other releases that need none.
#'
#' Without a `ledger` a budget ends with the session. A ledger is a file that keeps the charges, so
#' that a session that is killed has spent what it asked for. Keep it where analysts cannot write:
#' whoever can replace the file can spend again.
#'
#' @param eps Total privacy loss, in nats, that the releases may add up to.
#' @param delta Total failure probability.
#' @param ledger Path of a file that keeps the charges, shared by all sessions that name it, those of
#'   Python too.
#' @param x A budget.
#' @param ... Not used.
#' @return An object of class `dp_budget`. `as.data.frame()` gives its charges.
#' @seealso [plot.dp_budget()]; `vignette("custodian", "dpreg")`.
#' @export
#' @examples
#' if (dpreg_available()) {
#'   budget <- dp_budget(eps = 2)
#'   fit <- dp_lm(price ~ carat, diamonds, eps = 0.5, budget = budget)
#'   budget
#' }
dp_budget <- function(eps, delta = 1e-5, ledger = NULL) {
  check_number(eps, "eps", "1")
  check_number(delta, "delta", "1e-5")
  budget <- list(eps = eps, delta = delta, ledger = ledger)
  if (is.null(ledger)) {
    budget$key <- call_python("new_budget", list(eps = eps, delta = delta))
  } else {
    if (!is.character(ledger) || length(ledger) != 1L || is.na(ledger) || !nzchar(ledger))
      refuse("ledger must be the path of a file, not ", described(ledger))
    budget$ledger <- absolute(ledger)
  }
  budget <- structure(budget, class = "dp_budget")
  budget_state(budget) # makes the file, or says what is wrong with it
  budget
}

# The share of the budget's delta that eps is of its eps, rounded down to ten digits, so that
# shares which add up to the whole do not exceed it.
default_delta <- function(eps, delta, budget) {
  if (is.null(budget) || budget$delta == 0) return(delta)
  share <- eps / budget$eps * budget$delta
  if (!is.finite(share) || share <= 0 || share >= budget$delta) return(budget$delta)
  unit <- 10^(floor(log10(share)) - 9)
  down <- signif(share, 10L)
  signif(if (down > share * (1 + 1e-14)) down - unit else down, 10L)
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
  if (!inherits(budget, "dp_budget"))
    refuse("budget must be made by dp_budget(), such as budget = dp_budget(eps = 2), not ",
           described(budget))
  unclass(budget)
}

#' @export
summary.dp_budget <- function(object, ...) object

#' @rdname dp_budget
#' @export
print.dp_budget <- function(x, ...) {
  state <- budget_state(x)
  cat(sprintf("Budget: eps = %g, delta = %g; left: eps = %g, delta = %g\n", x$eps, x$delta,
              state$remaining$eps, state$remaining$delta))
  if (!is.null(x$ledger)) cat("Ledger: ", x$ledger, "\n", sep = "")
  charges <- as.data.frame(x)
  if (nrow(charges)) {
    charges[-1L] <- lapply(charges[-1L], function(v) vapply(v, format, ""))
    print(charges, right = FALSE)
  }
  invisible(x)
}

#' @rdname dp_budget
#' @export
as.data.frame.dp_budget <- function(x, ...) {
  state <- budget_state(x)
  data.frame(label = as.character(unlist(state$label)), eps = unpack_doubles(state$eps),
             delta = unpack_doubles(state$delta))
}
