"""The curvature of scores at their root: what a person moves, and what errors become."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import statsmodels.api as sm
from unsealed import arrays_of, opened

import dpreg
from dpreg import _core
from dpreg.data.design import Design, Terms, Units
from dpreg.estimation.newton import at_root, fit
from dpreg.estimation.releases.quantised import MappedRows, Recipe, RowLoss

CUTS = np.arange(1.0, 5.0)


def bent(n, seed):
    """Persons whose hazard doubles and more where x is large, and else does not change with it."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    died = rng.exponential(5 / np.exp(1.5 * np.maximum(x - 0.3, 0.0)))
    end = rng.uniform(0.5, 6, n)
    return {"time": np.minimum(died, end), "event": died <= end, "x": x}


def exact(data):
    """The coefficient of the same intervals, and its error clustered by person."""
    low = CUTS - 1.0
    person, k = np.nonzero(data["time"][:, None] > low)
    stay = np.maximum(np.minimum(data["time"][person], CUTS[k]) - low[k], 0.01)
    event = data["event"][person] & (data["time"][person] <= CUTS[k])
    X = np.column_stack([data["x"][person], k[:, None] == np.arange(len(CUTS))]).astype(float)
    model = sm.GLM(event.astype(float), X, family=sm.families.Poisson(), offset=np.log(stay))
    found = model.fit(cov_type="cluster", cov_kwds={"groups": person})
    return found.params[0], found.bse[0]


def test_errors_are_those_of_a_hazard_that_is_not_loglinear(monkeypatch):
    data = bent(12_000, 1)
    coefficient, error = exact(data)

    def found():
        made = dpreg.dp_survival("Surv(time, event) ~ x", data, 200.0, cuts=CUTS, rng=2)
        return made.params["x"], made.bse["x"]

    slope, its = found()
    assert abs(slope - coefficient) < 0.5 * error
    assert its / error == pytest.approx(1, abs=0.04)
    monkeypatch.setattr("dpreg.estimation.newton.fit.for_followed", lambda *_: 0.0)
    assert abs(found()[1] / error - 1) > 0.08


def test_it_is_not_asked_for_where_it_would_be_noise_or_of_few_events():
    model = SimpleNamespace(
        found=SimpleNamespace(levels=np.array([False, False, True]), sizes=np.ones(3))
    )

    def share(events, mu):
        scales, noise = SimpleNamespace(units=events), SimpleNamespace(share=lambda f: mu * f**0.5)
        return at_root.for_followed(
            SimpleNamespace(scales=scales, noise=noise, left=0.55, tail_share=0.0), model
        )

    assert share(10_000.0, 0.24) == pytest.approx(0.05)
    assert share(400.0, 9.0) == 0.0
    assert share(600.0, 0.1) == 0.0
    model.found.levels[:] = True  # no covariate
    assert share(10_000.0, 0.24) == 0.0


@pytest.mark.parametrize(("width", "flatter"), [(5, True), (31, False)])
def test_noise_along_many_directions_is_not_taken_for_little_curvature(width, flatter):
    curvature = np.diag(np.append(0.6, np.ones(width - 1)))
    found = SimpleNamespace(
        sizes=np.full(width, width**-0.5), width=width, levels=np.zeros(width, dtype=bool)
    )
    rounds = SimpleNamespace(
        path=SimpleNamespace(curvature=curvature),
        model=SimpleNamespace(found=found, family=SimpleNamespace(name="binomial")),
        noise=SimpleNamespace(rows=1, share=lambda f: 1.0),
        units=20.0,
        steps_left=3,
    )
    assert at_root.is_flatter(rounds) == flatter
    rounds.path.curvature = np.eye(width)
    assert not at_root.is_flatter(rounds)


@pytest.mark.parametrize("d", [3, 30])
def test_the_curvature_of_a_family_is_no_more_doubted_along_a_way_in_more_coordinates(
    d, monkeypatch
):
    def seen(of, *more):
        paths.append(of.path)
        return real(of, *more)

    paths, real = [], fit.newton_errors
    monkeypatch.setattr(fit, "newton_errors", seen)
    rng = np.random.default_rng(d)
    X = rng.standard_normal((4_000, d))
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    columns = {f"x{j}": x for j, x in enumerate(X.T)}
    formula = "y ~ " + " + ".join(columns)
    dpreg.dp_glm(formula, columns | {"y": y}, 500.0, 1e-6, family="binomial", rng=1)
    wrong = np.trace(paths[0].doubt.times(np.ones(d + 1) / np.sqrt(d + 1)))
    assert 0.15 < np.sqrt(wrong) < 0.35


def test_a_unit_moves_it_by_its_sensitivity_at_most():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 7, 25)
    X = np.column_stack([rng.normal(0, 3, (sizes.sum(), 2)), rng.normal(0, 2, sizes.sum())])
    y, unit = rng.integers(0, 2, len(X)).astype(float), np.repeat(np.arange(25), sizes)
    recipe = Recipe(
        columns=np.arange(2), low=np.full(2, -9.0), high=np.full(2, 9.0), centre=np.zeros(2),
        scale=np.ones(2), y_centre=0.0, y_scale=1.0, intercept=False, row_limit=6.0, given=(2,),
        loss=RowLoss("counting", (0.0, 1.0), (-20.0, 4.0)),
    )  # fmt: skip

    def triangle(kept, stop, limit):
        terms = Terms(response="y", names=("a", "b", "c"), intercept=False)
        design = Design.of(X[kept], y[kept], terms, Units.from_labels(unit[kept]))
        rows = MappedRows(design, recipe, kept=False)
        return rows.followed_curvature(np.array([0.4, -0.3]), stop, limit, 2)

    all_of, largest = np.ones(len(X), dtype=bool), 0.0
    for stop, limit in itertools.product((1.0, 20.0), (0.5, 5.0)):
        whole = triangle(all_of, stop, limit)
        assert whole.of_units
        assert whole.sensitivity == _core.followed_curvature_sensitivity(2)
        for left in range(25):
            moved = (opened(whole) - opened(triangle(unit != left, stop, limit))) * whole.weights
            largest = max(largest, float(np.linalg.norm(moved)))
    assert 0.9 * whole.sensitivity < largest <= whole.sensitivity


def test_errors_of_a_spline_are_those_of_its_end_where_hardly_any_row_has_an_event(monkeypatch):
    def begun(of, start, *more):
        seen.append(start.design)
        return real(of, start, *more)

    def ratio(seed):
        """Geometric mean of errors of coefficients over those without noise."""
        rng = np.random.default_rng(seed)
        x = 30 * rng.beta(1.2, 1.5, 10_000)
        predictor = np.where(x < 8, -6 + 0.6 * x, -1.6 + 0.05 * x)
        y = (rng.random(len(x)) < 1 / (1 + np.exp(-predictor))).astype(float)
        found = dpreg.dp_glm("y ~ bs(x, df=4)", {"x": x, "y": y}, 20.0, 1e-6, family="binomial",
                             bounds={"x": (0, 30)}, rng=seed)  # fmt: skip
        X, response = arrays_of(seen[-1])[:2]
        exact = sm.Logit(response, sm.add_constant(X)).fit(disp=0, cov_type="HC0")
        return float(np.exp(np.log(found.bse.to_numpy()[1:] / exact.bse[1:]).mean()))

    seen, real = [], fit.newton_errors
    monkeypatch.setattr(fit, "newton_errors", begun)
    typical = float(np.median([ratio(seed) for seed in range(5)]))
    assert 0.9 < typical < 1.15
    monkeypatch.setattr(fit, "is_flatter", lambda rounds: False)
    assert ratio(2) < 0.7
