"""The directions in which the rows of a design vary most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, qr, solve_triangular, svd
from scipy.sparse import csc_array, csr_array

from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray, Matrix
from driftglm.design.products import times

MOST_ROWS = 2000
"""Rows the directions are found from, evenly spaced; any few directions would do, so that a sample
finds them well enough."""
N_ROUNDS, N_MORE = 2, 8
"""Rounds of subspace iteration, and how many more directions are carried along than are wanted."""
MOST_PRODUCTS = 4e9
"""Directions are exact where no more products are needed than this, about half a second. Then they
depend neither on the order of the rows nor on whether a row is given twice or with weight 2; the
start of an iteration does."""
N_AT_ONCE = 2000
"""Columns made dense at once."""
N_TRIES, ORTHONORMAL = 3, 1e-13
RANK = 1e-10
"""Directions with a smaller share of the variance of the largest are rounding errors."""
COLUMNS_PER_DIRECTION, ROWS_PER_DIRECTION = 20, 10
FEWEST = 5
"""Columns for fewer directions than this have none: what few columns say together is said by one or
two of them, and a direction would spread it over the others, which are zero."""
ROUNDING = 1e-12


@dataclass(frozen=True)
class RowSample:
    """Rows that directions are found from: all of a source, or those `chosen` beforehand.

    `X` is dense or CSR, `codes` the step number of every row, `weights` those of the rows.
    """

    X: Matrix
    codes: IntArray
    weights: FloatArray
    chosen: bool = False
    threads: int = 1

    def directions(self, mean: FloatArray, unit: FloatArray, count: int) -> FloatArray:
        """(n_features, R) leading directions of columns measured from `mean` (n_features, T).

        In the units of the columns: a column's coefficient per unit along a direction.
        """
        if count < 1:
            return np.zeros((unit.size, 0))
        return np.asarray(self.orthonormal(mean, unit, count) / unit[:, None])

    def orthonormal(self, center: FloatArray, unit: FloatArray, count: int) -> FloatArray:
        """(n_features, R) orthonormal directions of (x - center) / unit, R at most `count`.

        X is never made dense but in parts. No digit depends on the number of threads.
        """
        rows = slice(None) if self.chosen else chosen_rows(self.codes)
        shift, root = np.ascontiguousarray(center.T), np.sqrt(self.weights[rows])
        part = _Part(self.X[rows], self.codes[rows], shift, unit, root, self.threads)
        with one_thread():  # the same digits on any number of threads
            return part.exact(count) if part.is_small else part.iterated(count)


def direction_count(most: int, n_features: int, weight: float) -> int:
    """How many directions so many columns and rows (by weight) are enough for.

    Of a few columns every one can be judged by itself.
    """
    if n_features < FEWEST * COLUMNS_PER_DIRECTION:
        return 0
    # Weights that add up to a whole number may do so up to rounding only.
    n_rows = int(weight * (1.0 + ROUNDING))
    return min(most, n_features // COLUMNS_PER_DIRECTION, n_rows // ROWS_PER_DIRECTION)


def chosen_rows(codes: IntArray) -> IntArray:
    """Rows that stand for all: evenly spaced where rows are sorted by step."""
    order = np.argsort(codes, kind="stable")
    return order[np.unique(np.linspace(0, order.size - 1, MOST_ROWS).astype(np.int64))]


@dataclass(frozen=True)
class _Part:
    """Rows of a design, centred and measured in units, times `root` of their weights."""

    X: FloatArray | csr_array
    codes: IntArray
    shift: FloatArray
    unit: FloatArray
    root: FloatArray
    threads: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.root.size, self.unit.size

    @property
    def is_small(self) -> bool:
        return self.root.size * self.unit.size * min(self.shape) <= MOST_PRODUCTS

    @cached_property
    def _columns(self) -> FloatArray | csr_array:
        return self.X.T if isinstance(self.X, np.ndarray) else self.X.T.tocsr()

    def forward(self, coefs: FloatArray) -> FloatArray:
        scaled = coefs / self.unit[:, None]
        found = times(self.X, scaled, self.threads)
        found -= (self.shift @ scaled)[self.codes]
        found *= self.root[:, None]
        return found

    def back(self, scores: FloatArray) -> FloatArray:
        scores = scores * self.root[:, None]
        sums = np.zeros((self.shift.shape[0], scores.shape[1]))
        np.add.at(sums, self.codes, scores)
        found = times(self._columns, scores, self.threads)
        found -= self.shift.T @ sums
        found /= self.unit[:, None]
        return found

    def exact(self, count: int) -> FloatArray:
        """By the eigenvectors of the smaller of Z'Z and ZZ'."""
        n_rows, n_columns = self.shape
        if n_columns <= n_rows:
            rows = self._dense(self.X, slice(None))
            return _largest(rows.T @ rows, count)
        gram = np.zeros((n_rows, n_rows))
        columns = self.X if isinstance(self.X, np.ndarray) else self.X.tocsc()
        for start in range(0, n_columns, N_AT_ONCE):
            block = self._dense(columns, slice(start, start + N_AT_ONCE))
            gram += block @ block.T
        return _orthonormal(self.back(_largest(gram, count)))

    def iterated(self, count: int) -> FloatArray:
        """By subspace iteration from random rows."""
        shape = self.root.size, min(count + N_MORE, *self.shape)
        Q = _orthonormal(self.back(np.random.default_rng(0).normal(size=shape)))
        for _ in range(N_ROUNDS):
            Q = _orthonormal(self.back(self.forward(Q)))
        turn = svd(self.forward(Q), full_matrices=False)[2]
        return np.ascontiguousarray((Q @ turn.T)[:, :count])

    def _dense(self, X: FloatArray | csr_array | csc_array, columns: slice) -> FloatArray:
        block = X[:, columns] if isinstance(X, np.ndarray) else X[:, columns].toarray()
        away = self.shift[self.codes, columns]
        np.subtract(block, away, out=away)
        away /= self.unit[columns]
        away *= self.root[:, None]
        return away


def _orthonormal(columns: FloatArray) -> FloatArray:
    """By Cholesky's factor again and again, in half the time of QR.

    QR is for columns that depend on each other.
    """
    for _ in range(N_TRIES):
        gram = columns.T @ columns
        if np.abs(gram - np.eye(gram.shape[0])).max(initial=0.0) < ORTHONORMAL:
            return np.ascontiguousarray(columns)
        try:
            factor = cholesky(gram, lower=True)
        except LinAlgError:
            break
        columns = solve_triangular(factor, columns.T, lower=True).T
    return np.ascontiguousarray(qr(columns, mode="economic")[0], dtype=np.float64)


def _largest(gram: FloatArray, count: int) -> FloatArray:
    """Eigenvectors of the `count` largest eigenvalues, largest first, without those of zero."""
    size = gram.shape[0]
    values, vectors = eigh(gram, subset_by_index=(max(size - count, 0), size - 1))
    strong = np.flatnonzero(values > RANK * max(values[-1], 0.0))[::-1]
    return np.ascontiguousarray(vectors[:, strong])
