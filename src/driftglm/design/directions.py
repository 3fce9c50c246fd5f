"""The directions in which the rows of a design vary most."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, qr, solve_triangular, svd

from driftglm._threads import one_thread
from driftglm._typing import FloatArray, IntArray
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
ROUNDING = 1e-12


@dataclass(frozen=True)
class RowSample:
    """Rows that directions are found from: all of a source, or those `chosen` beforehand."""

    X: Any
    codes: IntArray
    weights: FloatArray
    chosen: bool = False
    threads: int = 1

    def directions(self, mean: FloatArray, unit: FloatArray, count: int) -> FloatArray:
        """(n_features, R) leading directions of columns measured from `mean` (n_features, T).

        In the columns' own units: a column's coefficient per step along a direction.
        """
        if count < 1:
            return np.zeros((unit.size, 0))
        if self.chosen:
            found = directions_of(self.X, self.codes, self.weights, mean, unit, count, self.threads)
        else:
            rows = self.X, self.codes, mean, unit, count
            found = leading_directions(*rows, self.weights, self.threads)
        return np.asarray(found / unit[:, None])


def direction_count(most: int, n_features: int, weight: float) -> int:
    """How many directions so many columns and rows (by weight) are enough for.

    Of a few columns every one can be judged by itself.
    """
    # Weights that add up to a whole number may do so up to rounding only.
    n_rows = int(weight * (1.0 + ROUNDING))
    return min(most, n_features // COLUMNS_PER_DIRECTION, n_rows // ROWS_PER_DIRECTION)


def leading_directions(
    X: Any,
    codes: IntArray,
    center: FloatArray,
    unit: FloatArray,
    count: int,
    weights: FloatArray | None = None,
    threads: int = 1,
) -> FloatArray:
    """(n_features, R) orthonormal directions of (x - center) / unit, R at most `count`.

    `X` is dense or CSR, `codes` the step of every row, `center` (n_features, T), `weights` those of
    the rows, all equal if not given. X is never made dense but in parts. No digit depends on the
    number of threads.
    """
    chosen = chosen_rows(codes)
    own = None if weights is None else weights[chosen]
    return directions_of(X[chosen], codes[chosen], own, center, unit, count, threads)


def chosen_rows(codes: IntArray) -> IntArray:
    """Rows that stand for all: evenly spaced where rows are sorted by step."""
    order = np.argsort(codes, kind="stable")
    return order[np.unique(np.linspace(0, order.size - 1, MOST_ROWS).astype(np.int64))]


def directions_of(
    X: Any,
    codes: IntArray,
    weights: FloatArray | None,
    center: FloatArray,
    unit: FloatArray,
    count: int,
    threads: int = 1,
) -> FloatArray:
    """As `leading_directions`, of all rows given."""
    root = np.ones(codes.size) if weights is None else np.sqrt(weights)
    part = _Part(X, codes, np.ascontiguousarray(center.T), unit, root, threads)
    n_rows, n_columns = part.shape
    with one_thread():  # the same digits on any number of threads
        if n_rows * n_columns * min(n_rows, n_columns) <= MOST_PRODUCTS:
            return part.exact(count)
        return part.iterated(count)


@dataclass(frozen=True)
class _Part:
    """Rows of a design, centred and measured in units, times `root` of their weights."""

    X: Any
    steps: IntArray
    shift: FloatArray
    unit: FloatArray
    root: FloatArray
    threads: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.root.size, self.unit.size

    @cached_property
    def _columns(self) -> Any:
        return self.X.T.tocsr() if hasattr(self.X, "tocsr") else self.X.T

    def forward(self, coefs: FloatArray) -> FloatArray:
        scaled = coefs / self.unit[:, None]
        found = times(self.X, scaled, self.threads)
        found -= (self.shift @ scaled)[self.steps]
        found *= self.root[:, None]
        return found

    def back(self, scores: FloatArray) -> FloatArray:
        scores = scores * self.root[:, None]
        sums = np.zeros((self.shift.shape[0], scores.shape[1]))
        np.add.at(sums, self.steps, scores)
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
        columns = self.X.tocsc() if hasattr(self.X, "tocsc") else self.X
        for start in range(0, n_columns, N_AT_ONCE):
            block = self._dense(columns, slice(start, start + N_AT_ONCE))
            gram += block @ block.T
        return _orthonormal(self.back(_largest(gram, count)))

    def iterated(self, count: int) -> FloatArray:
        """By subspace iteration from random rows."""
        n_rows, n_columns = self.shape
        width = min(count + N_MORE, n_rows, n_columns)
        start = np.random.default_rng(0).normal(size=(n_rows, width))
        Q = _orthonormal(self.back(start))
        for _ in range(N_ROUNDS):
            Q = _orthonormal(self.back(self.forward(Q)))
        turn = svd(self.forward(Q), full_matrices=False)[2]
        return np.ascontiguousarray((Q @ turn.T)[:, :count])

    def _dense(self, X: Any, columns: slice) -> FloatArray:
        block = X[:, columns]
        block = block.toarray() if hasattr(block, "toarray") else block
        away = self.shift[self.steps, columns]
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
