"""Each error that a page about trust lists is a real one, and figures are those of reports.

That all pages run, print and draw, and that intervals cover, is tested where the site runs them, in
docs/test_pages.py.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import re
from pathlib import Path

import numpy as np
import pytest
from audit.mutants import MUTANTS

VIGNETTES = Path(__file__).parents[1] / "vignettes"


@pytest.fixture(scope="module")
def errors():
    """Return the functions of the page, each of which is run once: more than one test asks some.

    The page itself, which shows what each returns, is run where the site is made.
    """
    page = {"__file__": str(VIGNETTES / "errors_found.py")}
    tree = ast.parse(Path(page["__file__"]).read_text())
    kept = (ast.Import, ast.ImportFrom, ast.FunctionDef)
    tree.body = [node for node in tree.body if isinstance(node, kept)]
    exec(compile(tree, page["__file__"], "exec"), page)
    return {name: functools.cache(it) for name, it in page.items() if inspect.isfunction(it)}


@pytest.mark.parametrize(
    ("name", "least_ratio"),
    [
        ("tukey_weight", 1.99),
        ("laplace_scale", 3.3),
        ("batches", 100),
        ("noisy_maximum", 1.95),
        ("canonical_gap", 1.3),
        ("screening_sensitivity", 27),
        ("sigma_is_mu", 1000),
        ("classical_gaussian", 150),
        ("clipping_skipped", 1e8),
        ("noise_scale_from_the_data", 1e11),
        ("intercept_budget", 1.5),
        ("logistic_curvature", 1.04),
        ("fixed_effects", 100),
        ("odd_pairs", 2),
    ],
)
def test_more_is_lost_than_was_claimed(errors, name, least_ratio):
    found = errors[name]()
    assert found["true"] >= least_ratio * found["claimed"]


def test_tau_b_grows_with_the_root_of_n(errors):
    with np.errstate(all="ignore"):
        found = errors["tau_b"](2000)
    assert found["true"] == pytest.approx(math.sqrt(2000 / 2))
    assert math.isnan(found["constant column"])
    assert found["chosen"] == 1


def test_the_mended_gap_keeps_its_promise(errors):
    found = errors["canonical_gap"]()
    assert 0.5 < found["with eps / (4 Delta)"] <= 1.0


def test_screening_throws_active_columns_away(errors):
    assert errors["screening_soundness"]()["true"] == 2


def test_one_seed_gives_the_sum_away(errors):
    assert errors["one_seed"]()["true"] < 1e-9


def test_a_sensitivity_of_nothing(errors):
    found = errors["sensitivity_of_the_diagonal"]()
    assert (found["claimed"], found["true"]) == (0.0, 1e4)


def test_low_bits_tell_two_values_apart(errors):
    found = errors["low_bits"]()
    assert found["true"] > 1000
    assert found["the other side"] == 0


def test_bounds_of_black_boxes_are_those_of_the_report():
    page = (VIGNETTES / "privacy_model.py").read_text()
    report = (VIGNETTES.parent / "tests/audit/report.md").read_text()
    part = report.split("## Whole calls as black boxes")[1].split("\n## ")[0]
    measured = re.findall(r" black box +1 +[\de.-]+ +(0\.\d+) +[\d,]+$", part, re.MULTILINE)
    written = re.findall(r"^# \| `.*\| (0\.\d\d) \|$", page, re.MULTILINE)
    assert len(written) > 20
    assert sorted(written) == sorted(f"{float(bound):.2f}" for bound in measured)


def test_defects_are_as_many_as_the_page_says():
    page = (VIGNETTES / "privacy_model.py").read_text()
    assert f"tests/audit/mutants has {len(MUTANTS)} defects" in page
