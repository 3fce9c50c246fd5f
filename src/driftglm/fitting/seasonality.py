"""Whether steps come in cycles, and of how many steps."""

from __future__ import annotations

import re

from driftglm._warnings import warn
from driftglm.data.timesteps import TimeAxis
from driftglm.exceptions import DataError, DataWarning
from driftglm.fitting.extrapolation import LEAST_STEPS
from driftglm.fitting.settings import Settings
from driftglm.priors import Learned

CYCLES = {"M": 12, "Q": 4, "W": 52}
"""Steps a year, by the unit of a time axis."""
N_CYCLES = 2
"""Full cycles there must be: a season is what comes again."""


def settled_cycle(settings: Settings, axis: TimeAxis, n_seen: int, extrapolate: str) -> int:
    """Steps a cycle, 0 for none; `n_seen` is the number of steps with rows.

    `extrapolate` is what the user asked for and "auto" was made of. Seasons are trusted where they
    forecast, so that they need averaging.
    """
    asked = settings.seasonality
    if asked is None:
        return 0
    prior = settings.prior
    learned = isinstance(prior, Learned) and prior.weights is None
    if asked == "auto":
        cycle = _cycle_of(axis)
        enough = cycle > 0 and axis.n_timesteps >= N_CYCLES * cycle and n_seen >= LEAST_STEPS
        return cycle if enough and learned and extrapolate == "average" else 0
    if not learned:
        raise DataError(
            f"seasonality={asked}, and the prior is {type(prior).__name__}; seasons are part of "
            "the learned prior with weights that are learned. Use prior='learned', or "
            "seasonality=None and columns of your own for the phases."
        )
    if extrapolate not in {"auto", "average"}:
        raise DataError(
            f"seasonality={asked} and extrapolate={extrapolate!r}; seasons are trusted as far as "
            "they forecast earlier steps, which is what 'average' finds out. Use "
            "extrapolate='average' or 'auto', or seasonality=None."
        )
    if axis.n_timesteps < N_CYCLES * asked or n_seen < LEAST_STEPS:
        warn(
            f"seasonality={asked} needs two full cycles, {N_CYCLES * asked} steps (and "
            f"{LEAST_STEPS} with rows), and there are {axis.n_timesteps} ({n_seen} with rows); "
            "fitted without seasons. Pass time= and more steps, or seasonality=None.",
            DataWarning,
        )
        return 0
    return int(asked)


def _cycle_of(axis: TimeAxis) -> int:
    """Steps a year if steps are months, quarters or weeks, else 0."""
    unit = re.fullmatch("([A-Z])(?:-[A-Z]{3})?", str(axis.freq)) if axis.kind == "period" else None
    return CYCLES.get(unit[1], 0) if unit else 0
