"""Budgets of strata in use: which rows a fit gets, what it pays, what is refused."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unsealed import arrays_of, units_of

import dpreg
from dpreg.base.errors import BudgetError, FormulaError, SchemaError
from dpreg.data import source
from dpreg.data.design import Terms
from dpreg.data.problem import ModelMatrix, blocks_of, pose
from dpreg.privacy.charge import Charge, Stratum
from dpreg.privacy.cost import Cost

REGIONS = ("north", "south")
NORTH, SOUTH = (Stratum("region", REGIONS, i) for i in range(2))

# Which rows are of a stratum

LEVELS = ["a", "b"]
CELLS = ["a", "b", "elsewhere", None]


def designs(table, unit=None, memory=1e9):
    """Return the records that a fit of each stratum gets: by stratum, a list of (unit, y)."""
    found = []
    for position in range(len(LEVELS)):
        stratum = Stratum("s", tuple(LEVELS), position)
        design = pose("y ~ x", table, None, unit, stratum).design(memory)
        _, y = arrays_of(design)
        assert not design.by_unit or len(units_of(design).rows) == len(y)
        found.append(sorted(y.tolist()))
    return found


def table_of(units):
    """One row per cell; y is a name of the row.  Every third row has no x."""
    cells = [(u, cell) for u, cells in enumerate(units) for cell in cells]
    return pd.DataFrame({
        "person": np.array([u for u, _ in cells], dtype=np.int64),
        "s": pd.Series([cell for _, cell in cells], dtype=object),
        "x": [np.nan if i % 3 == 2 else 1.0 for i in range(len(cells))],
        "y": np.arange(float(len(cells))),
    })  # fmt: skip


def test_one_unit_more_changes_one_stratum_at_most():
    """All units of up to three rows, beside two others."""
    others = [["a", "a"], ["b", None, "b"]]
    base = pl.from_pandas(table_of(others)).with_columns(pl.col("s").cast(pl.String))
    before = designs(base, "person")
    for size in (1, 2, 3):
        for cells in itertools.product(CELLS, repeat=size):
            table = pl.from_pandas(table_of([*others, cells])).with_columns(
                pl.col("s").cast(pl.String)
            )
            after = designs(table, "person")
            assert sum(one != other for one, other in zip(before, after, strict=True)) <= 1
            if "a" in cells and "b" in cells:
                assert after == before


def expected(frame, by_unit):
    """The rule in plain Python."""
    found = [[], []]
    for _, rows in frame.groupby("person" if by_unit else frame.index):
        of = {cell for cell in rows["s"] if cell in LEVELS}
        if len(of) == 1:
            kept = rows[rows["s"].isin(of) & rows["x"].notna()]
            found[LEVELS.index(of.pop())] += kept["y"].tolist()
    return [sorted(rows) for rows in found]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(CELLS), min_size=1, max_size=4), max_size=8),
    st.randoms(use_true_random=False),
    st.sampled_from([1, 2, 5, 100]),
    st.booleans(),
    st.sampled_from([1e9, 50.0]),
)
def test_the_rows_of_a_stratum(units, random, batch_rows, by_unit, memory):
    """Whatever the order of the rows, and however they are divided into batches and blocks."""
    frame = table_of(units)
    order = list(range(len(frame)))
    random.shuffle(order)
    frame = frame.iloc[order].reset_index(drop=True)
    table = pl.from_pandas(frame.astype({"s": "string"}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "BATCH_ROWS", batch_rows)
        found = designs(table, "person" if by_unit else None, memory)
    assert found == expected(frame, by_unit)
    # What another program hands over, column by column, is treated alike.
    for position in range(2):
        blocks = blocks_of(
            [frame["x"].to_numpy()], frame["y"].to_numpy(),
            frame["person"].to_numpy() if by_unit else None,
            np.array([LEVELS.index(s) if s in LEVELS else -1 for s in frame["s"]], dtype=np.int32),
        )  # fmt: skip
        stratum = Stratum("s", tuple(LEVELS), position)
        matrix = ModelMatrix(Terms("y", ("x",), True), lambda blocks=blocks: blocks,
                             unit="person" if by_unit else None, stratum=stratum)  # fmt: skip
        assert sorted(arrays_of(matrix.design(1e9))[1].tolist()) == found[position]


@pytest.fixture(scope="module")
def visits():
    generator = np.random.default_rng(3)
    n = 3000
    region = generator.choice(["north", "south", "west"], n)
    x = generator.normal(size=n)
    y = np.where(region == "north", 1.0, -1.0) * x + 0.1 * generator.normal(size=n)
    return pd.DataFrame({"y": y, "x": x, "region": region})


@pytest.fixture
def strata():
    return dpreg.Budget(3.0, 1e-5).partition("region", levels=["north", "south"])


@pytest.mark.parametrize("formula", ["y ~ x", "y ~ ."])
def test_a_fit_of_a_stratum_is_that_of_its_rows(visits, strata, formula, tmp_path):
    """With the same seed to the last bit, whatever the container; and `.` is without the column."""
    path = tmp_path / "visits.parquet"
    visits.to_parquet(path)
    for table in (visits, pl.from_pandas(visits), path):
        fit = dpreg.dp_lm(formula, table, 0.9, 1e-6, method="adassp", budget=strata["north"], rng=1)
        rows = visits[visits["region"] == "north"]
        alone = dpreg.dp_lm("y ~ x", rows, 0.9, 1e-6, method="adassp", rng=1)
        pd.testing.assert_series_equal(fit.params, alone.params)
        assert fit.nobs == alone.nobs
        assert (
            "only rows with region = 'north' were used, which is the stratum of the budget"
            in fit.notes
        )
    chosen = dpreg.dp_select(formula, visits, 1, 0.3, budget=strata["south"])
    assert chosen.candidates == ("x",)
    assert any("region = 'south'" in note for note in chosen.notes)


def test_fits_of_all_strata_cost_what_one_does(visits):
    for accounting in ("basic", "gdp", "zcdp"):
        strata = dpreg.Budget(1.0, 1e-5, accounting=accounting).partition("region", REGIONS)
        whole = strata["north"].budget
        one = dpreg.Budget(1.0, 1e-5, accounting=accounting)
        dpreg.dp_lm("y ~ x", visits, 0.4, 1e-6, method="adassp", budget=one)
        for budget in strata.values():
            dpreg.dp_lm("y ~ x", visits, 0.4, 1e-6, method="adassp", budget=budget)
            assert len(budget.charges) == 1
        assert whole.spent == one.spent == strata["north"].spent == strata["south"].spent
        assert whole.remaining == one.remaining == strata["south"].remaining


def test_a_stratum_has_what_the_whole_and_itself_have_left():
    strata = dpreg.Budget(1.0, 0.0).partition("region", REGIONS)
    years = strata["north"].budget.partition("year", [2024, 2025])
    strata["north"].spend("a", 0.5)
    assert [b.remaining[0] for b in (*strata.values(), strata["north"].budget)] == [0.5, 1.0, 0.5]
    strata["north"].budget.spend("of all", 0.1)
    years[2024].spend("b", 0.25)
    assert [b.remaining[0] for b in strata.values()] == [0.15, 0.65]
    assert [b.remaining[0] for b in years.values()] == [0.15, 0.4]
    with pytest.raises(BudgetError, match=r"c needs eps=0\.2, delta=0, but only eps=0\.15"):
        strata["north"].spend("c", 0.2)
    strata["south"].spend("c", 0.2)
    assert strata["north"].budget.spent == (0.85, 0.0)
    assert strata["south"].spent == (0.55, 0.0)
    assert "region = 'north'" in repr(strata)


def test_a_stratum_pays_the_share_of_delta(visits, strata):
    dpreg.dp_lm("y ~ x", visits, 1.5, budget=strata["north"])
    assert strata["north"].charges[0].delta == 5e-6


def test_a_release_of_a_stratum_is_charged_before_a_record_is_read(visits, strata, monkeypatch):
    def read(*arguments):
        raise RuntimeError("a record was read")

    monkeypatch.setattr("dpreg.data.problem.read_design", read)
    with pytest.raises(RuntimeError, match="failed after the charge"):
        dpreg.dp_lm("y ~ x", visits, 2.0, 1e-6, budget=strata["north"])
    assert strata["north"].remaining[0] == 1.0
    with pytest.raises(BudgetError, match="but only eps=1"):
        dpreg.dp_lm("y ~ x", visits, 2.0, 1e-6, budget=strata["north"])
    assert strata["south"].remaining[0] == 3.0


MISTAKES = {
    "budget must be that of one level": lambda t, s: dpreg.dp_lm("y ~ x", t, 1.0, budget=s),
    "formula: 'region' divides the budget, and cannot be in the formula too": (
        lambda t, s: dpreg.dp_lm("y ~ x + region", t, 1.0, budget=s["north"])),
    "budget is divided by 'region', and there is no column 'region'.*; perhaps 'Region'": (
        lambda t, s: dpreg.dp_lm("y ~ x", t.rename(columns={"region": "Region"}), 1.0,
                                 budget=s["north"])),
    "budget is divided by 'region', and column 'region' holds numbers": (
        lambda t, s: dpreg.dp_lm("y ~ x", t.assign(region=1), 1.0, budget=s["north"])),
    "level must be one of 'north', 'south' of 'region', got 'nort'; perhaps 'north'": (
        lambda t, s: s["nort"]),
    "level must be one of": lambda t, s: s[["north"]],
    "levels: those of 'region' were declared before, as 'north', 'south'": (
        lambda t, s: s["north"].budget.partition("region", ["north", "west"])),
    "levels: those of 'year' were not declared; write levels=": (
        lambda t, s: s["north"].budget.partition("year")),
    "levels: those of 'year' must be a list of strings or numbers; write levels=\\['first'": (
        lambda t, s: s["north"].budget.partition("year", "2024")),
    "levels: 'year' needs at least two levels, all different": (
        lambda t, s: s["north"].budget.partition("year", [1, True])),
    "column must be the name of a column, got 3": (
        lambda t, s: s["north"].budget.partition(3, ["a", "b"])),
}  # fmt: skip


@pytest.mark.parametrize("message", MISTAKES)
def test_mistakes_are_told_and_cost_nothing(visits, strata, message):
    with pytest.raises((BudgetError, SchemaError, FormulaError), match=message):
        MISTAKES[message](visits, strata)
    assert strata["north"].budget.charges == ()
    assert list(strata["north"].budget.partitions) == ["region"]


def test_an_unknown_level_is_absent_as_from_any_mapping(strata):
    assert "west" not in strata
    assert strata.get("west") is None
    assert list(strata) == ["north", "south"]


# The ledger


def test_a_ledger_keeps_strata(tmp_path, visits):
    path = tmp_path / "ledger"
    strata = dpreg.Budget(1.0, 1e-5, ledger=path).partition("region", np.array(REGIONS))
    dpreg.dp_lm("y ~ x", visits, 0.75, 1e-6, budget=strata["north"])
    again = dpreg.Budget.open(path)
    assert again.partitions == {"region": REGIONS}
    # Levels in another order are the same levels.
    for levels in (None, REGIONS[::-1], pd.Index(REGIONS)):
        south = again.partition("region", levels)["south"]
        assert south.stratum == SOUTH
    south.spend("a count", 0.5)
    assert again.remaining == (0.25, 9e-6)
    assert [c.stratum for c in again.charges] == [NORTH, SOUTH]
    assert again.to_frame()["stratum"].tolist() == ["region = 'north'", "region = 'south'"]
    assert again.charges[1].to_dict()["stratum"]["column"] == "region"
    json.dumps([charge.to_dict() for charge in again.charges])
    # A declaration, two charges, one outcome.
    assert again.verify() == 4


def test_the_picture_shows_what_each_charge_added(strata):
    import matplotlib as mpl

    mpl.use("Agg")
    for level, eps in [("north", 1.5), ("south", 0.75), ("south", 1.0)]:
        strata[level].spend("a", eps)
    widths = [bar.get_width() for bar in strata["north"].budget.plot().patches]
    np.testing.assert_allclose(widths, [0.5, 0.0, 0.25 / 3, 1 - 1.75 / 3])


DECLARE = """
import sys, dpreg
try:
    dpreg.Budget.open(sys.argv[1]).partition("region", sys.argv[2].split(","))
    print("declared")
except dpreg.BudgetError as error:
    print("refused" if "declared before" in str(error) else error)
"""


def test_two_processes_cannot_declare_two_partitions(tmp_path):
    path = tmp_path / "ledger"
    dpreg.Budget(1.0, ledger=path)
    levels = ["a,b", "a,c"]
    running = [
        subprocess.Popen([sys.executable, "-c", DECLARE, path, these], stdout=subprocess.PIPE,
                         text=True) for these in levels
    ]  # fmt: skip
    said = sorted(p.communicate(timeout=60)[0].strip() for p in running)
    assert said == ["declared", "refused"]


@pytest.mark.parametrize("wrong", [
    {"partition": "region", "levels": ["a"]}, {"partition": "region", "levels": ["a", "a"]},
    {"partition": "region", "levels": None}, {"partition": 3, "levels": ["a", "b"]},
    {"partition": "known", "levels": ["a", "b"]}, {"partition": "region", "levels": [["a"], "b"]},
    {"stratum": {"column": "known", "position": 2}}, {"stratum": {"column": "new", "position": 0}},
    {"stratum": {"column": "known", "position": -1}}, {"stratum": "known"},
    {"stratum": {"column": "known", "position": True}}, {"stratum": {"position": 0}},
])  # fmt: skip
def test_entries_that_dpreg_would_not_make_are_not_trusted(wrong):
    from dpreg.privacy.charge import Entry

    budget = dpreg.Budget(1.0)
    budget.partition("known", ["a", "b"])
    content = wrong if "partition" in wrong else {**Charge("x", Cost.pure(0.1)).entry().content,
                                                   **wrong}  # fmt: skip
    budget.account._ledger.append(Entry(content), lambda entries: True)
    with pytest.raises(BudgetError, match="cannot be trusted"):
        _ = budget.charges
