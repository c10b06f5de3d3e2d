"""Defects of published papers and codes, and others that are easy to make.

Where a defect sits in the C++ core, the mechanism is put together again in Python from its
parts (`composed_tukey`), with the defect; test_mutants.py checks that without a defect the
composition passes the same audits.
"""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
from audit.patches import Mutant, both, edited, swapped

import dpreg.lm
from dpreg import _core, design, rng
from dpreg.methods import _frank_wolfe, _gaussian, _sums, _units, adassp, dpsgd
from dpreg.methods._gaussian import GaussianReleases
from dpreg.methods.boosted_adassp import BoostedAdaSSP
from dpreg.methods.frank_wolfe import FrankWolfe
from dpreg.methods.standardisation import Standardisation
from dpreg.methods.tukey_em import TukeyEM
from dpreg.planning import frank_wolfe as planned

REAL = {name: getattr(_core, name) for name in dir(_core) if not name.startswith("__")}


def _passes(distance, epsilon, delta, bits):
    return REAL["passes_release_test"](distance, epsilon, delta, bits)


def _draw(regions, epsilon, t, bits):
    return REAL["draw_deep_point"](regions, epsilon, t, bits)


def composed_tukey(*, passes=_passes, draw=_draw, distance=_core.distance_to_unsafety):
    """`_core.tukey_em` put together in Python from parts that may have defects."""

    def tukey_em(regions, *, depth, epsilon_test, epsilon_sample, delta, bits):
        found = distance(regions, epsilon_sample, depth, delta)
        if not passes(found, epsilon_test, delta, bits) or depth > regions.max_depth:
            return None
        return draw(regions, epsilon_sample, depth, bits)

    return swapped(_core, "tukey_em", lambda _: tukey_em)


def _inverted_laplace(distance, epsilon, delta, bits):
    noise = int(REAL["discrete_laplace"](1 / epsilon, bits, 1)[0])
    return distance + noise > REAL["release_threshold"](epsilon, delta)


def _threshold_less(by):
    def passes(distance, epsilon, delta, bits):
        noise = int(REAL["discrete_laplace"](epsilon, bits, 1)[0])
        return distance + noise > REAL["release_threshold"](epsilon, delta) - by

    return passes


def _boxes(regions, epsilon, t, bits):
    """The depth of the box that is drawn, as draw_deep_point does it."""
    depths = np.arange(t, regions.max_depth + 1)
    volume = np.array([regions.log_volume(int(i)) for i in depths])
    tilt = np.where(
        depths == t, 0.0, math.log(-math.expm1(-epsilon / 2)) + epsilon * (depths - t) / 2
    )
    return t + _core.choose_index(volume + tilt, bits)


def _uniform_in(low, high, bits):
    return low + int(REAL["uniform_below"](int(high - low) + 1, bits, 1)[0])


def _shell_off_by_one(regions, epsilon, t, bits):
    depth = max(1, _boxes(regions, epsilon, t, bits) - 1)
    sides = [regions.side(depth, j) for j in range(regions.dimension)]
    return np.array([_uniform_in(*side, bits) for side in sides], dtype=float)


def _shell_not_uniform(regions, epsilon, t, bits):
    """A shell by volume, then a coordinate of the shell, the rest in the inner box."""
    depths = list(range(t, regions.max_depth + 1))
    volumes = [math.exp(regions.log_volume(i)) for i in depths] + [0.0]
    shells = [max(a - b, 1e-12) for a, b in itertools.pairwise(volumes)]
    weights = np.log(shells) + epsilon * np.array(depths) / 2
    depth = depths[_core.choose_index(weights, bits)]
    inner = min(depth + 1, regions.max_depth)
    point = [_uniform_in(*regions.side(inner, j), bits) for j in range(regions.dimension)]
    j = int(REAL["uniform_below"](regions.dimension, bits, 1)[0])
    point[j] = _uniform_in(*regions.side(depth, j), bits)
    return np.array(point, dtype=float)


TUKEY = [
    Mutant(
        "Laplace scale inverted",
        both(
            composed_tukey(passes=_inverted_laplace),
            swapped(_core, "passes_release_test", lambda _: _inverted_laplace),
        ),
        ("release test runs",),
    ),
    Mutant(
        "weight exp(eps q) instead of exp(eps q / 2)",
        composed_tukey(draw=lambda r, e, t, b: REAL["draw_deep_point"](r, 2 * e, t, b)),
        ("tukey law",),
    ),
    Mutant("shell off by one", composed_tukey(draw=_shell_off_by_one), ("tukey law",)),
    Mutant("shell not uniform", composed_tukey(draw=_shell_not_uniform), ("tukey law",)),
    Mutant(
        "depth beyond t not asked for",
        composed_tukey(draw=lambda r, e, t, b: REAL["draw_deep_point"](r, e, 1, b)),
        ("tukey law",),
    ),
    Mutant(
        "no test: every data set is released",
        composed_tukey(passes=lambda *_: True),
        ("unsafe runs",),
    ),
    Mutant(
        "test threshold lower by one",
        swapped(_core, "release_threshold", lambda real: lambda e, d: real(e, d) - 1),
        ("release test",),
    ),
    Mutant(
        "test threshold lower by one, in the mechanism",
        composed_tukey(passes=_threshold_less(1)),
        ("unsafe runs", "tukey law"),
    ),
    Mutant(
        "distance higher by one",
        composed_tukey(distance=lambda *a: REAL["distance_to_unsafety"](*a) + 1),
        ("unsafe runs",),
    ),
    Mutant(
        "sensitivity of the distance taken as one half",
        swapped(
            _core,
            "distance_to_unsafety",
            lambda real: lambda r, e, t, d: 2 * real(r, e, t, d) + 1,
        ),
        ("tukey worlds, test",),
    ),
    Mutant(
        "delta dropped from the safety condition",
        swapped(
            _core, "distance_to_unsafety", lambda real: lambda r, e, t, d: real(r, e, t, 0.999)
        ),
        ("tukey worlds, test",),
    ),
    Mutant(
        "depth without the cap of ties",
        swapped(_core, "distance_to_unsafety", lambda real: lambda r, e, t, d: r.max_depth),
        ("tukey worlds",),
    ),
    Mutant(
        "batch size from the true n",
        edited(
            TukeyEM,
            "_fit",
            ("plan.models, plan.batch", "plan.models, max(1, n // plan.models * 7 + n % 7)"),
        ),
        ("tukey",),
    ),
    Mutant(
        "n read exactly",
        edited(TukeyEM, "release", ("design.unit_count + noise", "design.unit_count + 0 * noise")),
        ("tukey",),
    ),
    Mutant(
        "count charged, and then charged again nowhere",
        edited(
            TukeyEM,
            "_plan",
            ("(1 - self.count_share - self.limits_share) * allowance.epsilon", "1.5 * allowance.epsilon"),
        ),
        ("tukey",),
    ),
    Mutant(
        "delta twice what was allowed",
        edited(TukeyEM, "release", ("delta = (1 - self.limits_share) * allowance.delta", "delta = 2 * allowance.delta")),
        ("tukey",),
    ),
    Mutant(
        "exact spread of a batch in the notes",
        edited(
            TukeyEM,
            "release",
            ("units each\"]", "units each, {float(np.nanmedian(fits)):.17g}\"]"),
        ),
        ("tukey",),
    ),
]  # fmt: skip


def _release_with(*changes):
    return edited(GaussianReleases, "release", *changes)


def _no_check(*changes):
    """The method's own assertion would notice: it is taken out as well."""
    return edited(
        GaussianReleases, "_charge", ('raise AssertionError("a method spent', 'str("a method spent'),
        *changes,
    )  # fmt: skip


_GAUSSIAN_RUNS = ("gaussian runs", "adassp")


def _float_sums(self, label, sums, sensitivity, mu, *, weights=None):
    """What the peers do: doubles, and a continuous Gaussian on top."""
    flat = np.atleast_1d(sums).ravel().astype(float)
    scale = sensitivity * self.rows / mu
    weight = np.ones(len(flat)) if weights is None else np.asarray(weights).ravel()
    words = [self.bits.next() for _ in range(len(flat))]
    noise = np.array([np.random.default_rng(w).standard_normal() for w in words])
    self._charge(label, sensitivity, scale, np.full(len(flat), 1 << 40))
    return (flat + scale / weight * noise).reshape(np.shape(sums))


GAUSSIAN = [
    Mutant(
        "sigma = mu",
        both(
            _release_with(
                ("ldexp(sensitivity, shift) / mu * (1", "ldexp(sensitivity, shift) * mu * (1")
            ),
            _no_check(),
        ),
        ("gaussian runs", "adassp"),
    ),
    Mutant(
        "noise of half the scale",
        swapped(_core, "discrete_gaussian", lambda real: lambda s, b, n: real(max(1, s // 2), b, n)),
        ("gaussian runs",),
    ),
    Mutant(
        "noise of half the scale, Laplace",
        swapped(_core, "discrete_laplace", lambda real: lambda e, b, n: real(2 * e, b, n)),
        ("laplace runs",),
    ),
    Mutant(
        "delta dropped: mu for delta = 1/2",
        swapped(_gaussian, "gdp_mu", lambda real: lambda e, d: real(e, 0.5)),
        _GAUSSIAN_RUNS,
    ),
    Mutant(
        "classical sigma, far beyond eps = 1",
        swapped(
            _gaussian,
            "gdp_mu",
            lambda _: lambda e, d: 2 * e / math.sqrt(2 * math.log(1.25 / d)) * 1.5,
        ),
        _GAUSSIAN_RUNS,
    ),
    Mutant(
        "continuous noise on a float sum",
        swapped(GaussianReleases, "release", lambda _: _float_sums),
        ("grid",),
    ),
    Mutant(
        "the same noise in every entry and round",
        swapped(
            _core,
            "discrete_gaussian",
            lambda real: lambda s, b, n: real(s, _core.TestBits(1), n),
        ),
        ("fresh noise",),
    ),
    Mutant(
        "no composition over rounds",
        both(
            edited(
                BoostedAdaSSP, "_boost", ("(1 - self.gram_share) / self.rounds", "(1 - self.gram_share)")
            ),
            _no_check(),
        ),
        ("boosted_adassp",),
    ),
    Mutant(
        "intercept budget not charged",
        both(
            edited(
                Standardisation,
                "_moments",
                ("noise.share(self.moment_share)", "noise.share(1.0)"),
            ),
            _no_check(("self.parts.append(", "None if label.startswith('number of rows') else self.parts.append(")),
        ),
        ("adassp",),
    ),
    Mutant(
        "sensitivity of the moments one column's",
        swapped(_core, "moments_sensitivity", lambda real: lambda columns: real(1) / 3),
        ("adassp",),
    ),
    Mutant(
        "sensitivity of all histograms that of one",
        swapped(_core, "counts_sensitivity", lambda _: lambda columns: 0.3),
        ("adassp",),
    ),
    Mutant(
        "sensitivity of the Gram matrix of half the clip",
        swapped(_core, "gram_sensitivity", lambda real: lambda width: real(width) / 2),
        ("adassp",),
    ),
    Mutant(
        "sensitivity of the gradient of half the clip",
        both(
            swapped(_core, "gradient_sensitivity", lambda real: lambda width: real(width) / 2),
            swapped(_core, "SQUARES_SENSITIVITY", lambda real: real / 2),
        ),
        ("boosted_adassp", "dpsgd"),
    ),
    Mutant(
        "scatter with the sensitivity of its count only",
        swapped(_core, "scatter_sensitivity", lambda real: lambda width: real(width) / 40),
        ("boosted_adassp",),
    ),
    Mutant(
        "off-diagonal noise of a tenth of sigma",
        edited(_sums, "_symmetric", ("math.sqrt(2.0))", "10.0)")),
        ("adassp",),
    ),
    Mutant(
        "upper triangle released, diagonal without noise",
        edited(
            GaussianReleases, "_noise", ("noise[here] =", "noise[here] = 0 if scale == scales.min() else"),
        ),
        ("adassp", "gaussian runs"),
    ),
]  # fmt: skip


def _from_data(self, X, y, noise, bounds):
    """Bounds from the data where none were given, as two of the peers do."""
    blocks = (X, y.reshape(-1, 1))
    table = np.hstack(blocks)
    given = np.isfinite(bounds).all(axis=1)
    low = np.where(given, bounds[:, 0], table.min(axis=0, initial=0.0))
    high = np.where(given, bounds[:, 1], table.max(axis=0, initial=1.0))
    return self._moments(blocks, low, np.maximum(high, low + 1), noise)


def _unclipped_moments(real):
    def moments(x, middle, half):
        u = (np.asarray(x) - middle) / half
        u = np.where(np.isfinite(u), np.clip(u, -1e6, 1e6), 0.0)
        steps = 2.0**_core.MOMENT_BITS
        sums = [[len(u)], u.sum(axis=0), (np.clip(u, -1e3, 1e3) ** 2).sum(axis=0)]
        return np.rint(np.concatenate(sums) * steps).astype(np.int64)

    return moments


DATA = [
    Mutant(
        "bounds read from the data",
        swapped(Standardisation, "release", lambda _: _from_data),
        ("adassp",),
    ),
    Mutant(
        "clipping by a bound that depends on the data",
        edited(_sums, "standardised_rows", ("reach = 0.0 if", "row_limit *= 1 + float(np.abs(design.y[:5000]).max(initial=0.0) > 5)\n    how.row_limit = row_limit\n    reach = 0.0 if")),
        ("adassp",),
    ),
    Mutant(
        "clipping skipped",
        swapped(_core, "moment_sums", _unclipped_moments),
        ("adassp",),
    ),
    Mutant(
        "n in the divisor read exactly",
        edited(Standardisation, "_moments", ("units = max(float(noisy[0]), 1.0)", "units = max(float(sums[0]) * 2.0**-_core.MOMENT_BITS, 1.0)")),
        ("adassp",),
    ),
    Mutant(
        "standard errors from exact residuals",
        edited(
            adassp.AdaSSP, "release", ("theta = inverse @ cross", "theta = inverse @ cross\n    exact = float(np.asarray(rows.rows.gram())[-1, -1])"),
            ("covariance=covariance", "covariance=None if covariance is None else covariance * (1 + exact)"),
        ),
        ("adassp",),
    ),
    Mutant(
        "lambda_min over positive eigenvalues only, failing without one",
        edited(_sums, "floored_inverse", ("floor_of(values, deviation)", "values[values > 3 * deviation].min() + deviation")),
        ("adassp", "boosted_adassp", "no surprises"),
    ),
    Mutant(
        "lambda_min of the exact matrix",
        edited(_sums, "noisy_gram", ("    unit = (", "    scale *= 1 + float(np.linalg.eigvalsh(rows.rows.gram())[0] > 0) + float(rows.rows.gram()[0, 0]) * 1e-12\n    unit = (")),
        ("adassp",),
    ),
    Mutant(
        "an exception that names a cell",
        edited(design, "read_design", ("assert rows.y is not None", "assert rows.y is not None\n    if len(rows.y) and rows.y.max() > 1e6: raise ValueError(f'y = {rows.y.max()}')")),
        ("no surprises",),
    ),
    Mutant(
        "a warning about constant columns",
        edited(Standardisation, "release", ("blocks = (", "import warnings\n    if len(y) and (X == X[:1]).all(): warnings.warn('constant columns')\n    blocks = (")),
        ("no surprises",),
    ),
    Mutant(
        "all rows of a person, noise for one",
        edited(_units, "sample_rows", ("place < max_rows", "place >= 0")),
        ("units",),
    ),
    Mutant(
        "more rows a person than noise was made for",
        edited(adassp.AdaSSP, "release", ("1 if design.units is None else self.max_rows", "1")),
        ("units",),
    ),
]  # fmt: skip


def _from_time(_):
    def bit_source(rng):
        return _core.TestBits(time.time_ns() % 2**32) if rng is None else REAL_BIT_SOURCE(rng)

    return bit_source


def _shared_seed(_):
    def bit_source(rng):
        return _core.TestBits(42) if rng is None else REAL_BIT_SOURCE(rng)

    return bit_source


def _one_stream(_):
    """One stream for all fits that is rewound: what `random_state=int` did in a peer."""

    def bit_source(rng):
        return _core.TestBits(7) if not isinstance(rng, _core.TestBits) else rng

    return bit_source


REAL_BIT_SOURCE = rng.bit_source


def _everywhere(make):
    return swapped(rng, "bit_source", make)


RANDOMNESS = [
    Mutant("a seed shared by two releases", _everywhere(_shared_seed), ("fresh noise",)),
    Mutant("seeds from the clock", _everywhere(_from_time), ("fresh noise",)),
    Mutant("one stream for every fit", _everywhere(_one_stream), ("fresh noise",)),
    Mutant(
        "budget charged after the records are read",
        edited(
            dpreg.lm,
            "dp_lm",
            ("    (budget or Budget(epsilon, delta)).spend(", "    read_design(spec, table, unit)\n    (budget or Budget(epsilon, delta)).spend("),
        ),
        ("charged first",),
    ),
    Mutant(
        "exponential mechanism with a factor 2 too much",
        swapped(_core, "choose_index", lambda real: lambda w, b: real(2 * np.asarray(w), b)),
        ("choice runs",),
    ),
    Mutant(
        "sampled gradients: every row in every step, noise for a sample",
        swapped(_core, "dpsgd", lambda real: lambda rows, **o: real(rows, **{**o, "rate": 1.0})),
        ("dpsgd runs",),
    ),
    Mutant(
        "sampled gradients: noise of half the scale",
        swapped(_core, "dpsgd", lambda real: lambda rows, **o: real(rows, **{**o, "sigma": o["sigma"] // 2})),
        ("dpsgd runs",),
    ),
    Mutant(
        "sampled gradients: clip of the step is twice that of the noise",
        edited(dpsgd.DPSGD, "_descend", ("sigma = ", "sigma = 1 + ") , ("multiplier * sensitivity", "multiplier * sensitivity / 2")),
        ("dpsgd",),
    ),
    Mutant(
        "sampled gradients: accounting for the square root of the steps",
        swapped(dpsgd, "noise_multiplier", lambda real: lambda e, d, r, steps, b: real(e, d, r, max(1, math.isqrt(steps)), b)),
        ("dpsgd",),
    ),
]  # fmt: skip


def _tau_b(real):
    """As scipy defaults to: ties leave the denominator."""

    def tau(x, y):
        d = np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y))
        untied = [(np.sign(np.subtract.outer(v, v)) ** 2).sum() / 2 for v in (x, y)]
        bottom = math.sqrt(untied[0] * untied[1])
        return len(x) / 2 * d.sum() / 2 / bottom if bottom else 0.0

    return tau


def _tau_nan(real):
    """NaN for a constant column, which sorts last and so wins."""
    return lambda x, y: real(x, y) if len(x) > 1 and np.ptp(x) > 0 else math.nan


def _in_python(real):
    """dp_kendall for k = 1, by whatever `_core.kendall_tau` is."""

    def choose(x, y, *, k, epsilon_round, first_range, later_range, bits, threads=0):
        scores = np.array([abs(_core.kendall_tau(c, y)) for c in np.asarray(x).T])
        winner = int(np.argsort(scores)[-1])
        if math.isnan(scores[winner]):
            return [winner]
        return [_core.choose_index(scores * epsilon_round / first_range, bits)]

    return choose


def _times(factor, name):
    """The core told another range than the one that the proofs give."""
    return swapped(
        _core, name, lambda real: lambda s, **o: real(s, **{**o, "range": o["range"] * factor})
    )


SELECTION = [
    Mutant("tau_b instead of tau", swapped(_core, "kendall_tau", _tau_b), ("kendall scores",)),
    Mutant(
        "NaN ranked first",
        both(swapped(_core, "dp_kendall", _in_python), swapped(_core, "kendall_tau", _tau_nan)),
        ("kendall scores", "kendall runs"),
    ),
    Mutant("noisy maximum at Delta / eps", _times(0.5, "peel"), ("peel runs",)),
    Mutant(
        "composition over rounds of peeling left out",
        swapped(_core, "peel", lambda real: lambda s, **o: real(s, **{**o, "epsilon": o["k"] * o["epsilon"]})),
        ("peel runs",),
    ),
    Mutant("eps / (2 Delta) for each unit of gap", _times(0.5, "canonical_lipschitz"), ("canonical_lipschitz runs",)),
    Mutant(
        "Kendall noise for a range of 1",
        swapped(
            _core, "dp_kendall",
            lambda real: lambda x, y, **o: real(x, y, **{**o, "epsilon_round": 2.5 * o["epsilon_round"]}),
        ),
        ("kendall runs",),
    ),
    Mutant(
        "ranges of Kendall scores too small in the first round",
        swapped(_core, "KENDALL_LABEL_RANGE", lambda real: 1.5),
        ("kendall scores",),
    ),
    Mutant(
        "products that are not clipped",
        swapped(_core, "clipped_products", lambda real: lambda x, y, **o: 4 * real(x, y, **o)),
        ("sis runs",),
    ),
    Mutant(
        "votes with a sensitivity of one half",
        swapped(_core, "sub_lasso", lambda real: lambda x, y, a, **o: real(x, y, a, **{**o, "epsilon": 2.5 * o["epsilon"]})),
        ("sub_lasso runs",),
    ),
]  # fmt: skip

FRANK_WOLFE = [
    Mutant(
        "screening with the product of the changes for a sensitivity",
        swapped(_core, "SCREENING_RANGE", lambda real: 4 * (1 + 1) / 60),
        ("screening scores",),
    ),
    Mutant(
        "steps at twice their epsilon",
        edited(_frank_wolfe, "run_plan", ("epsilon_step=plan.epsilon_step", "epsilon_step=2 * plan.epsilon_step")),
        ("frank_wolfe",),
    ),
    Mutant(
        "steps that do not compose",
        swapped(planned, "bounded_range_epsilon", lambda real: lambda rho, times: real(rho, 1)),
        ("frank_wolfe",),
    ),
    Mutant(
        "Gumbel noise of half the scale on the vertices",
        swapped(_core, "draw_vertex", lambda real: lambda g, a, e, b: real(g, a, 2 * e, b)),
        ("vertex runs",),
    ),
    Mutant(
        "number of steps from the true n",
        edited(FrankWolfe, "_scaling", ("max(0.0, float(noisy[0]))", "float(count[0])")),
        ("frank_wolfe",),
    ),
    Mutant(
        "sparsity of the exact solution in the notes",
        edited(FrankWolfe, "release", ('notes=_notes(', 'notes=(f"{np.abs(X).sum():.17g}",) + _notes(')),
        ("frank_wolfe",),
    ),
]  # fmt: skip

MUTANTS = [*TUKEY, *GAUSSIAN, *DATA, *RANDOMNESS, *SELECTION, *FRANK_WOLFE]
