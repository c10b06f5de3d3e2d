"""Private selection: scores, ranges, draws."""

from __future__ import annotations

import math

import numpy as np
from audit.patches import Mutant, both, swapped

from dpreg import _core
from dpreg.estimation.releases import scaling


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

    def choose(x, y, *, k, epsilon_round, first_range, later_range, bits, groups=None):
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
        swapped(scaling, "mapped", lambda real: lambda *cells: 2 * real(*cells)),
        ("sis runs",),
    ),
    Mutant(
        "votes with a sensitivity of one half",
        swapped(_core, "sub_lasso", lambda real: lambda x, y, a, **o: real(x, y, a, **{**o, "epsilon": 2.5 * o["epsilon"]})),
        ("sub_lasso runs",),
    ),
]  # fmt: skip
