"""Lasso of least squares along a path of strengths: few columns at a time, by their products."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.baselines.columns import is_sparse, with_values
from driftglm.baselines.gram import column_products
from driftglm.baselines.lasso_kernel import (
    SparseParts,
    descend_inplace,
    duality_gap,
    products_with_all_inplace,
    products_with_some_inplace,
)
from driftglm.baselines.problem import Problem, Solution, Squares
from driftglm.baselines.quadratic import RANK, SMALL, Quadratic

MOST_SWEEPS = 20_000
FEWEST_NEW = 50
"""So many columns may join at a time, or as many as are there already."""
SHORT_ROW = 250
"""Nonzeros of a row up to which products with all columns are made at once."""
MOST_STORED = 25_000_000
"""Products of joined columns with all others that are kept, in numbers (200 MB)."""


class LassoQuadratic(Quadratic):
    """1/2 |residual|^2 + strength |beta|_1, by coordinate descent.

    Columns join when the slope along them exceeds the strength. Of those that have joined all inner
    products are known, net of the free columns, and are used again at every weaker strength: a move
    costs as many operations as there are joined columns, whatever the number of rows. Few columns
    join at once. Slopes along the others follow from products too, where X is sparse, else from X
    itself. The duality gap over all columns says when to stop.
    """

    def __init__(self, problem: Problem, squares: Squares, *, many: bool = False) -> None:
        super().__init__(problem, squares, many=many)
        y = self.project(self.target)
        self.energy = float(y @ y)
        self.right = np.asarray(y @ self.X)
        n_columns = self.X.shape[1]
        self.joined: IntArray = np.zeros(0, dtype=np.int64)
        self.products = np.zeros((0, 0))
        self.across: FloatArray | None = None
        if n_columns <= SMALL:
            found = column_products(self.X)
            length = np.diag(found).copy()
            self.joined = np.arange(n_columns)
            self.products = found - self.explained.T @ self.explained
            self.across = self.products
        elif is_sparse(self.X):
            lengths = with_values(self.X, self.X.data**2).sum(axis=0)
            length = np.asarray(lengths, dtype=np.float64).ravel()
            short = self.X.nnz <= SHORT_ROW * self.X.shape[0]
            self.across = np.zeros((0, n_columns)) if short else None
            self.rows, self.columns = _parts(self.X), _parts(self.X.tocsc())
        else:
            length = np.einsum("nj,nj->j", self.X, self.X)
        # What free columns explain (a constant, say) has nothing left but rounding errors.
        self.empty = length - np.sum(self.explained**2, axis=0) <= RANK * length
        self.right[self.empty] = 0.0
        if self.products.size:
            self.products[self.empty] = self.products[:, self.empty] = 0.0

    @staticmethod
    def penalty(beta: FloatArray, strength: float) -> float:
        """strength |beta|_1."""
        return strength * float(np.abs(beta).sum())

    def solve(self, strength: float, start: Solution, tol: float) -> Solution:
        """A minimum (the fitted values are unique, the coefficients nearly always)."""
        beta = np.where(self.empty, 0.0, start.beta)
        slope = self._slope(beta)
        self._join((beta != 0) | self._steepest(slope, strength))
        largest_gap = tol * self.energy
        while True:
            beta, converged = self._descend(beta, slope, strength, largest_gap)
            slope = self._slope(beta)
            missing = self._steepest(slope, strength * (1.0 + tol))
            gap = duality_gap(beta, slope, self.right, self.energy, strength)
            if gap <= largest_gap or not missing.any():
                return Solution(beta, self.free_coefficients(beta), converged)
            self._join(missing)

    def _slope(self, beta: FloatArray) -> FloatArray:
        """(n_columns,) slope of the fit along every column, the free ones at their best."""
        if self.across is not None and not np.delete(beta, self.joined).any():
            slope = self.right - beta[self.joined] @ self.across[: self.joined.size]
        else:
            eta = self.X @ beta
            within = self.explained @ beta
            slope = self.right - np.asarray(eta @ self.X) + within @ self.explained
        slope[self.empty] = 0.0
        return np.asarray(slope)

    def _steepest(self, slope: FloatArray, limit: float) -> BoolArray:
        """Columns to join; not all at once: the steepest explain much of what others would."""
        steep = np.abs(slope)
        steep[self.joined] = 0.0
        missing = steep > limit
        room = max(FEWEST_NEW, self.joined.size)
        if missing.sum() > room:
            missing &= steep >= np.partition(steep, -room)[-room]
        return missing

    def _join(self, wanted: BoolArray) -> None:
        """Add columns and their products to those that have joined."""
        new = wanted.copy()
        new[self.joined] = False
        if not new.any():
            return
        fresh, n_old = np.flatnonzero(new), self.joined.size
        self.joined = np.concatenate([self.joined, fresh])
        n_joined = self.joined.size
        beside = self._products_of(fresh, n_old)
        self.products = _grown(self.products, n_joined, square=True)
        self.products[n_old:n_joined, :n_joined] = beside
        self.products[:n_old, n_old:n_joined] = beside[:, :n_old].T

    def _products_of(self, fresh: IntArray, n_old: int) -> FloatArray:
        """(n_fresh, n_joined) products of columns that join, net of the free ones."""
        net = self.explained[:, fresh].T
        if not is_sparse(self.X):
            found = self.X[:, fresh].T @ self.X[:, self.joined]
            return np.asarray(found - net @ self.explained[:, self.joined])
        if self.across is None:
            found = -(net @ self.explained[:, self.joined])
            n_rows = self.X.shape[0]
            products_with_some_inplace(self.columns, fresh, self.joined, n_rows, found)
            return np.asarray(found)
        if self.joined.size * self.X.shape[1] > MOST_STORED:
            self.across = None
            return self._products_of(fresh, n_old)
        self.across = _grown(self.across, self.joined.size)
        found = self.across[n_old : self.joined.size]
        np.matmul(-net, self.explained, out=found)
        products_with_all_inplace(self.rows, self.columns, fresh, found)
        return np.asarray(found[:, self.joined])

    def _descend(
        self, beta: FloatArray, slope: FloatArray, strength: float, largest_gap: float
    ) -> tuple[FloatArray, bool]:
        """The minimum over the columns that have joined."""
        if not self.joined.size:
            return beta, True
        few, few_slope = beta[self.joined], slope[self.joined]
        limits = self.energy, float(strength), largest_gap, MOST_SWEEPS
        right = self.right[self.joined]
        converged = descend_inplace(self.products, few, few_slope, right, limits)
        out = np.zeros_like(beta)
        out[self.joined] = few
        return out, bool(converged)


def _grown(products: FloatArray, n_needed: int, *, square: bool = False) -> FloatArray:
    """Room for so many rows (and columns); twice as much as there was, so that it is rare."""
    n_rows, n_columns = products.shape
    if n_needed <= n_rows:
        return products
    room = max(n_needed, 2 * n_rows)
    out = np.empty((room, room if square else n_columns))
    out[:n_rows, :n_columns] = products
    return out


def _parts(X: sp.csr_array | sp.csc_array) -> SparseParts:
    """The arrays of a sparse matrix, indices unsigned."""
    return X.indptr.astype(np.int64), X.indices.view(f"u{X.indices.itemsize}"), X.data
