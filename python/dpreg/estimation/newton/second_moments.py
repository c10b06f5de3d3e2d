"""Estimates of second moments of rows along coordinates.  Everything here is public."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpreg.base.arrays import Doubles, Integers
from dpreg.estimation.newton.matrix_errors import MatrixErrors
from dpreg.estimation.releases.spectrum import without_spread

Mask = NDArray[np.bool_]

# Expected number of false discoveries among all entries of a matrix, or of products with a
# response.  With a fixed 3.5 standard deviations per entry, one in six slopes of 56 levels of
# 300,000 rows had no error instead of none, and others had 3.6 times the errors of least squares
# instead of 2.2.
_FALSE_DISCOVERIES = 0.05
# Typical size of other correlations, and of the sum of squared correlations of a coordinate: with
# the first alone noise was used as correlations, steps were too large, and errors of 36 levels of
# 100,000 rows were 7 times those of least squares instead of 2.1.
ALIKE, _ALIKE_ALL = 0.1, 0.06
# Correlations that may be this large have no prior: their estimates keep all their noise.  Without
# it 7 of 111 slopes of 5,000 rows on a column that is mostly 0, and on one that it follows, were
# wrong by more than four errors instead of 5 of 230.
_NO_PRIOR_SIZE = 0.3


@dataclass(frozen=True, slots=True)
class Moments:
    """Second moments in coordinates where they are about 1, and their errors."""

    matrix: Doubles  # Shape (k, k).
    # Shape (k, k): error variances of entries, doubled off the diagonal; infinite: not known.
    variance: Doubles
    levels: Mask  # Shape (k,): coordinates of levels.
    # Shape (k, k): part of the variance that is noise in `matrix`, without uncertainty of priors.
    noise: Doubles | float = 0.0
    # Errors, without later additions to `variance`; None: entries have independent errors.
    errors: MatrixErrors | None = None

    def seen(self, matrix: Doubles, variance: Doubles) -> Moments:
        """Update with noisy second moments.

        Old and new estimates are weighted by their noise: with the new one alone, .26 of 30
        indicators of 5,000 rows had no error instead of .03.  A correlation of a level is one of
        many: it is shrunk to the old estimate, at first 0, by its noise relative to the observed
        size of such correlations, and hardly at all if it differs far more.  With `_apart` for all
        of them .876 of the intervals of sixteen models with factors, 2,000 rows each, covered
        instead of .926, and 131 instead of 16 of 5,208 coefficients were wrong by more than four
        errors.  Rescaling of coordinates matters: without `_along` .920 of those intervals covered
        instead of .945, and 14 instead of 7 of 3,472 were wrong; .76 instead of .98 covered where
        levels explain most of a regressor.  With it for all entries, a level of 180 of 60,000 rows,
        which was counted, was lost in one of twelve fits, and with it all errors.  With the
        shrinkage of products with the response, a correlation of nearly 1, of a level with its
        product with a year, became .9, and the difference of the two seemed significant: one of
        four logistic fits of 20,000 rows was wrong by hundreds of errors; with a power of 2 instead
        of 4, two of 150.

        References
        ----------
        Efron and Morris (1973), "Stein's estimation rule and its competitors: an empirical Bayes
        approach".
        Zou (2006), "The adaptive lasso and its oracle properties".
        Rothman, Levina, Zhu (2009), "Generalized thresholding of large covariance matrices".
        """
        known, apart = np.isfinite(self.variance), ~np.eye(len(matrix), dtype=bool)
        level = (self.levels[:, None] | self.levels) & (known | apart)
        new = level & ~known
        before = np.where(known, self.variance, self._apart)
        before[new] = np.maximum(before[new], 2 * _mean_square(matrix[new], variance[new] / 2))
        usual = before / np.maximum(before + variance, np.finfo(float).tiny)
        both = (before + variance) / np.where(apart, 2.0, 1.0)
        clear = 1 - (1 - shrunken(matrix - self.matrix, both)) ** 4
        weight = np.where(level, np.maximum(usual, clear), np.where(known, usual, 1.0))
        vague = ~level | (before > 2 * _NO_PRIOR_SIZE**2)
        noise = (1 - weight) ** 2 * self._noises + np.where(vague, weight**2 * variance, 0.0)
        found, left = self.matrix + weight * (matrix - self.matrix), weight * variance
        if self.errors is None:
            return Moments(found, left, self.levels, noise)
        along, errors = self._along(self.errors, matrix, variance)
        entries = errors.entries
        better = entries < left
        left = np.where(better, entries, left)
        errors = replace(errors, by=errors.by * (np.diag(left) / np.diag(entries)) ** 0.25)
        noise = np.minimum(noise, left)
        return Moments(np.where(better, along, found), left, self.levels, noise, errors)

    def _along(
        self, errors: MatrixErrors, matrix: Doubles, variance: Doubles
    ) -> tuple[Doubles, MatrixErrors]:
        """Return second moments averaged by their noise, and their errors.

        If coordinates were rescaled, most errors are along few directions: of the response of a
        level, or of a regressor that levels explain.  Along these the noise of old and new
        estimates is independent of others; in coordinates in which the new noise differs, a level
        of 1% of 20,000 rows was wrong by ten errors.
        """
        quiet, loud = np.diag(variance) ** -0.25, np.diag(errors.variance) ** 0.25
        turn = np.linalg.svd(loud[:, None] * errors.by * quiet)[2].T
        vectors, back = quiet[:, None] * turn, turn.T / quiet
        first, second = self._between(vectors), (vectors**2).T @ variance @ vectors**2
        weight = first / np.maximum(first + second, np.finfo(float).tiny)
        moved = back.T @ (weight * (vectors.T @ (matrix - self.matrix) @ vectors)) @ back
        return self.matrix + moved, MatrixErrors(back, weight * second)

    def _between(self, vectors: Doubles) -> Doubles:
        """Return variances of errors between vectors, shape (k, m)."""
        squares = vectors**2
        grown = np.asarray(squares.T @ self.grown @ squares)
        return grown if self.errors is None else grown + self.errors.between(vectors)

    @property
    def grown(self) -> Doubles:
        """The part of `variance` that is not in `errors`."""
        if self.errors is None:
            return self.variance
        return np.maximum(self.variance - self.errors.entries, 0.0)

    @property
    def doubt(self) -> MatrixErrors:
        """All errors; an unknown entry has variance 1."""
        more = np.minimum(self.grown, 1.0)
        return MatrixErrors.of_entries(more) if self.errors is None else self.errors.beside(more)

    def doubted(self, hidden: Doubles) -> Moments:
        """Return moments in which each entry of a level may be wrong by its part along `hidden`.

        The same for all entries blanked a seventh of the coefficients of interactions instead of a
        ninth; for other columns too, predictions from 30 of them for 2,000 rows had an R2 of -2.

        hidden: shape (k, h): orthonormal.
        """
        squares = hidden**2
        more = squares @ squares.T * (2.0 - np.eye(len(squares)))
        level = self.levels[:, None] | self.levels
        return replace(self, variance=self.variance + np.where(level, more, 0.0))

    def of_levels(self) -> Moments:
        """Return the moments of levels only; others are unknown."""
        level = self.levels[:, None] | self.levels
        return replace(self, variance=np.where(level, self.variance, np.inf), errors=None)

    @property
    def _noises(self) -> Doubles:
        return np.broadcast_to(self.noise, self.variance.shape)

    @property
    def _apart(self) -> float:
        """Twice the variance of an unknown correlation."""
        return 2 * min(ALIKE**2, _ALIKE_ALL / max(len(self.matrix), 1))

    def along(self, vectors: Doubles) -> Doubles:
        """Return the standard error of second moments along unit vectors."""
        return np.asarray(np.sqrt(np.diag(self._between(vectors))))

    def turned(self, by: Doubles, levels: Mask | None = None) -> Moments:
        """Return the moments in coordinates times `by`; those of levels are 1."""
        levels = self.levels if levels is None else levels
        noise = np.asarray((by**2).T @ self._noises @ by**2)
        matrix = np.where(levels[:, None] | levels, np.eye(len(levels)), by.T @ self.matrix @ by)
        errors = (self.errors or MatrixErrors.of_entries(self.variance)).turned(by)
        return Moments(matrix, self._between(by), levels, noise, errors)

    def apart(self, places: Integers) -> Moments:
        """Return the moments with these coordinates independent of others."""
        matrix = self.matrix.copy()
        matrix[places] = matrix[:, places] = 0.0
        matrix[places, places] = np.diag(self.matrix)[places]
        return replace(self, matrix=matrix)

    def without(self, hidden: Doubles) -> Moments:
        """Return the moments without these directions.

        hidden: shape (k, h): orthonormal.
        """
        rest = np.eye(len(self.matrix)) - hidden @ hidden.T
        return replace(self, matrix=rest @ self.matrix @ rest)

    def unrelated(self, places: Integers) -> Moments:
        """Return the moments with unknown correlations of these coordinates.

        Without it errors of a column of 20,000 rows, .6% of which had values with a heavy tail,
        were 17 times those of least squares instead of 8.
        """
        variance = self.variance.copy()
        variance[places] = variance[:, places] = self._apart
        variance[places, places] = np.diag(self.variance)[places]
        noise = self._noises.copy()
        noise[places] = noise[:, places] = 0.0
        return replace(self, variance=variance, noise=noise)

    def without_spread(self, values: Doubles) -> Doubles:
        """See `spectrum.without_spread`, with the average noise of entries.

        Uncertainty of priors does not spread eigenvalues.  With all of the variance instead of the
        noise .889 of the intervals of sixteen models with factors, 2,000 rows each, covered instead
        of .921, and 61 instead of 16 of 5,208 coefficients were wrong by more than four errors.
        """
        mean = float(self._noises.sum()) / max(self.variance.size, 1)
        return without_spread(values, math.sqrt(mean))

    def edge(self, vectors: Doubles) -> Doubles:
        """Return about the largest second moment along vectors that errors alone would make."""
        return np.asarray(np.sqrt(2 * self.variance.sum(axis=1) @ vectors**2))


def _mean_square(seen: Doubles, noise: Doubles) -> float:
    """Return the mean square of numbers with mean 0, given noisy values and their variances."""
    weight = 1 / (ALIKE**2 + noise) ** 2
    return float(weight @ (seen**2 - noise)) / max(float(weight.sum()), np.finfo(float).tiny)


def shrunken(seen: Doubles, variance: Doubles) -> Doubles:
    """Return shrinkage factors for numbers with this noise: 0 where they may be noise alone.

    seen: shape (k,), or (k, k): symmetric.

    References
    ----------
    Breiman (1995), "Better subset regression using the nonnegative garrote".
    """
    count = len(seen) if seen.ndim == 1 else len(seen) * (len(seen) + 1) / 2
    beyond = float(special.ndtri(_FALSE_DISCOVERIES / (2 * max(count, 1))))
    square, least = seen**2, beyond**2 * variance
    clear = square > least
    return np.where(clear, 1 - least / np.where(clear, square, 1.0), 0.0)
