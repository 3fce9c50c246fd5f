"""Hold the last coefficients or forecast them: what one-step-ahead losses say."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Literal, cast

import numpy as np

from driftglm.exceptions import DataWarning
from driftglm.fitting.fit_rows import fit_rows
from driftglm.fitting.prediction import eta_means
from driftglm.fitting.rows import Rows
from driftglm.fitting.settings import Settings

Extrapolation = Literal["forecast", "hold"]
N_VALIDATION_STEPS = 3
LEAST_STEPS = 3


def settled(
    asked: str, validate: Callable[[], Extrapolation | None], *, posterior: bool
) -> Extrapolation:
    """What the user asked for; by itself, a posterior forecasts and a mode holds."""
    choice = (validate() or "auto") if asked == "validate" else asked
    if choice == "auto":
        return "forecast" if posterior else "hold"
    return cast("Extrapolation", choice)


def validated(rows: Rows, settings: Settings) -> Extrapolation | None:
    """The better one on the last training steps, each fitted to the steps before it.

    None: there are too few steps to hold one out.
    """
    seen = np.unique(rows.codes)
    if seen.size < LEAST_STEPS:
        return None
    quiet = dataclasses.replace(settings, verbose=False)
    losses: dict[Extrapolation, float] = {"hold": 0.0, "forecast": 0.0}
    for step in seen[2:][-N_VALIDATION_STEPS:]:
        now = rows.take(rows.codes == step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            past = fit_rows(rows.before(int(step)), quiet).forecasters[0]
        for choice in losses:
            eta = eta_means(past, now.X, int(step), hold=choice == "hold") + now.exposure[:, None]
            rows_lost = now.family.loss(now.y, eta if now.family.coupled else eta[:, 0])
            losses[choice] += float(np.sum(now.weights * rows_lost))
    return "forecast" if losses["forecast"] < losses["hold"] else "hold"
