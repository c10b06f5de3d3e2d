"""One R source for the R package and for `dpreg.r`."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED, PACKAGE = ROOT / "python/dpreg/r", ROOT / "rwrapper/R"


def test_sources_are_the_same():
    shared = sorted(p.name for p in SHARED.glob("*.R"))
    # What knows reticulate, and what is said to roxygen only, stay with the R package.
    assert {p.name for p in PACKAGE.glob("*.R")} - set(shared) == {"python.R", "dpreg-package.R"}
    for name in shared:
        assert (SHARED / name).read_bytes() == (PACKAGE / name).read_bytes(), (
            f"copy rwrapper/R/{name} to python/dpreg/r"
        )


def test_all_of_them_are_loaded():
    tree = ast.parse((SHARED / "__init__.py").read_text())
    loaded = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "SOURCES"
    )
    assert sorted(loaded) == sorted(p.name for p in SHARED.glob("*.R"))


def test_only_one_file_knows_reticulate():
    for path in SHARED.glob("*.R"):
        assert "reticulate" not in path.read_text(), path
