"""Columns of X, dense or sparse: which are penalised, and what they are divided by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from driftglm._typing import BoolArray, FloatArray, Matrix


def is_sparse(X: Matrix) -> TypeGuard[sp.csr_array]:
    """Whether X is a scipy sparse matrix or array."""
    return bool(sp.issparse(X))


def to_dense(X: Matrix) -> FloatArray:
    """X as an array."""
    return np.asarray(X.toarray() if is_sparse(X) else X)


def divided(X: Matrix, scale: FloatArray) -> Matrix:
    """Every column divided by its own number."""
    if (scale == 1.0).all():
        return X
    if not is_sparse(X):
        return np.asarray(X) / scale
    rows = X.tocsr()
    return with_values(rows, rows.data / scale[rows.indices])


def with_values(X: sp.csr_array, values: FloatArray) -> sp.csr_array:
    """A sparse matrix with the same places and other values; the places are not copied."""
    return type(X)((values, X.indices, X.indptr), shape=X.shape, copy=False)


def column_scale(X: Matrix, weights: FloatArray) -> FloatArray:
    """Standard deviation of every column; 1 for columns of zeros and ones and for constants."""
    total = float(weights.sum())
    if is_sparse(X):
        mean = np.asarray(weights @ X) / total
        rows = X.tocsr()
        variance = np.asarray(weights @ with_values(rows, rows.data**2)) / total - mean**2
        odd = (rows.data != 0) & (rows.data != 1)
        binary = np.bincount(rows.indices[odd], minlength=X.shape[1]) == 0
    else:
        full = np.asarray(X)
        mean = np.asarray(weights @ full) / total
        variance = np.asarray(weights @ (full - mean) ** 2) / total
        binary = ((full == 0) | (full == 1)).all(axis=0)
    # Rounding errors leave a constant column a variance of this size.
    as_is = binary | (variance <= 1e-13 * (mean**2 + np.abs(variance)))
    return np.where(as_is, 1.0, np.sqrt(np.where(as_is, 1.0, variance)))


@dataclass(frozen=True)
class SplitColumns:
    """Penalised columns X, and free ones (dense): the intercept's ones first, then always-in."""

    X: Any
    free: FloatArray
    always_in: BoolArray
    intercept: bool

    @classmethod
    def of(cls, X: Matrix, always_in: BoolArray, *, intercept: bool) -> SplitColumns:
        """Split the columns of a dense or sparse matrix."""
        always = to_dense(X[:, np.flatnonzero(always_in)])
        free = np.hstack([np.ones((X.shape[0], int(intercept))), always])
        penalised = X[:, np.flatnonzero(~always_in)] if always_in.any() else X
        return cls(penalised, free, always_in, intercept)

    def means(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What to take off both kinds of columns: their means if there is an intercept."""
        if not self.intercept:
            return np.zeros(self.X.shape[1]), np.zeros(self.free.shape[1])
        total = float(weights.sum())
        free_mean = np.asarray(weights @ self.free) / total
        free_mean[0] = 0.0  # the intercept's own column stays a column of ones
        return np.asarray(weights @ self.X) / total, free_mean

    def joined(self, beta: FloatArray, free: FloatArray) -> FloatArray:
        """(..., n_features) coefficients of both kinds in the order of the columns of X."""
        coef = np.empty((*beta.shape[:-1], self.always_in.size))
        coef[..., ~self.always_in] = beta
        coef[..., self.always_in] = free[..., int(self.intercept) :]
        return coef
