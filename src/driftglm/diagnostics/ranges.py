"""New rows where the model has seen none before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csc_array, issparse

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.diagnostics.finding import Finding, Severity, severity
from driftglm.exceptions import DataError

MINOR, MAJOR = 0.1, 0.5
"""How far outside a column is, in units of its training range."""
ROUNDING = 1e-9

ADVICE = (
    "predictions there go on in a straight line from what was seen: check the unit and the coding "
    "of the column, or clip it to its training range"
)


def range_check(
    X_new: Any,
    minimum: FloatArray,
    maximum: FloatArray,
    feature_names: Sequence[str],
    *,
    binary: BoolArray | None = None,
) -> list[Finding]:
    """Columns of new rows that leave the range of the training rows, the furthest first.

    Parameters
    ----------
    X_new
        (m, p) new rows, dense or sparse.
    minimum, maximum
        (p,) of the training rows.
    feature_names
        (p,) names of the columns.
    binary
        (p,) whether a column held two values only; any other value then is new.

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.diagnostics import range_check
    >>> (found,) = range_check([[0.5, 9.0]], np.zeros(2), np.ones(2) * 2, ["rain", "wind"])
    >>> found.finding
    "'wind' is outside its training range of 0 to 2 in 1 of 1 rows, by up to 3.5 times that range"
    """
    low, high = np.asarray(minimum, np.float64), np.asarray(maximum, np.float64)
    n_rows, n_columns = np.shape(X_new)
    if not low.shape == high.shape == (n_columns,) == (len(feature_names),):
        raise DataError(
            f"X has {n_columns} columns, but there are {low.size} minima, {high.size} maxima and "
            f"{len(feature_names)} names; pass one for each column."
        )
    two = np.zeros(n_columns, np.bool_) if binary is None else np.asarray(binary, np.bool_)
    column, value, times = _cells(X_new)
    if not np.isfinite(value).all():
        raise DataError("X has values that are missing or not finite; fill or drop those rows.")
    unit = np.where(high > low, high - low, 1.0)
    far = np.maximum(low[column] - value, value - high[column]) / unit[column]
    off_code = two[column] & (value != low[column]) & (value != high[column])
    outside = (far > ROUNDING) | off_code
    rows = np.bincount(column[outside], times[outside], n_columns).astype(np.int64)
    furthest = np.zeros(n_columns)
    np.maximum.at(furthest, column[outside], far[outside])
    found = []
    for each in np.argsort(-furthest, kind="stable"):
        coded = bool(two[each]) or low[each] == high[each]
        kind: Severity = "major" if coded else severity(furthest[each], MINOR, MAJOR)
        if rows[each] and kind != "none":
            said = _words(feature_names[each], (low[each], high[each]), bool(two[each]))
            away = "" if coded else f", by up to {furthest[each]:.1f} times that range"
            text = f"{said} in {rows[each]:,} of {n_rows:,} rows{away}"
            found.append(Finding("range", text, ADVICE, float(furthest[each]), None, kind))
    return found


def _words(name: str, limits: tuple[float, float], binary: bool) -> str:
    """What is new about a column."""
    low, high = limits
    if low == high:
        return f"{name!r} was always {low:g} in training and is not"
    if binary:
        return f"{name!r} was {low:g} or {high:g} in training and is neither"
    return f"{name!r} is outside its training range of {low:g} to {high:g}"


def _cells(X_new: Any) -> tuple[IntArray, FloatArray, IntArray]:
    """Column, value and number of rows of each cell; the zeros of a sparse column are one cell."""
    n_rows, n_columns = np.shape(X_new)
    given: Any = X_new  # issparse would narrow it to a type without a constructor
    if not issparse(X_new):
        dense = np.asarray(X_new, np.float64)
        column = np.tile(np.arange(n_columns), n_rows)
        return column, dense.ravel(), np.ones(column.size, np.int64)
    sparse = csc_array(given, dtype=np.float64)
    sparse.sum_duplicates()
    stored = np.diff(sparse.indptr).astype(np.int64)
    blank = np.flatnonzero(stored < n_rows)
    return (
        np.concatenate([np.repeat(np.arange(n_columns), stored), blank]),
        np.concatenate([sparse.data, np.zeros(blank.size)]),
        np.concatenate([np.ones(sparse.nnz, np.int64), n_rows - stored[blank]]),
    )
