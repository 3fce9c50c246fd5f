"""Coordinate descent for a lasso whose columns are known by their inner products alone."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray

GAP_EVERY = 10
NEARLY_STILL = 1e-2
"""Moves of this share of the tolerance call for a look at the duality gap."""

Indices: TypeAlias = NDArray[Any]
"""Whole numbers of any size, as sparse matrices have them."""
SparseParts: TypeAlias = tuple[IntArray, Indices, FloatArray]
"""Starts, unsigned indices and values of a sparse matrix."""


@kernel
def duality_gap(
    beta: FloatArray, slope: FloatArray, right: FloatArray, energy: float, strength: float
) -> float:
    """How far 1/2 |y - X beta|^2 + strength |beta|_1 can be from its minimum, at most.

    `slope` is X'(y - X beta), `right` X'y and `energy` y'y.
    """
    fitted, both, size, steepest = 0.0, 0.0, 0.0, 0.0
    for j in range(beta.shape[0]):
        fitted += beta[j] * right[j]
        both += beta[j] * slope[j]
        size += abs(beta[j])
        steepest = max(steepest, abs(slope[j]))
    residual = max(energy - fitted - both, 0.0)
    # The residual, shrunk until no slope exceeds the strength, is feasible for the dual.
    shrunk = 1.0 if steepest <= strength else strength / steepest
    gap = 0.5 * residual * (1.0 + shrunk**2) + strength * size - shrunk * (energy - fitted)
    return max(gap, 0.0)


@kernel
def descend_inplace(
    products: FloatArray,
    beta: FloatArray,
    slope: FloatArray,
    right: FloatArray,
    limits: tuple[float, float, float, int],
) -> bool:
    """Sweeps over all columns until the duality gap is small; whether it became so.

    `products` is X'X, `limits` are y'y, the strength, the largest gap and the most sweeps. `beta`
    is changed, and `slope` is kept in step with it. The objective never rises.
    """
    energy, strength, largest_gap, most = limits
    n_columns = beta.shape[0]
    for sweep in range(most):
        moved = 0.0
        for j in range(n_columns):
            curvature = products[j, j]
            if curvature <= 0.0:
                continue
            old = beta[j]
            aim = slope[j] + curvature * old
            beyond = max(abs(aim) - strength, 0.0)
            new = (beyond if aim > 0.0 else -beyond) / curvature
            change = new - old
            if change != 0.0:
                for i in range(n_columns):
                    slope[i] -= products[j, i] * change
                beta[j] = new
                moved = max(moved, curvature * change * change)
        if moved <= NEARLY_STILL * largest_gap or sweep % GAP_EVERY == GAP_EVERY - 1:
            if moved == 0.0:
                return True
            if duality_gap(beta, slope, right, energy, strength) <= largest_gap:
                return True
    return False


@kernel
def add_products_inplace(
    starts: Indices, columns: Indices, values: FloatArray, out: FloatArray
) -> None:
    """Add X'X of a sparse matrix stored by rows to the upper triangle of `out`."""
    for row in range(starts.shape[0] - 1):
        for a in range(starts[row], starts[row + 1]):
            for b in range(a, starts[row + 1]):
                i, j = columns[a], columns[b]
                if i <= j:
                    out[i, j] += values[a] * values[b]
                else:
                    out[j, i] += values[a] * values[b]


@kernel
def products_with_all_inplace(
    rows: SparseParts, columns: SparseParts, fresh: IntArray, out: FloatArray
) -> None:
    """Add inner products of some columns of a sparse matrix with all of them.

    The matrix is given by rows and by columns. The cost is that of the rows where the columns are
    not zero. Indices are unsigned: signed ones would be looked at twice.
    """
    starts, within, values = rows
    column_starts, places, entries = columns
    for k in range(fresh.shape[0]):
        along = out[k]
        for a in range(column_starts[fresh[k]], column_starts[fresh[k] + 1]):
            entry, row = entries[a], places[a]
            for b in range(starts[row], starts[row + 1]):
                along[within[b]] += entry * values[b]


@kernel
def products_with_some_inplace(
    columns: SparseParts, fresh: IntArray, some: IntArray, n_rows: int, out: FloatArray
) -> None:
    """Add inner products of some columns of a sparse matrix with some others.

    The cost is that of the others, once for every column.
    """
    starts, places, entries = columns
    full = np.zeros(n_rows)
    for k in range(fresh.shape[0]):
        for a in range(starts[fresh[k]], starts[fresh[k] + 1]):
            full[places[a]] = entries[a]
        for i in range(some.shape[0]):
            total = 0.0
            for b in range(starts[some[i]], starts[some[i] + 1]):
                total += entries[b] * full[places[b]]
            out[k, i] += total
        for a in range(starts[fresh[k]], starts[fresh[k] + 1]):
            full[places[a]] = 0.0
