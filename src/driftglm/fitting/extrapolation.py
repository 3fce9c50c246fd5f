"""How steps after the last are predicted."""

from __future__ import annotations

from typing import Literal, cast

from driftglm.exceptions import DataError

Extrapolation = Literal["average", "forecast", "hold"]
LEAST_STEPS = 5
"""Steps with data from which on forecasters are averaged unless the user says."""


def settled(asked: str, n_seen: int, *, posterior: bool) -> Extrapolation:
    """What the user asked for; by itself, a posterior averages and a mode holds.

    `n_seen` is the number of steps with data.
    """
    if asked == "auto":
        if not posterior:
            return "hold"
        return "average" if n_seen >= LEAST_STEPS else "forecast"
    if asked == "average" and not posterior:
        raise DataError(
            "extrapolate='average' weighs forecasters by the probability they gave to what "
            "happened, and a posterior mode gives none; use prior='learned', or 'forecast' or "
            "'hold'."
        )
    if asked == "average" and n_seen == 1:
        return "forecast"
    return cast("Extrapolation", asked)
