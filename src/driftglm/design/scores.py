"""Rows along a few directions: what shared directions need of them, and no more.

(n_rows, R) numbers may be too many for one machine, so nobody asks for the array itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray


class Scores(Protocol):
    """Every centred row z (R,) along the shared directions."""

    @property
    def count(self) -> int:
        """R."""

    def dot(self, rows: FloatArray) -> FloatArray:
        """(R,) sum over rows of number * z."""

    def gram(self, weights: FloatArray) -> FloatArray:
        """(R, R) sum over rows of weight * z z'."""

    def step_grams(self, weights: FloatArray) -> FloatArray:
        """(T, R, R) the same for the rows of every step."""

    def times(self, coefs: FloatArray) -> FloatArray:
        """(n_rows,) z'coefs of every row."""

    def variances(self, covariance: FloatArray) -> FloatArray:
        """(n_rows,) z' covariance z of every row."""


@dataclass(frozen=True)
class ArrayScores:
    """Scores in memory: (n_rows, R), rows of step t being step_offsets[t]:step_offsets[t + 1]."""

    values: FloatArray
    step_offsets: IntArray

    @property
    def count(self) -> int:
        """R."""
        return int(self.values.shape[1])

    def dot(self, rows: FloatArray) -> FloatArray:
        """(R,) sum over rows of number * z."""
        return np.asarray(np.einsum("nr,n->r", self.values, rows))

    def gram(self, weights: FloatArray) -> FloatArray:
        """(R, R) sum over rows of weight * z z'."""
        return weighted_gram(self.values, weights)

    def step_grams(self, weights: FloatArray) -> FloatArray:
        """(T, R, R) the same for the rows of every step."""
        spans = pairwise(self.step_offsets)
        return np.array([weighted_gram(self.values[a:b], weights[a:b]) for a, b in spans])

    def times(self, coefs: FloatArray) -> FloatArray:
        """(n_rows,) z'coefs of every row."""
        return np.asarray(np.einsum("nr,r->n", self.values, coefs))

    def variances(self, covariance: FloatArray) -> FloatArray:
        """(n_rows,) z' covariance z of every row."""
        return row_variances(self.values, covariance)


@kernel
def weighted_gram(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """(R, R) sum over rows of weight * z z'; no BLAS, whose sums depend on its threads."""
    n_rows, count = columns.shape
    out = np.zeros((count, count))
    for n in range(n_rows):
        for r in range(count):
            scaled = weights[n] * columns[n, r]
            for q in range(r + 1):
                out[r, q] += scaled * columns[n, q]
    for r in range(count):
        for q in range(r):
            out[q, r] = out[r, q]
    return out


@kernel
def row_variances(columns: FloatArray, covariance: FloatArray) -> FloatArray:
    """(n,) z' covariance z for every row z."""
    n_rows, count = columns.shape
    out = np.zeros(n_rows)
    for n in range(n_rows):
        total = 0.0
        for r in range(count):
            inner = 0.0
            for q in range(count):
                inner += covariance[r, q] * columns[n, q]
            total += columns[n, r] * inner
        out[n] = max(total, 0.0)
    return out
