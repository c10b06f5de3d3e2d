"""The solution implied by noisy scores, and its error.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpreg.base.arrays import Doubles, Flags
from dpreg.estimation.newton.matrix_errors import MatrixErrors
from dpreg.estimation.releases.spectrum import symmetric_root

# Standard deviation that clipping of scores adds to an entry of the curvature.
_CLIPPING_SD = 0.03
# Least eigenvalue of the curvature, relative to second moments of 1.
_LEAST = 0.1
# The same if a smaller one is expected: values below are rounding errors.  Without it the curvature
# was negative, without an inverse, in 12 of 3,218 fits of simulated released numbers.
_FLATTEST = 1e-8
# A difference of scores with a smaller p-value determines the error of the curvature.  At .02, in
# one of twelve fits of a mean noise over a short step looked like a curvature of .1 or 2.4: one was
# wrong by ten errors, and errors were up to 17 times those of least squares.
_P_VALUE = 1e-3
# Largest such error, squared, as the score of a row cannot decrease faster.  Without it errors of
# 11 of 378 fits were 3.6 times as large; if a single difference may exceed it, noise of 3.5
# standard deviations over a short step gave a curvature of 65, and a mean was wrong by 15 errors.
_MOST = 1.0
# Scores do not converge if one exceeds its noise by the second number of standard deviations, the
# previous one by the first, and the ratio of the two is above the third number.  The later one must
# also exceed, by the last number, the noise of the previous score, which was part of the step, and
# errors of the curvature.  Without that noise .3% of fits of 54,000 rows lost some or all errors
# for no reason; without the curvature, 3 of 24 fits of 100,000 records of three classes, 5 per
# person, were not released, instead of none.
_CLEAR, _HELD_UP, _FALLEN, _CARRIED = 3.0, 5.0, 0.6, 3.0
# Iterations for weights, which depend on the solution; each goes half of the way.
_AGAIN = 10
# Error of the curvature between the last score and the solution, as a share of its measured change.
# With 0, .55 and .89 of coefficients of two splines of 20,000 rows with events that are rare at one
# end covered instead of .84 and .94.
_LAST_CHANGED = 0.5
# Scores whose thresholds differ by this factor have different solutions.
WIDER = 2.0
# The lower one has no weight unless errors without it would exceed this multiple of the variance of
# residuals, in mean square of predictions.  Without it errors of 32 skewed columns of 20,000 rows
# (randhie) were 148 times those of least squares instead of 9.
_USELESS = 10.0


@dataclass(frozen=True, slots=True)
class Observation:
    """A noisy mean score of rows."""

    # at, score: shape (w,).
    at: Doubles
    score: Doubles
    deviation: Doubles  # Shape (w,): of the noise in each entry.
    limit: float  # Clipping threshold of the scores of units.

    def turned(self, by: Doubles) -> Observation:
        """Return the score in other coordinates.

        by: shape (w, k): map of rows.
        """
        deviation = np.sqrt((by**2).T @ self.deviation**2)
        at = np.asarray(np.linalg.lstsq(by, self.at, rcond=None)[0])
        return Observation(at, by.T @ self.score, deviation, self.limit)


class Path:
    """Scores so far, and the curvature that they imply.

    A score is `curvature` times the distance to the solution, plus noise.  The curvature is 1 at
    first, up to independent errors; each pair of scores updates it along their difference to its
    conditional expectation (a secant update with noise).

    sizes: shape (w,): factors of coordinates where rows were summed; noise in entries of scores is
        inversely proportional.
    doubt: errors of the curvature.
    start: shape (w,): point of the first score.
    bent: relative change of the curvature over a step of length 1.
    still: differences of scores after a shorter step are not used.
    residual: standard deviation of residuals, in coordinates.
    told: shape (w,): coordinates whose curvature only `bend` changes.  If scores also update
        levels, .92 of logits of 8 levels covered instead of .95, and some were wrong by 5 errors.

    Attributes
    ----------
    theta : ndarray, shape (w,)
        Current estimate from all scores.
    beyond : ndarray, shape (w,)
        Remaining distance to the solution, if `theta` is limited.
    weights : ndarray, shape (k,)
        Weights of the scores.

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
        residual: float = math.inf,
        told: Flags | None = None,
    ) -> None:
        self.curvature = np.eye(len(sizes))
        self._bent, self._still, self._squares = bent, still, sizes**2
        self._residual = residual
        self._told = np.zeros(len(sizes), dtype=bool) if told is None else told
        self._first = doubt.beside(np.full((len(sizes), len(sizes)), 2 * _CLIPPING_SD**2))
        self._surprises = list[float]()
        self._measured = False  # The curvature was measured at `theta`.
        self._errors: Doubles | None = None  # Set by `end`.
        self.observations: list[Observation] = []
        self.weights, self.theta, self.beyond = np.ones(1), start, np.zeros_like(start)

    @property
    def doubt(self) -> MatrixErrors:
        """Errors of the curvature, from noise and differences of scores."""
        surprise = sum(self._surprises) / len(self._surprises) if self._surprises else 0.0
        return self._doubted(surprise)

    def _doubted(self, surprise: float) -> MatrixErrors:
        first = self._first.variance
        most = np.maximum(first, 2 * _MOST)
        return replace(self._first, variance=np.minimum(max(surprise, 1.0) * first, most))

    @property
    def inverse(self) -> Doubles:
        """Inverse of the curvature."""
        return np.asarray(np.linalg.inv(self.curvature))

    @property
    def ahead(self) -> float:
        """Error of the step from the last score to `theta` due to the curvature, per entry."""
        way = self.curvature @ (self.theta - self.observations[-1].at)
        return math.sqrt(float(self._squares @ self.doubt.apart(way))) / max(len(way), 1)

    @property
    def unsettled(self) -> NDArray[np.bool_]:
        """Coordinates in which the score does not decrease with `theta`, due to clipped rows."""
        if len(self.observations) < 2 or self._measured:
            return np.zeros(len(self.theta), dtype=bool)
        before, last = self.observations[-2:]
        clear = np.abs(before.score) > _CLEAR * before.deviation
        carried = np.sqrt(before.deviation**2 + self._first.apart(before.score))
        clear &= np.abs(last.score) > np.maximum(_HELD_UP * last.deviation, _CARRIED * carried)
        return np.asarray(clear & (np.abs(last.score) > _FALLEN * np.abs(before.score)))

    @property
    def variance(self) -> Doubles:
        """Variance of each entry of the score at `theta`, without sampling error."""
        left = self.weights @ self._ways(self.theta)
        known = np.asarray(self.weights**2 @ self._noise + self.doubt.apart(left))
        # The solution is as far from `theta`, too.  Without it .910 of slopes of 54 columns of
        # 20,000 rows covered instead of .930, and 7 instead of 5 of 3,472 coefficients of models
        # with factors were wrong by more than four errors.
        return known + self.doubt.apart_of(known)

    @property
    def errors(self) -> Doubles:
        """Second moments of the error of the score at `theta`, without sampling error."""
        return np.diag(self.variance) if self._errors is None else self._errors

    @property
    def held(self) -> bool:
        """Whether `theta` is limited."""
        return bool(self.beyond.any())

    def hold(self, theta: Doubles) -> None:
        """Limit the estimate to `theta`."""
        self.beyond, self.theta = self.theta - theta, theta

    def bend(self, before: Doubles, after: Doubles) -> None:
        """Update the curvature to its expected value at `theta`.

        Both, shape (w, w), positive definite: expectations before and now.  Relative errors are
            kept.  With absolute errors, noise in a steep slope remained: for 5,000 rows, with log
            odds of 8 per standard deviation, the slope was wrong by four errors in .25 of fits
            instead of 0.  For levels absolute errors are kept: with relative ones, noise led far
            along a level whose rows all had the outcome, and the error of another regressor was 57
            times as large.
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
        """Go to the solution with this curvature, which was measured there: scores do decrease."""
        self.curvature, self._measured = curvature, True
        self._combine()

    def end(self, curvature: Doubles) -> None:
        """Go to the solution with this curvature, which was measured at `theta`.

        Along each direction a score is weighted by its noise and by the error of the curvature
        between it and `theta`: at most its measured change, and half of that for the last score.
        With one weight for all directions and errors of the curvature alone, .52 to .91 of
        coefficients of splines and powers in 20,000 rows with events that are rare at one end
        covered, instead of .85 to .97; with the last score alone errors of 5,000 rows with 4% of
        events, where little had changed, were 1.4 times as large.
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
        """Add a score, and go to the solution implied by all."""
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
        if not length > self._still**2:  # almost the same point: no information on the curvature
            return
        wrong = np.diag(self._first.times(step))
        surprise = (square - width) / float(wrong @ (1 / noise))
        # After a short step the insignificant part would dominate the update of the curvature.
        if square <= special.chdtri(width, _P_VALUE):
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
        """Return the expected scores at their points, one per row."""
        return np.array([self.curvature @ (theta - seen.at) for seen in self.observations])

    def _combine(self) -> None:
        """Average the solutions of the scores by their errors: noise, clipping and curvature."""
        width, inverse = len(self._squares), self.inverse
        noise = self._noise @ self._squares / width
        doubt = self.doubt.added(self._squares) / width
        at = np.array([seen.at for seen in self.observations])
        targets = at + np.array([inverse @ seen.score for seen in self.observations])
        apart = 1e-9 * np.eye(len(at))
        # Scores with much lower thresholds have less noise but another solution, and get no weight.
        # Otherwise .764 of the coefficients of six skewed responses of 1,000 to 20,000 rows were
        # covered instead of .812, and .69 of predictions instead of .76.  Errors of these are 1.09
        # times as large without such scores, and the same for normal and binary responses.
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
            if width * size[wide].min() ** 2 > _USELESS * self._residual**2:
                wide = np.ones(len(at), dtype=bool)
            best = np.linalg.solve(alike[np.ix_(wide, wide)], 1 / size[wide]) / size[wide]
            weights = np.zeros(len(at))
            weights[wide] = np.maximum(best, 0.0)
            self.weights = weights / weights.sum()
            self.theta = (self.theta + self.weights @ targets) / 2
        self.theta = self.weights @ targets
