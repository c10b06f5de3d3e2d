test_that("Python is started without the library paths of R", {
  expect_identical(without_paths("/r/lib:/usr/lib:/mine", "/r/lib:/usr/lib"), "/mine")
  expect_identical(without_paths("/r/lib", "/r/lib"), "")
  expect_identical(without_paths("/mine:/too", ""), "/mine:/too")
  testthat::skip_on_os(c("windows", "mac"))
  ours <- strsplit(library_paths_of_r(), ":", fixed = TRUE)[[1L]]
  expect_true(all(ours %in% strsplit(Sys.getenv("LD_LIBRARY_PATH"), ":", fixed = TRUE)[[1L]]))
})

test_that("a Python that cannot load its libraries is noticed before pip is asked", {
  testthat::skip_on_os("windows")
  fake <- tempfile()
  writeLines(c("#!/bin/sh", "echo 'ImportError: undefined symbol: _PyModule_Add' >&2", "exit 1"), fake)
  Sys.chmod(fake, "755")
  expect_error(check_loads(fake, "dpreg"), "ImportError: undefined symbol.*outside R:.*-m pip install 'dpreg'",
               class = "dpreg_python")
  writeLines(c("#!/bin/sh", "exit 0"), fake)
  expect_silent(check_loads(fake, "dpreg"))
})

test_that("a path that is not there is refused before an environment is made", {
  expect_error(install_dpreg("nowhere/dpreg.whl"), "there is no file or folder 'nowhere/dpreg.whl'",
               class = "dpreg_usage")
})
