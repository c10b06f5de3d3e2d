"""The quick version of each paper's script runs and prints its tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[1] / "vignettes" / "reproductions"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "titles"),
    [
        ("amin2023", ("Figure 1, Synthetic", "Figure 2, left", "Figure 3", "Figure 5, Synthetic")),
        ("dick2023", ("Theorem 3.8",)),
        ("swope2024", ("Figure 1", "Theorem A.3")),
    ],
)
def test_a_reproduction_runs(paper, titles):
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / f"{paper}.py"), "--quick"],
        capture_output=True,
        text=True,
        check=True,
    )
    for title in titles:
        assert f"## {title}" in done.stdout
