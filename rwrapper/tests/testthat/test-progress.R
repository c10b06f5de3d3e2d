test_that("a line says how far a release has come, and goes when it is there", {
  ask <- function(name, request) {
    for (text in c("pass 9", "pass 10")) request$progress(text)
    name
  }
  before <- options(dpreg.progress = TRUE)
  on.exit(options(before))
  shown <- capture.output(value <- call_release("lm", list(), ask), type = "message")
  expect_equal(value, "lm")
  expect_equal(shown, paste0("\rdpreg: pass 9\rdpreg: pass 10\r", strrep(" ", 14), "\r"))
})

test_that("nobody is told where nobody looks", {
  skip_if(interactive())
  expect_null(call_release("lm", list(), function(name, request) request)$progress)
})
