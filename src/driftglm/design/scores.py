"""Rows along a few directions: what shared directions need of them, and no more.

(n_rows, R) numbers may be too many for one machine, so nobody asks for the array itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np

from driftglm._jit import kernel
from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray

N_AT_ONCE = 4096
"""Rows multiplied at once: they stay in the cache."""
REPEATED = 4
"""Rows are taken for repeated where there are so many times fewer different ones."""


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
        out = np.zeros((self.count, self.count))
        with one_thread():  # the same digits on any number of threads
            for part in _parts(len(self.values)):
                z = self.values[part]
                out += (z * weights[part, None]).T @ z
        return 0.5 * (out + out.T)

    def step_grams(self, weights: FloatArray) -> FloatArray:
        """(T, R, R) the same for the rows of every step."""
        spans = pairwise(self.step_offsets)
        return np.array([weighted_gram(self.values[a:b], weights[a:b]) for a, b in spans])

    def times(self, coefs: FloatArray) -> FloatArray:
        """(n_rows,) z'coefs of every row."""
        return np.asarray(np.einsum("nr,r->n", self.values, coefs))

    def variances(self, covariance: FloatArray) -> FloatArray:
        """(n_rows,) z' covariance z of every row."""
        return _variances(self.values, covariance)

    def not_centred(self, taken: FloatArray) -> FloatArray:
        """(n_rows, R) with what was taken off in every step, (T, R), added again."""
        return np.asarray(self.values + np.repeat(taken, np.diff(self.step_offsets), axis=0))


@dataclass(frozen=True)
class RepeatedScores:
    """Scores of rows of which few are different, before what a step takes off them.

    Parameters
    ----------
    different
        (D, R) the different rows, measured from `origin`.
    place
        (n_rows,) which of them every row is.
    taken
        (T, R) what is taken off the rows of a step, measured from `origin`.
    origin
        (R,) in the middle of what is taken off: differences of large numbers would lose digits.
    step_offsets
        As above.
    """

    different: FloatArray
    place: IntArray
    taken: FloatArray
    origin: FloatArray
    step_offsets: IntArray

    @property
    def count(self) -> int:
        """R."""
        return int(self.different.shape[1])

    @cached_property
    def _cell(self) -> IntArray:
        """(n_rows,) place and step of every row in one number."""
        steps = np.arange(self.taken.shape[0])
        return self.place * steps.size + np.repeat(steps, np.diff(self.step_offsets))

    def _by_cell(self, rows: FloatArray) -> FloatArray:
        """(D, T) sums of a row quantity."""
        shape = self.different.shape[0], self.taken.shape[0]
        sums = np.bincount(self._cell, rows, shape[0] * shape[1])
        return np.asarray(sums, dtype=np.float64).reshape(shape)

    def _to_rows(self, different: FloatArray, steps: FloatArray) -> FloatArray:
        """(n_rows,) one number for what a row is, and one for its step."""
        return np.asarray(different[self.place] + np.repeat(steps, np.diff(self.step_offsets)))

    def dot(self, rows: FloatArray) -> FloatArray:
        """(R,) sum over rows of number * z."""
        cells = self._by_cell(rows)
        found = np.einsum("dr,d->r", self.different, cells.sum(axis=1))
        return np.asarray(found - np.einsum("tr,t->r", self.taken, cells.sum(axis=0)))

    def gram(self, weights: FloatArray) -> FloatArray:
        """(R, R) sum over rows of weight * z z'."""
        cells = self._by_cell(weights)
        with one_thread():  # the same digits on any number of threads
            out = (self.different * cells.sum(axis=1)[:, None]).T @ self.different
            sums = cells.T @ self.different
            out -= self.taken.T @ sums
            out -= (sums - self.taken * cells.sum(axis=0)[:, None]).T @ self.taken
        return np.asarray(0.5 * (out + out.T))

    def step_grams(self, weights: FloatArray) -> FloatArray:
        """(T, R, R) the same for the rows of every step."""
        spans = list(pairwise(self.step_offsets))
        rows = (
            self.different[self.place[a:b]] - c for (a, b), c in zip(spans, self.taken, strict=True)
        )
        return np.array(
            [weighted_gram(z, weights[a:b]) for z, (a, b) in zip(rows, spans, strict=True)]
        )

    def times(self, coefs: FloatArray) -> FloatArray:
        """(n_rows,) z'coefs of every row."""
        along = np.einsum("dr,r->d", self.different, coefs)
        return self._to_rows(along, -np.einsum("tr,r->t", self.taken, coefs))

    def variances(self, covariance: FloatArray) -> FloatArray:
        """(n_rows,) z' covariance z of every row."""
        own, step = (_variances(each, covariance) for each in (self.different, self.taken))
        with one_thread():  # the same digits on any number of threads
            both = self.different @ (covariance @ self.taken.T)
        return np.maximum(self._to_rows(own, step) - 2.0 * both.ravel()[self._cell], 0.0)

    def not_centred(self, taken: FloatArray) -> FloatArray:
        """(n_rows, R) with what was taken off in every step, (T, R), added again."""
        del taken  # it is known
        return np.asarray((self.different + self.origin)[self.place])


def scores_of(rows: FloatArray, taken: FloatArray, step_offsets: IntArray) -> Scores:
    """Scores of `rows` (n_rows, R) from which every step takes a row of `taken` (T, R)."""
    found = _different(rows)
    if found is None:
        centred = rows - np.repeat(taken, np.diff(step_offsets), axis=0)
        return ArrayScores(np.asarray(centred), step_offsets)
    first, place = found
    origin = taken.mean(axis=0)
    return RepeatedScores(rows[first] - origin, place, taken - origin, origin, step_offsets)


def _different(rows: FloatArray) -> tuple[IntArray, IntArray] | None:
    """The first of all rows that are equal, and which of these every row is; None: few are equal.

    Rows that are equal have equal sums, to the last digit; those with equal sums are compared.
    """
    if not rows.size:
        return None
    sums = np.einsum("nr,r->n", rows, np.random.default_rng(0).normal(size=rows.shape[1]))
    _, first, place = np.unique(sums, return_index=True, return_inverse=True)
    if first.size * REPEATED > len(rows) or not np.array_equal(rows, rows[first[place]]):
        return None
    return first, place.ravel()


def _parts(count: int) -> list[slice]:
    return [slice(start, start + N_AT_ONCE) for start in range(0, count, N_AT_ONCE)]


def _variances(rows: FloatArray, covariance: FloatArray) -> FloatArray:
    """(n,) z' covariance z for every row z."""
    out = np.empty(len(rows))
    with one_thread():  # the same digits on any number of threads
        for part in _parts(len(rows)):
            z = rows[part]
            out[part] = np.einsum("nr,nr->n", z @ covariance, z)
    return np.maximum(out, 0.0)


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
