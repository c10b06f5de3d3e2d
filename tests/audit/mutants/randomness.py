"""Bits that repeat, and steps on samples of the rows."""

from __future__ import annotations

import math
import time

import numpy as np
from audit.patches import Mutant, edited, swapped

import dpreg.calls.fit
from dpreg import _core
from dpreg.estimation.methods import dpsgd
from dpreg.privacy import bits as rng


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
            dpreg.calls.fit,
            "fit",
            ("    receipt = session.pay(", "    problem.design(1e9)\n    receipt = session.pay("),
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
        swapped(_core, "dpsgd", lambda real: lambda like, rows, **o: real(like, rows, **{**o, "rate": 1.0})),
        ("dpsgd runs",),
    ),
    Mutant(
        "sampled gradients: noise of half the scale",
        swapped(_core, "dpsgd", lambda real: lambda like, rows, **o: real(like, rows, **{**o, "sigma": o["sigma"] // 2})),
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
