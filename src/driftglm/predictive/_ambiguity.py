"""How much the parts of a mixture disagree: the integral of sum_k w_k (F_k - F)^2.

It is what the CRPS of a mixture is below the mean CRPS of its parts, whatever y is. It is 0 if all
parts are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.predictive.base import Discrete, Distribution
from driftglm.predictive.normal import Normal, distance

MOST_COUNTS = 256
"""So many are summed one by one; what is above is smooth, and is integrated."""
_TAIL = 1e-11
_NO_WEIGHT = 1e-12
_TOLERANCE = 1e-10
_DEPTH = 24
_N_PANELS = 4
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_ROWS = 500


def ambiguity(parts: Sequence[Distribution], weights: FloatArray) -> FloatArray:
    """One number a row; weights are (n, K)."""
    out = np.zeros(len(weights))
    # A row with one part has none, exactly.
    rows = np.flatnonzero((weights > 0).sum(axis=1) > 1)
    if not rows.size:
        return out
    parts, weights = [part.take(rows) for part in parts], weights[rows]
    normal = [part for part in parts if isinstance(part, Normal)]
    if len(normal) == len(parts):
        out[rows] = _of_normals(normal, weights)
        return out
    low, high, center, unit = _extent(parts, weights)
    if parts[0].discrete:
        out[rows] = _heads(parts, weights, low, high)
        # What is left of wide rows begins half a count before the next one.
        low, high = low + MOST_COUNTS - 0.5, high + 0.5
    wide = np.flatnonzero(high > low)
    out[rows[wide]] += _integrals(parts, weights, low, high, center, unit, wide)
    return out


def _of_normals(parts: Sequence[Normal], weights: FloatArray) -> FloatArray:
    """Half the mean distance of draws of two parts, less that of two draws of one part."""
    loc, scale = np.stack([part.loc for part in parts]), np.stack([part.scale for part in parts])
    total = np.zeros(len(weights))
    for k, weight in enumerate(weights.T):
        between = distance(loc - loc[k], np.hypot(scale, scale[k]))
        total += weight * (0.5 * np.sum(weights.T * between, axis=0) - scale[k] / np.sqrt(np.pi))
    return total


def _extent(
    parts: Sequence[Distribution], weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Where parts differ (from, to), the middle of it, and the width of the narrowest part."""
    levels = np.array([_TAIL, 0.25, 0.5, 0.75, 1.0 - _TAIL])[:, None]
    quantiles = np.stack([part._quantile(levels) for part in parts])  # noqa: SLF001
    used = (weights.T > _NO_WEIGHT)[:, None, :]
    least = np.where(used, quantiles, np.inf).min(axis=0)
    most = np.where(used, quantiles, -np.inf).max(axis=0)
    width = np.where(used[:, 0], quantiles[:, 3] - quantiles[:, 1], np.inf).min(axis=0)
    unit = np.maximum(np.maximum(width, 1e-8 * (most[4] - least[0])), np.finfo(float).tiny)
    return least[0], most[4], 0.5 * (least[2] + most[2]), unit


def _disagreement(
    parts: Sequence[Distribution], weights: FloatArray, y: FloatArray, *, smooth: bool
) -> FloatArray:
    """sum_k w_k (F_k - F)^2 at y, (n,) or (m, n)."""
    each = [
        part._smooth_cdf(y) if smooth and isinstance(part, Discrete) else part._cdf(y)  # noqa: SLF001
        for part in parts
    ]
    mean = sum((w * f for w, f in zip(weights.T, each, strict=True)), np.zeros(y.shape))
    total = np.zeros(y.shape)
    for w, f in zip(weights.T, each, strict=True):
        total += w * (f - mean) ** 2
    return total


def _heads(
    parts: Sequence[Distribution], weights: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Sums over the first counts; for rows with more, the end that an integral of the rest needs.

    A sum from k on is the integral from k - 1/2 on, and the slope there over 24 (Euler-Maclaurin).
    """
    out = np.zeros(len(weights))
    width = np.minimum(high - low, MOST_COUNTS)
    order = np.argsort(width, kind="stable")
    for start in range(0, len(order), _ROWS):
        some = order[start : start + _ROWS]
        counts = np.arange(width[some].max() + 1.0)
        chosen = [part.take(some) for part in parts]
        grid = low[some] + counts[:, None]
        values = _disagreement(chosen, weights[some], grid, smooth=False)
        out[some] = values[:MOST_COUNTS].sum(axis=0)
        if len(values) > MOST_COUNTS:
            slope = values[MOST_COUNTS] - values[MOST_COUNTS - 1]
            out[some] += np.where(high[some] - low[some] >= MOST_COUNTS, slope / 24.0, 0.0)
    return out


def _integrals(
    parts: Sequence[Distribution],
    weights: FloatArray,
    low: FloatArray,
    high: FloatArray,
    center: FloatArray,
    unit: FloatArray,
    rows: IntArray,
) -> FloatArray:
    """Panels are halved until both halves together say what the whole did.

    The variable is t with x = center + unit sinh(t), which makes short work of heavy tails.
    """

    def panel(row: IntArray, left: FloatArray, right: FloatArray) -> FloatArray:
        half = 0.5 * (right - left)
        t = 0.5 * (left + right) + half * _NODES[:, None]
        chosen = [part.take(row) for part in parts]
        x = center[row] + unit[row] * np.sinh(t)
        values = _disagreement(chosen, weights[row], x, smooth=True) * unit[row] * np.cosh(t)
        return np.asarray(half * (_WEIGHTS @ values))

    start, stop = (np.arcsinh((end - center) / unit)[rows] for end in (low, high))
    # Parts that are nearly the same leave rounding, of which no share can be asked for.
    tolerance = _TOLERANCE * 0.1 * unit
    edges = start + np.linspace(0.0, 1.0, _N_PANELS + 1)[:, None] * (stop - start)
    row = np.tile(rows, _N_PANELS)
    return _refine(panel, tolerance, row, edges[:-1].ravel(), edges[1:].ravel())[rows]


def _refine(
    panel: Callable[[IntArray, FloatArray, FloatArray], FloatArray],
    tolerance: FloatArray,
    row: IntArray,
    left: FloatArray,
    right: FloatArray,
) -> FloatArray:
    """Sums of the integrals of panels over their rows; the tolerance is a least one, a row."""
    total = np.zeros(len(tolerance))
    whole = panel(row, left, right)
    for depth in range(_DEPTH):
        middle = 0.5 * (left + right)
        first, second = panel(row, left, middle), panel(row, middle, right)
        both = first + second
        guess = total + np.bincount(row, both, minlength=len(total))
        bad = np.abs(both - whole) > np.maximum(_TOLERANCE * guess, tolerance)[row]
        bad &= depth < _DEPTH - 1
        total += np.bincount(row[~bad], both[~bad], minlength=len(total))
        if not bad.any():
            break
        whole = np.concatenate([first[bad], second[bad]])
        row = np.tile(row[bad], 2)
        left, right = (
            np.concatenate([left[bad], middle[bad]]),
            np.concatenate([middle[bad], right[bad]]),
        )
    return total
