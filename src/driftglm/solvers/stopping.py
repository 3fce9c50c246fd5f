"""When a solver has come to its end, whatever it works on."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

DIGIT = 1e-15
"""The last digit of an objective, relative to its size."""


def stands_still(history: Sequence[float], n_passes: int) -> bool:
    """Whether the objective has moved in its last digits only for so many passes."""
    if len(history) <= n_passes:
        return False
    rise = history[-1] - history[-n_passes]
    return rise <= DIGIT * n_passes * abs(history[-1])


def last_rise(history: Sequence[float]) -> float:
    """By how much the last pass has raised the objective; unknown, infinity, before the second."""
    return history[-1] - history[-2] if len(history) > 1 else inf
