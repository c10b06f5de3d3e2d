"""A person with many rows is one unit: what may change when all of them go."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest
from unsealed import arrays_of, count_of, opened, units_of

import dpreg
from dpreg import _core
from dpreg.data.design import Design, Terms, Units
from dpreg.data.sampling import sample_rows, split_units, unit_sizes
from dpreg.estimation.methods import DPSGD, AdaSSP, BoostedAdaSSP

pytestmark = pytest.mark.usefixtures("coarse_losses")


def people(n, heavy, seed=1):
    """n persons of one to three rows, the first with `heavy` rows of wild values."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 4, n)
    rows[0] = heavy
    person = np.repeat(np.arange(n), rows)
    x = rng.standard_normal(len(person))
    y = 2 * x + rng.standard_normal(len(person))
    x[person == 0], y[person == 0] = 5.0, -50.0
    return pd.DataFrame({"x": x, "y": y, "person": person})


def design_of(data):
    labels = data["person"].to_numpy()
    return Design.of(
        data[["x"]].to_numpy(), data["y"].to_numpy(), Terms("y", ("x",), True),
        Units.from_labels(labels),
    )  # fmt: skip


@pytest.mark.parametrize("max_rows", [1, 2, 5])
def test_sampling_keeps_at_most_max_rows_of_each_unit(max_rows):
    data = people(200, 1000)
    data["x"] = np.arange(len(data), dtype=float)
    sampled = sample_rows(design_of(data), max_rows, _core.TestBits(1))
    kept = data.iloc[arrays_of(sampled)[0][:, 0].astype(int)].groupby("person").size()
    full = data.groupby("person").size()
    assert (kept == np.minimum(full, max_rows)).all()
    # With one row each, rows are the units; with more, each still knows its own.
    assert sampled.by_unit == (max_rows > 1)
    if sampled.by_unit:
        sizes = np.diff(units_of(sampled).offsets.astype(int))
        assert sorted(sizes) == sorted(kept)


def test_sampling_is_uniform():
    """Of 8,000 persons of four rows, between whom there is one of a single row."""
    persons = np.arange(8000)
    data = pd.DataFrame({"x": np.tile([0.0, 1, 2, 3], 8000), "y": 0.0,
                         "person": np.repeat(2 * persons, 4)})  # fmt: skip
    alone = pd.DataFrame({"x": [9.0], "y": 0.0, "person": [8001]})
    sampled = sample_rows(design_of(pd.concat([data, alone])), 2, _core.TestBits(3))
    rows = arrays_of(sampled)[0][:, 0]
    assert (rows == 9).sum() == 1
    seen = np.bincount(rows[rows < 4].astype(int), minlength=4)
    # Each row is kept with probability 1/2: 4,000 times, standard deviation 45.
    assert np.abs(seen - 4000).max() < 5 * 45


@pytest.mark.parametrize("max_rows", [1, 3])
def test_the_first_rows_in_an_order_are_kept(max_rows):
    data = people(200, 10).sample(frac=1, random_state=1)
    data["x"] = np.random.default_rng(1).permutation(len(data)).astype(float)
    sampled = sample_rows(design_of(data), max_rows, _core.TestBits(1), order=0)
    wanted = data.sort_values("x").groupby("person")["x"].head(max_rows)
    assert sorted(arrays_of(sampled)[0][:, 0]) == sorted(wanted)


def test_unit_sizes_are_numbers_of_units_and_a_unit_changes_one_by_one():
    data, starts = people(200, 10), np.array([1, 2, 4])
    sizes = data.groupby("person").size()
    wanted = [(sizes == 1).sum(), ((sizes > 1) & (sizes < 4)).sum(), (sizes >= 4).sum()]
    found = unit_sizes(design_of(data), starts)
    assert opened(found).tolist() == wanted
    for person in (0, 1):
        others = unit_sizes(design_of(data[data["person"] != person]), starts)
        assert np.abs(opened(found) - opened(others)).sum() == found.sensitivity == 1
    assert found.of_units
    alone = Design.of(np.zeros((7, 1)), np.zeros(7), Terms("y", ("x",), True))
    assert opened(unit_sizes(alone, starts)).tolist() == [7, 0, 0]


@pytest.mark.parametrize("method", [AdaSSP, BoostedAdaSSP])
def test_noise_pays_for_every_row_of_a_unit(method):
    data = people(2000, 1000)
    by_rows = {}
    for rows in (1, 4):
        fit = dpreg.dp_lm(
            "y ~ x",
            data,
            1.0,
            method=method(max_rows=rows),
            bounds={"y": (-9.0, 9.0)},
            unit="person",
            rng=1,
        )
        # Rounds that find directions may end early in one fit, and the next have more then.
        by_rows[rows] = {part.label: part for part in fit.privacy.parts}
        assert fit.privacy.unit == "all rows of one 'person'"
    both = by_rows[1].keys() & by_rows[4].keys()
    assert len(both) >= 5
    for one, four in ((by_rows[1][label], by_rows[4][label]) for label in both):
        # Scores are shortened by unit: for them a unit of four rows is like one of one row.
        times = 1 if "score" in one.label else 4
        assert four.sensitivity == pytest.approx(times * one.sensitivity)
        assert four.scale * four.mu == pytest.approx(times * one.scale * one.mu)


@pytest.mark.parametrize("method", [AdaSSP(max_rows=2), BoostedAdaSSP(max_rows=2), DPSGD()])
def test_a_person_with_a_thousand_rows_moves_no_sum_by_more_than_was_paid_for(method, monkeypatch):
    """Grey box: the sums before noise, of neighbours that differ by the heavy person."""
    from dpreg.estimation.methods import dpsgd
    from dpreg.estimation.releases import accountant

    original, descend = accountant.GaussianReleases.release, dpsgd.descent
    base, moved, ends = [], [], []

    def descent(*given):
        """What sampled steps lead to is released too: both see the same."""
        ends.append(ends[0] if ends else descend(*given))
        return ends[-1]

    monkeypatch.setattr(dpsgd, "descent", descent)

    def run(table, record):
        def release(self, label, exact, mu):
            sums = opened(exact)
            weight = np.ones(np.shape(sums)) if exact.weights is None else exact.weights
            result = original(self, label, exact, mu)
            # Both see the same noisy numbers, so that what follows is the same.
            shown = base[len(record)][-1] if record is moved else result
            record.append((label, np.ravel(sums), self.parts[-1].sensitivity, weight, shown))
            return shown

        monkeypatch.setattr(accountant.GaussianReleases, "release", release)
        dpreg.dp_lm("y ~ x", table, 20.0, method=method, unit="person", rng=1)

    data = people(300, 1000)
    small = data[(data["person"] == 0) | ~data["person"].duplicated()]  # one row a person, but 0
    run(small, base)
    run(small[small["person"] != 0], moved)
    # Steps of DP-SGD are sampled, and no releases of this kind.
    assert len(base) == len(moved) >= (3 if isinstance(method, DPSGD) else 5)
    for (label, sums, sensitivity, weight, _), (_, others, *_) in zip(base, moved, strict=True):
        change = np.linalg.norm((sums - others) * np.ravel(weight))
        assert change <= sensitivity, label


def test_person_zero_may_move_more_rows_than_one_without_unit():
    """The check above can fail: by rows, the same person moves the count by a thousand."""
    data = people(300, 1000)
    one = sample_rows(design_of(data), 1, _core.TestBits(1))
    assert len(data) - len(data[data["person"] != 0]) == 1000
    assert count_of(one) == 300


@pytest.mark.parametrize("formula", ["y ~ .", "y ~ . + x"])
def test_the_unit_is_no_regressor(formula):
    data = people(300, 5)
    fit = dpreg.dp_lm(formula, data, 1.0, method="adassp", bounds={"y": (-9.0, 9.0)},
                      unit="person", rng=1)  # fmt: skip
    assert fit.names == ("Intercept", "x")
    assert fit.predict(data[["x"]]).notna().all()
    found = dpreg.dp_select(formula, data.assign(z=1.0), 1, 1.0, unit="person")
    assert found.candidates == ("x", "z")


@pytest.mark.parametrize("formula", ["y ~ x + person", "person ~ x", "y ~ log(person)",
                                     "y ~ x:`person`"])  # fmt: skip
def test_a_unit_in_the_formula_is_refused(formula):
    budget = dpreg.Budget(1.0, 1e-5)
    for call in (
        lambda: dpreg.dp_lm(formula, people(9, 2), 1.0, unit="person", budget=budget),
        lambda: dpreg.dp_select(formula, people(9, 2), 1, 1.0, unit="person", budget=budget),
    ):
        with pytest.raises(ValueError, match=r"^formula: 'person' names the protected unit"):
            call()
    assert budget.charges == ()


def test_other_errors_of_a_formula_are_told_as_they_are():
    for formula in ("y ~ nope", 3):
        with pytest.raises(ValueError, match="formula") as caught:
            dpreg.dp_lm(formula, people(9, 2), 1.0, unit="person")
        assert "protected unit" not in str(caught.value)


@pytest.mark.parametrize("formula", ["y ~ Intercept", "y ~ .", "y ~ 0 + Intercept + x"])
def test_a_column_named_as_the_intercept_is_refused(formula):
    data = people(9, 2).assign(Intercept=1.0)
    with pytest.raises(ValueError, match="formula: a column named 'Intercept'"):
        dpreg.dp_lm(formula, data, 1.0)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        (AdaSSP(), "at most 1 row is used; max_rows= allows more"),
        (
            BoostedAdaSSP(max_rows=3),
            "at most 3 rows are used; max_rows= allows more",
        ),
        (DPSGD(), "at most 1 row is used"),
        (dpreg.Auto(candidates=("adassp",)), "at most 1 row is used"),
        ("frank_wolfe", None),
        (dpreg.TukeyEM(models=4), None),
    ],
)
def test_a_fit_says_how_many_rows_of_a_unit_it_used(method, says):
    data = people(300, 5)
    fit = dpreg.dp_lm("y ~ x", data, 9.0, method=method, unit="person", inference=False)
    notes = " ".join(getattr(fit, "notes", ()))
    assert ("of each 'person'" in notes) == (says is not None)
    assert (says or "") in notes
    if fit.released and method != "frank_wolfe":
        alone = dpreg.dp_lm("y ~ x", data, 9.0, method=method, inference=False)
        assert "of each" not in " ".join(getattr(alone, "notes", ()))


@pytest.mark.parametrize(("selector", "says"), [
    ("kendall", True), (dpreg.DPSIS(max_rows=2), True),
    ("two_stage", False), ("sub_lasso", False),
])  # fmt: skip
def test_a_selection_says_how_many_rows_of_a_unit_it_used(selector, says):
    data = people(300, 5).assign(z=1.0)
    bounds = dict.fromkeys("xyz", (-9, 9)) if isinstance(selector, dpreg.DPSIS) else None
    found = dpreg.dp_select("y ~ x + z", data, 1, 1.0, method=selector, bounds=bounds,
                            unit="person")  # fmt: skip
    assert ("of each 'person' at most" in " ".join(found.notes)) == says
    fit = dpreg.dp_lm("y ~ x + z", data, 9.0, select=selector, k=1, unit="person", method="adassp",
                      bounds=bounds)  # fmt: skip
    assert ("to choose columns, of each 'person'" in " ".join(fit.notes)) == says


def test_counts_are_labelled_by_what_they_count():
    data = people(300, 5)
    fits = {
        name: dpreg.dp_lm("y ~ x", data, 9.0, method=method, unit="person", inference=False, rng=1)
        for name, method in [("rows", AdaSSP(max_rows=2)), ("units", "frank_wolfe")]
    }
    assert "No. Observations:" in str(fits["rows"].summary())
    assert "No. Units:" in str(fits["units"].summary())
    assert "one 'person'" in str(fits["rows"].summary()).split("Privacy:")[0]
    text = str(dpreg.compare(fits))
    assert f"{fits['rows'].units:,.0f} rows" in text
    assert f"{fits['units'].units:,.0f} units" in text
    assert "Observations (private)" in str(dpreg.compare([fits["rows"]]))
    assert "Units (private)" in str(dpreg.compare([fits["units"]]))


def test_a_long_name_of_a_unit_is_shortened():
    data = people(300, 5).rename(columns={"person": "a_person_with_a_long_name_indeed"})
    fit = dpreg.dp_lm("y ~ x", data, 9.0, method="adassp", unit=data.columns[2])
    head, _, notes = str(fit.summary()).partition("Privacy:")
    assert "one 'a_person_with_a_..." in head
    assert "a_person_with_a_long_name_indeed" in notes


def test_columns_of_lists_are_read_as_numbers_and_said_to_be():
    """A list declares no type, so what is in it decides nothing, and the note is always there."""
    for cells in ([1.0, 2.0, 3.0], ["a", "a", "a"], ["a", 2.0, 3.0]):
        data = {"y": cells, "x": np.array([1.0, 2.0, 3.0])}
        fit = dpreg.dp_lm("y ~ x", data, 1.0, method="adassp", bounds={"y": (0.0, 4.0)})
        assert sum("y were read as numbers" in note for note in fit.notes) == 1
    text = np.array(["a", "a", "a"])
    with pytest.raises(ValueError, match="column 'y' holds text without declared levels"):
        dpreg.dp_lm("y ~ x", {**data, "y": text}, 1.0)
    with pytest.raises(ValueError, match="columns 'y', 'x' and 'z' hold text without declared"):
        dpreg.dp_lm("y ~ x + z", {"y": text, "x": text, "z": text}, 1.0)


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, "2"])
def test_max_rows_must_be_a_positive_integer(rows):
    for method in (AdaSSP, BoostedAdaSSP):
        with pytest.raises(ValueError, match="max_rows"):
            method(max_rows=rows)


@pytest.mark.parametrize("grouped", [False, True])
def test_split_units_stay_whole(grouped, bits):
    n = 500
    y = np.arange(n, dtype=float)
    people = np.random.default_rng(1).integers(0, 60, n)
    units = Units.from_labels(people) if grouped else None
    design = Design.of(y[:, None], y, Terms("y", ("x",), intercept=True), units)
    parts = split_units(design, 0.3, bits)
    owners = people if grouped else np.arange(n)
    rows = [arrays_of(part)[1].astype(int) for part in parts]
    assert sorted(np.concatenate(rows)) == list(range(n))
    assert not set(owners[rows[0]]) & set(owners[rows[1]])
    assert 0 < len(rows[0]) < len(rows[1])
    for part, kept in zip(parts, rows, strict=True):
        assert count_of(part) == len(set(owners[kept]))
        if part.by_unit:
            its = units_of(part)
            for first, last in itertools.pairwise(its.offsets.astype(int)):
                assert len({people[kept[int(r)]] for r in its.rows[first:last]}) == 1


def released(fit):
    """All that a fit says, but for how it was asked for and what names its certificate."""
    document = json.loads(fit.to_json())
    del document["privacy"]["request"]
    if document.get("start") is not None:
        del document["start"]["source"]
    return document


@pytest.mark.parametrize(
    ("call", "method", "options"),
    [
        (dpreg.dp_lm, "auto", dpreg.Auto),
        (dpreg.dp_lm, "adassp", AdaSSP),
        (dpreg.dp_glm, "boosted_adassp", dpreg.BoostedAdaSSP),
    ],
)
def test_rows_of_a_unit_may_be_an_argument_of_the_fit(call, method, options):
    data = people(400, 5)
    data["y"] = data["y"] > data["y"].median()
    common = {"eps": 9.0, "unit": "person", "rng": 1}
    found = call("y ~ x", data, method=method, max_rows=3, **common)
    there = call("y ~ x", data, method=options(max_rows=3), **common)
    again = call("y ~ x", data, method=options(max_rows=3), max_rows=3, **common)
    assert released(found) == released(there) == released(again)


def test_rows_of_a_unit_reach_the_selection_too():
    data = people(400, 5).assign(z=1.0)
    common = {"eps": 9.0, "unit": "person", "k": 1, "rng": 1}
    here = dpreg.dp_lm("y ~ x + z", data, select="kendall", max_rows=2, **common)
    there = dpreg.dp_lm("y ~ x + z", data, select=dpreg.DPKendall(max_rows=2),
                        method=dpreg.Auto(max_rows=2), **common)  # fmt: skip
    assert released(here) == released(there)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_rows": 3}, "max_rows needs unit; add unit='person'"),
        ({"max_rows": 0, "unit": "person"}, "max_rows"),
        (
            {"max_rows": 3, "unit": "person", "method": "tukey"},
            "is not an option of 'tukey', but of 'auto', 'adassp', 'boosted_adassp', 'kendall'",
        ),
        (
            {"max_rows": 3, "unit": "person", "method": AdaSSP(max_rows=2)},
            "max_rows is 3, and 2 in the options object; give it once",
        ),
    ],
)
def test_rows_of_a_unit_that_cannot_be_meant(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        dpreg.dp_lm("y ~ x", people(30, 5), 1.0, **options)


def test_rows_of_no_unit_are_refused_by_moments_too():
    with pytest.raises(ValueError, match="max_rows needs unit"):
        dpreg.dp_moments("~ x + y", people(30, 5), 1.0, max_rows=3)
