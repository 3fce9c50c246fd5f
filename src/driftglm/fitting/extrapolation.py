"""How steps after the last are predicted."""

from __future__ import annotations

from typing import Literal, cast

from driftglm.exceptions import DataError

Extrapolation = Literal["average", "forecast", "hold"]
LEAST_STEPS, LEAST_ROWS = 5, 5.0
"""Steps with data, and rows in each on average, from which on forecasters are averaged unless the
user says. A single row tells next to nothing about who predicts better: on 30 single series and on
inflation averages were no better than forecasts, and took ten times as long."""


def settled(
    asked: str, n_seen: int, n_rows: float, *, posterior: bool, given_weights: bool = False
) -> Extrapolation:
    """What the user asked for; by itself, a posterior averages and a mode holds.

    `n_seen` is the number of steps with data, `n_rows` that of the rows (by weight). Weights of
    components that the user gave are those of one grid, and fits to fewer steps have another.
    """
    if asked == "auto":
        if not posterior:
            return "hold"
        enough = n_seen >= LEAST_STEPS and n_rows >= LEAST_ROWS * n_seen
        return "average" if enough and not given_weights else "forecast"
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
