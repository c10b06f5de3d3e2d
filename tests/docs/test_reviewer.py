"""The page for a reviewer has every method, with its proof, and every audit."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from dpreg.estimation.methods import METHODS
from dpreg.estimation.selection import SELECTORS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def reviewer():
    spec = importlib.util.spec_from_file_location("reviewer", ROOT / "vignettes/site/reviewer.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_method_has_a_proof_that_is_there(reviewer):
    calls = reviewer.calls()
    assert {f"dp_lm(method={name!r})" for name in METHODS} < set(calls)
    assert {f"dp_select(method={name!r})" for name in SELECTORS} < set(calls)
    for _, documented in calls.values():
        assert (ROOT / reviewer.proof_of(documented)).exists()


def test_the_page_is_filled_in(reviewer, tmp_path):
    page = tmp_path / "reviewer.md"
    page.write_text((ROOT / "vignettes/site/pages/privacy/reviewer.md").read_text())
    reviewer.stage(page)
    text = page.read_text()
    assert "<!--" not in text
    for said in ("| score of round k |", "| draw of a deep model |", "Gumbel, scale s",
                 "discrete Laplace, scale s", "privacy loss distribution (PLD)",
                 "| Ledger under kill -9 |"):  # fmt: skip
        assert said in text, said
    report = (ROOT / "tests/audit/report.md").read_text()
    assert text.count("| 20") >= report.count("\n## ")
