"""Inner products between the rows of a matrix."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from driftglm._typing import FloatArray, Matrix
from driftglm.baselines.columns import is_sparse, to_dense

BLOCK = 1024
DENSE_ENOUGH = 0.02
"""Above this share of nonzeros BLAS on dense blocks beats a sparse product."""


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


def scaled_rows(X: Matrix, scale: FloatArray) -> Matrix:
    """Every row times its own number."""
    return sp.diags_array(scale) @ X if is_sparse(X) else np.asarray(X) * scale[:, None]
