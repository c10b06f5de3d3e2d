# The only file that uses reticulate. All values passed are plain (see faces/bridge).

.python <- new.env(parent = emptyenv())

python_backend <- function() {
  if (is.null(.python$call)) {
    if (!dpreg_available()) dpreg_stop("python", python_missing())
    .python$call <- reticulate::import("dpreg.faces.bridge.call", convert = TRUE)$call
  }
  .python$call
}

python_missing <- function() {
  paste0(
    "the Python package dpreg was not found",
    if (reticulate::py_available()) paste0(" in ", reticulate::py_config()$python,
      ", which this session already uses; start a new one to use another"),
    ".\nInstall it once with dpreg::install_dpreg(), or set its path before it is used:\n",
    "  Sys.setenv(RETICULATE_PYTHON = \"/path/to/venv/bin/python\")"
  )
}

#' Is the Python package available?
#'
#' Starts Python and returns whether it can import dpreg. Examples, tests and vignettes of this package
#' run only if it can.
#'
#' @param what Optionally the name of a function that the Python package must have.
#' @return `TRUE` or `FALSE`.
#' @export
#' @examples
#' dpreg_available()
dpreg_available <- function(what = NULL) {
  found <- tryCatch(reticulate::py_module_available("dpreg.faces.bridge.call"), error = function(e) FALSE)
  if (!found || is.null(what)) return(isTRUE(found))
  all(vapply(what, function(name)
    reticulate::py_has_attr(reticulate::import("dpreg"), name), NA))
}

#' Public example data
#'
#' The same as [diamonds], for code that runs in an R session embedded in Python too.
#'
#' @return A data frame.
#' @export
#' @examples
#' str(load_diamonds())
load_diamonds <- function() dpreg::diamonds

# Modules that the bridge always imports, as checked by tests/test_bridge.py.
PYTHON_NEEDS <- c("numpy>=1.26", "scipy>=1.11", "dp-accounting>=0.4.4")

#' Install the Python package
#'
#' Creates the virtual environment `r-dpreg`, which reticulate finds by itself.
#'
#' It contains the Python packages that R needs: numpy, scipy and dp-accounting. R itself evaluates
#' data frames and formulas, so pandas, pyarrow, formulaic, narwhals and statsmodels, which Python
#' users get with dpreg, are not installed; data in files need pyarrow as well. To share an
#' environment with Python, name it in the environment variable `RETICULATE_PYTHON` instead.
#'
#' @param source What pip installs: the name of the package, or the path of a checkout or
#'   of a wheel.
#' @param python Path of a Python, 3.11 or later, for the environment; `NULL`: the one reticulate finds.
#' @return The path of the environment, invisibly.
#' @export
#' @examples
#' \dontrun{
#' install_dpreg()
#' }
install_dpreg <- function(source = "dpreg", python = NULL) {
  if (!is_text(source) || !nzchar(source))
    refuse("source must be what pip installs, such as source = \"dpreg\" or the path of a wheel, not ", described(source))
  if (grepl("/", source, fixed = TRUE) && !grepl("://|@", source) && !file.exists(source))
    refuse("source: there is no file or folder ", sQuote(source, FALSE))
  check_text(python, "python", "\"/usr/bin/python3\"")
  # Python finds its own libraries, in place of those that R puts before them.
  libraries <- Sys.getenv("LD_LIBRARY_PATH", NA)
  if (!is.na(libraries)) {
    Sys.setenv(LD_LIBRARY_PATH = without_paths(libraries, library_paths_of_r()))
    on.exit(Sys.setenv(LD_LIBRARY_PATH = libraries))
  }
  path <- reticulate::virtualenv_create("r-dpreg", python = python, packages = NULL)
  check_loads(reticulate::virtualenv_python("r-dpreg"), source)
  reticulate::virtualenv_install("r-dpreg", packages = c("pip", PYTHON_NEEDS))
  reticulate::virtualenv_install("r-dpreg", packages = source, pip_options = "--no-deps")
  if (reticulate::py_available())
    message("Restart R: this session already uses another Python.")
  invisible(path)
}

# What R's start-up script puts into LD_LIBRARY_PATH.
library_paths_of_r <- function() {
  script <- file.path(R.home("etc"), "ldpaths")
  if (!file.exists(script)) return("")
  system2("sh", c("-c", shQuote(". \"$0\"; echo \"$LD_LIBRARY_PATH\""), shQuote(script)),
          stdout = TRUE, env = "LD_LIBRARY_PATH=")
}

without_paths <- function(paths, unwanted) {
  parts <- strsplit(c(paths, unwanted), ":", fixed = TRUE)
  paste(setdiff(parts[[1L]], parts[[2L]]), collapse = ":")
}

# Without ssl pip cannot download anything, and its message is hard to find.
check_loads <- function(python, source) {
  said <- suppressWarnings(system2(python, c("-c", shQuote("import ssl, zlib, ctypes")),
                                   stdout = TRUE, stderr = TRUE))
  if (is.null(attr(said, "status"))) return(invisible())
  dpreg_stop("python", "the Python at ", python, " cannot load its own libraries when R starts it (",
             said[length(said)], "). Install from a shell, outside R:\n  ", shQuote(python),
             " -m pip install ", shQuote(source), "\nor name another one: install_dpreg(python = \"/usr/bin/python3\")")
}

.onLoad <- function(libname, pkgname) {
  # Only sets the path of Python, which starts with the first call.
  if (!nzchar(Sys.getenv("RETICULATE_PYTHON")) && !reticulate::py_available())
    try(reticulate::use_virtualenv("r-dpreg", required = FALSE), silent = TRUE)
  known <- getOption("marginaleffects_model_classes")
  options(marginaleffects_model_classes = union(known, "dp_lm"))
}
