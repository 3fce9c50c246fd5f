"""Coordinate descent for a lasso, by inner products of its columns or along sparse columns."""

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
def slopes_along(
    columns: SparseParts, net: FloatArray, some: IntArray, residual: FloatArray, within: FloatArray
) -> FloatArray:
    """Slopes of the fit along some columns of a sparse matrix, the free columns at their best.

    `net` (n_columns, n_free) is what an orthonormal basis of the free columns explains of every
    column, and `within` what it explains of the residual.
    """
    starts, places, entries = columns
    out = np.zeros(some.shape[0])
    for k in range(some.shape[0]):
        j = some[k]
        for a in range(starts[j], starts[j + 1]):
            out[k] += entries[a] * residual[places[a]]
        for f in range(within.shape[0]):
            out[k] -= net[j, f] * within[f]
    return out


@kernel
def sweep_along_inplace(
    columns: SparseParts,
    net: FloatArray,
    curvature: FloatArray,
    some: IntArray,
    state: tuple[FloatArray, FloatArray, FloatArray],
    strength: float,
    only_live: bool,
) -> float:
    """Move some coefficients, or those that are not zero, to their best, one after the other.

    `state` are beta, the residual and what the free columns explain of it, all kept in step. A move
    costs as many operations as its column has entries. The largest gain is returned, doubled.
    """
    starts, places, entries = columns
    beta, residual, within = state
    moved = 0.0
    for k in range(some.shape[0]):
        j = some[k]
        old = beta[j]
        if curvature[j] <= 0.0 or (only_live and old == 0.0):
            continue
        slope = 0.0
        for a in range(starts[j], starts[j + 1]):
            slope += entries[a] * residual[places[a]]
        for f in range(within.shape[0]):
            slope -= net[j, f] * within[f]
        aim = slope + curvature[j] * old
        beyond = max(abs(aim) - strength, 0.0)
        change = (beyond if aim > 0.0 else -beyond) / curvature[j] - old
        if change != 0.0:
            for a in range(starts[j], starts[j + 1]):
                residual[places[a]] -= change * entries[a]
            for f in range(within.shape[0]):
                within[f] -= change * net[j, f]
            beta[j] = old + change
            moved = max(moved, curvature[j] * change * change)
    return moved


@kernel
def descend_along_inplace(
    columns: SparseParts,
    net: FloatArray,
    curvature: FloatArray,
    some: IntArray,
    state: tuple[FloatArray, FloatArray, FloatArray],
    right: FloatArray,
    limits: tuple[float, float, float, int],
) -> bool:
    """As `descend_inplace`, of some columns of a sparse matrix that is gone through itself.

    Coefficients that are not zero are moved several times for every time that all are.
    """
    energy, strength, largest_gap, most = limits
    still = NEARLY_STILL * largest_gap
    sweep = 0
    while sweep < most:
        sweep += 1
        if sweep_along_inplace(columns, net, curvature, some, state, strength, False) == 0.0:
            return True
        slope = slopes_along(columns, net, some, state[1], state[2])
        if duality_gap(state[0][some], slope, right[some], energy, strength) <= largest_gap:
            return True
        for _ in range(GAP_EVERY):
            sweep += 1
            moved = sweep_along_inplace(columns, net, curvature, some, state, strength, True)
            if moved <= still:
                break
    return False
