"""How far a step may go.  Everything here is public."""

from __future__ import annotations

import numpy as np

from dpreg.base.arrays import Doubles


def held_back(
    way: Doubles, effects: Doubles, inverse: Doubles, deviation: Doubles, farthest: float
) -> Doubles:
    """Return a step of which no effect is larger than `farthest`.

    Where noise alone makes an effect larger it is held at that, and the rest of the step goes to
    where the loss is least given so much: what noise does along a direction that few rows have
    leaves the others alone.  Where another is larger the whole step is shorter.

    way, shape (w,).
    effects, shape (k, w): what steps are multiplied by to give their effects.
    inverse, shape (w, w): of the curvature of the loss.
    deviation, shape (w,): of the noise in each entry of the score.
    """
    spread = effects @ inverse
    noisy = np.sqrt(((spread * deviation) ** 2).sum(axis=1)) > farthest
    held, step = np.zeros(len(effects), dtype=bool), way
    for _ in range(int(noisy.sum())):
        beyond = (np.abs(effects @ step) > farthest) & noisy & ~held
        if not beyond.any():
            break
        held |= beyond
        there = effects[held] @ way
        excess = there - np.clip(there, -farthest, farthest)
        back = np.linalg.lstsq(spread[held] @ effects[held].T, excess, rcond=None)[0]
        step = way - spread[held].T @ back
    most = float(np.abs(effects @ step).max(initial=0.0))
    return np.asarray(step * min(1.0, farthest / max(most, np.finfo(float).tiny)))
