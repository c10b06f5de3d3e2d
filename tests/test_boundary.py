"""There is one place where private becomes public, and the imports show it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "python/dpreg"


def imports(path):
    """Modules of dpreg that a file imports, at any level of indentation."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in found if name.startswith("dpreg")}


def files(folder):
    return sorted((PACKAGE / folder).rglob("*.py"))


@pytest.mark.parametrize("path", files("results"), ids=lambda p: p.name)
def test_results_never_touches_records_or_noise(path):
    forbidden = {
        "dpreg._core",
        "dpreg.data.design",
        "dpreg.privacy.bits",
        "dpreg.methods",
        "dpreg.selection",
    }
    assert not {i for i in imports(path) if any(i.startswith(f) for f in forbidden)}


@pytest.mark.parametrize("path", files("planning"), ids=lambda p: p.name)
def test_planning_sees_public_numbers_only(path):
    forbidden = {
        "dpreg.data.design",
        "dpreg.data.table",
        "dpreg.data.formula",
        "dpreg.methods",
        "dpreg.privacy.bits",
    }
    assert not {i for i in imports(path) if any(i.startswith(f) for f in forbidden)}


def test_only_methods_and_selection_draw_noise():
    """Outside them nothing but the tools for planning and the sources of bits use the core."""
    allowed = {"sums", "methods", "selection", "mechanisms", "reference", "planning", "audit"}
    for path in PACKAGE.rglob("*.py"):
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] in allowed or relative.name in (
            "__init__.py",
            "bits.py",
            "sampling.py",
        ):
            continue
        runtime = [
            node
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.ImportFrom) and node.module == "dpreg"
        ]
        assert not any(a.name == "_core" for node in runtime for a in node.names), path


def test_no_generator_of_numpy_on_the_private_side():
    for folder in ("sums", "methods", "selection", "mechanisms", "data"):
        for path in files(folder):
            assert "np.random" not in path.read_text(), path
            assert "import random" not in path.read_text(), path


def test_core_was_not_compiled_with_fast_math():
    text = (ROOT / "CMakeLists.txt").read_text() + (ROOT / "pyproject.toml").read_text()
    assert "fast-math" not in text.replace("no -ffast-math", "")


def test_importing_dpreg_is_light():
    """The heavy libraries come with the first call, not with the import."""
    code = "import sys, dpreg; print(*[m for m in sys.modules])"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    heavy = {"formulaic", "narwhals", "pyarrow", "matplotlib", "statsmodels", "dp_accounting"}
    assert not heavy & set(loaded.stdout.split())
