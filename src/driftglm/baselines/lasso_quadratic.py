"""Lasso of least squares along a path of strengths: few columns at a time."""

from __future__ import annotations

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.baselines.columns import is_sparse, with_values
from driftglm.baselines.gram import BLOCK, column_products
from driftglm.baselines.lasso_kernel import (
    SparseParts,
    descend_along_inplace,
    descend_inplace,
    duality_gap,
)
from driftglm.baselines.lasso_newton import newton_steps_inplace
from driftglm.baselines.problem import Problem, Solution, Squares
from driftglm.baselines.quadratic import RANK, SMALL, Quadratic

MOST_SWEEPS = 20_000
SWEEPS_AT_ONCE = 20
"""Sweeps by products before Newton steps help them on."""
FEWEST_NEW = 50
"""So many columns may join at a time, or as many as are there already."""
FEWEST_SWEEPS, PRODUCT_COST = 20, 0.015
"""Sweeps along sparse columns before products are made; what a product of two full columns costs,
an entry in units of one of a sweep."""
MOST_STORED = 25_000_000
"""Products that are kept, in numbers (200 MB)."""


class LassoQuadratic(Quadratic):
    """1/2 |residual|^2 + strength |beta|_1, by coordinate descent.

    Columns join when the slope along them exceeds the strength, few at once. The duality gap over
    all columns says when to stop.

    Of few columns, and of full ones that have joined, all inner products are known, net of the free
    columns, and are used again at every weaker strength: a move costs as many operations as there
    are joined columns, whatever the number of rows. Sparse columns are gone through themselves,
    since a warm start leaves few moves to make, until so many sweeps were needed that products
    would have been cheaper; from then on they are made.
    """

    def __init__(self, problem: Problem, squares: Squares, *, many: bool = False) -> None:
        super().__init__(problem, squares, many=many)
        y = self.project(self.target)
        self.energy = float(y @ y)
        self.right = np.asarray(y @ self.X)
        n_columns = self.X.shape[1]
        self.joined: IntArray = np.zeros(0, dtype=np.int64)
        self.products = np.zeros((0, 0))
        self.columns: SparseParts | None = None
        if n_columns <= SMALL:
            found = column_products(self.X)
            length = np.diag(found).copy()
            self.joined = np.arange(n_columns)
            self.products = found - self.explained.T @ self.explained
        elif is_sparse(self.X):
            lengths = with_values(self.X, self.X.data**2).sum(axis=0)
            length = np.asarray(lengths, dtype=np.float64).ravel()
            self.by_column = self.X.tocsc()
            places = self.by_column.indices
            # Signed indices would be looked at twice.
            places = places.view(f"u{places.itemsize}")
            self.columns = self.by_column.indptr.astype(np.int64), places, self.by_column.data
            self.net = np.ascontiguousarray(self.explained.T)
        else:
            length = np.einsum("nj,nj->j", self.X, self.X)
        # What free columns explain (a constant, say) has nothing left but rounding errors.
        self.curvature = length - np.sum(self.explained**2, axis=0)
        self.empty = self.curvature <= RANK * length
        self.curvature[self.empty] = self.right[self.empty] = 0.0
        if self.products.size:
            self.products[self.empty] = self.products[:, self.empty] = 0.0

    @staticmethod
    def penalty(beta: FloatArray, strength: float) -> float:
        """strength |beta|_1."""
        return strength * float(np.abs(beta).sum())

    def solve(self, strength: float, start: Solution, tol: float) -> Solution:
        """A minimum (the fitted values are unique, the coefficients nearly always)."""
        beta = np.where(self.empty, 0.0, start.beta)
        residual = self._residual(beta)
        slope = self._slope(residual)
        self._join((beta != 0) | self._steepest(slope, strength))
        largest_gap = tol * self.energy
        while True:
            converged = self._descend_inplace(beta, residual, slope, strength, largest_gap)
            slope = self._slope(residual)
            missing = self._steepest(slope, strength * (1.0 + tol))
            gap = duality_gap(beta, slope, self.right, self.energy, strength)
            if gap <= largest_gap or not missing.any():
                return Solution(beta, self.free_coefficients(beta), converged)
            self._join(missing)

    def _residual(self, beta: FloatArray) -> FloatArray:
        """(n_rows,) what is left of the target, the free columns not counted."""
        used = np.flatnonzero(beta)
        if not used.size:
            return self.target.copy()
        return np.asarray(self.target - self.X @ beta)

    def _slope(self, residual: FloatArray) -> FloatArray:
        """(n_columns,) slope of the fit along every column, the free ones at their best."""
        slope = np.asarray(residual @ self.X - (self.basis.T @ residual) @ self.explained)
        slope[self.empty] = 0.0
        return slope

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
        """Add columns, and if need be their products, to those that have joined."""
        new = wanted.copy()
        new[self.joined] = False
        if not new.any():
            return
        n_old = self.joined.size
        self.joined = np.concatenate([self.joined, np.flatnonzero(new)])
        if self.columns is None:
            self._add_products(n_old)

    def _add_products(self, n_old: int) -> None:
        """Make the products of columns that have joined since there were `n_old`."""
        n_joined, fresh = self.joined.size, self.joined[n_old:]
        beside = -(self.explained[:, fresh].T @ self.explained[:, self.joined])
        if is_sparse(self.X):
            found = self.by_column[:, self.joined].tocsr()
            for first in range(0, found.shape[0], BLOCK):
                block = found[first : first + BLOCK].toarray()
                beside += block[:, n_old:].T @ block
        else:
            beside += self.X[:, fresh].T @ self.X[:, self.joined]
        self.products = _grown(self.products, n_joined)
        self.products[n_old:n_joined, :n_joined] = beside
        self.products[:n_old, n_old:n_joined] = beside[:, :n_old].T

    def _descend_inplace(
        self,
        beta: FloatArray,
        residual: FloatArray,
        slope: FloatArray,
        strength: float,
        largest_gap: float,
    ) -> bool:
        """Go to the minimum over the columns that have joined; whether it was reached."""
        if not self.joined.size:
            return True
        limits = self.energy, float(strength), largest_gap
        if self.columns is not None:
            state = beta, residual, self.basis.T @ residual
            about = self.net, self.curvature, self.joined
            most = self._worthwhile()
            if descend_along_inplace(self.columns, *about, state, self.right, (*limits, most)):
                return True
            if most >= MOST_SWEEPS:
                return False
            self.columns = None
            self._add_products(0)
            slope = self._slope(residual)
        few, few_slope, right = beta[self.joined], slope[self.joined], self.right[self.joined]
        for _ in range(MOST_SWEEPS // SWEEPS_AT_ONCE):
            at_once = *limits, SWEEPS_AT_ONCE
            if converged := bool(descend_inplace(self.products, few, few_slope, right, at_once)):
                break
            newton_steps_inplace(self.products, few, few_slope, strength)
        beta[self.joined] = few
        residual[:] = self._residual(beta)
        return converged

    def _worthwhile(self) -> int:
        """Sweeps along the joined columns that are cheaper than their products."""
        n_joined = self.joined.size
        if n_joined**2 > MOST_STORED:
            return MOST_SWEEPS
        n_entries = int(np.diff(self.by_column.indptr)[self.joined].sum())
        cost = PRODUCT_COST * self.X.shape[0] * n_joined**2 / max(n_entries, 1)
        return min(max(int(cost), FEWEST_SWEEPS), MOST_SWEEPS - 1)


def _grown(products: FloatArray, n_needed: int) -> FloatArray:
    """Room for so many rows and columns; twice as much as there was, so that it is rare."""
    n_rows = products.shape[0]
    if n_needed <= n_rows:
        return products
    room = max(n_needed, 2 * n_rows)
    out = np.empty((room, room))
    out[:n_rows, :n_rows] = products
    return out
