"""Replays of the package hold, and find what is planted; failures are shrunk and reported."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import sys
from collections import defaultdict

import numpy as np
import pytest
from audit.mutants import MUTANTS
from audit.patches import edited
from audit.planted import LEAKS
from audit.replayed import BROKEN, found_after

import dpreg
from dpreg import _core
from dpreg.audit import ReplayReport, replay, replay_options, replay_varied
from dpreg.audit.recordings import Leak, Luck
from dpreg.audit.replay import measure
from dpreg.audit.replay_calls import CONTAINERS, FILES, LEVELS, PublicCall
from dpreg.audit.replay_options import random_call
from dpreg.audit.replay_report import shrunk
from dpreg.audit.replay_tables import random_case
from dpreg.audit.replay_varied import varied
from dpreg.audit.watches import _with_units
from dpreg.estimation.methods import METHODS, BoostedAdaSSP
from dpreg.estimation.releases.statistics import LevelCounts
from dpreg.estimation.selection import SELECTORS

pytestmark = pytest.mark.usefixtures("coarse_losses")

# Of which `dpreg.audit.replay` is the function.
MODULE = sys.modules["dpreg.audit.replay"]
PAIRS = 40
SEED = 20260101
# Found within so few pairs; `make audit` tries all, and says how soon each is found.
FEW = 40
SOON = (
    "sensitivity of all histograms that of one",  # a sensitivity
    "no composition over rounds",  # an account
    "limits of scores from exact norms",  # a limit
    "bounds read from the data",
    "n in the divisor read exactly",
    "a small study's limit from the exact residuals",
    "what counts cost follows the true n",  # where to stop, what to spend
)


def case_of(call, seed=3, rows=20):
    rng = np.random.default_rng(seed)
    for _ in range(200):
        case = random_case(rng, call)
        if len(case.table) == rows:
            return case
    raise AssertionError(rows)


BOOSTED = PublicCall("dp_lm", "y ~ a", (100.0, 1e-2), {"method": BoostedAdaSSP()})


@pytest.mark.slow
def test_no_sum_moves_by_more_than_its_sensitivity():
    report = replay(PAIRS)
    assert report.holds, str(report)
    assert report.pairs == PAIRS
    assert report.refused.total() < PAIRS / 4
    # Bounds that are never reached would hide a factor.
    for label in ("score of round #", "number of rows", "histogram # of each column"):
        assert report.worst[label] > 0.99, label


def test_the_seed_decides_which_pairs_there_are():
    first, again, other = (json.loads(replay(3, seed=k).to_json()) for k in (5, 5, 6))
    assert first | {"seconds": 0} == again | {"seconds": 0}
    assert first["calls"] | first["releases"] != other["calls"] | other["releases"]


def test_a_replay_goes_on_where_another_stopped():
    whole, first, last = (replay(k, seed=5, first=m) for k, m in ((6, 1), (4, 1), (6, 5)))
    assert (first.pairs, last.pairs) == (4, 2)
    assert first.calls + last.calls == whole.calls
    assert first.releases + last.releases == whole.releases
    worst = {label: max(one.worst.get(label, 0) for one in (first, last)) for label in whole.worst}
    assert worst == whole.worst
    assert "seed 5, the first is pair 5" in str(last)


def test_no_pair_begins_after_the_time_is_over():
    assert replay(1000, seconds=0.0).pairs == 0


def test_random_calls_have_all_functions_families_and_options():
    calls = [random_call(np.random.default_rng(k)) for k in range(1200)]
    assert {call.function for call in calls if not call.of_arrays} == {
        "dp_effect", "dp_lm", "dp_glm", "dp_moments", "dp_select", "dp_survival", "dp_curve",
        "dp_ordinal", "dp_multinomial",
    }  # fmt: skip
    families = {call.family.loss for call in calls}
    assert families == {
        "squared", "logistic", "probit", "cloglog", "poisson", "gamma", "negative_binomial",
        "quantile",
    }  # fmt: skip
    used = {name for call in calls if not call.of_arrays for name in call.options}
    for function in {call.function for call in calls if not call.of_arrays}:
        assert arguments_of(getattr(dpreg, function)) <= used, function
    assert {call.stratum for call in calls} == {None, "north", "south"}
    assert any("offset(" in call.formula for call in calls)
    assert any("| who + p" in call.formula for call in calls)
    assert {call.container for call in calls} == {*CONTAINERS, *FILES}
    factors = {call.function for call in calls if call.formula == "y ~ c + p + r"}
    assert factors == {"dp_lm", "dp_glm", "dp_moments"}


def arguments_of(function):
    """Those that are in `PublicCall.options`."""
    public = set(inspect.signature(function).parameters)
    return public - {"formula", "data", "X", "y", "eps", "delta", "budget", "rng"}


def test_random_calls_have_all_mechanisms_that_take_rows_and_their_options():
    rng, used = np.random.default_rng(SEED), defaultdict(set)
    for _ in range(2000):
        call = varied(rng, replay_options._arrays(rng))
        used[call.function] |= set(call.options)
    # Others are of scores, whose laws are audited exactly.
    scored = {"peel", "canonical_lipschitz", "rnm_screen", "adp_screen"}
    functions = {name for name in dpreg.mechanisms.__all__ if name[0].islower()}
    assert set(used) == functions - scored
    for function, names in used.items():
        assert arguments_of(getattr(dpreg.mechanisms, function)) == names, function


@pytest.mark.parametrize("kind", [*METHODS.values(), *SELECTORS.values()])
def test_methods_have_other_options_than_their_defaults(kind):
    rng, plain, other = np.random.default_rng(SEED), kind(), set()
    call = PublicCall("dp_lm", "y ~ a", (1.0, 1e-5), {"method": plain})
    fields = {field.name for field in dataclasses.fields(plain)}
    for _ in range(200):
        one = varied(rng, call).options["method"]
        other |= {name for name in fields if getattr(one, name) != getattr(plain, name)}
    # Those that the replay draws by itself, but for the rate: noise for others takes seconds.
    assert other >= fields - {"max_rows", "share", "rate", "steps", "rounds", "average",
                              "candidates"}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SOON)
def test_a_mutant_is_found(name):
    (mutant,) = (one for one in MUTANTS if one.name == name)
    found = found_after(mutant, FEW)
    assert found is not None
    assert not BROKEN.search(found[1]), found[1]


@pytest.mark.parametrize(
    "mutant", [m for m in MUTANTS if m.checks == ("exits",)], ids=lambda m: m.name
)
def test_what_is_wrong_with_tables_of_exits_is_found(mutant, monkeypatch):
    monkeypatch.setattr(replay_options, "_KINDS", ((replay_options.random_curve, 1),))
    assert replay(5, seed=4, shrink=False).holds
    found = found_after(mutant, 150)
    assert found is not None
    assert not BROKEN.search(found[1]), found[1]


@pytest.fixture
def of_kind(monkeypatch):
    """Draw calls of one kind only."""
    return lambda kind: monkeypatch.setattr(replay_options, "_KINDS", ((kind, 1),))


@pytest.mark.parametrize(
    "name",
    ["sampled gradients: every row in every step, noise for a sample",
     "sampled gradients: noise of half the scale",
     "sampled gradients: clip of the step is twice that of the noise",
     "all rows of a person in sampled gradients"],
)  # fmt: skip
@pytest.mark.slow
def test_what_is_wrong_with_sampled_steps_is_found(name, of_kind):
    """Samples of neighbours are coupled: the same rows are in both."""
    of_kind(replay_options.random_dpsgd)
    assert replay(2, seed=4, shrink=False).holds
    (mutant,) = (one for one in MUTANTS if one.name == name)
    found = found_after(mutant, 4)
    assert found is not None
    assert not BROKEN.search(found[1]), found[1]


def test_a_factor_more_than_was_paid_for_is_found(of_kind, monkeypatch):
    of_kind(replay_options.random_moments)
    monkeypatch.setattr(replay_varied, "_FACTORS_SHARE", 1.0)
    assert replay(10, seed=4, shrink=False).holds
    with contextlib.ExitStack() as stack:
        edited(LevelCounts, "seal", ("np.ones(len(self.groups))", "np.ones(1)"))(stack)
        report = replay(10, seed=4, shrink=False)
    assert "number of rows of each level" in report.failures[0].why


@pytest.mark.parametrize("container", FILES)
def test_a_table_is_the_same_wherever_it_is_held(container):
    call = dataclasses.replace(
        BOOSTED, formula="y ~ a + r", options={"levels": {"r": list(LEVELS["r"])}}
    )
    table = case_of(call).table
    said = [dataclasses.replace(call, container=where)(table, _core.TestBits(7))
            for where in ("pandas", container)]  # fmt: skip
    assert said[0] == said[1]
    assert not said[0].startswith("refused")


def test_a_row_that_counts_twice_in_a_partition_is_found(of_kind, monkeypatch):
    """The leak of planted.py that rows in one place do not show."""
    pytest.importorskip("dask")
    of_kind(replay_options.random_moments)
    monkeypatch.setattr(replay_varied, "_FILES_SHARE", 1.0)
    monkeypatch.setattr(replay_varied, "FILES", ("dask",))
    (leak,) = (leak for leak in LEAKS if leak.name == "a row counted in two partitions")
    with contextlib.ExitStack() as stack:
        leak.apply(leak.forced, stack)
        report = replay(15, seed=4, shrink=False)
    assert "moved by" in report.failures[0].why


def planted(monkeypatch):
    """A sensitivity of a tenth, and the check of the accountant taken out of its way."""
    real = _core.score_sensitivity
    monkeypatch.setattr(_core, "score_sensitivity", lambda width: real(width) / 10)


def test_a_failure_is_shrunk_and_written_down(monkeypatch, capsys, tmp_path):
    planted(monkeypatch)
    case = case_of(BOOSTED)
    unit = case.unit.assign(a=1e3, y=-1e6, c="u", p="1", s="north", t=1.0, w=1.0)
    case = dataclasses.replace(case, unit=unit, luck=Luck(1000, 7))

    def leak_of(one):
        try:
            measure(one)
        except Leak as leak:
            return str(leak)
        return None

    assert "moved by" in leak_of(case)
    smallest, why = shrunk(case, leak_of(case), leak_of, seconds=20)
    assert len(smallest.table) < 5
    assert leak_of(smallest) == why

    from dpreg.audit import replay as module_function
    from dpreg.audit.replay_report import Failure

    assert module_function is replay
    report = ReplayReport(1)
    report.add("dp_lm(boosted_adassp)", {}, [])
    report.failures.append(Failure(smallest, why, 1))
    assert "dp_lm('y ~ a', data, eps=100.0" in str(report)
    assert "rows of the unit:" in str(report)
    (document,) = json.loads(report.to_json())["failures"]
    assert document["why"] == why
    assert document["table"].splitlines()[0] == "a,y"


def test_shrinking_ends_with_the_rows_that_matter():
    case = case_of(BOOSTED, rows=40)
    table = case.table.assign(a=1.0)
    table.loc[[7, 21], "a"] = 5.0

    def leak_of(one):
        return "label: two fives" if (one.table["a"] == 5).sum() == 2 else None

    smallest, why = shrunk(dataclasses.replace(case, table=table), "label: two fives", leak_of)
    assert why == "label: two fives"
    assert smallest.table["a"].tolist() == [5.0, 5.0]
    assert smallest.luck == Luck()
    assert set(smallest.table["y"]) <= {0.0}


def test_another_failure_is_not_followed():
    case = case_of(BOOSTED, rows=20)

    def leak_of(one):
        return "label: moved by 3.1" if len(one.table) == 20 else "label: other things"

    smallest, why = shrunk(case, "label: moved by 2", leak_of)
    assert len(smallest.table) == 20
    assert why == "label: moved by 3.1"


def test_the_unit_is_at_its_place_and_nothing_else_changes():
    case = dataclasses.replace(case_of(BOOSTED), place=4, goes=False)
    without, having = case.pair
    assert without is case.table
    rest = having.drop(index=range(4, 4 + len(case.unit))).reset_index(drop=True)
    assert rest.equals(case.table)
    assert list(having.dtypes) == list(case.table.dtypes)
    back = dataclasses.replace(case, goes=True).pair
    assert back[1] is case.table
    assert back[0].equals(having)


@pytest.mark.parametrize(("before", "after"), [(5, 6), (6, 5), (5, 5)])
def test_units_that_stay_stay_in_their_models(before, after):
    first = _core.assign_independently(before, 3, _core.TestBits(1))
    second = _with_units(first, before, after)
    models = [
        np.split(np.asarray(a.members).astype(int), np.asarray(a.offsets).astype(int)[1:-1])
        for a in (first, second)
    ]
    stay = min(before, after)
    for mine, theirs in zip(*models, strict=True):
        assert [u for u in mine if u < stay] == [u for u in theirs if u < stay]
    assert len(second.members) == after


def test_luck_keeps_to_the_grid():
    exact, out = np.array([3.0, -8.0, 0.25]), np.array([4.5, -8.25, 0.25])
    assert Luck().of(exact, out).tolist() == out.tolist()
    assert Luck(1, 0).of(exact, out).tolist() == exact.tolist()
    assert Luck(10, 4).of(exact, out).tolist() == [36.0, -81.0, 2.5]


def test_a_failure_is_kept_where_shrinking_is_stopped(monkeypatch):
    def leaks(case):
        raise Leak("label: moved")

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(MODULE, "measure", leaks)
    monkeypatch.setattr(MODULE, "shrunk", stopped)
    monkeypatch.setattr(MODULE, "_TESTS", 0.0)
    report = replay(3)
    assert report.interrupted
    assert [one.why for one in report.failures] == ["label: moved"]
