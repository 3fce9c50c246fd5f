"""Columns that say nothing, and columns no arithmetic is safe with."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm._warnings import warn
from driftglm.data.checks import LARGEST, SMALLEST
from driftglm.data.features import Names, listed
from driftglm.exceptions import DataError, DataWarning


def check_ranges(low: FloatArray, high: FloatArray, names: Names, *, intercept: bool) -> None:
    """Warn of columns that say nothing: zero or one value everywhere. Refuse extreme ones.

    `low` and `high` are the least and the largest value of every column.
    """
    size = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
    extreme = (size > LARGEST) | ((size > 0) & (size < SMALLEST))
    if extreme.any():
        raise DataError(
            f"{int(extreme.sum())} of {size.size} columns ({_listed(extreme, names)}) have values "
            f"of size {size[extreme][0]:.3g}; sizes from {SMALLEST:g} to {LARGEST:g} can be "
            "fitted. Change their unit."
        )
    zero = (low == 0) & (high == 0)
    constant = (low == high) & ~zero
    if zero.any():
        warn(
            f"{int(zero.sum())} of {zero.size} columns are zero in every row "
            f"({_listed(zero, names)}); their coefficients are 0. Drop them to silence this.",
            DataWarning,
        )
    if intercept and constant.any():
        warn(
            f"{int(constant.sum())} columns have one value in every row "
            f"({_listed(constant, names)}) and cannot be told from the intercept; "
            "drop them, or set fit_intercept=False.",
            DataWarning,
        )


def column_ranges(X: Any) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of every column, the zeros of a sparse matrix included.

    Methods of a CSR matrix sort all its entries by column first, twice.
    """
    if isinstance(X, np.ndarray):
        return np.min(X, axis=0), np.max(X, axis=0)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return _ranges(X.indices, X.data, X.shape)


@kernel
def _ranges(
    indices: IntArray, data: FloatArray, shape: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    """Compiled: numpy's `minimum.at` takes five times as long."""
    low, high = np.full(shape[1], np.inf), np.full(shape[1], -np.inf)
    counts = np.zeros(shape[1], dtype=np.int64)
    for k in range(indices.shape[0]):
        i = indices[k]
        low[i], high[i] = min(low[i], data[k]), max(high[i], data[k])
        counts[i] += 1
    for i in range(shape[1]):
        if counts[i] < shape[0]:  # what is not stored is zero
            low[i], high[i] = min(low[i], 0.0), max(high[i], 0.0)
    return low, high


def _listed(mask: BoolArray, names: Names) -> str:
    found = np.flatnonzero(mask).tolist()
    return listed(found if names is None else [repr(str(names[i])) for i in found])
