"""How well a model fits its training rows: by step, by its own probabilities, and in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import binom, norm

from driftglm.exceptions import DataError
from driftglm.report.encode import number

FEWEST_ROWS = 20
N_BARS = 10
CHANCE = 0.9
"""Share of the bars that are inside the band if the model is right."""
COLUMNS = ("check", "finding", "advice", "severity")


def step_scores(model: object) -> list[dict[str, Any]] | None:
    """By training step, the rows, the loss a row, and the share explained (R^2, or D^2).

    The last one is of all steps. None where the model has no record of its rows, which has the
    losses of every step and either the number of its rows or the steps of all rows.
    """
    record = getattr(model, "_checks", None)
    if record is None:
        return None
    rows = getattr(record, "rows", None)
    if rows is None:
        rows = np.bincount(record.codes, minlength=len(record.deviance))
    deviance, null = np.asarray(record.deviance), np.asarray(record.null_deviance)
    pairs = [*zip(deviance, null, rows, strict=True), (deviance.sum(), null.sum(), np.sum(rows))]
    return [
        {
            "rows": int(n),
            "loss": number(d / n) if n else None,
            "explained": number(1 - d / d0) if n and d0 > 0 else None,
        }
        for d, d0, n in pairs
    ]


def pit_histogram(model: object) -> dict[str, Any] | None:
    """Counts of rows by where y fell in its predictive distribution, and what chance allows.

    Of the quantile residuals of the training rows. None without them, or with few rows.
    """
    residual = getattr(getattr(model, "_checks", None), "residual", None)
    if residual is None:
        return None
    values = np.asarray(residual, dtype=np.float64)
    values = values[np.isfinite(values)]
    n = values.size
    if n < FEWEST_ROWS:
        return None
    counts = np.histogram(norm.cdf(values), bins=N_BARS, range=(0, 1))[0]
    tails = 0.5 - 0.5 * CHANCE, 0.5 + 0.5 * CHANCE
    low, high = (int(binom.ppf(tail, n, 1 / N_BARS)) for tail in tails)
    return {"counts": counts.tolist(), "low": low, "high": high, "rows": n}


def diagnosis(model: object) -> list[list[str]] | None:
    """Findings of `model.diagnose()`, a row each as in `COLUMNS`; None if it cannot be asked."""
    if not hasattr(model, "diagnose"):
        return None
    try:
        found = model.diagnose()
    except DataError:  # a mode, or a model without a record of its rows
        return None
    return [[str(value) for value in row] for row in found[list(COLUMNS)].itertuples(index=False)]
