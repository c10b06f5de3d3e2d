# Loads the sources of the R package into a session that runs inside Python.
#
# sources: the text of each file; namespace: that of NAMESPACE; call_python: what python_backend()
# returns in the R package.
function(sources, namespace, call_python) {
  e <- new.env(parent = asNamespace("stats"))
  for (name in c("tidy", "glance", "augment"))
    assign(name, if (requireNamespace("generics", quietly = TRUE))
      getExportedValue("generics", name) else eval(substitute(
        function(x, ...) UseMethod(g), list(g = name)), e), envir = e)
  for (text in sources) eval(parse(text = text, keep.source = FALSE), e)
  # What python.R and data/ have in the R package.
  e$python_backend <- function() call_python
  e$dpreg_available <- function(what = NULL) TRUE
  e$load_diamonds <- function() {
    diamonds <- as.data.frame(lapply(call_python("diamonds", list())$value, function(column) {
      if (is.null(column$codes)) return(unpack_doubles(column$values))
      factor(column$levels[unpack_doubles(column$codes)], column$levels, ordered = column$ordered)
    }))
    transform(diamonds, price = as.integer(price))
  }
  environment(e$python_backend) <- list2env(list(call_python = call_python), parent = e)
  environment(e$load_diamonds) <- environment(e$python_backend)
  environment(e$dpreg_available) <- e

  directives <- as.list(parse(text = namespace, keep.source = FALSE))
  of_kind <- function(kind) Filter(function(d) identical(d[[1L]], as.name(kind)), directives)
  register <- function(home, generic, class) {
    f <- e[[paste0(generic, ".", class)]]
    if (is.null(home)) return(registerS3method(generic, class, f, envir = e))
    here <- function(...) registerS3method(generic, class, f, envir = asNamespace(home))
    if (isNamespaceLoaded(home)) here() else setHook(packageEvent(home, "onLoad"), here)
  }
  for (d in of_kind("S3method")) {
    foreign <- is.call(d[[2L]])
    register(if (foreign) as.character(d[[2L]][[2L]]),
             as.character(if (foreign) d[[2L]][[3L]] else d[[2L]]), as.character(d[[3L]]))
  }
  known <- getOption("marginaleffects_model_classes")
  options(marginaleffects_model_classes = union(known, "dp_lm"))

  shown <- vapply(of_kind("export"), function(d) as.character(d[[2L]]), "")
  if ("dpreg" %in% search()) detach("dpreg", character.only = TRUE)
  attach(mget(intersect(shown, ls(e)), e), name = "dpreg", warn.conflicts = FALSE)
  delayedAssign("diamonds", load_diamonds(), e, as.environment("dpreg"))
  e
}
