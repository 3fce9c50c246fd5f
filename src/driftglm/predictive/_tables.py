"""Forecasts over few values, as tables of probabilities (n, K)."""

from __future__ import annotations

import numpy as np

from driftglm._typing import FloatArray


def cumulative(table: FloatArray) -> FloatArray:
    """The cdf of every row, which ends in 1 exactly."""
    out = np.minimum(np.cumsum(table, axis=1), 1.0)
    # The last value that is possible, and all after it, are sure.
    last = table.shape[1] - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
    out[np.arange(table.shape[1]) >= last[:, None]] = 1.0
    return out


def cdf_at(steps: FloatArray, y: FloatArray) -> FloatArray:
    """The cdf at y, (n,) or (m, n)."""
    place = np.clip(np.floor(y), -1, steps.shape[1] - 1).astype(np.int64)
    found = steps[np.arange(len(steps)), np.maximum(place, 0)]
    return np.where(place < 0, 0.0, found)


def quantile_of(steps: FloatArray, levels: FloatArray) -> FloatArray:
    """(L, n) for levels (L, 1)."""
    return np.stack([(steps < level).sum(axis=1) for level in levels[:, 0]]).astype(np.float64)


def ranked(table: FloatArray, steps: FloatArray, y: FloatArray) -> FloatArray:
    """CRPS: the mean distance from y, less half the mean distance of two draws."""
    values = np.arange(table.shape[1], dtype=np.float64)
    spread = np.sum(steps * (1.0 - steps), axis=1)
    away = np.abs(y[..., None] - values)
    return np.asarray(np.einsum("nk,...nk->...n", table, away) - spread)
