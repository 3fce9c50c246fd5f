"""Inner products between the rows, or the columns, of a matrix."""

from __future__ import annotations

import numpy as np

from driftglm._typing import FloatArray, Matrix
from driftglm.baselines.columns import is_sparse, to_dense, with_values
from driftglm.baselines.lasso_kernel import add_products_inplace

BLOCK = 1024
DENSE_ENOUGH = 0.02
"""Above this share of nonzeros BLAS on dense blocks beats a sparse product."""
PAIRS_SPARSE = 0.25
"""Below it a loop over the pairs of a row's nonzeros beats both."""


def row_products(X: Matrix, other: Matrix | None = None) -> FloatArray:
    """X other' (X X' by default) as a dense matrix, without ever making all of X dense."""
    other = X if other is None else other
    if not (is_sparse(X) and is_sparse(other)):
        return to_dense(X) @ to_dense(other).T
    n_features = X.shape[1]
    if X.nnz < DENSE_ENOUGH * X.shape[0] * max(n_features, 1):
        return np.asarray((X @ other.T).toarray())
    one, two = X.tocsc(), other.tocsc()
    out = np.zeros((X.shape[0], other.shape[0]))
    for first in range(0, n_features, BLOCK):
        columns = slice(first, first + BLOCK)
        out += one[:, columns].toarray() @ two[:, columns].toarray().T
    return out


def column_products(X: Matrix) -> FloatArray:
    """X'X as a dense matrix, without ever making all of X dense."""
    if not is_sparse(X):
        return np.asarray(np.asarray(X).T @ np.asarray(X))
    rows, n_features = X.tocsr(), X.shape[1]
    out = np.zeros((n_features, n_features))
    if rows.nnz < PAIRS_SPARSE * rows.shape[0] * max(n_features, 1):
        add_products_inplace(rows.indptr, rows.indices, rows.data, out)
        return np.asarray(np.triu(out) + np.triu(out, 1).T)
    for first in range(0, rows.shape[0], BLOCK):
        block = rows[first : first + BLOCK].toarray()
        out += block.T @ block
    return out


def scaled_rows(X: Matrix, scale: FloatArray) -> Matrix:
    """Every row times its own number."""
    if (scale == 1.0).all():
        return X
    if not is_sparse(X):
        return np.asarray(X) * scale[:, None]
    rows = X.tocsr()
    return with_values(rows, rows.data * np.repeat(scale, np.diff(rows.indptr)))
