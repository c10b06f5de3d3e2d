"""There is one place where private becomes public, and the imports show it."""

from __future__ import annotations

import ast
import importlib
import pickle
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dpreg import _core
from dpreg.base import later

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
        "dpreg.estimation.methods",
        "dpreg.estimation.selection",
    }
    assert not {i for i in imports(path) if any(i.startswith(f) for f in forbidden)}


@pytest.mark.parametrize("path", files("estimation/planning"), ids=lambda p: p.name)
def test_planning_sees_public_numbers_only(path):
    forbidden = {
        "dpreg.data.design",
        "dpreg.data.table",
        "dpreg.data.formula",
        "dpreg.estimation.methods",
        "dpreg.privacy.bits",
    }
    assert not {i for i in imports(path) if any(i.startswith(f) for f in forbidden)}


def test_only_methods_and_selection_draw_noise():
    """Outside them nothing but the tools for planning and the sources of bits use the core.

    `observations.py` tells it how many threads to use, `spec.py` has it put columns side by side.
    """
    allowed = {"estimation", "mechanisms", "reference", "audit"}
    for path in PACKAGE.rglob("*.py"):
        relative = path.relative_to(PACKAGE)
        if relative.parts[0] in allowed or relative.name in (
            "__init__.py",
            "bits.py",
            "observations.py",
            "sampling.py",
            "spec.py",
        ):
            continue
        runtime = [
            node
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.ImportFrom) and node.module == "dpreg"
        ]
        assert not any(a.name == "_core" for node in runtime for a in node.names), path


def test_no_generator_of_numpy_on_the_private_side():
    private = ("releases", "newton", "blocks", "methods", "selection")
    for folder in (*(f"estimation/{room}" for room in private), "mechanisms", "data"):
        for path in files(folder):
            assert "np.random" not in path.read_text(), path
            assert "import random" not in path.read_text(), path


def test_core_was_not_compiled_with_fast_math():
    text = (ROOT / "CMakeLists.txt").read_text() + (ROOT / "pyproject.toml").read_text()
    assert "fast-math" not in text.replace("no -ffast-math", "")


def loaded_by(code):
    """Modules that a fresh interpreter has after running `code`."""
    code = f"{code}\nimport sys; print('LOADED', *sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split("LOADED")[1].split())


HEAVY = {"formulaic", "narwhals", "pyarrow", "matplotlib", "statsmodels", "dp_accounting"}


def test_importing_dpreg_is_light():
    """All libraries, and the core, come with the first use, not with the import."""
    assert not {*HEAVY, "numpy", "pandas", "scipy", "dpreg._core"} & loaded_by("import dpreg")


def test_the_names_that_every_call_needs_leave_heavy_libraries_alone():
    assert not HEAVY & loaded_by("import dpreg; dpreg.dp_lm, dpreg.dp_select, dpreg.Budget")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["budget", "--help"]])
def test_help_of_the_shell_loads_nothing_but_click(arguments):
    code = f"from dpreg.faces.cli.commands import main; main({arguments!r})"
    assert not {*HEAVY, "numpy", "pandas", "scipy"} & loaded_by(code)


def test_every_public_name_is_reachable_by_import_dpreg_alone():
    code = "import dpreg\nfor name in dpreg.__all__: assert getattr(dpreg, name) is not None"
    assert {"dpreg.mechanisms", "dpreg.reference", "dpreg.audit"} <= loaded_by(code)


def test_packages_that_not_all_need_are_imported_late_in_one_place():
    elsewhere = re.compile(r"^ +import (duckdb|pandas|polars|pyarrow|sqlite3)", re.M)
    found = {path.name for path in PACKAGE.rglob("*.py") if elsewhere.search(path.read_text())}
    # The second asks whether it is there.
    assert found == {"later.py", "rows.py"}


def test_what_is_imported_late_can_be_sent_to_another_process():
    code = "import pickle, sys; from dpreg.base.later import pa; sent = pickle.dumps(pa)"
    assert "pyarrow" not in loaded_by(code)
    assert pickle.loads(pickle.dumps(later.pa)) is sys.modules["pyarrow"]


def test_names_that_are_not_there_are_told_as_python_does():
    import dpreg

    with pytest.raises(AttributeError, match="module 'dpreg' has no attribute 'dp_lms'"):
        _ = dpreg.dp_lms


def test_dir_shows_public_names_only():
    """Those of a module imported for typing or for a first use are not among them."""
    import dpreg

    _ = dpreg.dp_lm
    assert dir(dpreg) == sorted(dpreg.__all__)
    assert not {"Any", "TYPE_CHECKING", "importlib", "annotations", "data"} & set(dir(dpreg))


KNOWN = {
    ".".join(("dpreg", *p.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__"): p
    for p in PACKAGE.rglob("*.py")
}


def imported(nodes):
    """Modules of dpreg that statements import; not dpreg itself, whose names are looked up."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpreg"):
            whole = {f"{node.module}.{a.name}" for a in node.names}
            yield from (whole & set(KNOWN)) or {node.module} & set(KNOWN)
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & set(KNOWN)


def on_circles(graph):
    """Return the modules that are on a circle, or lead from one to another."""
    left = dict(graph)
    while free := [name for name, needs in left.items() if not needs & set(left)]:
        for name in free:
            del left[name]
    while ends := set(left) - {need for needs in left.values() for need in needs}:
        for name in ends:
            del left[name]
    return set(left)


def test_every_module_can_be_the_first_that_is_imported():
    """No circle, that of a package and what is in it included: names are looked up lazily."""
    graph = {}
    for name, path in KNOWN.items():
        needed = set()
        for target in imported(ast.parse(path.read_text()).body):
            parts = target.split(".")
            packages = {".".join(parts[:i]) for i in range(1, len(parts) + 1)}
            needed |= {p for p in packages if not f"{name}.".startswith(f"{p}.")}
        graph[name] = needed
    assert not on_circles(graph)


def test_no_import_circle_even_within_functions_or_for_types():
    trees = {name: ast.parse(path.read_text()) for name, path in KNOWN.items() if name != "dpreg"}
    graph = {name: set(imported(ast.walk(tree))) - {"dpreg"} for name, tree in trees.items()}
    assert sum(map(len, graph.values())) > 500
    assert not on_circles(graph)


def test_a_circle_is_found():
    assert on_circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == {"b", "c"}


def test_plots_are_a_leaf():
    """Only faces import them; results, plans and budgets find a picture by its name."""
    faces = ("faces.", "r.", "sklearn")
    for name, path in KNOWN.items():
        found = set(imported(ast.walk(ast.parse(path.read_text()))))
        if any(target.startswith("dpreg.faces.plots") for target in found):
            assert name.removeprefix("dpreg.").startswith(faces), name


def test_every_picture_that_is_drawn_by_name_is_there():
    texts = "".join(path.read_text() for path in KNOWN.values())
    named = set(re.findall(r'drawn\(\s*"(\w+)\.(\w+)"', texts))
    assert named
    assert len(named) == len(set(re.findall(r'drawn\(\s*("[^"]*")', texts)))
    for module, function in named:
        assert hasattr(importlib.import_module(f"dpreg.faces.plots.{module}"), function)


def test_what_only_tests_ask_of_the_core_is_under_testing():
    stubs = ast.parse((PACKAGE / "_core" / "__init__.pyi").read_text()).body
    offered = {node.name for node in stubs if isinstance(node, ast.FunctionDef | ast.ClassDef)} | {
        node.target.id for node in stubs if isinstance(node, ast.AnnAssign)
    }
    used = set()
    for path in (*(ROOT / "python").rglob("*.py"), PACKAGE / "__init__.pyi"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                used.add(node.attr)
            elif isinstance(node, ast.ImportFrom) and node.module == "dpreg._core":
                used |= {alias.name for alias in node.names}
    assert not offered - used - {"LossKind"}, "move it to cpp/bindings/register_testing.cpp"
    assert all(hasattr(_core, name) for name in offered)
