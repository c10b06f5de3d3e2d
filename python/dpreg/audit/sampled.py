"""Black-box audits: many runs on two neighbours, and a bound on what told them apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats

from dpreg import _core
from dpreg.audit._bounds import ERROR, sampled_epsilon_bound
from dpreg.audit._finding import Check, Effort, Finding
from dpreg.audit.exact import tukey_law
from dpreg.base.arrays import Doubles
from dpreg.estimation.releases.accountant import GaussianReleases
from dpreg.privacy.pld import sampled_epsilon
from dpreg.privacy.sealed import ExactSums

Bits = _core.BitSource
# A value of one run on either side, 0 or 1.
Run = Callable[[int, Bits], float]


def sampled(
    name: str, mechanism: str, claim: tuple[float, float], runs: int
) -> Callable[[Callable[[], Run]], Check]:
    """Return a decorator: what it decorates makes one run, of which `runs` are for either side."""

    def checked(prepared: Callable[[], Run]) -> Check:
        def run(effort: Effort) -> Finding:
            return bounded(mechanism, prepared(), claim, effort.runs(runs), effort.seed)

        return Check(name, run)

    return checked


def bounded(
    mechanism: str, one_run: Run, claim: tuple[float, float], runs: int, seed: int
) -> Finding:
    """Bound the loss from so many runs on either side."""
    sides = []
    for side in (0, 1):
        bits = _core.TestBits(seed + side)
        sides.append(np.array([one_run(side, bits) for _ in range(runs)], dtype=np.float64))
    lower = sampled_epsilon_bound(sides[0], sides[1], claim[1])
    return Finding(mechanism, "black box", *claim, lower, 2 * runs)


@sampled("laplace runs", "discrete_laplace", (2.0, 0.0), 100_000)
def laplace() -> Run:
    """A count and the next."""
    return lambda side, bits: side + int(_core.discrete_laplace(2.0, bits, 1)[0])


@sampled("release test runs", "passes_release_test", (0.5, 0.0), 100_000)
def release_test() -> Run:
    """The test at two distances next to one another, on either side of its threshold."""
    distance, delta = _core.release_threshold(0.5, 0.01), 0.01
    return lambda side, bits: _core.passes_release_test(distance + side, 0.5, delta, bits)


def _drawn(
    regions: _core.DepthRegions, depth: int, epsilon: tuple[float, float], delta: float, bits: Bits
) -> Doubles | None:
    """Run `tukey_em`, whose test and draw have these epsilons."""
    test, draw = epsilon
    return _core.tukey_em(
        regions, depth=depth, epsilon_test=test, epsilon_sample=draw, delta=delta, bits=bits
    )


@partial(Check, "unsafe runs")
def unsafe_test(effort: Effort) -> Finding:
    """`tukey_em` on models that are not safe: passes with probability delta at most."""
    epsilon, delta, runs = 0.2, 0.05, effort.runs(200_000)
    regions = _core.DepthRegions(np.array([[0.0], [0.0], [2.0], [2.0]]), 0)
    bits = _core.TestBits(effort.seed)
    passed = 0
    for _ in range(runs):
        passed += _drawn(regions, 2, (epsilon, epsilon), delta, bits) is not None
    least = float(stats.beta.ppf(ERROR, passed, runs - passed + 1)) if passed else 0.0
    lower = least if least <= delta else math.inf
    remark = "claim and bound are probabilities of a release here"
    return Finding("tukey_em: unsafe models", "black box", delta, delta, lower, runs, remark)


@sampled("tukey runs", "tukey_em", (4.0, 0.02), 200_000)
def tukey() -> Run:
    """`tukey_em` on a pair whose most telling outcomes are frequent."""
    epsilon, delta, values, t = (2.0, 2.0), 0.02, 3, 3
    worlds = [np.repeat([[0], [2]], [zeros, 12 - zeros], axis=0) for zeros in (7, 8)]
    laws = [np.log(np.maximum(tukey_law(w, values, t, epsilon, delta), 1e-300)) for w in worlds]
    regions = [_core.DepthRegions(w.astype(np.float64), 0) for w in worlds]
    order = np.argsort(np.argsort(laws[0] - laws[1]))

    def one_run(side: int, bits: Bits) -> float:
        point = _drawn(regions[side], t, epsilon, delta, bits)
        return float(order[-1 if point is None else int(point[0])])

    return one_run


_LAWS = (
    (np.array([[0], [1], [1], [1], [2], [2], [2], [3]]), 4, 2),
    (np.array([[0], [0], [0], [1], [2], [2], [3], [3]]), 4, 2),
    (np.array([[0, 0], [0, 0], [0, 3], [3, 0], [3, 3], [3, 3], [1, 2], [2, 2]]), 4, 2),
    (np.array([[0, 1], [1, 1], [1, 0], [2, 1], [1, 2], [1, 1], [1, 1], [2, 2]]), 3, 1),
)


@partial(Check, "tukey law")
def tukey_draws(effort: Effort) -> Finding:
    """Outcomes of `tukey_em` have the law for which the exact audit holds."""
    runs, smallest, epsilon, delta = effort.runs(100_000), 1.0, (4.0, 1.5), 0.3
    bits = _core.TestBits(effort.seed)
    for models, values, t in _LAWS:
        law = tukey_law(models, values, t, epsilon, delta)
        regions = _core.DepthRegions(models.astype(np.float64), 0)
        counts = np.zeros(len(law))
        for _ in range(runs):
            point = _drawn(regions, t, epsilon, delta, bits)
            counts[-1 if point is None else _cell(point, values)] += 1
        smallest = min(smallest, _fit(counts, law * runs))
    claim = sum(epsilon)
    lower, remark = claim if smallest > ERROR else math.inf, f"least p-value {smallest:.2g}"
    name = "tukey_em: follows its law"
    return Finding(name, "black box", claim, delta, lower, runs * len(_LAWS), remark)


def _cell(point: Doubles, values: int) -> int:
    if not ((point >= 0) & (point < values)).all():
        return 0
    return int(np.ravel_multi_index(point.astype(int).tolist(), (values,) * len(point)))


def _fit(counts: Doubles, expected: Doubles) -> float:
    """p-value of counts; 0 when something impossible was seen."""
    if counts[expected == 0].any():
        return 0.0
    common = expected >= 10
    pooled = [np.append(v[common], v[~common].sum()) for v in (counts, expected)]
    keep = pooled[1] > 0
    scaled = pooled[1][keep] * pooled[0][keep].sum() / pooled[1][keep].sum()
    return float(stats.chisquare(pooled[0][keep], scaled).pvalue)


@sampled("choice runs", "choose_index", (2.0, 0.0), 200_000)
def choice() -> Run:
    """One score goes up and twenty go down."""
    weights = [np.zeros(21), np.append(1.0, np.full(20, -1.0))]
    return lambda side, bits: _core.choose_index(weights[side], bits) == 0


@sampled("gaussian runs", "GaussianReleases.release", (2.0, 0.05), 60_000)
def gaussian() -> Run:
    """One release of a sum that moves by all of its sensitivity."""

    def one_run(side: int, bits: Bits) -> float:
        noise = GaussianReleases(2.0, 0.05, bits)
        mu = noise.share(1 - 1e-9)
        noisy, _ = noise.release("x", ExactSums(np.array([side * 1000]), 1000.0), mu)
        return float(noisy[0])

    return one_run


@partial(Check, "dpsgd runs")
def dpsgd_step(effort: Effort) -> Finding:
    """One step of sampled gradients, on no row and on one."""
    rate, multiplier, delta = 0.5, 0.7, 0.05
    how = _core.Standardisation()
    how.columns, how.low, how.high, how.centre, how.inverse_scale = [], [], [], [], []
    how.intercept, how.row_limit = True, 1.0
    rows = [_core.QuantisedRows(np.empty((n, 0)), np.full(n, 100.0), how) for n in (0, 1)]
    sigma = math.ceil(multiplier * _core.gradient_sensitivity(1))
    claim = (sampled_epsilon(multiplier, rate, 1, 0.0, delta), delta)

    def one_run(side: int, bits: Bits) -> float:
        theta = _core.dpsgd(
            rows[0], [rows[side]], steps=1, rate=rate, expected=1.0, clip=1.0, learning_rate=1.0,
            sigma=sigma, bits=bits,
        )  # fmt: skip
        return float(theta[0])

    runs = effort.runs(100_000)
    return bounded("dpsgd: one sampled step", one_run, claim, runs, effort.seed)
