"""How well a model fits its training rows: by step, by its own probabilities, and in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

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
    record = getattr(model, "_checks", None)
    if record is None:
        return None
    known = record.sample()
    n = int(known.size)
    if n < FEWEST_ROWS:
        return None
    bar = np.minimum((norm.cdf(record.residual[known]) * N_BARS).astype(int), N_BARS - 1)
    by_step = np.zeros((len(record.deviance), N_BARS))
    np.add.at(by_step, (record.codes[known], bar), 1.0)
    counts, expected = by_step.sum(axis=0), by_step.sum(axis=1, keepdims=True) / N_BARS
    # Rows of a step may lean the same way: bars vary as the steps do, if that is more.
    variance = np.maximum(((by_step - expected) ** 2).sum(axis=0), n / N_BARS * (1 - 1 / N_BARS))
    reach = norm.ppf(0.5 + 0.5 * CHANCE) * float(np.sqrt(variance.mean()))
    low, high = max(int(n / N_BARS - reach), 0), int(np.ceil(n / N_BARS + reach))
    return {"counts": counts.astype(int).tolist(), "low": low, "high": high, "rows": n}


def diagnosis(model: object) -> list[list[str]] | None:
    """Findings of `model.diagnose()`, a row each as in `COLUMNS`; None if it cannot be asked."""
    if not hasattr(model, "diagnose"):
        return None
    try:
        found = model.diagnose()
    except DataError:  # a mode, or a model without a record of its rows
        return None
    return [[str(value) for value in row] for row in found[list(COLUMNS)].itertuples(index=False)]
