"""TukeyEM: the mechanism of the core put together again in Python, with a defect.

test_mutants.py checks that without a defect the composition passes the same audits.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from audit.patches import OPEN, REAL, Mutant, both, edited, swapped

from dpreg import _core
from dpreg.estimation.blocks import model_rows
from dpreg.estimation.methods.tukey_em import TukeyEM


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
            "release",
            ("plan.models, plan.batch", f"plan.models, max(1, {OPEN}(design.unit_count)[0] // plan.models * 7 + {OPEN}(design.unit_count)[0] % 7)"),
        ),
        ("tukey",),
    ),
    Mutant(
        "n read exactly",
        edited(model_rows, "noisy_units", ("max(0, count)", f"max(0, {OPEN}(design.unit_count)[0])")),
        ("tukey",),
    ),
    Mutant(
        "count charged, and then charged again nowhere",
        edited(
            TukeyEM,
            "_left",
            ("epsilon * (1 - self.count_share - self.limits_share)", "epsilon * 1.5"),
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
            (
                "notes: list[str] = []",
                "fits = assignment.map(lambda of: self._fits(design, of, layout)); "
                f"notes = ['%.17g' % np.nanmedian({OPEN}(fits))]",
            ),
        ),
        ("tukey",),
    ),
]  # fmt: skip
