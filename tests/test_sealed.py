"""Nothing that was computed from records can be read but by a door: privacy/sealed.md."""

from __future__ import annotations

import ast
import copy
import functools
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import dpreg
from dpreg.data.design import Design, Terms, Units
from dpreg.data.observations import RowCount
from dpreg.estimation.releases.quantised import MappedRows, Recipe
from dpreg.privacy.sealed import Counts, ExactSums, Scores, Sealed, opened

PACKAGE = Path(dpreg.__file__).parent
RELEASES = "estimation/releases"

# Who reads what is sealed: the tables of privacy/sealed.md.
OPENERS = {
    f"{RELEASES}/accountant.py",
    f"{RELEASES}/doors.py",
    "estimation/methods/frank_wolfe_run.py",
    f"{RELEASES}/quantised.py",
    "estimation/blocks/model_rows.py",
    "calls/public_data.py",
}
# Who says by how much a row moves a sum.
STATISTICS = {
    "data/design.py",
    "data/observations.py",
    "data/sampling.py",
    f"{RELEASES}/statistics.py",
    f"{RELEASES}/scaling.py",
    f"{RELEASES}/quantised.py",
    f"{RELEASES}/residuals.py",
    f"{RELEASES}/dispersion.py",
    f"{RELEASES}/exits.py",
    "estimation/blocks/block_counts.py",
}
# Who asks the core for sums, fits and scores of rows: what it makes of them is sealed at once.
KERNELS = {
    f"{RELEASES}/statistics.py": {
        "interval_counts", "magnitude_counts", "moment_sums", "tail_votes",
    },
    f"{RELEASES}/quantised.py": {"QuantisedRows", "mapped_gram"},
    f"{RELEASES}/doors.py": {
        "DepthRegions", "canonical_lipschitz", "discrete_laplace", "dp_kendall", "dpsgd", "peel",
        "sub_lasso", "tukey_em",
    },
    f"{RELEASES}/accountant.py": {"discrete_gaussian"},
    "estimation/methods/frank_wolfe_run.py": {"L1Gradient", "dp_frank_wolfe"},
    "estimation/methods/frank_wolfe.py": {"DenseUnitDesign"},
    "estimation/methods/tukey_em.py": {"fit_batches"},
    "estimation/blocks/model_rows.py": {
        "assign_independently", "assign_to_slots", "fixed_assignment",
    },
    "estimation/blocks/block_counts.py": {"assign_independently", "uniform_open"},
}  # fmt: skip
# Names of the core that have nothing of rows: types, constants, sensitivities, public numbers.
PUBLIC = {
    "Assignment", "BitSource", "Loss", "LossKind", "NoiseLaw", "ScreenRule", "Standardisation",
    "UnitDesign", "discrete_laplace_tail", "poisson_rate", "release_threshold",
    "rounding_is_paid", "use_threads", "vertex_score_range",
}  # fmt: skip
# Who seals anything else, and who may use `logging`: to silence what a user's function says.
SEALERS = {"estimation/blocks/model_rows.py", f"{RELEASES}/quantised.py"}
LOGGERS = {"calls/isolation.py"}
# Who keeps what is public: tables that are read once, and shapes that are computed once.
KEEPERS = {
    "estimation/newton/norm_tail.py",
    "estimation/planning/auto.py",
    "estimation/planning/tabulated.py",
    "estimation/planning/tukey.py",
}
# How often a function is given to `Sealed.map`.
MAPS = {
    "data/design.py": 1,
    "estimation/methods/tukey_em.py": 1,
    "estimation/methods/frank_wolfe.py": 1,
}


KINDS = {"ExactSums", "Counts", "Scores"}
LOGS = {"logging", "print"}
CHANGES = {"add", "append", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"}
CACHES = {"cache", "lru_cache", "cached_property", "globals"}


def sources():
    """Return the text of each module of the package."""
    return {
        path.relative_to(PACKAGE).as_posix(): path.read_text() for path in PACKAGE.rglob("*.py")
    }


@functools.cache
def syntax(text):
    return ast.parse(text)


@functools.cache
def imported(tree):
    """Return all names that are imported, and the modules that they are from."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    found = {alias.name for node in nodes for alias in node.names}
    return found | {node.module for node in nodes if isinstance(node, ast.ImportFrom)}


@functools.cache
def mapped(tree):
    nodes = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sum(isinstance(node, ast.Attribute) and node.attr == "map" for node in nodes)


@functools.cache
def called(tree):
    """Return the functions and methods that are called, by their last name."""
    of = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [node.id if isinstance(node, ast.Name) else getattr(node, "attr", "") for node in of]


@functools.cache
def of_core(tree):
    """Return what is used of the core but constants and sensitivities."""
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "_core"
    }
    return {name for name in used if not name.isupper() and not name.endswith("_sensitivity")}


@functools.cache
def kept(tree):
    """Return names of the module that its functions change, and ways to keep what they return."""
    own = {
        node.id
        for line in tree.body
        for node in ast.walk(line)
        if isinstance(line, (ast.Assign, ast.AnnAssign))
        and isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
    }
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} & CACHES
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            found |= set(node.names)
        elif isinstance(node, ast.Attribute) and node.attr in CACHES:
            found.add(node.attr)
        elif (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)) or (
            isinstance(node, ast.Attribute) and node.attr in CHANGES
        ):
            found |= {getattr(node.value, "id", "")} & own
    return found


def faults_of(texts):
    """Return what the syntax of all modules tells of ways around the doors."""
    rooms = ("data/", "estimation/", "calls/")
    everything = {n: syntax(text) for n, text in sorted(texts.items()) if n.startswith(rooms)}
    above = {name: tree for name, tree in everything.items() if not name.startswith("data/")}
    faults = [
        f"{name} names the content"
        for name, text in sorted(texts.items())
        if not name.endswith("sealed.py") and "Sealed__content" in text
    ]
    for what, of, where, meant in (
        ("opens", lambda tree: "opened" in imported(tree), above, OPENERS),
        ("states a sensitivity", lambda tree: KINDS & {*called(tree)}, everything, STATISTICS),
        ("seals", lambda tree: "Sealed" in called(tree), above, SEALERS),
        (
            "logs",
            lambda tree: {"logging", "print"} & {*imported(tree), *called(tree)},
            above,
            LOGGERS,
        ),
        ("keeps something", kept, above, KEEPERS),
    ):
        found = {name for name, tree in where.items() if of(tree)}
        faults += [f"{name} {what}" for name in sorted(found ^ meant)]
    core = {n: of_core(tree) - PUBLIC for n, tree in above.items()}
    faults += [f"{n} uses {core[n] ^ KERNELS.get(n, set())} of the core"
               for n in core if core[n] != KERNELS.get(n, set())]  # fmt: skip
    maps = {name: mapped(tree) for name, tree in everything.items()}
    faults += [f"{name} maps" for name in maps if maps[name] != MAPS.get(name, 0)]
    return faults


def test_only_doors_open_only_statistics_state_sensitivities_and_nothing_is_kept():
    """As the tables of privacy/sealed.md say."""
    assert not faults_of(sources())


def sealed_values(content):
    scores = Scores(content.astype(float), 2.0)
    return [Sealed(content), ExactSums(content, 1.0), Counts(content), scores]


ATTEMPTS = {
    "np.asarray": np.asarray,
    "np.array of several": lambda s: np.array([s, s]),
    "np.add": lambda s: np.add(s, 1),
    "np.sum": np.sum,
    "np.isfinite": np.isfinite,
    "truth": bool,
    "not": lambda s: not s,
    "==": lambda s: s == 1,
    "!=": lambda s: s != 1,
    "<": lambda s: s < 1,
    ">=": lambda s: s >= 1,
    "in": lambda s: s in [1],
    "length": len,
    "list": list,
    "loop": lambda s: [2 * one for one in s],
    "[0]": lambda s: s[0],
    "+": lambda s: s + 1,
    "array +": lambda s: np.arange(3) + s,
    "*": lambda s: 2 * s,
    "abs": abs,
    "max": max,
    "float": float,
    "int": int,
    "index": lambda s: range(s),
    "%d": lambda s: "%d".__mod__(s),
    "format": lambda s: f"{s:.3f}",
    "hash": hash,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "state": lambda s: s.__getstate__(),
    "buffer": memoryview,
    "vars": vars,
    "attribute": lambda s: s.values,
    "content": lambda s: s.__content,
    "change of the sensitivity": lambda s: setattr(s, "sensitivity", 0.0) or setattr(s, "range", 0),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_what_is_sealed_cannot_be_read(attempt):
    """The words of the refusal are the same for any content."""
    for few, many in zip(sealed_values(np.arange(2)), sealed_values(np.arange(9)), strict=True):
        if attempt.startswith("change") and type(few) is Sealed:
            continue
        said = []
        for one in (few, many):
            with pytest.raises((TypeError, AttributeError)) as refused:
                ATTEMPTS[attempt](one)
            said.append(str(refused.value))
        assert said[0] == said[1]


def test_texts_have_only_the_name_of_the_class():
    for few, many in zip(sealed_values(np.arange(2)), sealed_values(np.arange(9)), strict=True):
        for text in (repr, str, "{}".format, "%s".__mod__):
            assert text(few) == text(many) == f"<{type(few).__name__}>"


READING = ("__len__", "__iter__", "__float__", "__index__", "__getitem__")


def test_what_holds_rows_says_nothing_of_them():
    terms = Terms("y", ("x",), True)
    texts, names = set(), set()
    for n in (3, 40):
        X, y = np.full((n, 1), 123.0 + n), np.full(n, 456.0 + n)
        design = Design.of(X, y, terms, Units.from_labels(np.arange(n) // 2))
        texts.add(repr(design))
        for held in (design, design.records, design.unit_count, design.arrays(), design.by_row):
            names |= {name for name in READING if hasattr(type(held), name)}
        with pytest.raises(TypeError, match="sealed"):
            pickle.dumps(design)
        assert design.total(RowCount()).sensitivity == 1.0
    assert len(texts) == 1
    assert not names


@dataclass(frozen=True)
class Leaky(RowCount):
    """A statistic whose total is as it is, or in part."""

    of: Callable[[np.ndarray], object]

    def seal(self, sums):
        return self.of(sums)


@pytest.mark.parametrize("of", [np.asarray, lambda s: int(s[0]), lambda s: (Counts(s), s)])
def test_a_statistic_that_does_not_seal_its_sums_hands_nothing_out(of):
    said = set()
    for n in (3, 1234567):
        design = Design.of(np.ones((n, 1)), np.ones(n), Terms("y", ("x",), True))
        with pytest.raises(TypeError, match="Leaky does not seal its sums") as refused:
            design.total(Leaky(of))
        said.add(str(refused.value))
    assert len(said) == 1


def test_sums_of_scores_are_of_units_only_where_units_are_known():
    """Of rows by themselves, a unit moves as many scores as it has rows: the door multiplies."""
    X, y = np.linspace(-1, 1, 12).reshape(6, 2), np.ones(6)
    units = Units.from_labels(np.arange(6) // 2)
    how = Recipe(np.arange(2), *np.array([[-1.0] * 2, [1.0] * 2, [0.0] * 2, [1.0] * 2]), 0.0, 1.0,
                 intercept=True, row_limit=2.0)  # fmt: skip
    design, theta = Design.of(X, y, Terms("y", ("a", "b"), True), units), np.zeros(3)
    for of, by_unit in ((design, True), (design.by_row, False)):
        for kept in (True, False):
            rows = MappedRows(of, how, kept=kept)
            sums = rows.score(theta, 1.0), rows.score_products(theta, 1.0), rows.score_norms(theta)
            assert [one.of_units for one in sums] == [by_unit] * 3
            assert not rows.gram().of_units


def test_a_module_that_is_no_door_cannot_open_when_it_runs():
    sealed = Counts(np.array([1234567]))
    for path in sources():
        name = "dpreg." + path.removesuffix(".py").replace("/", ".")
        asks = {"__name__": name, "opened": opened, "sealed": sealed, "partial": functools.partial}
        if path in OPENERS or path.startswith(("data/", "audit/")):
            assert eval("opened(sealed)", asks) == [1234567]
            continue
        for spelled in (
            "opened(sealed)",
            "partial(opened, sealed)()",
            "list(map(opened, [sealed]))",
        ):
            with pytest.raises(TypeError, match="cannot open") as refused:
                eval(spelled, dict(asks))
            assert "1234567" not in str(refused.value)
