"""One penalised fit as arrays: penalised columns, free columns, target, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftglm._typing import FloatArray
from driftglm.baselines.columns import is_sparse, with_values
from driftglm.baselines.family_loss import FamilyLoss

Squares = tuple[FloatArray, FloatArray]
"""Target and weights of a least-squares problem."""


@dataclass(frozen=True)
class Solution:
    """Coefficients of the penalised (`beta`) and of the free (`gamma`) columns.

    `n_iter` counts reweighting steps; a quadratic loss needs one.
    """

    beta: FloatArray
    gamma: FloatArray
    converged: bool = True
    n_iter: int = 1


@dataclass(frozen=True)
class Problem:
    """Minimise sum w loss(y, offset + X beta + free gamma) + penalty(beta).

    Parameters
    ----------
    X
        (n_rows, n_penalised), dense or sparse.
    free
        (n_rows, n_free), dense; the first column is the intercept's if `intercept`.
    """

    X: Any
    free: FloatArray
    y: FloatArray
    weights: FloatArray
    offset: FloatArray
    loss: FamilyLoss
    intercept: bool

    def eta(self, solution: Solution) -> FloatArray:
        """Linear predictor of every row, offset included."""
        return np.asarray(self.offset + self.X @ solution.beta + self.free @ solution.gamma)

    def squares(self, eta: FloatArray) -> Squares:
        """Target (without offset) and weights of the squares that touch the losses at eta."""
        target, curvature = self.loss.working(self.y, eta)
        return target - self.offset, self.weights * curvature

    def total_loss(self, eta: FloatArray) -> float:
        """Weighted sum of the losses."""
        return float(self.weights @ self.loss.value(self.y, eta))

    def start(self) -> Solution:
        """No feature at all, and an intercept that suits y."""
        gamma = np.zeros(self.free.shape[1])
        if self.intercept:
            gamma[0] = self.loss.family.center(self.y, self.weights, self.offset)
        return Solution(np.zeros(self.X.shape[1]), gamma)

    def gradient(self, solution: Solution) -> FloatArray:
        """Derivative of the loss with respect to beta."""
        slope = self.weights * self.loss.slope(self.y, self.eta(solution))
        return np.asarray(slope @ self.X)

    def row_length(self) -> float:
        """Mean squared length of a row of X, in the metric of the loss, centred if need be."""
        start = self.offset + (self.free[:, 0] * self.start().gamma[0] if self.intercept else 0.0)
        weights = self.weights * self.loss.curvature(self.y, np.asarray(start))
        if is_sparse(self.X):
            rows = self.X.tocsr()
            total = float(np.sum(weights @ with_values(rows, rows.data**2)))
        else:
            total = float(np.einsum("n,nj,nj->", weights, self.X, self.X))
        if self.intercept:
            total -= float(np.sum((weights @ self.X) ** 2)) / float(weights.sum())
        return total / len(self.y)
