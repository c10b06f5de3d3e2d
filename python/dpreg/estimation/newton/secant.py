"""Where noisy scores lead, and how far they are to be believed.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpreg.base.arrays import Doubles, Flags
from dpreg.estimation.newton.matrix_errors import MatrixErrors
from dpreg.estimation.releases.spectrum import symmetric_root

# Standard deviation of what shortened scores add to an entry of the curvature.
_BENT = 0.03
# Least eigenvalue of the curvature, where second moments are 1.
_LEAST = 0.1
# and least where it is expected to be less: what is beyond is rounding.  Without it a form of this
# had a curvature below 0, and no inverse, in 12 of 3,218 fits of made-up released numbers.
_FLATTEST = 1e-8
# A difference that noise makes with less than this probability says how wrong the curvature is.  At
# .02, one fit in twelve of a mean took noise over a short step for a curvature of .1 or 2.4: one
# missed by ten errors, and errors were up to 17 times those of least squares.
_BY_CHANCE = 1e-3
# which is no more than this, squared, for a score of a row cannot fall faster.  Without it errors
# of 11 of 378 fits were 3.6 times as long; and where one difference alone goes beyond it, noise of
# 3.5 deviations over a short step was a curvature of 65, and a mean was 15 errors off.
_MOST = 1.0
# Where a score exceeds its noise by the second number of deviations, the one before by the first,
# and this one is more than the third of it, they do not lead to a root; but the noise before was
# a part of the step, and the curvature was wrong, and this one exceeds these by the last number.
# Without that noise .3% of fits of 54,000 rows had coefficients without an error, or all, for
# nothing; without what the curvature does, 3 of 24 of 100,000 records of three classes, 5 of each
# person, were not released, for none.
_CLEAR, _HELD_UP, _FALLEN, _CARRIED = 3.0, 5.0, 0.6, 3.0
# Times that weights are found anew from where they lead, half of the way each.
_AGAIN = 10
# The curvature on the way from the last score is wrong by this share of what it was found to have
# changed by: it was measured at the other end.  With 0 .55 and .89 of coefficients of two splines
# of 20,000 rows of events that are rare at one end covered, for .84 and .94.
_LAST_CHANGED = 0.5
# A score with a limit this many times as wide as another one's has another root.
WIDER = 2.0


@dataclass(frozen=True, slots=True)
class Observation:
    """A noisy score of a row, on average."""

    # at, score: shape (w,).
    at: Doubles
    score: Doubles
    deviation: Doubles  # Shape (w,): of the noise in each entry.
    limit: float  # To which scores of units were clipped.

    def turned(self, by: Doubles) -> Observation:
        """Return it in other coordinates.

        by: shape (w, k): what rows are multiplied by.
        """
        deviation = np.sqrt((by**2).T @ self.deviation**2)
        at = np.asarray(np.linalg.lstsq(by, self.at, rcond=None)[0])
        return Observation(at, by.T @ self.score, deviation, self.limit)


class Path:
    """Scores so far, and the curvature as they have it.

    Scores are `curvature` times the way to the root, and noise.  The curvature is 1 at first, up to
    independent errors, and each pair of scores corrects it along their difference, by what is
    expected of it given that (a secant step with noise).

    sizes: shape (w,): what coordinates were multiplied by where rows were added up: noise in
        entries of scores goes as their inverse.
    doubt: errors of the curvature.
    start: shape (w,): where the first score is to be taken.
    bent: the curvature changes by this share over a step of length 1.
    still: a difference of scores says nothing after a step that is shorter than this.
    told: shape (w,): coordinates of which `bend` says all that is known.  Where scores correct
        levels, too, .92 for .95 of logits of 8 levels covered, and some missed by 5 errors.

    Attributes
    ----------
    theta : ndarray, shape (w,)
        Where the scores lead, all told.
    beyond : ndarray, shape (w,)
        How much farther they lead, where `theta` is held back.
    weights : ndarray, shape (k,)
        Of each of them in that.

    References
    ----------
    Dennis and Schnabel (1979), "Least change secant updates for quasi-Newton methods".
    """

    def __init__(
        self,
        sizes: Doubles,
        doubt: MatrixErrors,
        start: Doubles,
        *,
        bent: float = 0.0,
        still: float = 0.0,
        told: Flags | None = None,
    ) -> None:
        self.curvature = np.eye(len(sizes))
        self._bent, self._still, self._squares = bent, still, sizes**2
        self._told = np.zeros(len(sizes), dtype=bool) if told is None else told
        self._first = doubt.beside(np.full((len(sizes), len(sizes)), 2 * _BENT**2))
        self._surprises = list[float]()
        self._measured = False  # The curvature was, where `theta` is.
        self._errors: Doubles | None = None  # Where `end` found them.
        self.observations: list[Observation] = []
        self.weights, self.theta, self.beyond = np.ones(1), start, np.zeros_like(start)

    @property
    def doubt(self) -> MatrixErrors:
        """Errors of the curvature, from noise and as differences of scores say."""
        surprise = sum(self._surprises) / len(self._surprises) if self._surprises else 0.0
        return self._doubted(surprise)

    def _doubted(self, surprise: float) -> MatrixErrors:
        first = self._first.variance
        most = np.maximum(first, 2 * _MOST)
        return replace(self._first, variance=np.minimum(max(surprise, 1.0) * first, most))

    @property
    def inverse(self) -> Doubles:
        """Of the curvature."""
        return np.asarray(np.linalg.inv(self.curvature))

    @property
    def ahead(self) -> float:
        """What doubt of the curvature makes of the way from the last score to `theta`, an entry."""
        way = self.curvature @ (self.theta - self.observations[-1].at)
        return math.sqrt(float(self._squares @ self.doubt.apart(way))) / max(len(way), 1)

    @property
    def unsettled(self) -> NDArray[np.bool_]:
        """Where the score hardly falls however far `theta` goes: clipped rows hold it up."""
        if len(self.observations) < 2 or self._measured:
            return np.zeros(len(self.theta), dtype=bool)
        before, last = self.observations[-2:]
        clear = np.abs(before.score) > _CLEAR * before.deviation
        carried = np.sqrt(before.deviation**2 + self._first.apart(before.score))
        clear &= np.abs(last.score) > np.maximum(_HELD_UP * last.deviation, _CARRIED * carried)
        return np.asarray(clear & (np.abs(last.score) > _FALLEN * np.abs(before.score)))

    @property
    def variance(self) -> Doubles:
        """Of each entry of the score at `theta`, but for sampling error."""
        left = self.weights @ self._ways(self.theta)
        known = np.asarray(self.weights**2 @ self._noise + self.doubt.apart(left))
        # The root is as far from `theta`, too.  Without it .910 for .930 of slopes of 54 columns of
        # 20,000 rows covered, and 7 for 5 of 3,472 coefficients of models with factors were off by
        # more than four errors.
        return known + self.doubt.apart_of(known)

    @property
    def errors(self) -> Doubles:
        """Second moments of what is wrong with the score at `theta`, but for sampling error."""
        return np.diag(self.variance) if self._errors is None else self._errors

    @property
    def held(self) -> bool:
        """Whether `theta` is held back."""
        return bool(self.beyond.any())

    def hold(self, theta: Doubles) -> None:
        """Go no farther than to `theta`."""
        self.beyond, self.theta = self.theta - theta, theta

    def bend(self, before: Doubles, after: Doubles) -> None:
        """Let the curvature change as it is expected to where `theta` is.

        Both, shape (w, w), positive definite: what was expected, and what is.  What was wrong with
        the first, as a share, is with the second.  Added up instead, what noise made of a steep
        slope stayed: of 5,000 rows, one standard deviation of which moved log odds by 8, the slope
        missed by four errors in .25 of fits, for 0.  Of levels it is added up: with shares, noise
        led far along one whose rows all had the outcome, and the error of another regressor was
        57 times as long.
        """
        if self._told.any():
            changed = self.curvature + after - before
        else:
            by = symmetric_root(before, centred=False)
            by = by @ np.linalg.inv(symmetric_root(after, centred=False))
            changed = by.T @ self.curvature @ by
        least = min(max(float(np.linalg.eigvalsh(after)[0]), _FLATTEST), _LEAST)
        values, vectors = np.linalg.eigh(changed)
        self.curvature = (vectors * np.maximum(values, least)) @ vectors.T

    def settle(self, curvature: Doubles) -> None:
        """Go to where scores lead with this curvature, which was measured there: they do fall."""
        self.curvature, self._measured = curvature, True
        self._combine()

    def end(self, curvature: Doubles) -> None:
        """Go to where scores lead with this curvature, which was measured where `theta` is.

        Along each direction a score counts by its noise and by what is wrong with the curvature
        between it and `theta`: no more than what was found to have changed, and of the last score
        half of that.  With one weight for all directions and errors of the curvature alone, .52 to
        .91 of coefficients of splines and powers covered, 20,000 rows of events that are rare at
        one end, for .85 to .97; with the last score alone errors of 5,000 rows with 4% of events,
        where little had changed, were 1.4 times as long.
        """
        root = symmetric_root(self.curvature, centred=False)
        held, turn = np.linalg.eigh(root.T @ curvature @ root)
        basis = root @ turn
        inverse = np.linalg.inv(basis)
        at = np.array([inverse @ seen.at for seen in self.observations])
        targets = at + np.array([basis.T @ seen.score for seen in self.observations]) / held
        noise, changed = self._noise @ basis**2, np.tile(1 - held, (len(at), 1))
        changed[-1] *= _LAST_CHANGED
        found = targets[-1]
        for _ in range(_AGAIN):
            wrong = noise + (changed * (found - at)) ** 2
            weights = 1 / wrong / (1 / wrong).sum(axis=0)
            found = (weights * targets).sum(axis=0)
        left = inverse.T @ (held * (weights * (found - at)).sum(axis=0))
        known = (inverse.T * (weights**2 * wrong).sum(axis=0)) @ inverse
        self._errors = known + np.diag(self.doubt.apart(left))
        self.curvature, self.theta = curvature, basis @ found

    def add(self, seen: Observation) -> None:
        """Take in a score, and go to where all of them lead."""
        self.observations.append(seen)
        self.beyond = np.zeros_like(seen.at)
        if len(self.observations) > 1:
            self._learn(*self.observations[-2:])
        self._combine()

    def _learn(self, before: Observation, after: Observation) -> None:
        step, width = after.at - before.at, len(after.at)
        fallen = before.score - after.score - self.curvature @ step
        noise = before.deviation**2 + after.deviation**2
        length, square = float(step @ step), float(fallen**2 @ (1 / noise))
        if not length > self._still**2:  # next to the same place: nothing is said of the curvature
            return
        wrong = np.diag(self._first.times(step))
        surprise = (square - width) / float(wrong @ (1 / noise))
        # What is not clear, as after a short step, would be most of what is said of the curvature.
        if square <= special.chdtri(width, _BY_CHANCE):
            surprise = 0.0
        doubt, more = self.doubt, self._doubted(surprise)
        doubt = replace(doubt, variance=np.maximum(doubt.variance, more.variance))
        spread = doubt.times(step) + np.diag(noise)
        moved = doubt.likely(np.asarray(np.linalg.solve(spread, fallen)), step)
        moved[self._told[:, None] | self._told] = 0.0
        values, vectors = np.linalg.eigh(self.curvature + moved)
        least = min(_LEAST, float(np.linalg.eigvalsh(self.curvature)[0]))
        self.curvature = (vectors * np.maximum(values, least)) @ vectors.T
        self._surprises.append(surprise)

    @property
    def _noise(self) -> Doubles:
        """Variances of the noise in each score's entries."""
        return np.array([seen.deviation**2 for seen in self.observations])

    def _ways(self, theta: Doubles) -> Doubles:
        """Return what the scores are expected to be where they were taken, one a row."""
        return np.array([self.curvature @ (theta - seen.at) for seen in self.observations])

    def _combine(self) -> None:
        """Weigh where the scores lead by what is wrong with them: noise, limits and curvature."""
        width, inverse = len(self._squares), self.inverse
        noise = self._noise @ self._squares / width
        doubt = self.doubt.added(self._squares) / width
        at = np.array([seen.at for seen in self.observations])
        targets = at + np.array([inverse @ seen.score for seen in self.observations])
        apart = 1e-9 * np.eye(len(at))
        # Scores with far narrower limits have less noise, and lead to another root.  With these
        # .764 of coefficients of six skewed responses, 1,000 to 20,000 rows, were covered, for
        # .833, and .69 of predictions, for .79; errors are 1.17 times as long without them, and
        # those of normal responses and of events the same.
        limits = np.array([seen.limit for seen in self.observations])
        wide = WIDER * limits >= limits[-1]
        self.theta, self.weights = targets[-1], np.ones(1)
        for _ in range(_AGAIN if len(targets) > 1 else 0):
            steps = self.theta - at
            ways = np.array([self.curvature @ step for step in steps])
            far = (steps**2).sum(axis=1)
            changed = self._bent**2 * far * (ways**2 @ self._squares) / width
            wrong = ways @ doubt @ ways.T + np.diag(noise + changed)
            size = np.sqrt(wrong.diagonal())
            alike = wrong / (size[:, None] * size) + apart
            best = np.linalg.solve(alike[np.ix_(wide, wide)], 1 / size[wide]) / size[wide]
            weights = np.zeros(len(at))
            weights[wide] = np.maximum(best, 0.0)
            self.weights = weights / weights.sum()
            self.theta = (self.theta + self.weights @ targets) / 2
        self.theta = self.weights @ targets
