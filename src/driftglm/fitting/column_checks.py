"""Columns that say nothing, and columns no arithmetic is safe with."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from driftglm._jit import kernel
from driftglm._threads import parallel_for, ranges
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm._warnings import warn
from driftglm.data.checks import LARGEST, SMALLEST
from driftglm.exceptions import DataError, DataWarning

SHOWN = 5


def check_columns(X: Any, names: Any, *, intercept: bool, threads: int = 1) -> None:
    """Warn of columns that say nothing: zero or one value everywhere. Refuse extreme ones."""
    low, high = column_ranges(X, threads) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))
    check_ranges(low, high, names, intercept=intercept)


def check_ranges(low: FloatArray, high: FloatArray, names: Any, *, intercept: bool) -> None:
    """The same, from the least and the largest value of every column."""
    size = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
    extreme = (size > LARGEST) | ((size > 0) & (size < SMALLEST))
    if extreme.any():
        raise DataError(
            f"{int(extreme.sum())} of {size.size} columns ({_listed(extreme, names)}) have values "
            f"of size {size[extreme][0]:.3g}; sizes from {SMALLEST:g} to {LARGEST:g} can be "
            "squared. Change their unit."
        )
    constant = low == high
    zero = constant & (high == 0)
    if zero.any():
        warn(
            f"{int(zero.sum())} of {zero.size} columns are zero in every row "
            f"({_listed(zero, names)}); their coefficients are 0. Drop them to silence this.",
            DataWarning,
        )
    if intercept and (constant & ~zero).any():
        warn(
            f"{int((constant & ~zero).sum())} columns have one value in every row "
            f"({_listed(constant & ~zero, names)}) and cannot be told from the intercept; "
            "drop them, or set fit_intercept=False.",
            DataWarning,
        )


@kernel
def _ranges(
    indices: IntArray, data: FloatArray, n_columns: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Least and largest stored entry of every column, and how many there are."""
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    counts = np.zeros(n_columns, dtype=np.int64)
    for k in range(indices.shape[0]):
        i = indices[k]
        low[i], high[i] = min(low[i], data[k]), max(high[i], data[k])
        counts[i] += 1
    return low, high, counts


def column_ranges(X: Any, threads: int = 1) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of every column of a CSR matrix, zeros included.

    The matrix's own methods sort all its entries by column first, twice.
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    parts: list[tuple[FloatArray, FloatArray, IntArray]] = []
    parallel_for(
        lambda a, b: parts.append(_ranges(X.indices[a:b], X.data[a:b], X.shape[1])),
        ranges(X.nnz, threads) or [(0, 0)],
        threads,
    )
    low = np.min([part[0] for part in parts], axis=0, initial=np.inf)
    high = np.max([part[1] for part in parts], axis=0, initial=-np.inf)
    counts = np.sum([part[2] for part in parts], axis=0)
    some_zero = counts < X.shape[0]
    return np.where(some_zero, np.minimum(low, 0.0), low), np.where(
        some_zero, np.maximum(high, 0.0), high
    )


def _listed(mask: BoolArray, names: Any) -> str:
    found = np.flatnonzero(mask)
    shown = [repr(str(names[i])) if names is not None else str(i) for i in found[:SHOWN]]
    return ", ".join(shown) + (", ..." if found.size > SHOWN else "")
