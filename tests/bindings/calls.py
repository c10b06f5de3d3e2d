"""Calls of every function of the core."""

from __future__ import annotations

import contextlib
import pickle

import numpy as np

from dpreg import _core

testing = _core.testing
FULL = np.iinfo(np.uint64).max
LOSSES = [kind for name, kind in vars(_core.LossKind).items() if name in _core.LossKind.__members__]


def bits():
    return _core.TestBits(5)


def recipe(d, kind=None, **options):
    how = _core.Standardisation()
    how.columns = range(d)
    how.low, how.high, how.centre, how.inverse_scale = [-2.0] * d, [2.0] * d, [0.1] * d, [0.9] * d
    how.row_limit = 2.0
    if kind is not None:
        loss = _core.Loss()
        loss.kind, loss.most_response, loss.least_predictor = kind, 3.0, -9.0
        how.loss = loss
    for name, value in options.items():
        setattr(how, name, value)
    return how


def recipes(d):
    """Return recipes of all kinds for d columns."""
    square = np.random.default_rng(3).standard_normal((d + 1, d + 1))
    found = [recipe(d), recipe(d, map=square), recipe(d, response_limit=1.0)]
    found += [recipe(d, kind, row_limit=0.5) for kind in LOSSES]
    found.append(recipe(d, low=[-np.inf] * d, high=[np.inf] * d, aim=[0.1] * (d + 1)))
    found.append(recipe(d, columns=[*range(d - 1), d]) if d else recipe(d))
    if d > 1:
        weighed = {"weight": d - 1, "most_weight": 2.0}
        found += [recipe(d, **weighed), recipe(d, LOSSES[1], given=[0, d - 1], **weighed)]
    return found


def units(n):
    """Return rows of units of 3, in no order, and where each begins."""
    return np.unique(np.append(np.arange(0, n, 3), n)), np.random.default_rng(2).permutation(n)


def sums_of(rows):
    theta = np.linspace(-1, 1, rows.width)
    for at in (theta, theta * 1e300, np.full(rows.width, np.nan)):
        gradient, squares = rows.round(at, 1.5)
        yield from (gradient, [squares], rows.score(at, 2.0), rows.curvature(at, 2.0))
        yield from (rows.score_norms(at), rows.score_products(at, 1e-3))
        with contextlib.suppress(ValueError):  # of other losses
            yield rows.followed_curvature(at, 2.0, 1e-3, rows.width // 2)
    yield from (rows.gram(), [rows.rows, rows.bytes, rows.width, rows.limit])


def quantised(x, y):
    offsets, order = units(len(y))
    for how in recipes(x.shape[1]):
        yield _core.mapped_gram(x, y, how)
        yield from sums_of(_core.QuantisedRows(x, y, how))
        yield from sums_of(
            pickle.loads(pickle.dumps(_core.QuantisedRows(x, y, how, offsets, order)))
        )


def poisson_samples(x, y):
    how = recipe(x.shape[1])
    rows = _core.QuantisedRows(x, y, how)
    yield _core.dpsgd(
        rows, [rows, rows], steps=2, rate=0.5, expected=9.0, clip=1.0, learning_rate=0.1, sigma=9,
        bits=bits(),
    )  # fmt: skip


def column_sums(x, y):
    d = x.shape[1]
    low, high = np.linspace(-2, -1, d), np.linspace(1, 1e308, d)
    yield from _core.side_by_side([*x.T, y], len(y))
    yield _core.magnitude_counts(x)
    yield _core.interval_counts(x, low, high, 7)
    yield _core.moment_sums(x, low, high)
    sets = {
        "low": [[-1.0] * (d + 1), [-9.0] * (d + 1)],
        "high": [[1.0] * (d + 1), [np.inf] * (d + 1)],
    }
    yield _core.tail_votes(x, y, np.ones(d), 0.3, **sets, unit=2.0)


def batches(x, y):
    offsets, order = units(len(y))
    for assignment in (
        _core.assign_to_slots(len(y), 3, 8, bits()), _core.assign_independently(len(y), 3, bits()),
    ):  # fmt: skip
        yield from (assignment.members, assignment.offsets)
        for intercept in (False, True):
            for spreads in (False, True):
                yield _core.fit_batches(
                    x, y, assignment, ridge=0.03, refinements=2, intercept=intercept,
                    log_spreads=spreads,
                )  # fmt: skip
        for scaling in (_core.BatchScaling.UNIT_VARIANCE, _core.BatchScaling.NONE):
            fits = _core.fit_lasso_batches(x, y, assignment, penalty=0.1, scaling=scaling)
            yield fits
            if x.shape[1]:
                yield _core.count_votes(fits, 2)
    grouped = {"unit_offsets": offsets, "unit_rows": order}
    assignment = _core.assign_independently(len(offsets) - 1, 2, bits())
    options = {"ridge": 0.03, "refinements": 2, "intercept": True, "log_spreads": True}
    yield _core.fit_batches(x, y, assignment, **grouped, **options)
    if x.shape[1]:
        yield _core.sub_lasso(
            x, y, assignment, **grouped, penalty=0.1, k=1, epsilon=1.0, groups=[0], bits=bits()
        )


def ranks(x, y):
    for column in x.T:
        yield [
            _core.kendall_tau(column, y),
            _core.count_inversions(testing.ranks(column), 2**32 - 1),
        ]
    if x.shape[1]:
        ranges = {"first_range": 2.5, "later_range": 5.0}
        yield _core.dp_kendall(x, y, k=min(2, x.shape[1]), epsilon_round=1.0, **ranges, bits=bits())


def choices(x, y):
    scores, options = x.ravel(), {"range": 2.0, "epsilon": 3.0}
    k = min(2, int((scores > -np.inf).sum()))
    if k:
        yield _core.peel(scores, k=k, **options, bits=bits())
    if scores.size:
        for noise in (_core.NoiseLaw.EXPONENTIAL, _core.NoiseLaw.GUMBEL):
            yield _core.canonical_lipschitz(
                scores, k=1, gamma=0.5, noise=noise, **options, bits=bits()
            )
        gaps = np.abs(scores)
        gaps[0] = 0.0
        yield [testing.choose_by_gap(gaps, 2.0, 1.0, bits()), testing.choose_among(-gaps, bits())]
        yield [_core.choose_index(scores, bits())]


def deep_points(x, y):
    if not x.size:
        return
    for exponent in (-60, 0, 900):
        regions = _core.DepthRegions(x, exponent)
        yield [regions.points, regions.dimension, regions.max_depth]
        for depth in (1, regions.max_depth):
            yield [regions.log_volume(depth), *regions.side(depth, x.shape[1] - 1)]
            yield testing.draw_deep_point(regions, 1.0, depth, bits())
        yield testing.log_region_weights(regions, 1.0)
        for t in (1, 5, int(FULL)):
            yield [_core.distance_to_unsafety(regions, 1.0, t, 0.1)]
            epsilons = {"epsilon_test": 5.0, "epsilon_sample": 1.0}
            point = _core.tukey_em(regions, depth=t, **epsilons, delta=0.5, bits=bits())
            yield [] if point is None else point


def designs(x):
    """Return the same design as a matrix and as sparse rows."""
    yield _core.DenseUnitDesign(x)
    columns = np.tile(np.arange(x.shape[1]), len(x))
    yield _core.SparseUnitDesign(np.arange(len(x) + 1) * x.shape[1], columns, x, x.shape[1])


def frank_wolfe(x, y):
    d = x.shape[1]
    if not d:
        return
    screened = {"rule": _core.ScreenRule.ONE, "after": [2], "epsilon_screen": 1.0, "margin": 1.0}
    each = {**screened, "rule": _core.ScreenRule.EACH}
    for design in designs(x):
        yield [design.rows, design.cols]
        start = _core.random_start(d, bits())
        for options in ({}, screened, each):
            gradient = _core.L1Gradient(design, y, l1=1.5, start=start)
            run = _core.dp_frank_wolfe(gradient, steps=4, epsilon_step=0.5, **options, bits=bits())
            yield from run.values()
            yield from (gradient.values(), gradient.weights(), gradient.touched, gradient.tracked)
        gradient = _core.L1Gradient(design, y, l1=1.5)
        yield from _core.frank_wolfe(gradient, steps=2).values()
        gradient = _core.L1Gradient(design, y, l1=1e-300)
        gradient.step(0, False)
        gradient.drop(0)
        active = np.ones(d, np.uint8)
        yield [gradient.reach(0), gradient.total, gradient.denominator, *gradient.numerators()]
        yield [gradient.wolfe_gap(active), *_core.screening_scores(gradient, active)]
        for options in ({"epsilon": 0.5}, {"active": active}):
            bounds = _core.VertexBounds(gradient, **options)
            yield [bounds.fixed, _core.draw_vertex(gradient, bounds, 0.5, bits())]
            gradient.step(d - 1, True)
            bounds.follow(gradient.total, gradient.touched)
            yield [*bounds.bounds(), *bounds.numerators(0)]
            for g in range(bounds.fixed, len(bounds.bounds())):
                bounds.refresh(g)
            for j in gradient.tracked[:1]:
                bounds.remove(j)


ON_RECORDS = [
    quantised, poisson_samples, column_sums, batches, ranks, choices, deep_points, frank_wolfe,
]  # fmt: skip


def scalar_calls():
    """Whatever takes no records, at the ends of what it takes."""
    for weights in ([], [1.0], [1e200, np.nan]):
        yield from (_core.counts_sensitivity(weights), _core.moments_sensitivity(weights))
    for width in (0, 1, 10**6):
        yield from (_core.gram_sensitivity(width), _core.gradient_sensitivity(width))
        yield from (_core.score_sensitivity(width), _core.curvature_sensitivity(width))
        yield from (
            _core.score_products_sensitivity(width),
            _core.followed_curvature_sensitivity(width),
            _core.tail_votes_sensitivity(width + 2),
        )
    for l1 in (5e-324, 1.0, 1e308):
        yield from (_core.vertex_score_range(l1), testing.l1_gradient_sensitivity(l1))
    source = _core.SystemBits()
    yield from (source.next(), source.seeded, bits().next())
    for size in (0, 1, 50):
        yield from (_core.uniform_open(source, size), _core.standard_gumbel(source, size))
        yield from (_core.standard_exponential(source, size), _core.random_start(size, source))
        for epsilon in (2.0**-40, 1.0, 2.0**30):
            yield _core.discrete_laplace(epsilon, source, size)
        for sigma in (1, 2**44):
            yield _core.discrete_gaussian(sigma, source, size)
        for bound in (1, 3, 2**63, int(FULL)):
            yield testing.uniform_below(bound, source, size)
            yield _core.random_subset(bound, min(size, bound), source)
        for fraction in ((0, 1), (int(FULL), 1), (int(FULL), int(FULL))):
            yield testing.bernoulli_exp(*fraction, source, size)
        for law in (_core.NoiseLaw.EXPONENTIAL, _core.NoiseLaw.GUMBEL):
            yield testing.largest_of(700.0, law, source, size)
            yield testing.noise_from_log_hazard((np.nan, np.inf, -1e308)[size % 3], law)
        for models in (1, 7):
            yield _core.assign_to_slots(size, models, 3, source).members
            yield _core.assign_independently(size, models, source).members
        yield _core.fixed_assignment(range(size), [0, size]).members
        values = np.arange(size)[::-1]
        yield from (_core.count_inversions(values, size), _core.poisson_rate(2.0**-33))
    yield testing.chacha20_block([0] * 8, 2**32 - 1, [0] * 3)
    for x in (-(2**63), 0, 2**63 - 1):
        yield _core.discrete_laplace_tail(x, 1e-300)
    for epsilon, delta in ((2.0**-40, 5e-324), (2.0**30, 1 - 2**-53), (1.0, 1e-9)):
        yield _core.release_threshold(epsilon, delta)
        yield _core.passes_release_test(-1, epsilon, delta, source)
    for epsilon in (np.nan, 0.0, 1.0, 1e308):
        yield _core.rounding_is_paid(2**62, 2**62, epsilon)
        yield _core.DepthRegions.rounding_error(2**62, 2**62, epsilon)
    _core.use_threads(3)
    _core.use_threads(0)
    testing.use_instructions(testing.instructions_in_use())
    yield testing.instruction_sets()
