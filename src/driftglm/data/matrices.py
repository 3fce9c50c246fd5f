"""Matrices that are dense or sparse: the few operations for which numpy and scipy differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from driftglm._typing import FloatArray, Matrix
from driftglm.data.checks import refuse_masked
from driftglm.exceptions import DataError

FAR = 1e3
"""A column lies far from zero if it is so many times farther from it than its values are apart."""
AWAY = 10.0
"""The same where taking its least value off costs nothing: few digits are lost, but some are."""


def refuse_broken(X: object, name: str) -> None:
    """Raise DataError for masked entries and for indices beyond the shape: nobody else looks."""
    refuse_masked(X, name)
    if not sp.issparse(X):
        return
    matrix: Any = X
    said = ""
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            said = str(error)
    elif matrix.format == "coo" and matrix.nnz:
        ends = [(place.min(), place.max()) for place in matrix.coords]
        within = (low >= 0 and high < n for (low, high), n in zip(ends, matrix.shape, strict=True))
        said = "" if all(within) else "indices lie outside its shape"
    if said:
        raise DataError(
            f"{name} is a sparse matrix that contradicts itself ({said}); build it anew."
        )


def squares(X: Matrix) -> Any:
    """Every entry squared, sparse if X is."""
    return X.multiply(X) if hasattr(X, "multiply") else np.asarray(X) ** 2


def divided(X: Matrix, scale: FloatArray) -> Any:
    """Every column divided by its scale, CSR if X is sparse."""
    return X.multiply(1.0 / scale).tocsr() if hasattr(X, "multiply") else np.asarray(X) / scale


def dense(X: Matrix) -> FloatArray:
    """As a plain array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def nearer(X: Matrix) -> tuple[Matrix, FloatArray | None]:
    """A sparse X whose columns far from zero are measured from their least value, and that value.

    Differences of squares would lose all digits of such columns. They have no zeros, so that X
    stays as sparse as it was. A dense X, from which means can be taken, stays as it is, and so
    does one without such columns: None.
    """
    if isinstance(X, np.ndarray):
        return X, None
    rows: Any = X
    if rows.nnz < rows.shape[0] or not rows.shape[0]:
        return X, None
    rows = rows.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    full = np.bincount(rows.indices, minlength=rows.shape[1]) == rows.shape[0]
    if not full.any():
        return X, None
    low, high = (np.where(full, end, 0.0) for end in _entry_ranges(rows))
    shift = np.where(np.minimum(np.abs(low), np.abs(high)) > FAR * (high - low), low, 0.0)
    if not shift.any():
        return X, None
    values = rows.data.astype(np.float64) - shift[rows.indices]
    return type(rows)((values, rows.indices, rows.indptr), shape=rows.shape, copy=False), shift


def _entry_ranges(rows: Any) -> tuple[FloatArray, FloatArray]:
    """Least and largest stored entry of every column of a CSR matrix."""
    low, high = np.full(rows.shape[1], np.inf), np.full(rows.shape[1], -np.inf)
    np.minimum.at(low, rows.indices, rows.data)
    np.maximum.at(high, rows.indices, rows.data)
    return low, high


def far_columns(X: Matrix) -> FloatArray | None:
    """(n_features,) what columns far from zero are best measured from, 0 for others; None: none."""
    if not isinstance(X, np.ndarray):
        return nearer(X)[1]
    if not X.size:
        return None
    low, high = X.min(axis=0), X.max(axis=0)
    far = (low * high > 0) & (np.minimum(np.abs(low), np.abs(high)) > AWAY * (high - low))
    return np.where(far, low, 0.0) if far.any() else None


def taken_off(X: Matrix, far: FloatArray | None) -> Matrix:
    """X with a number taken off every column; a sparse one stays as sparse as it can."""
    if far is None:
        return X
    if isinstance(X, np.ndarray):
        return X - far
    rows: Any = X
    return sp.csr_array(rows - sp.csr_array(np.ones((rows.shape[0], 1))) @ sp.csr_array(far[None]))
