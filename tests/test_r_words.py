"""What R is told is in the syntax of R, and names and formulas stay as they are."""

from __future__ import annotations

import pytest

from dpreg.faces.bridge.call import call
from dpreg.faces.bridge.words import in_r, told_in_r


@pytest.mark.parametrize(
    ("python", "r"),
    [
        ("write delta=1e-6, for example", "write delta = 1e-6, for example"),
        ("1 row is used; max_rows= allows more", "1 row is used; max_rows allows more"),
        ("write start=..., or levels=.", "write start = ..., or levels."),
        ("got -1.0; a common choice is eps=1.0", "got -1; a common choice is eps = 1"),
        ("add select='kendall', or leave k out", 'add select = "kendall", or leave k out'),
        ("inference must be True or False, got None", "inference must be TRUE or FALSE, got NULL"),
        ("a name or an options object such as dpreg.TukeyEM(models=1000)",
         "a name or options such as TukeyEM(models = 1000)"),
        ("write bounds={'a b': (low, high), ...} with",
         "write bounds = list(`a b` = c(low, high), ...) with"),
        ("write bounds={response: (low, high)}, fewer columns",
         "write bounds = list(response = c(low, high)), fewer columns"),
        ("dp_lm('y ~ I(x == 1)', method='auto') needs eps=0.5",
         'dp_lm(y ~ I(x == 1), method = "auto") needs eps = 0.5'),
        ("such as dpreg.Budget(eps=2.0, delta=1e-5)", "such as dp_budget(eps = 2, delta = 1e-5)"),
        ("and levels= declares them", "and levels declares them"),
        ("a CSV file; declare them, types = {'x': 'float64'}, and read the table with f(types), "
         "or in R with read.csv('d.csv', colClasses = ...)",
         "a CSV file; write read.csv('d.csv', colClasses = ...)"),
        ("tukey, basic composition, dpreg 0.1.0", "tukey, basic composition, dpreg 0.1.0"),
        ("no column 'None', 'True' or '2.0'", "no column 'None', 'True' or '2.0'"),
        ("cut(x, breaks = c(0, 1)) == 2 and z<=3", "cut(x, breaks = c(0, 1)) == 2 and z<=3"),
    ],
)  # fmt: skip
def test_words(python, r):
    assert in_r(python) == r
    assert in_r(r) == r


def test_only_what_is_shown_is_changed():
    answer = {
        "names": ["eps=1.0"],
        "notes": ["eps=1.0"],
        "privacy": {"text": "eps=1.0", "unit": "k=2.0"},
    }
    assert told_in_r(answer) == {
        "names": ["eps=1.0"], "notes": ["eps = 1"], "privacy": {"text": "eps = 1", "unit": "k=2.0"},
    }  # fmt: skip


def test_errors_are_values_in_the_words_of_r():
    answer = call("new_budget", {"eps": -1.0, "delta": 0.0})
    assert answer["error"]["kind"] == "budget"
    assert "write eps = 1, a common choice" in answer["error"]["message"]
