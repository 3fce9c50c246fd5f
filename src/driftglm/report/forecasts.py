"""Forecasts against what came: a sample of the rows, and means of rows with similar forecasts."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftglm._typing import FloatArray
from driftglm.estimators.levels import LEVEL, normal_quantile
from driftglm.evaluation import Comparison
from driftglm.report.encode import floats, integers, number

N_POINTS = 2000
N_NUMBERS = 60_000
"""Most numbers of all models together."""
N_BINS = 10


def forecasts(comparison: Comparison) -> dict[str, Any] | None:
    """What the plot of forecasts needs; None where a forecast is no value to compare with y."""
    actual = _actual(comparison)
    if actual is None:
        return None
    values, what = actual
    n_rows, n_models = values.size, len(comparison.models)
    n_shown = min(n_rows, N_POINTS, max(100, N_NUMBERS // n_models))
    # The same rows of every model and in every run.
    chosen = np.sort(np.random.default_rng(0).choice(n_rows, n_shown, replace=False))
    _, step = np.unique(comparison.codes, return_inverse=True)
    return {
        "what": what,
        "actual": floats(values[chosen]),
        "step": integers(step[chosen]),
        "row": integers(comparison.rows[chosen]),
        "prediction": [floats(comparison.prediction[m][chosen]) for m in comparison.models],
        "bins": [
            _bins(values, np.asarray(comparison.prediction[m]), comparison.weights)
            for m in comparison.models
        ],
        "nPoints": n_shown,
        "nRows": n_rows,
    }


def _actual(comparison: Comparison) -> tuple[FloatArray, str] | None:
    """What forecasts are to be compared with, and its name; None if there is nothing."""
    if comparison.metric == "nll" or not comparison.rows.size:
        return None
    if comparison.metric != "log_loss":
        y = np.asarray(comparison.y)
        numeric = y.dtype.kind in "fiub" and y.ndim == 1
        return (y.astype(np.float64), "value") if numeric else None
    # 0 or 1, where forecasts are probabilities of the second of two classes.
    classes, member = np.unique(comparison.y, return_inverse=True)
    if classes.size != 2:  # noqa: PLR2004
        return None
    name = comparison.models[0]
    given = np.where(member == 1, comparison.prediction[name], 1 - comparison.prediction[name])
    # Of three classes only two may have been tested; the losses tell.
    if not np.allclose(given, np.exp(-comparison.loss[name]), atol=1e-6):
        return None
    return member.astype(np.float64), f"share of {classes[1]}"


def _bins(actual: FloatArray, forecast: FloatArray, weights: FloatArray) -> list[list[Any]]:
    """Mean forecast, mean actual value, its 90 % interval and rows, of tenths of the rows."""
    finite = np.isfinite(forecast) & np.isfinite(actual) & (weights > 0)
    order = np.flatnonzero(finite)[np.argsort(forecast[finite], kind="stable")]
    out = []
    for part in np.array_split(order, min(N_BINS, max(1, order.size))):
        if not part.size:
            continue
        w = weights[part] / weights[part].sum()
        mean, center = float(w @ actual[part]), float(w @ forecast[part])
        error = float(np.sqrt(w**2 @ (actual[part] - mean) ** 2))
        reach = normal_quantile(LEVEL) * error
        numbers = [center, mean, mean - reach, mean + reach]
        out.append([*(number(value) for value in numbers), int(part.size)])
    return out
