"""The R of the gallery runs on the data of the gallery."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
import statsmodels.api as sm

LIBRARY = os.environ.get("DPREG_R_LIBRARY")
FOLDER = Path(__file__).parents[2] / "vignettes"
TEXT = (FOLDER / "gallery.py").read_text()
STUDIES = [
    re.sub(r"^# ?", "", block, flags=re.MULTILINE)
    for block in re.findall(r"^# ```r\n(.*?)^# ```", TEXT, re.MULTILINE | re.DOTALL)
]
# What the Python beside a block calls its data, and the file or the data set of statsmodels.
DATA = [
    ("workers", "wages"), ("sales", "homes"), ("years", "randhie"), ("panel", "nlswork"),
    ("women", "births"), ("visits", "randhie"), ("women", "fair"), ("", ""),
]  # fmt: skip


@pytest.mark.skipif(LIBRARY is None, reason="needs R: run make test-r")
def test_each_study_runs_in_r(shown, tmp_path):
    program = ["library(dpreg)"]
    for (name, source), study in zip(DATA, STUDIES, strict=True):
        path = FOLDER / f"{source}.parquet"
        if source and not path.exists():
            path = tmp_path / path.name
            getattr(sm.datasets, source).load_pandas().data.to_parquet(path)
        program += [f"{name} <- '{path}'"] if name else []
        program += [f"print({{\n{study}\n}})"]
    environment = {"R_LIBS": str(LIBRARY), "RETICULATE_PYTHON": sys.executable}
    printed = " ".join(shown("Rscript", "--vanilla", "-e", "\n".join(program), **environment))
    fits = re.findall(r"Private (linear|logistic|Poisson) regression, method", printed)
    assert fits == ["linear", "linear", "logistic", "linear", "Poisson", "linear", "logistic"]
    assert "Plan for 235 units" in printed
    assert "Estimand: clipped least squares" in printed
