"""The quick version of each paper's script runs and prints its tables."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("coarse_losses")

SCRIPTS = Path(__file__).parents[1] / "vignettes" / "reproductions"


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("paper", "titles"),
    [
        ("amin2023", ("Figure 1, Synthetic", "Figure 2, left", "Figure 3", "Figure 5, Synthetic")),
        ("dick2023", ("Theorem 3.8",)),
        ("khanna2025", ("Table 1", "Figure 4", "Theorem 4.2", "Sound RNM-Screen")),
        ("swope2024", ("Figure 1", "Theorem A.3")),
    ],
)
def test_a_reproduction_runs(paper, titles, monkeypatch, capsys):
    script = str(SCRIPTS / f"{paper}.py")
    monkeypatch.setattr("sys.argv", [script, "--quick"])
    runpy.run_path(script, run_name="__main__")
    printed = capsys.readouterr().out
    for title in titles:
        assert f"## {title}" in printed
