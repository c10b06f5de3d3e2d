"""The README says what is true: its Python runs, its commands exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import dpreg
from dpreg.faces.cli.commands import dpreg as shell

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def covers(limits, y, X):
    """Whether all intervals, the intercept's first, cover the least-squares values."""
    A = np.column_stack([np.ones(len(y)), np.asarray(X, dtype=float)])
    exact = np.linalg.lstsq(A, np.asarray(y, dtype=float), rcond=None)[0]
    low, high = np.asarray(limits).T
    return bool(((low <= exact) & (exact <= high)).all())


def test_examples_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for example in blocks("python"):
        exec(compile(example, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "differentially private" in printed
    assert "(1.0, 9e-06)" in printed


def test_the_summary_is_the_one_shown_and_covers_least_squares():
    diamonds = dpreg.load_diamonds()
    formula = "log(price) ~ log(carat) + depth + table"
    fit = dpreg.dp_lm(formula, diamonds, eps=1.0, delta=1e-6, rng=1)
    assert [str(fit.summary()).split()] == [text.split() for text in blocks("console")]
    X = np.column_stack([np.log(diamonds["carat"]), diamonds[["depth", "table"]]])
    assert covers(fit.conf_int(), np.log(diamonds["price"]), X)


def test_the_intervals_of_r_cover_least_squares():
    diamonds = dpreg.load_diamonds()
    table = re.search(r"^Coefficients:\n(.*?)^---", README, re.MULTILINE | re.DOTALL)[1]
    rows = [line.split()[1:3] for line in table.splitlines()[1:]]
    estimates, errors = np.array(rows, dtype=float).T
    limits = estimates[:, None] + 1.96 * errors[:, None] * [-1, 1]
    better = diamonds["clarity"].cat.codes > list(diamonds["clarity"].cat.categories).index("SI1")
    X = np.column_stack([np.log(diamonds["carat"]), diamonds["depth"], better])
    assert len(limits) == 4
    assert covers(limits, np.log(diamonds["price"]), X)


@pytest.mark.parametrize("target", ["demo", "test"])
def test_make_targets_exist(target):
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_commands_parse():
    commands = [line for block in blocks("sh") for line in block.splitlines()
                if line.startswith("dpreg ")]  # fmt: skip
    assert commands
    for command in commands:
        _, *words = shlex.split(command)
        found = shell
        while words[0] in getattr(found, "commands", {}):
            found = found.commands[words.pop(0)]
        # Parsed, and not run.
        found.make_context("dpreg", words)


def test_links_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)", README):
        assert (ROOT / target).exists(), target
