"""Nothing that is in a cell shows in anything but released numbers."""

from __future__ import annotations

import os
import struct
import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dpreg
from dpreg import _core
from dpreg.audit.replay_options import random_call
from dpreg.audit.replay_tables import random_case
from dpreg.estimation.methods import DPSGD, AdaSSP, BoostedAdaSSP, FrankWolfe, TukeyEM
from dpreg.estimation.releases.accountant import GaussianReleases, Noisy

pytestmark = pytest.mark.usefixtures("coarse_losses")

# As many times the examples: `DPREG_EXAMPLES=160 pytest tests/test_hostile.py` makes 100,000.
TIMES = int(os.environ.get("DPREG_EXAMPLES", "1"))
PAYLOAD = struct.unpack("<d", struct.pack("<Q", 0xFFF8_DEAD_BEEF_0001))[0]
CELLS = st.one_of(
    st.sampled_from([
        0.0, -0.0, 1.0, -1.0, 5e-324, -1e-310, 1e-300, 1e300, -1e308, 1.7976931348623157e308,
        float("nan"), PAYLOAD, float("inf"), float("-inf"), 2.0**53, 1 + 2**-52, 2.0**-128,
    ]),
    st.floats(width=64),
    st.floats(-10, 10),
)  # fmt: skip
METHODS = [
    TukeyEM(models=3), TukeyEM(models=3, partition="independent"), AdaSSP(),
    BoostedAdaSSP(rounds=2), DPSGD(steps=2, rate=1.0),
    FrankWolfe(steps=3), FrankWolfe(screen="adp"),
]  # fmt: skip
FORMULAS = ["y ~ a + b", "y ~ 0 + a", "y ~ a + log(b)", "y ~ a * b", "y ~ exp(a) + I(b ** 2)"]


@st.composite
def tables(draw):
    rows = draw(st.integers(0, 12))
    column = st.lists(CELLS, min_size=rows, max_size=rows)
    return pd.DataFrame({name: np.array(draw(column), dtype=float) for name in "aby"})


def check_call(call):
    """A result, without a warning and with no exception whatever."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = call()
        str(fit.summary())
        text = fit.to_json()
        if fit.released:
            dpreg.DPResults.from_json(text)
    return fit


@settings(max_examples=150 * TIMES, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), st.sampled_from(METHODS), st.sampled_from(FORMULAS),
       st.sampled_from([0.1, 1.0, 300.0]), st.booleans(), st.booleans(),
       st.integers(0, 2**32))  # fmt: skip
def test_any_cells_end_in_a_result(data, method, formula, eps, inference, bounded, seed):
    bounds = {"y": (-1, 1), **({"a": (-1, 1)} if "a" in formula.split() else {})}
    if not (bounded and method.uses_bounds):
        bounds = None
    fit = check_call(
        lambda: dpreg.dp_lm(
            formula, data, eps, 1e-4, method=method, bounds=bounds, inference=inference, rng=seed
        )
    )  # fmt: skip
    if fit.released:
        assert not np.isnan(fit.params).any()


FAMILIES = ["binomial", "poisson", "gamma", "negativebinomial", "quantile"]


@settings(max_examples=60 * TIMES, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), st.sampled_from(FAMILIES), st.sampled_from(FORMULAS),
       st.sampled_from([0.1, 1.0, 300.0]), st.booleans(), st.integers(0, 2**32))  # fmt: skip
def test_any_cells_end_in_a_generalized_model(data, family, formula, eps, inference, seed):
    fit = check_call(
        lambda: dpreg.dp_glm(
            formula, data, eps, 1e-4, family=family, inference=inference, rng=seed
        )
    )  # fmt: skip
    if fit.released:
        assert not np.isnan(fit.params).any()


@settings(max_examples=60 * TIMES, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables(), st.sampled_from(["kendall", "two_stage", "sub_lasso", "sis"]), st.integers(1, 2),
       st.integers(0, 2**32))  # fmt: skip
def test_any_cells_end_in_a_selection(data, method, k, seed):
    bounds = dict.fromkeys("aby", (-1.0, 1.0)) if method == "sis" else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dpreg.dp_select("y ~ a + b", data, k, 1.0, method=method, bounds=bounds, rng=seed)
        assert len(found.selected) == k
        str(found)


HUGE = 2**62 + 1
TYPES = {
    "int64": lambda n: pa.array([HUGE, -HUGE, 0][:n], type=pa.int64()),
    "uint64": lambda n: pa.array([2**64 - 1, 0, None][:n], type=pa.uint64()),
    "decimal": lambda n: pa.array([10**37, None, -1][:n], type=pa.decimal128(38, 0)),
    "float16": lambda n: pa.array(np.array([65504, np.nan, 1], dtype=np.float16)[:n]),
    "bool": lambda n: pa.array([True, None, False][:n], type=pa.bool_()),
}


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("container", ["arrow", "pandas", "polars"])
def test_every_numeric_type_at_its_ends(name, rows, container):
    if (name, container) == ("float16", "polars"):
        pytest.skip("polars has no such type")
    table = pa.table(
        {"a": TYPES[name](rows), "y": pa.array([1.0, 2.0, 3.0][:rows], type=pa.float64())}
    )
    data = {
        "arrow": lambda: table,
        "pandas": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
        "polars": lambda: pl.from_arrow(table),
    }[container]()
    check_call(lambda: dpreg.dp_lm("y ~ a", data, 1.0, 1e-3, method="adassp", rng=1))


@pytest.mark.parametrize("levels", [2, 300])
def test_many_levels_and_cells_that_are_none_of_them(levels):
    names = [f"level {i}" for i in range(levels)]
    cells = np.empty(6, dtype=object)
    cells[:] = [names[0], names[-1], "none of them", None, 3, [1]]
    data = pd.DataFrame({"c": cells, "y": np.arange(6.0)})
    for method in ("tukey", "adassp"):
        check_call(
            lambda m=method: dpreg.dp_lm("y ~ c", data, 1.0, 1e-3, levels={"c": names}, method=m)
        )


@settings(max_examples=40 * TIMES, deadline=None)
@given(st.lists(st.one_of(st.none(), st.text(max_size=3), st.integers(), CELLS,
                          st.lists(st.integers(), max_size=2)), max_size=6))  # fmt: skip
def test_units_of_any_kind(labels):
    cells = np.empty(len(labels), dtype=object)
    for i, label in enumerate(labels):
        cells[i] = label
    n = len(labels)
    data = pd.DataFrame({"a": np.arange(n) * 1.0, "y": np.ones(n), "who": cells})
    for method in ("tukey", "adassp"):
        check_call(lambda m=method: dpreg.dp_lm("y ~ a", data, 1.0, 1e-3, unit="who", method=m))


@settings(max_examples=200 * TIMES, deadline=None)
@given(st.one_of(
    st.text(max_size=40),
    st.text(alphabet="yab~+*:()^-|1203.,[]'\" \\", max_size=30),
    st.sampled_from(["y ~ " + "(" * 500, "y ~ " + "a + " * 2000, "y ~ a ** 99999", "y ~ {a}",
                     "y ~ np.load('x')", "y ~ a.b", "y~__import__('os')", "\0 ~ a"]),
))  # fmt: skip
def test_any_formula_is_used_or_refused(formula):
    data = pd.DataFrame({"a": [1.0, 2.0], "b": [0.0, 1.0], "y": [1.0, 2.0]})
    try:
        check_call(lambda: dpreg.dp_lm(formula, data, 1.0, 1e-3, rng=1))
    except ValueError:
        return


@settings(max_examples=200 * TIMES, deadline=None)
@given(st.one_of(st.text(max_size=60), st.recursive(
    st.one_of(st.none(), st.floats(), st.text(max_size=5), st.integers()),
    lambda inner: st.one_of(st.lists(inner, max_size=3),
                            st.dictionaries(st.sampled_from([
                                "dpreg_results", "formula", "privacy", "law", "names",
                                "estimates", "parts", "tail"]), inner, max_size=6)),
    max_leaves=12)))  # fmt: skip
def test_any_json_is_a_result_or_refused(content):
    import json

    text = content if isinstance(content, str) else json.dumps(content)
    with pytest.raises(ValueError):  # noqa: PT011
        dpreg.DPResults.from_json(text)


def made_up(rng, label, noisy):
    """Numbers that no records make; as of many rows, so that all stages are reached."""
    out, scale = noisy
    if label.startswith(("number", "exits")):
        return Noisy(np.abs(out) * 10.0 ** rng.integers(0, 5), scale)
    here = np.arange(out.size).reshape(out.shape) == rng.integers(max(out.size, 1))
    some = rng.random(out.shape) < 0.5
    choices = [
        out, out, out, 0 * out, -out, out * 10.0 ** rng.integers(-3, 6),
        0 * out + rng.choice([-1, 1]) * scale * 10.0 ** rng.integers(-2, 7),
        np.where(some, out, -out), np.where(some, out, 1e6 * scale), np.where(here, 1e8 * scale, 0),
    ]  # fmt: skip
    return Noisy(choices[rng.integers(len(choices))], scale)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_released_a_call_has_a_result(seed):
    """Of random calls of all functions, and more of what they do where epsilon is large."""
    release = GaussianReleases.release
    for number in range(12 * TIMES):
        rng = np.random.default_rng([seed, number])
        case = random_case(rng, random_call(rng))

        def released(self, label, exact, mu, rng=rng):
            return made_up(rng, label, release(self, label, exact, mu))

        with patch.object(GaussianReleases, "release", released), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert case.call(case.table, _core.TestBits(number + 1))
