test_that("options have the defaults of Python", {
  needs_python()
  constructors <- list(Auto, TukeyEM, AdaSSP, BoostedAdaSSP, DPSGD, Standardisation, DPKendall,
                       DPSIS, TwoStage, SubLasso)
  if (dpreg_available("FrankWolfe")) constructors <- c(constructors, FrankWolfe)
  for (f in constructors) {
    made <- f()
    theirs <- call_python("defaults", list(kind = made$kind))
    ours <- lapply(made$options, function(v) if (inherits(v, "dp_options")) "<object>" else v)
    expect_identical(names(ours), names(theirs))
    expect_equal(ours, theirs)
  }
  expect_output(print(TukeyEM()), "TukeyEM\\(models = NULL, ridge = NULL")
})

test_that("an argument that options do not have is answered with what to write", {
  wrong <- function(e) expect_error(e, class = "dpreg_usage")$message
  expect_match(wrong(BoostedAdaSSP(standardisation = 3)), "no argument 'standardisation': leave it out")
  expect_match(wrong(FrankWolfe(standardization = 3)), "did you mean 'standardisation'")
  expect_match(wrong(DPKendall(0.5, "tight", 1, 2)), "too many arguments")
})
