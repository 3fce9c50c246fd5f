"""How steps after the last are predicted."""

from __future__ import annotations

from typing import Literal, cast

from driftglm.exceptions import DataError

Extrapolation = Literal["average", "forecast", "hold"]
LEAST_STEPS = 5
"""Steps with data from which on forecasters are averaged unless the user says."""


def settled(
    asked: str, n_seen: int, *, posterior: bool, given_weights: bool = False
) -> Extrapolation:
    """What the user asked for; by itself, a posterior averages and a mode holds.

    `n_seen` is the number of steps with data. Weights of components that the user gave are those
    of one grid, and fits to fewer steps have another.
    """
    if asked == "auto":
        if not posterior:
            return "hold"
        return "average" if n_seen >= LEAST_STEPS and not given_weights else "forecast"
    if asked == "average" and given_weights:
        raise DataError(
            "extrapolate='average' fits to fewer steps too, whose grid is not the one that the "
            "given weights of Learned are for; leave weights out, or choose 'forecast' or 'hold'."
        )
    if asked == "average" and not posterior:
        raise DataError(
            "extrapolate='average' weighs forecasters by the probability they gave to what "
            "happened, and a posterior mode gives none; use prior='learned', or 'forecast' or "
            "'hold'."
        )
    if asked == "average" and n_seen == 1:
        return "forecast"
    return cast("Extrapolation", asked)
