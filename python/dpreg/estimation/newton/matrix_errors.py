"""Errors of symmetric matrices estimated with noise.  Everything here is public."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpreg.base.arrays import Doubles


@dataclass(frozen=True, slots=True)
class MatrixErrors:
    """Errors of a symmetric matrix: by.T E by, with independent entries of E.

    If coordinates are rescaled, noise of their entries is concentrated in few directions.
    """

    by: Doubles  # Shape (j, k).
    variance: Doubles  # Shape (j, j): variances on the diagonal, and twice those of other entries.

    @classmethod
    def of_entries(cls, variance: Doubles) -> MatrixErrors:
        """Return errors with independent entries.

        variance: shape (k, k): as for the class.
        """
        return cls(np.eye(len(variance)), variance)

    def turned(self, by: Doubles) -> MatrixErrors:
        """Return the errors of `by`.T times the matrix times `by`."""
        return MatrixErrors(self.by @ by, self.variance)

    def beside(self, variance: Doubles) -> MatrixErrors:
        """Return the sum with independent errors of entries; variance as for `of_entries`."""
        zeros = np.zeros((len(self.variance), len(variance)))
        both = np.block([[self.variance, zeros], [zeros.T, variance]])
        return MatrixErrors(np.vstack([self.by, np.eye(len(variance))]), both).even()

    @property
    def entries(self) -> Doubles:
        """Variances of entries of the matrix, doubled off the diagonal."""
        return self.between(np.eye(self.by.shape[1]))

    def even(self) -> MatrixErrors:
        """Return the same errors, with rows of `by` of length 1."""
        lengths = np.linalg.norm(self.by, axis=1)
        size = np.where(lengths > 0, lengths, 1.0)
        return MatrixErrors(self.by / size[:, None], self.variance * np.outer(size, size) ** 2)

    def between(self, vectors: Doubles) -> Doubles:
        """Return variances, as for the class, between vectors of shape (k, m)."""
        squares = (self.by @ vectors) ** 2
        return np.asarray(squares.T @ self.variance @ squares)

    def times(self, way: Doubles) -> Doubles:
        """Return second moments of the product of the errors with a vector: shape (k, k)."""
        along, half = self.by @ way, self.variance / 2
        inner = np.diag(half @ along**2) + half * np.outer(along, along)
        return np.asarray(self.by.T @ inner @ self.by)

    def apart(self, way: Doubles) -> Doubles:
        """Return variances of the errors times a vector, ignoring symmetry."""
        return self._of_squares((self.by @ way) ** 2)

    def apart_of(self, variance: Doubles) -> Doubles:
        """Return the mean of `apart` for a vector with independent entries.

        variance: shape (k,): variances of its entries.
        """
        return self._of_squares(self.by**2 @ variance)

    def _of_squares(self, along: Doubles) -> Doubles:
        return np.asarray((self.by**2).T @ (self.variance / 2 @ along))

    def likely(self, seen: Doubles, way: Doubles) -> Doubles:
        """Return the most likely errors, given that their product with `way` is about S `seen`.

        S: second moments of the observation, noise plus `times(way)`.
        """
        moved = np.outer(self.by @ seen, self.by @ way) * self.variance / 2
        return np.asarray(self.by.T @ (moved + moved.T) @ self.by)

    def added(self, squares: Doubles) -> Doubles:
        """Return M: v' M w is the mean product of entries of the errors times v and w, as `apart`.

        squares: shape (k,): weights of products of entries in the sum.
        """
        size = self.by**2 @ squares @ self.variance / 2
        return np.asarray((self.by.T * size) @ self.by)
