"""All checks at once, with one error over all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace

import numpy as np
import pandas as pd

from driftglm.diagnostics.finding import Finding
from driftglm.diagnostics.influence import influence
from driftglm.diagnostics.inputs import Residuals
from driftglm.diagnostics.neighbours import neighbours
from driftglm.diagnostics.noise import moving_noise, wild_step
from driftglm.diagnostics.pit import pit
from driftglm.diagnostics.season import season
from driftglm.diagnostics.shift import shifted_step
from driftglm.diagnostics.step_means import step_means
from driftglm.diagnostics.tails import tails

CHECKS: tuple[Callable[[Residuals], Finding | None], ...] = (
    neighbours,
    step_means,
    tails,
    moving_noise,
    season,
    wild_step,
    shifted_step,
    pit,
    influence,
)
ERROR = 0.05
"""Probability of any finding if the model is right."""
ORDER = {"major": 0, "minor": 1}


def findings(given: Residuals, *, error: float = ERROR) -> list[Finding]:
    """What is wrong with a fit, the worst first.

    If nothing is, the list is empty with a probability of at least 1 - `error`: p-values are
    Holm's, over the checks that could be made. A check that is significant but too small to matter
    is no finding.
    """
    made = [finding for check in CHECKS if (finding := check(given)) is not None]
    found = [each for each in _holm(made) if each.severity != "none"]
    found = [each for each in found if each.p_value is None or each.p_value <= error]
    return sorted(found, key=lambda each: (ORDER[each.severity], each.p_value or 0.0))


def findings_frame(found: Sequence[Finding]) -> pd.DataFrame:
    """Findings as a frame, one a row."""
    columns = [each.name for each in fields(Finding)]
    frame = pd.DataFrame([asdict(each) for each in found], columns=columns)
    return frame.astype({"statistic": np.float64, "p_value": np.float64})


def diagnose(given: Residuals, *, error: float = ERROR) -> pd.DataFrame:
    """A frame of what is wrong with a fit, the worst first; empty if nothing is."""
    return findings_frame(findings(given, error=error))


def _holm(made: Sequence[Finding]) -> list[Finding]:
    """The same findings with p-values that hold for all of them together."""
    tested = sorted(
        (each for each in made if each.p_value is not None), key=lambda each: each.p_value or 0.0
    )
    times = np.arange(len(tested), 0, -1)
    raw = np.array([each.p_value for each in tested], dtype=np.float64)
    joint = np.minimum(1.0, np.maximum.accumulate(raw * times)) if tested else raw
    adjusted = [
        replace(each, p_value=float(value)) for each, value in zip(tested, joint, strict=True)
    ]
    return adjusted + [each for each in made if each.p_value is None]
