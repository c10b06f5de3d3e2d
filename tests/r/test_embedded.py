"""`dpreg.r`: R within Python.  Run by `.ci/r`."""

from __future__ import annotations

import gc
import os
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import dpreg

if "DPREG_R_LIBRARY" not in os.environ:
    pytest.skip("needs R and rpy2: run make test-r", allow_module_level=True)

import rpy2.robjects as ro

import dpreg.r
from dpreg.r._convert import from_sexp, to_sexp


@pytest.mark.parametrize(
    "value",
    [None, True, "Köln", 2.0**53, [], ["a", "b"], [1.0, 2.0], [1.0, "a", None],
     {"a": 1.0, "b": {"c": "d"}}, b"\x00\xff", b"", [{"a": "b"}, {"a": "c"}]],
)  # fmt: skip
def test_plain_values_round_trip(value):
    assert from_sexp(to_sexp(value)) == value


def test_data_frames_of_every_type():
    ro.r("""strange <- data.frame(
      number = c(1.5, NA, Inf), whole = c(1L, NA, 3L), big = c(2^31, 2^53, NA),
      truth = c(TRUE, NA, FALSE), text = c("a", NA, "K\\u00f6ln"),
      place = factor(c("b", NA, "a"), c("a", "b", "nowhere")),
      grade = factor(c("lo", "hi", NA), c("lo", "hi"), ordered = TRUE),
      day = as.Date(c("2020-02-29", NA, "1969-12-31")),
      time = as.POSIXct(c("2020-02-29 12:00", NA, "1969-12-31 00:00"), tz = "UTC"))
    strange[["two words"]] <- 1:3""")
    frame = dpreg.r.from_r("strange")
    assert frame.isna().sum().tolist() == [1] * 9 + [0]
    assert frame["big"].tolist()[:2] == [2.0**31, 2.0**53]
    assert frame["truth"].tolist() == [True, pd.NA, False]
    assert frame["text"].tolist() == ["a", None, "Köln"]
    assert list(frame["place"].cat.categories) == ["a", "b", "nowhere"]
    assert frame["place"].tolist()[::2] == ["b", "a"]
    assert frame["grade"].cat.ordered
    assert frame["day"][2] == pd.Timestamp("1969-12-31")
    assert frame["time"][0] == pd.Timestamp("2020-02-29 12:00")
    assert frame["two words"].tolist() == [1, 2, 3]
    # A type says nothing of whether a cell is missing.
    assert frame["whole"].dtype == frame["two words"].dtype == "Int64"
    assert (dpreg.r.from_r(ro.r("strange[3, ]")).dtypes == frame.dtypes).all()
    assert dpreg.r.from_r(ro.r("strange[0, ]")).shape == (0, 10)


def test_data_frames_are_copies():
    ro.r("mine <- data.frame(x = c(1, 2))")
    frame = dpreg.r.from_r("mine")
    frame.loc[0, "x"] = 99.0
    assert list(ro.r("mine$x")) == [1.0, 2.0]


@pytest.mark.parametrize(
    ("column", "said"),
    [("I(matrix(1:6, 3))", "AsIs|matrix"), ("I(list(1, 2, 3))", "AsIs|list"),
     ("I(complex(3))", "class"), ("structure(as.numeric(1:3), class = 'integer64')", "as.double")],
)  # fmt: skip
def test_columns_that_are_no_vectors_are_refused(column, said):
    ro.r(f"odd <- data.frame(x = 1:3); odd$z <- {column}")
    with pytest.raises(TypeError, match=f"column 'z' is of .*({said})"):
        dpreg.r.from_r("odd")


def test_what_is_no_data_frame_is_refused():
    ro.r("odd <- data.frame(x = 1:3); odd$z <- as.POSIXlt('2020-01-01') + 0:2")
    ro.r("odd$z <- as.POSIXlt(odd$z); plain <- list(1, 2)")
    with pytest.raises(TypeError, match=r"column 'z' is of class POSIXlt; write z <- as.POSIXct"):
        dpreg.r.from_r("odd")
    for value, said in ((ro.r("1:3"), "integer"), (ro.globalenv["plain"], "list"), (5, "int")):
        with pytest.raises(TypeError, match=f"needs an R data frame, not .*{said}"):
            dpreg.r.from_r(value)
    with pytest.raises(ValueError, match="no 'nothing' in R"):
        dpreg.r.from_r("nothing")


def test_columns_of_one_name_are_refused():
    ro.r("twice <- data.frame(a = 1, a = 2, check.names = FALSE)")
    with pytest.raises(ValueError, match="two columns are both named 'a'"):
        dpreg.r.from_r("twice")
    assert dpreg.r.from_r(ro.r("data.frame(row.names = 1:3)")).shape[1] == 0


def test_only_fits_become_r_objects(diamonds):
    found = dpreg.dp_select("price ~ carat + depth", diamonds, 1, 1.0, rng=1)
    for value in (found, dpreg.dp_plan(1000, 3, 1.0), 5, None):
        with pytest.raises(TypeError, match=f"NotReleased, not {type(value).__name__}"):
            dpreg.r.to_r(value)


def test_fits_made_in_python_are_not_updated(diamonds):
    ro.globalenv["theirs"] = dpreg.r.to_r(dpreg.dp_lm("price ~ carat", diamonds, 4.0, rng=1))
    said = ro.r("tryCatch(update(theirs, . ~ . + depth), error = conditionMessage)")[0]
    assert "made in Python" in said
    assert list(ro.r("names(predict(theirs, data.frame(carat = 1)))")) == ["1"]


def test_the_object_made_in_python_is_the_one_made_in_r(diamonds):
    formula = "log(price) ~ log(carat) + depth + cut"
    data = diamonds.assign(cut=diamonds["cut"].cat.as_unordered())
    ro.globalenv["theirs"] = dpreg.r.to_r(dpreg.dp_lm(formula, data, 4.0, 1e-6, rng=1))
    ro.r("""d <- load_diamonds(); d$cut <- factor(d$cut, ordered = FALSE)
    ours <- dp_lm(log(price) ~ log(carat) + depth + cut, d, 4, 1e-6, rng = 1)""")
    assert list(ro.r("setdiff(names(ours), c(names(theirs), 'call'))")) == []
    for part in ("coefficients", "estimates", "covariance", "sampling", "nobs", "law", "privacy",
                 "contrasts", "xlevels", "method"):  # fmt: skip
        assert ro.r(f"identical(ours${part}, theirs${part})")[0], part
    # Where levels came from is said of pandas alone.
    *notes, of_pandas = ro.r("theirs$notes")
    assert notes == list(ro.r("ours$notes"))
    assert "pandas dtype" in of_pandas
    assert ro.r("identical(predict(ours, d[1:9, ]), predict(theirs, d[1:9, ]))")[0]
    assert ro.r("identical(confint(ours), confint(theirs))")[0]


def test_fits_go_to_r_and_back(diamonds):
    fit = dpreg.dp_lm("price ~ carat + depth", diamonds, 4.0, select="kendall", k=1, rng=1)
    back = dpreg.r.from_r(dpreg.r.to_r(fit))
    assert back.to_json() == fit.to_json()
    declined = dpreg.dp_lm("price ~ carat", diamonds[:50], 0.1, method="tukey", rng=1)
    again = dpreg.r.from_r(dpreg.r.to_r(declined))
    assert again.to_json() == declined.to_json()


def test_fits_that_r_made_are_results():
    ro.r("ours <- dp_lm(log(price) ~ log(carat) + cut, diamonds, 4, 1e-6, rng = 1)")
    fit = dpreg.r.from_r("ours")
    assert isinstance(fit, dpreg.DPResults)
    assert fit.params.index.tolist() == list(
        ro.r("sub('[()]Intercept[)]', 'Intercept', names(coef(ours)))")
    )
    np.testing.assert_array_equal(fit.params, ro.r("unname(coef(ours))"))
    np.testing.assert_allclose(fit.conf_int(), np.asarray(ro.r("confint(ours)")), rtol=1e-10)
    assert "NOT PRIVATE" in str(fit.summary())
    with pytest.raises(ValueError, match="from a matrix"):
        fit.predict({"carat": [1.0]})
    # Of no consequence to those who use R objects.
    assert ro.r("ours").rclass[0] == "dp_lm"


def test_converters_are_for_both_ways(diamonds):
    fit = dpreg.dp_lm("price ~ carat", diamonds, 4.0, rng=1)
    ro.globalenv["given"] = fit
    assert list(ro.r("names(coef(given))")) == ["(Intercept)", "carat"]
    with (ro.default_converter + dpreg.r.converter).context():
        assert isinstance(ro.globalenv["given"], dpreg.DPResults)
        assert list(ro.r("c(1, 2)")) == [1.0, 2.0]


def test_cells_of_a_notebook(shown):
    code = """
from IPython.testing.globalipapp import start_ipython
shell = start_ipython()
shell.run_line_magic("load_ext", "rpy2.ipython")
shell.run_cell("import dpreg, dpreg.r")
shell.run_cell("fit = dpreg.dp_lm('price ~ carat', dpreg.load_diamonds(), 4.0, rng=1)")
cell = "a <- dp_lm(price ~ carat, diamonds, 4, rng = 1); same <- identical(coef(fit), coef(a))"
shell.run_cell_magic("R", "-i fit", cell)
shell.run_cell_magic("R", "-o a -o same", "1")
print("found", type(shell.user_ns["a"]).__name__, list(shell.user_ns["same"])[0])
"""
    assert shown(sys.executable, "-c", code)[-3:] == ["found", "DPResults", "True"]


def test_formulas_that_r_reads_otherwise_do_not_predict(diamonds):
    ro.globalenv["theirs"] = dpreg.r.to_r(
        dpreg.dp_lm("price ~ np.log(carat) + C(cut, contr.sum)", diamonds, 4.0, rng=1)
    )
    said = ro.r("tryCatch(predict(theirs, load_diamonds()), error = conditionMessage)")[0]
    assert "predict there" in said


def test_declined(diamonds):
    declined = dpreg.dp_lm("price ~ carat", diamonds[:50], 0.1, method="tukey", rng=1)
    ro.globalenv["no"] = dpreg.r.to_r(declined)
    assert list(ro.r("class(no)")) == ["dp_not_released", "dp_result"]
    assert "Not released" in "\n".join(ro.r("capture.output(print(no))"))


def test_exceptions_become_r_conditions():
    said = ro.r("tryCatch(dp_lm(price ~ carat, load_diamonds(), -1), error = function(e) class(e))")
    assert list(said)[:2] == ["dpreg_budget", "dpreg_error"]
    said = ro.r("tryCatch(dp_budget('much'), error = conditionMessage)")[0]
    assert "eps must be a number" in said


def test_records_are_not_read_when_the_budget_refuses():
    ro.r("""b <- dp_budget(1, 1e-5)
    d <- load_diamonds()
    r <- tryCatch(dp_lm(price ~ carat, d, 2, 1e-6, budget = b),
                  dpreg_budget = function(e) "no")""")
    assert ro.r("r")[0] == "no"
    assert ro.r("nrow(as.data.frame(b))")[0] == 0


def test_collecting_callbacks_does_not_end_the_process(shown):
    code = """
import gc
import dpreg.r as bridge
import rpy2.robjects as ro
del bridge
gc.collect()
ro.r("b <- dp_budget(1); for (i in 1:500) as.data.frame(b)")
gc.collect()
ro.r("gc(); print(b)")
"""
    assert shown(sys.executable, "-c", code)[:4] == ["Budget:", "eps", "=", "1,"]


def held():
    """Bytes that Python holds, and that R holds for vectors."""
    gc.collect()
    ro.r("invisible(gc())")
    gc.collect()
    return np.array([tracemalloc.get_traced_memory()[0], 8 * ro.r("gc()[2, 1]")[0]])


def test_no_records_are_kept_after_a_fit():
    # 17.6 MB.  Arrays are not tracked by the garbage collector; their memory is traced.
    ro.r("""n <- 200000L; wide <- as.data.frame(matrix(rnorm(n * 10), n)); wide$y <- rnorm(n)
    f <- dp_lm(y ~ ., wide, 5, 1e-6)""")
    tracemalloc.start()
    try:
        before = held()
        ro.r("f <- dp_lm(y ~ ., wide, 5, 1e-6)")
        assert (held() - before < 1e6).all()
        # One column that is kept would be seen, on either side.
        kept = np.zeros(200_000)
        ro.r("kept <- rnorm(n)")
        assert (held() - before > 1e6).all()
        del kept
    finally:
        tracemalloc.stop()
    ro.r("rm(kept, wide)")
    assert ro.r("object.size(f)")[0] < 1.5e5
