"""One R source for the R package and for `dpreg.r`."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpreg

PACKAGE = Path(__file__).parents[1] / "rwrapper/R"
INSTALLED = Path(dpreg.__file__).parent / "r"
# What knows reticulate, and what is said to roxygen only, stay with the R package.
ITS_OWN = {"python.R", "dpreg-package.R"}
# And what puts the sources together within Python stays here.
OURS = {"embed.R"}


def test_the_sources_are_installed_beside_python():
    found = {file.name for file in INSTALLED.iterdir() if file.name.endswith(".R")}
    if found == OURS:
        pytest.skip("dpreg is used from its checkout")
    assert found - OURS == {path.name for path in PACKAGE.glob("*.R")} - ITS_OWN
    for name in found - OURS:
        assert INSTALLED.joinpath(name).read_bytes() == (PACKAGE / name).read_bytes()


def test_only_one_file_knows_reticulate():
    for path in PACKAGE.glob("*.R"):
        assert path.name in ITS_OWN or "reticulate" not in path.read_text(), path
