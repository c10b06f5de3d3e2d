"""The R of the README prints what the README shows."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

LIBRARY = os.environ.get("DPREG_R_LIBRARY")
README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"^```(r|text)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.skipif(LIBRARY is None, reason="needs R: run make test-r")
def test_r_prints_what_is_shown(shown):
    code = [text for language, text in BLOCKS if language == "r"]
    printed = [word for language, text in BLOCKS if language == "text" for word in text.split()]
    assert code
    # As when typed: each expression is printed.
    program = "source(textConnection(commandArgs(TRUE)), print.eval = TRUE, echo = FALSE)"
    environment = {"R_LIBS": str(LIBRARY), "RETICULATE_PYTHON": sys.executable}
    assert shown("Rscript", "-e", program, "\n".join(code), **environment) == printed
