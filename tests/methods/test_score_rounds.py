"""Scores along directions: limits from noisy counts, the root, and its errors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import dpreg
from dpreg import _core
from dpreg.methods.boosted_adassp import _longest as longest_scored
from dpreg.methods.score_errors import ScoreRoot, dispersion, score_errors, shrunk
from dpreg.methods.score_plan import ScorePlan
from dpreg.methods.score_root import score_root
from dpreg.sums.accountant import GaussianReleases
from dpreg.sums.preconditioning import Directions
from dpreg.sums.scores import ScoreCut, ScoreNorms
from dpreg.sums.working_model import least_squares

PLAN = ScorePlan(
    early=(0.02,) * 6,
    every=3,
    early_norms=0.02,
    norms=0.06,
    settling=(0.02,) * 4,
    late=(0.02,) * 20,
    products=0.1,
)
BINS = 121


class FineRows(_core.QuantisedRows):
    """Whose rounding does not matter anyway."""

    def aim(self, theta):
        assert np.isfinite(theta).all()


def rows_of(X, y, offsets=(), order=()):
    """Rows as they are: no intercept, no shortening."""
    how = _core.Standardisation()
    d = X.shape[1]
    how.columns = list(range(d))
    how.low, how.high, how.centre = [-np.inf] * d, [np.inf] * d, [0.0] * d
    how.inverse_scale, how.intercept, how.row_limit = [1.0] * d, False, 100.0
    return FineRows(np.ascontiguousarray(X), y, how, list(offsets), list(order))


def directions_of(d, seen=None):
    shown = np.ones(d, dtype=bool) if seen is None else np.array(seen)
    return Directions(np.eye(d), np.eye(d), 100.0, shown, np.ones(d), ~np.ones(d, dtype=bool))


def problem(n, d, rng):
    X = rng.standard_normal((n, d))
    truth = np.linspace(-0.5, 0.5, d)
    return X, X @ truth + 0.5 * rng.standard_normal(n), truth


def root_of(X, y, seed, epsilon=1.0, **units):
    noise = GaussianReleases(epsilon, 1e-6, _core.TestBits(seed))
    seen = np.ones(X.shape[1], dtype=bool)
    return score_root(rows_of(X, y, **units), seen, float(len(y)), PLAN, noise), noise


def test_the_root_is_least_squares_up_to_the_noise_that_is_stated():
    X, y, _ = problem(20_000, 4, np.random.default_rng(1))
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    errors = []
    for seed in range(60):
        root, _ = root_of(X, y, seed)
        errors.append((root.theta - exact) / root.deviation)
    # Chi-square with 240 degrees of freedom: 4 standard errors are 37%.
    assert abs(np.mean(np.square(errors)) - 1) < 0.37


def test_everything_is_spent_and_no_more():
    X, y, _ = problem(2_000, 3, np.random.default_rng(2))
    _, noise = root_of(X, y, 1)
    spent = math.fsum(part.mu**2 for part in noise.parts)
    assert spent == pytest.approx(PLAN.share * noise.mu**2, rel=1e-3)
    assert spent <= PLAN.share * noise.mu**2


def test_standard_errors_are_clustered_by_unit():
    """Five rows a unit, one effect for them all: variance is five times as large."""
    rng = np.random.default_rng(3)
    n, each = 20_000, 5
    X = np.repeat(rng.standard_normal((n, 2)), each, axis=0)
    y = X @ [1.0, -1.0] + np.repeat(rng.standard_normal(n), each)
    offsets = np.arange(0, n * each + 1, each)
    noise = GaussianReleases(4.0, 1e-6, _core.TestBits(1), rows=each)
    rows = rows_of(X, y, offsets.tolist(), range(n * each))
    root = score_root(rows, np.ones(2, dtype=bool), float(n * each), PLAN, noise)
    error = score_errors(root, directions_of(2), np.eye(2))
    np.testing.assert_allclose(np.diag(error.sampling), 1 / n, rtol=0.25)
    alone, _ = root_of(X, y, 1, epsilon=4.0)
    naive = score_errors(alone, directions_of(2), np.eye(2))
    np.testing.assert_allclose(np.diag(naive.sampling), 1 / (n * each), rtol=0.25)


def test_what_was_not_seen_is_hidden_and_shrunk():
    X, y, _ = problem(5_000, 3, np.random.default_rng(4))
    X[:, 2] = 0.0
    noise = GaussianReleases(2.0, 1e-6, _core.TestBits(1))
    seen = np.array([True, True, False])
    root = score_root(rows_of(X, y), seen, 5_000.0, PLAN, noise)
    assert abs(root.theta[2]) < 6 * root.deviation
    stretched = replace(directions_of(3, seen), change=np.diag([1.0, 1.0, 1e4]))
    _, kept = shrunk(root, stretched)
    assert kept[2, 2] < 1e-3
    np.testing.assert_allclose(kept[:2, :2], np.eye(2), atol=1e-3)
    directions = directions_of(3, seen)
    error = score_errors(root, directions, np.eye(3))
    assert error.hidden[2, 2] == pytest.approx(min(dispersion(root, directions), 1.0))
    assert not error.hidden[:2, :2].any()


def test_what_is_clear_of_its_noise_is_kept_where_the_scale_of_the_response_is_too_small():
    """Short directions have more noise: what is explained too much would be taken for theirs."""
    moments = np.array([1.0, 1.0, 1.0, 0.1])
    root = ScoreRoot(
        theta=np.array([0.9, 0.4, 0.2, 1.5]), deviation=1e-4, cut=ScoreCut(1.0, 0.0, 0.0),
        row_limit=4.0, products=np.eye(4), products_deviation=1.0, norm=0.1, squares=100.0,
        units=10_000.0, unsettled=np.zeros(4), curvature=np.diag(moments), start=np.zeros(4),
    )  # fmt: skip
    directions = replace(directions_of(4), limit=4.0, moments=moments)
    assert moments @ root.theta**2 > 1.2
    found, kept = shrunk(root, directions)
    np.testing.assert_allclose(kept, np.eye(4), atol=1e-6)
    np.testing.assert_allclose(found.theta, root.theta, rtol=1e-6)
    # What has not settled is not clear, and what noise may have made is not either.
    for unclear in (replace(root, unsettled=np.full(4, 1.0)), replace(root, deviation=0.1)):
        assert shrunk(unclear, directions)[1][3, 3] < 0.9


def test_rounds_that_do_not_settle_are_told():
    """Rows five times as long as they should be: steps overshoot ever further."""
    X, y, _ = problem(20_000, 3, np.random.default_rng(5))
    X[:, 0] *= 5.0
    root, _ = root_of(X, y, 1)
    assert root.unsettled[0] > 100 * root.deviation**2
    assert not root.unsettled[1:].any()


def counts_of(norms):
    bins = np.floor(2 * np.log2(norms)).astype(int) - _core.LEAST_SCORE_BIN
    return np.bincount(np.clip(bins, 0, BINS - 1), minlength=BINS).astype(float)


@pytest.mark.parametrize("power", [2.0, 3.0])
def test_a_limit_cuts_about_what_it_is_meant_to_of_a_power_law(power):
    """The sum of what is cut off is about half of the deviation of the noise, within a factor 3."""
    rng = np.random.default_rng(6)
    norms = rng.pareto(power, 1_000_000) + 1
    mu, balance = 0.1, 0.5
    limit = ScoreNorms(counts_of(norms), 20.0).limit(mu, balance)
    cut = np.maximum(norms - limit, 0).sum()
    assert 1 / 3 < cut / (balance * limit / mu) < 3


def test_norms_in_noise():
    rng = np.random.default_rng(7)
    norms = np.abs(rng.standard_normal(50_000)) * 8
    exact = counts_of(norms)
    for deviation, hidden in ((1.0, 0.02), (300.0, 0.15)):  # bins that noise hides are of all norms
        noisy = ScoreNorms(exact + rng.normal(0, deviation, BINS), deviation)
        assert noisy.three_quarters == pytest.approx(np.quantile(norms, 0.75), rel=0.5)
        rms = np.sqrt((norms**2).mean())
        assert noisy.root_mean_square() == pytest.approx(rms, rel=0.25)
        for limit in (1.0, 4.0, 12.0):
            left = np.minimum(1, limit / norms).mean()
            assert noisy.left(limit) == pytest.approx(left, rel=hidden)


def test_all_is_left_of_norms_that_cannot_be_told():
    assert ScoreNorms(np.zeros(BINS), 1.0).left(1.0) == 1.0
    assert ScoreNorms(counts_of(np.ones(9)), 0.0).left(1e9) == 1.0


@pytest.mark.parametrize("limit", [8.0, 20.0, 1e6])
def test_more_scores_than_are_told_are_beyond_a_limit_in_one_fit_of_forty(limit):
    rng = np.random.default_rng(10)
    norms = np.abs(rng.standard_normal(50_000)) * 8
    exact, beyond = counts_of(norms), (norms > limit).sum()
    noise = rng.normal(0, 30.0, (2_000, BINS))
    told = np.array([ScoreNorms(exact + draw, 30.0).cut(limit).units for draw in noise])
    # The first bin begins below the limit; 2 deviations are exceeded by one in 44.
    assert (told < beyond).mean() < 1 / 40 + 5 * math.sqrt(0.025 / 2_000)
    assert ScoreNorms(exact, 0.0).cut(limit).units >= beyond


@pytest.mark.parametrize(
    ("power", "limit"),
    [(1.8, 3.0), (1.8, 40.0), (1.8, 150.0), (3.0, 3.0), (3.0, 12.0), (3.0, 25.0)],
)
def test_what_is_cut_off_a_power_law_is_told_where_the_limit_is_seen_and_where_it_is_not(
    power, limit
):
    rng = np.random.default_rng(12)
    norms = (1 - (np.arange(1_000_000) + 0.5) / 1_000_000) ** (-1 / power)
    cut = np.maximum(norms - limit, 0).sum()
    noise = rng.normal(0, 20.0, (300, BINS))
    told = [ScoreNorms(counts_of(norms) + draw, 20.0).cut(limit).excess for draw in noise]
    assert 0.8 * cut < np.median(told) < 3 * cut
    # Counts are two deviations up, powers as they are seen, with noise.
    assert (np.array(told) > 0.5 * cut).mean() > 0.9


def test_the_last_bin_of_norms_has_no_end():
    """No score being longer than a limit is not told by a limit beyond all bins."""
    counts = np.zeros(BINS)
    counts[-1] = 7.0
    assert ScoreNorms(counts, 1.0).cut(2.0**60).units == 9.0


def test_noise_far_above_the_norms_is_not_taken_for_one():
    """With 4.5 deviations everywhere a count of 4,000 had one, and limits followed it."""
    rng = np.random.default_rng(14)
    exact = counts_of(np.abs(rng.standard_normal(100_000)) * 3)
    last = int(np.flatnonzero(exact > 100)[-1])
    for k, least in ((last + 3, 5.5), (last + 30, 7.5)):
        for deviations in (least - 1.5, least):
            counts = exact.copy()
            counts[k] = deviations * 20.0
            found = ScoreNorms(counts, 20.0).longest_seen >= 2 ** ((_core.LEAST_SCORE_BIN + k) / 2)
            assert found == (deviations == least)
    noise = rng.normal(0, 20.0, (50_000, BINS))
    longest = [ScoreNorms(exact + draw, 20.0).longest_seen for draw in noise]
    assert max(longest) <= 2 ** ((_core.LEAST_SCORE_BIN + last + 5) / 2)


def test_noise_alone_gives_a_number():
    rng = np.random.default_rng(8)
    noisy = ScoreNorms(rng.normal(0, 1e6, BINS), 1e6)
    for number in (noisy.three_quarters, noisy.root_mean_square(), noisy.limit(0.01, 0.5)):
        assert np.isfinite(number)
        assert number > 0
    nothing = ScoreNorms(np.full(BINS, -5.0), 1.0)
    assert np.isfinite(nothing.limit(0.01, 0.5))


def test_a_response_so_skewed_that_early_limits_lead_elsewhere_settles():
    """Early limits cut a long tail of errors, the last one does not; the mean does not remember."""
    rng = np.random.default_rng(9)
    X = rng.standard_normal((50_000, 2))
    X[:, 0] = 1.0
    y = X @ [0.5, 1.0] + 0.5 * rng.exponential(size=50_000) ** 1.5
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    errors = []
    for seed in range(20):
        root, _ = root_of(X, y, seed, epsilon=4.0)
        assert not root.unsettled.any()
        errors.append((root.theta - exact) / root.deviation)
    # Means of 20: 5 standard errors.
    assert (np.abs(np.mean(errors, axis=0)) < 5 / math.sqrt(20)).all()


def test_rows_of_much_leverage_count_as_least_squares_has_it():
    """One row in a hundred is ten times as long, and has another slope."""
    rng = np.random.default_rng(10)
    n = 30_000
    long = rng.random(n) < 0.01
    x = rng.standard_normal(n) * np.where(long, 10.0, 1.0)
    y = np.where(long, 1.2, 1.0) * x + rng.standard_normal(n)
    data = pd.DataFrame({"y": y, "x": x})
    exact = np.linalg.lstsq(np.column_stack([np.ones(n), x]), y, rcond=None)[0]
    for seed in range(4):
        fit = dpreg.dp_lm("y ~ x", data, 2.0, 1e-6, rng=seed)
        assert (np.abs(fit.params.to_numpy() - exact) < 4 * fit.bse.to_numpy()).all()
        assert fit.bse["x"] < 0.05


@pytest.mark.parametrize("units", [1.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("limit", [5.0, 90.0, 2000.0])
def test_rows_may_be_as_long_as_rounding_them_allows(limit, units):
    longest = longest_scored(limit, units)
    assert limit <= longest <= 8 * limit
    attenuation = (longest / _core.ROW_STEPS) ** 2 / 12
    assert longest == limit or attenuation <= 0.1 / math.sqrt(units) * (1 + 1e-12)
    assert longest == 8 * limit or longest == limit or attenuation > 0.099 / math.sqrt(units)


def test_a_rare_reference_level_has_rows_that_no_step_can_follow_and_errors_all_the_same(diamonds):
    """Of 1.4% of the rows, stretched until they are hundreds of times as long as others."""
    formula = "log(price) ~ log(carat) + clarity"
    level = pd.get_dummies(diamonds["clarity"], dtype=float).to_numpy()[:, 1:]
    A = np.column_stack([np.ones(len(level)), np.log(diamonds["carat"]), level])
    exact = np.linalg.lstsq(A, np.log(diamonds["price"]), rcond=None)[0]
    for seed in range(3):
        fit = dpreg.dp_lm(formula, diamonds, 1.0, 1e-6, rng=seed)
        assert (np.abs(fit.params.to_numpy() - exact) < 4 * fit.bse.to_numpy()).all()
        assert (fit.bse < 0.06).all()


@pytest.mark.parametrize(("n", "effect", "width"), [(20_000, 20.0, 15), (100_000, 1.0, 1.9)])
def test_intervals_of_a_rare_level_hold(n, effect, width):
    """1% of the rows.  With an effect of 20 deviations in 20,000 rows all errors are about 11 times
    those of least squares: too wide (8 for the level and 1.6 for others had been reached with 51
    releases), and the level's rows are found in nine fits of ten."""
    rng = np.random.default_rng(5)
    data = pd.DataFrame({
        "year": rng.integers(1990, 2021, n), "age": rng.integers(18, 80, n),
        "sex": rng.random(n) < 0.5, "rare": rng.random(n) < 0.01,
    }).astype(float)  # fmt: skip
    mean = 0.1 * (data["year"] - 2000) + 0.05 * data["age"] + data["sex"] + data["rare"]
    data["y"] = effect * mean + rng.standard_normal(n)
    A = np.column_stack([np.ones(n), data[["year", "age", "sex", "rare"]]])
    exact = np.linalg.lstsq(A, data["y"], rcond=None)[0]
    sampling = np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
    found = []
    for seed in (*range(20), 38):
        fit = dpreg.dp_lm("y ~ year + age + sex + rare", data, 1.0, 1e-6, rng=seed)
        assert not (np.abs(fit.params.to_numpy() - exact) > 4 * fit.bse.to_numpy()).any()
        found.append(fit.bse.to_numpy() / sampling)
    assert np.nanmedian(found, axis=0).max() < width
    assert np.isnan(found).mean() < 0.2


def test_levels_of_which_one_is_rarer_than_can_be_told_leave_the_others_their_errors():
    """Rows of .1% and .02%: errors were 1.6 times those of least squares, 2.5 for the first."""
    found, missed = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, place = rng.standard_normal(300_000), rng.random(300_000)
        A = np.column_stack([np.ones_like(x), x, place < 1e-3, place > 1 - 2e-4]) * 1.0
        y = A @ [0.0, 1.0, 3.0, 3.0] + 2 * rng.standard_normal(len(x))
        data = pd.DataFrame({"y": y, "x": x, "rare": A[:, 2], "rarer": A[:, 3]})
        fit = dpreg.dp_lm("y ~ x + rare + rarer", data, 3.0, 1e-9, rng=seed)
        sampling = 2 * np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
        found.append(fit.bse.to_numpy() / sampling)
        missed.append(np.abs(fit.params.to_numpy() - [0, 1, 3, 3]) > 4 * fit.bse.to_numpy())
    assert not np.any(missed)
    assert (np.nanmedian(found, axis=0)[:3] < [1.05, 1.05, 3.0]).all()


def test_a_short_direction_whose_way_noise_hides_does_not_slow_the_others():
    """Noise in ways is in inverse proportion to second moments."""
    X, y, _ = problem(200_000, 3, np.random.default_rng(12))
    moments = np.array([1.0, 1.0, 1e-3])
    X, y = X * np.sqrt(moments), y + 20 * X[:, 0]
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    noise = GaussianReleases(2.0, 1e-6, _core.TestBits(3))
    seen, model = np.ones(3, dtype=bool), replace(least_squares(3), moments=moments)
    root = score_root(rows_of(X, y), seen, float(len(y)), PLAN, noise, model)
    assert not root.unsettled[:2].any()
    np.testing.assert_array_less(np.abs(root.theta - exact)[:2], 6 * root.deviation)


def test_rows_that_lead_nowhere_are_replaced_and_all_of_the_plan_is_spent_either_way():
    """Rows three times as long as is said make steps of 0.3 overshoot by 2.7 times the way."""
    X, y, _ = problem(20_000, 2, np.random.default_rng(11))
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    plan = replace(PLAN, again=0.1)
    seen, names = np.ones(2, dtype=bool), {}
    for steepness in (1.0, 3.0):
        noise = GaussianReleases(4.0, 1e-6, _core.TestBits(1))
        steep, shorter = rows_of(steepness * X, y), rows_of(X, y)
        root = score_root(steep, seen, 20_000.0, plan, noise, shorter=lambda _, rows=shorter: rows)
        assert not root.unsettled.any()
        assert (np.abs(root.theta - exact) < 5 * root.deviation).all()
        spent = math.fsum(part.mu**2 for part in noise.parts)
        assert spent == pytest.approx(plan.share * noise.mu**2, rel=1e-3)
        assert spent <= plan.share * noise.mu**2
        names[steepness] = [part.label for part in noise.parts]
    assert "norms of scores of clipped rows" not in names[1.0]
    assert "norms of scores of clipped rows" in names[3.0]


def labels_of(noise):
    return [part.label for part in noise.parts]


def test_where_noise_is_little_fewer_rounds_lead_to_the_same_root():
    """Of 37 rounds and counts 15 are left; rows are heavy-tailed, as are errors."""
    rng = np.random.default_rng(12)
    X = rng.standard_t(5, (400_000, 3)) / math.sqrt(5 / 3)
    y = X @ [0.5, -0.5, 0.2] + rng.standard_t(4, len(X))
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    quiet, quiet_noise = root_of(X, y, 1, epsilon=30.0)
    _, loud_noise = root_of(X, y, 1, epsilon=0.1)
    assert len(labels_of(quiet_noise)) < 18 < 30 < len(labels_of(loud_noise))
    sampling = np.std(y - X @ exact) / math.sqrt(len(X))
    assert (quiet.unsettled < (0.2 * sampling) ** 2).all()
    assert (np.abs(quiet.theta - exact) < 0.25 * sampling + 4 * quiet.deviation).all()


def test_ways_that_are_told_for_sure_are_gone_in_three_rounds():
    """Half of the way in each of the first rounds took six where noise is next to nothing."""
    X, y, _ = problem(400_000, 3, np.random.default_rng(13))
    root, noise = root_of(X, y, 1, epsilon=300.0)
    early = labels_of(noise)[: labels_of(noise).index("norms of scores")]
    assert sum(label.startswith("score of round") for label in early) == 4
    assert sum(label.startswith("score of round") for label in labels_of(noise)) == 8
    exact = np.linalg.lstsq(X, y, rcond=None)[0]
    assert (np.abs(root.theta - exact) < 4 * root.deviation).all()
    assert (root.unsettled < (0.02 * 0.5) ** 2 / len(X)).all()


@pytest.mark.parametrize("effect", [1.0, 10.0])
def test_few_values_of_a_regressor_are_not_taken_for_others(effect):
    """Their rounding is an error of scale: of 0.1%, which is 28 standard errors, without an aim."""
    rng = np.random.default_rng(int(effect))
    n = 1_000_000
    data = pd.DataFrame({"yes": rng.random(n) < 0.4, "grade": rng.integers(0, 7, n)}).astype(float)
    data["y"] = effect * (data["yes"] + data["grade"]) + rng.standard_normal(n)
    A = np.column_stack([np.ones(n), data["yes"], data["grade"]])
    exact = np.linalg.lstsq(A, data["y"], rcond=None)[0]
    sampling = np.sqrt(np.diag(np.linalg.inv(A.T @ A)))
    fit = dpreg.dp_lm("y ~ yes + grade", data, 1.0, 1e-6, rng=1)
    assert (np.abs(fit.params.to_numpy() - exact) < 0.6 * sampling).all()
    assert (fit.bse.to_numpy() < 1.5 * sampling).all()


def test_errors_of_persons_with_many_rows_are_those_of_their_scores():
    """Rows that have nothing in common but their person: errors are those of so many rows."""
    persons, each, found = 4000, 8, []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        data = pd.DataFrame(rng.standard_normal((persons * each, 3)), columns=["x", "z", "y"])
        data["person"] = np.repeat(np.arange(persons), each)
        method = dpreg.BoostedAdaSSP(max_rows=each)
        fit = dpreg.dp_lm("y ~ x + z", data, 8.0, 1e-6, unit="person", method=method, rng=seed)
        found.append(fit.sampling * np.sqrt(len(data)))
    assert np.mean(found) == pytest.approx(1, abs=0.12)
