# Budgets over several releases. Python does the accounting; R has a key or a path, and printing.

#' A privacy budget for many releases
#'
#' A release is charged to its budget before a record is read, and refused if the budget cannot cover
#' it. The costs of several releases from the same data add up: their eps, and their delta.
#'
#' A fit with a budget and without a delta uses the same fraction of the budget's delta as of its eps,
#' so that both are used up together. Use `delta = 0` for a budget of selections and other releases that
#' need no delta.
#'
#' Without a `ledger` a budget ends with the session. A ledger is a file with the charges. Each
#' charge is written before the release, so the charge of a killed session remains spent. Keep the
#' file where analysts cannot write: anyone who can replace it can spend again. To open an existing
#' ledger, give its path and no total.
#'
#' @section Accounting:
#' With `"basic"`, the default, eps and delta add up. Under `"gdp"` (Gaussian differential privacy) and
#' `"zcdp"` (zero-concentrated) the squares of the noise levels add up: ten fits at `eps = 0.3`,
#' `delta = 1e-6` by `"boosted_adassp"` cost `eps = 3` under basic composition and `eps = 0.9` under
#' `"gdp"`, at `delta = 1e-5`. Both need a delta, of which half is reserved for failures of a mechanism.
#'
#' @param eps Total epsilon of all releases.
#' @param delta Total delta.
#' @param ledger Path of a file with the charges, which several sessions of R and Python can share. It is
#'   created if it does not exist.
#' @param accounting `"basic"`, `"gdp"` or `"zcdp"`: how releases add up.
#' @param mu,rho The total of `"gdp"`, or of `"zcdp"`, instead of `eps`.
#' @param name Name of the data set, recorded in the ledger.
#' @param user Name recorded with each charge; `NULL`: the user of the operating system.
#' @param x A budget.
#' @param ... Must be empty.
#' @return An object of class `dp_budget`. `as.data.frame()` gives its charges: when, by whom, from
#'   what and how; `eps` and `delta` of each by itself; `mu` and `rho`, except for events of
#'   probability `failure`; its status, its stratum, and the protected unit with `max_rows`.
#' @seealso [dp_partition()] for releases from disjoint groups of units; [plot.dp_budget()];
#'   `vignette("custodian", "dpreg")`.
#' @export
#' @examplesIf dpreg_available()
#' budget <- dp_budget(eps = 2)
#' fit <- dp_lm(price ~ carat, diamonds, eps = 0.5, budget = budget)
#' budget
#' dp_budget(mu = 0.5)
dp_budget <- function(eps = NULL, delta = 1e-5, ledger = NULL, accounting = NULL, mu = NULL, rho = NULL,
                      name = NULL, user = NULL, ...) {
  no_more("dp_budget()", BUDGET_HINTS, ...)
  if (is_text(ledger) && nzchar(ledger)) {
    if (ledger %in% c("basic", "gdp", "zcdp"))
      refuse("ledger must be the path of a file; write accounting = ", described(ledger), ", or ",
             described(file.path(".", ledger)), " for a file of that name")
    ledger <- absolute(ledger)
  }
  asked <- list(eps = eps, mu = mu, rho = rho, delta = if (!missing(delta)) delta, ledger = ledger,
                accounting = accounting, name = name, user = user)
  made <- call_python("new_budget", lapply(without_nulls(asked), one_sent))
  structure(without_nulls(c(made, list(ledger = ledger, user = user))), class = c("dp_budget", "dp_result"))
}

# The same file after setwd(); normalizePath() does not change the path of a new file.
absolute <- function(path) {
  path <- path.expand(path)
  if (!grepl("^(/|[A-Za-z]:[/\\\\]|\\\\\\\\)", path)) path <- file.path(getwd(), path)
  file.path(normalizePath(dirname(path), mustWork = FALSE), basename(path))
}

budget_state <- function(budget) call_python("budget_state", budget_sent(budget))

budget_sent <- function(budget) {
  if (is.null(budget)) return(NULL)
  if (inherits(budget, "dp_partition"))
    refuse("budget must be that of one stratum, such as budget = strata[[",
           deparsed(names(budget)[1L]), "]], not all of them")
  if (!inherits(budget, "dp_budget"))
    refuse("budget must be made by dp_budget(), such as budget = dp_budget(eps = 2), not ",
           described(budget))
  sent <- unclass(budget)[intersect(c("key", "ledger", "user"), names(budget))]
  sent$stratum <- budget$stratum[c("column", "position")]
  sent
}

#' @rdname dp_budget
#' @export
print.dp_budget <- function(x, ...) {
  state <- budget_state(x)
  basic <- identical(x$accounting, "basic")
  cat("Budget: eps = ", format(x$eps, digits = 6L), ", delta = ", format(x$delta),
      if (!basic) sprintf(", accounting \"%s\"", x$accounting),
      if (!is.null(x$stratum)) paste0(", for ", stratum_label(x$stratum)), "; ",
      if (!basic) sprintf("spent: eps = %.4g, delta = %g; ", state$spent$eps, state$spent$delta),
      sprintf("left: eps = %g, delta = %g\n", state$remaining$eps, state$remaining$delta), sep = "")
  if (!is.null(x$ledger)) cat("Ledger: ", x$ledger, "\n", sep = "")
  charges <- charges_of(state)
  if (nrow(charges)) {
    shown <- charges[c("label", if (basic) c("eps", "delta") else c("eps", "delta", "mu", "rho"),
                       if (any(nzchar(charges$stratum))) "stratum")]
    numeric <- vapply(shown, is.numeric, NA)
    shown[numeric] <- lapply(shown[numeric], function(v) vapply(v, format, "", digits = 4L))
    print(shown, right = FALSE)
  }
  invisible(x)
}

#' @rdname dp_budget
#' @export
as.data.frame.dp_budget <- function(x, ...) charges_of(budget_state(x))

charges_of <- function(state) data.frame(state$charges)
