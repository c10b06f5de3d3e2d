# Loads the sources of the R package into a session that runs inside Python.
#
# sources: the text of each file; call_python: what python_backend() returns in the R package.
function(sources, call_python) {
  e <- new.env(parent = asNamespace("stats"))
  for (name in c("tidy", "glance", "augment"))
    assign(name, if (requireNamespace("generics", quietly = TRUE))
      getExportedValue("generics", name) else eval(substitute(
        function(x, ...) UseMethod(g), list(g = name)), e), envir = e)
  for (text in sources) eval(parse(text = text, keep.source = FALSE), e)
  e$python_backend <- function() call_python
  e$dpreg_available <- function(what = NULL) TRUE
  environment(e$python_backend) <- list2env(list(call_python = call_python), parent = e)
  environment(e$dpreg_available) <- e
  classes <- c("dp_lm", "summary.dp_lm", "dp_not_released", "dp_selection", "dp_plan",
               "dp_budget", "dp_comparison", "dp_certificate",
               "dp_options")
  foreign <- list(emmeans = c("recover_data", "emm_basis"),
                  marginaleffects = c("get_coef", "set_coef", "get_vcov", "get_predict"),
                  insight = "get_data")
  for (class in classes) {
    ending <- paste0(".", class)
    for (name in Filter(function(n) endsWith(n, ending), ls(e))) {
      generic <- substr(name, 1L, nchar(name) - nchar(ending))
      # print.summary.dp_lm belongs to the longer class.
      if (generic %in% c("print.summary")) next
      home <- names(Filter(function(g) generic %in% g, foreign))
      if (!length(home)) registerS3method(generic, class, e[[name]], envir = e)
      else if (requireNamespace(home, quietly = TRUE))
        registerS3method(generic, class, e[[name]], envir = asNamespace(home))
    }
  }
  known <- getOption("marginaleffects_model_classes")
  options(marginaleffects_model_classes = union(known, "dp_lm"))
  shown <- c("dp_lm", "dp_select", "dp_plan", "dp_budget", "dp_compare", "load_diamonds",
             "dpreg_available", "tidy", "glance", "augment", "Auto", "TukeyEM", "AdaSSP",
             "BoostedAdaSSP", "DPSGD", "FrankWolfe", "Standardisation", "DPKendall", "DPSIS",
             "TwoStage", "SubLasso")
  if ("dpreg" %in% search()) detach("dpreg", character.only = TRUE)
  attach(mget(shown, e), name = "dpreg", warn.conflicts = FALSE)
  e
}
