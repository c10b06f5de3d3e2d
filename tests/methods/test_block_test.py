"""`dp_test`: one unit moves one block, the law is exact, nothing of the statistic gets out."""

from __future__ import annotations

import ctypes
import functools
import itertools
import logging
import os
import random
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from laws import ALPHA, discrete_laplace
from numpy.random import mtrand
from scipy import special, stats

import dpreg
from dpreg import _core
from dpreg.base.errors import ArgumentError, BudgetError, SchemaError
from dpreg.calls.block_test import _checked_blocks
from dpreg.estimation.blocks.block_counts import blocks_of
from dpreg.estimation.inference.noisy_tests import noisy_binomial_p_value, noisy_binomial_tail


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_p_value_is_that_of_the_convolution(epsilon):
    x = np.arange(-400, 401)
    for size, probability in itertools.product((1, 5, 40), (0.05, 0.5)):
        counts = stats.binom.pmf(np.arange(size + 1), size, probability)
        law = np.convolve(counts, discrete_laplace(x, epsilon))
        values = np.arange(-400, 401 + size)
        for seen in (-3, 0, 1, size // 2, size, size + 5):
            wanted = law[values >= seen].sum()
            got = noisy_binomial_p_value(seen, size, probability, epsilon)
            assert got == pytest.approx(wanted, abs=1e-9)
            # A number between 0 and 1 that is added to both is larger in a fourth of all draws.
            wanted = law[values > seen].sum() + law[values == seen].sum() / 4
            got = noisy_binomial_p_value(seen + 0.75, size, probability, epsilon)
            assert got == pytest.approx(wanted, abs=1e-9)
    for least in range(-5, 6):
        wanted = discrete_laplace(x[x >= least], epsilon).sum()
        assert noisy_binomial_tail(least, epsilon) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("probability", [0.05, 0.2, 0.5])
def test_each_level_is_exact(probability):
    """P(p-value <= a) = a, from the exact law of the count and of the fraction."""
    rejected = rejections(12, probability, 1.0)
    for alpha in (1e-6, 0.001, 0.01, 0.05, 0.1, 0.5, 0.9):
        assert rejected(probability, alpha) == pytest.approx(alpha, rel=1e-6)


def rejections(blocks, threshold, epsilon):
    """Return how often a test rejects, with blocks of which a share have small p-values."""
    noise, values = discrete_laplace(np.arange(-400, 401), epsilon), np.arange(-400, 402 + blocks)
    p = np.array([noisy_binomial_p_value(int(v), blocks, threshold, epsilon) for v in values])

    def rejected(share, alpha):
        counts = stats.binom.pmf(np.arange(blocks + 1), blocks, share)
        # From one whole number to the next p falls on a line.
        fractions = np.clip((alpha - p[1:]) / np.maximum(p[:-1] - p[1:], 1e-300), 0, 1)
        return float(np.convolve(counts, noise) @ fractions)

    return rejected


def test_one_unit_more_changes_one_block(monkeypatch):
    """Coupled: all others in the blocks they had."""
    rng = np.random.default_rng(1)
    rows = rng.integers(0, 8, 40)
    real = _core.assign_independently
    said = real(8, 5, _core.TestBits(1))
    members, offsets = np.asarray(said.members), np.asarray(said.offsets).astype(int)
    before = {k: set(members[a:b]) for k, (a, b) in enumerate(itertools.pairwise(offsets))}

    def assignment(blocks):
        flat = [u for k in range(5) for u in sorted(blocks[k])]
        ends = np.cumsum([0] + [len(blocks[k]) for k in range(5)])
        return _core.fixed_assignment(flat, ends.tolist())

    for home in range(5):
        after = {k: set(v) for k, v in before.items()}
        after[home].add(8)
        found = []
        for blocks, labels in ((before, rows), (after, np.append(rows, [8, 8, 8]))):
            drawn = assignment(blocks)
            monkeypatch.setattr(_core, "assign_independently", lambda *_, d=drawn: d)
            found.append([r.tolist() for r in blocks_of(labels, 5, None)])
        changed = [k for k in range(5) if found[0][k] != found[1][k]]
        assert changed == [home]
        assert found[1][home] == [*found[0][home], 40, 41, 42]


def frame(n=2000, shift=0.0, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.standard_normal(n) + shift, "id": np.arange(n) // 4})


def t_test(rows):
    """`stats.ttest_1samp` in a third of the time."""
    x = rows["x"].to_numpy()
    t = x.mean() / x.std(ddof=1) * np.sqrt(len(x))
    return 2 * special.stdtr(len(x) - 1, -abs(t))


def test_the_statistic_of_these_tests_is_a_t_test():
    rows = frame(50, 0.2)
    assert t_test(rows) == pytest.approx(stats.ttest_1samp(rows["x"], 0).pvalue, rel=1e-12)


def test_level_and_power():
    """400 tests each: fewer than 43 of 400 reject at 5%, but for a probability of 1e-6."""
    null = [dpreg.dp_test(t_test, frame(600, 0.0, s), 1.0, rng=s).pvalue for s in range(400)]
    most = stats.binom.isf(ALPHA, 400, 0.05)
    assert sum(p <= 0.05 for p in null) <= most
    there = [dpreg.dp_test(t_test, frame(1600, 0.2, s), 1.0, rng=s).pvalue for s in range(100)]
    assert np.mean(np.array(there) <= 0.05) > 0.8


@pytest.mark.parametrize(("epsilon", "times"), [(1.0, 4), (0.3, 9)])
def test_units_that_power_takes_are_as_many_as_the_docstring_says(epsilon, times):
    """Of a normal statistic with 80% power at 5% without privacy; a tenth less is not enough."""
    blocks, threshold = _checked_blocks(None, epsilon), 0.2
    rejected = rejections(blocks, threshold, epsilon)

    def power(units):
        end, shift = stats.norm.isf(threshold / 2), 2.8 * np.sqrt(units / blocks)
        return rejected(stats.norm.sf(end - shift) + stats.norm.cdf(-end - shift), 0.05)

    assert power(1.05 * times) > 0.8 > power(0.9 * times)
    assert rejected(threshold, 0.05) == pytest.approx(0.05, rel=1e-6)


def test_what_the_statistic_does_wrong_counts_as_nothing(capsys):
    def loud(rows):
        print(rows)
        warnings.warn("of the data", stacklevel=1)
        if len(rows) % 2:
            raise RuntimeError("of the data")
        return np.nan if len(rows) % 4 else "none"

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dpreg.dp_test(loud, frame(), 50.0, rng=1)
    assert found.count == 0
    assert capsys.readouterr() == ("", "")


def test_nothing_that_a_block_says_is_heard_in_any_way(capfd, caplog):
    """Handlers that hold the stream, libraries in C and other programs included."""
    handler = logging.StreamHandler(sys.__stderr__)
    logger = logging.getLogger("statistic")
    logger.addHandler(handler)

    def loud(rows):
        logger.error("of %d rows", len(rows))
        os.write(1, b"of the rows")
        os.system("echo of the rows >&2")
        sys.__stdout__.write("of the rows")
        ctypes.CDLL(None).printf(b"of the rows")
        return 0.0

    print("before", flush=True)
    dpreg.dp_test(loud, frame(), 50.0, blocks=3, rng=1)
    logger.error("after")
    logger.removeHandler(handler)
    ctypes.CDLL(None).fflush(None)
    assert [record.getMessage() for record in caplog.records] == ["after"]
    said, failed = capfd.readouterr()
    assert said == "before\n"
    assert "rows" not in failed


def test_threads_take_turns_and_everything_is_put_back(capfd):
    def slow(rows):
        time.sleep(0.01)
        return 1.0

    call = functools.partial(dpreg.dp_test, slow, frame(40), 1.0, blocks=5)
    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
        time.sleep(0.01)
    for thread in threads:
        thread.join()
    os.write(1, b"heard")
    print("too", flush=True)
    assert capfd.readouterr().out == "heardtoo\n"
    assert logging.root.manager.disable == logging.NOTSET


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.PCG64])
def test_what_one_block_draws_the_next_does_not_see(kind):
    """Permutations are drawn from np.random by many a test, as many as there are rows."""
    before = mtrand.get_bit_generator()
    mtrand.set_bit_generator(kind(1))
    try:
        check_that_blocks_draw_apart()
        expected = np.random.RandomState(kind(1)).random()
        assert np.random.random() == expected  # noqa: NPY002
    finally:
        mtrand.set_bit_generator(before)


def check_that_blocks_draw_apart():
    seen = {}

    def drawing(rows):
        np.random.random(len(rows))  # noqa: NPY002
        seen.setdefault(len(rows), []).append((np.random.random(), random.random()))  # noqa: NPY002
        return 1.0

    number = random.getstate()
    dpreg.dp_test(drawing, frame(), 1.0, blocks=60, rng=1)
    assert random.getstate() == number
    drawn = [pair for pairs in seen.values() for pair in pairs]
    assert len({x for x, _ in drawn}) == len({x for _, x in drawn}) == 60
    again = {size: list(pairs) for size, pairs in seen.items()}
    seen.clear()
    dpreg.dp_test(drawing, frame(), 1.0, blocks=60, rng=1)
    assert seen == again


@pytest.mark.parametrize("n", [0, 1, 3])
def test_few_rows_are_a_result_too(n):
    assert 0 <= dpreg.dp_test(t_test, frame(2000).head(n), 1.0, rng=1).pvalue <= 1


def test_persons_are_in_one_block():
    sizes = []

    def seen(rows):
        sizes.append(rows["id"].nunique() * 4 == len(rows))
        return 1.0

    found = dpreg.dp_test(seen, frame(), 1.0, unit="id", rng=1)
    assert all(sizes)
    assert found.privacy.unit == "all rows of one 'id'"
    missing = frame().assign(id=pd.array([pd.NA] * 2000, dtype="Int64"))
    lengths = []
    dpreg.dp_test(lambda rows: lengths.append(len(rows)) or 1.0, missing, 1.0, unit="id", rng=1)
    assert set(lengths) == {0}


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"statistic": 3}, ArgumentError, "statistic must be a function"),
        ({"data": {"x": [1]}}, ArgumentError, "data must be a pandas data frame"),
        ({"eps": 0}, BudgetError, "eps"),
        ({"blocks": 0}, ArgumentError, "blocks must be"),
        ({"blocks": 2.5}, ArgumentError, "blocks must be"),
        ({"threshold": 1.0}, ArgumentError, "threshold must be"),
        ({"threshold": True}, ArgumentError, "threshold must be"),
        ({"unit": "who"}, SchemaError, "no column 'who'"),
        ({"unit": 3}, SchemaError, "unit must be the name of one column"),
        ({"unit": "x", "data": frame(10).set_axis(["x", "x"], axis=1)}, SchemaError, "both named"),
        ({"rng": "a"}, ValueError, "rng"),
    ],
)
def test_wrong_use_is_refused_and_free(change, error, says):
    budget = dpreg.Budget(1.0)
    given = {"statistic": t_test, "data": frame(10), "eps": 1.0, "budget": budget} | change
    with pytest.raises(error, match=says):
        dpreg.dp_test(**given)
    assert budget.charges == ()


def test_it_is_charged_prints_and_comes_back():
    budget = dpreg.Budget(1.0)
    found = dpreg.dp_test(t_test, frame(), 1.0, budget=budget, rng=1)
    assert len(budget.charges) == 1
    assert found.blocks == 12
    assert "p-value" in str(found)
    again = dpreg.DPTest.from_json(found.to_json())
    assert again.to_json() == found.to_json()
    assert again.pvalue == found.pvalue
    with pytest.raises(ValueError, match="not a test"):
        dpreg.DPTest.from_json("{}")
    with pytest.raises(BudgetError):
        dpreg.dp_test(t_test, frame(), 1.0, budget=budget)


def test_the_budget_of_one_stratum_is_refused():
    budget = dpreg.Budget(1.0, 1e-5)
    stratum = budget.partition("g", ["a", "b"])["a"]
    with pytest.raises(BudgetError, match="of one stratum"):
        dpreg.dp_test(t_test, frame().assign(g="a"), 1.0, budget=stratum)
    assert budget.charges == ()


@pytest.fixture
def interruptible():
    """What runs in the background may be told to ignore interrupts, and its children too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_is_the_users_or_nothing():
    """One that the statistic raises is a p-value of 1; Ctrl-C stops, and says what is spent."""
    data = pd.DataFrame({"x": np.arange(60.0)})

    def raises(rows):
        raise KeyboardInterrupt(rows["x"].sum())

    def is_stopped(rows):
        try:
            signal.raise_signal(signal.SIGINT)
        except BaseException:
            raise ValueError(rows["x"].sum()) from None

    budget = dpreg.Budget(100.0)
    assert dpreg.dp_test(raises, data, 50.0, budget=budget, rng=1).count == 0
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt) as stop:
        dpreg.dp_test(is_stopped, data, 50.0, budget=budget, rng=1)
    assert stop.value.args == ()
    assert stop.value.__context__ is None
    assert "the budget is spent" in stop.value.__notes__[0]
    assert budget.spent[0] == 100.0
    assert signal.getsignal(signal.SIGINT) is before
