"""When a solver has come to its end, whatever it works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

DIGIT = 1e-15
"""The last digit of an objective, relative to its size."""

SLOWEST = 0.95
"""Shares of the last movement above this are taken for it: slower looks like standing still."""
STILL = 2.0
"""Fitted values have settled when they will move by less than this times the tolerance: at the
default, forecasts then change in their fourth digit, and the third is what users are promised."""


def stands_still(history: Sequence[float], n_passes: int) -> bool:
    """Whether the objective has moved in its last digits only for so many passes."""
    if len(history) <= n_passes:
        return False
    rise = history[-1] - history[-n_passes]
    return rise <= DIGIT * n_passes * abs(history[-1])


def last_rise(history: Sequence[float]) -> float:
    """By how much the last pass has raised the objective; unknown, infinity, before the second."""
    return history[-1] - history[-2] if len(history) > 1 else inf


@dataclass
class Movement:
    """How far fitted values still have to go, from how far the last two rounds carried them.

    An objective is flat near its top: it stops rising long before what it says of rows stops
    moving. Ascents of coordinates come closer by a share a round, so that what is left is a
    geometric series.
    """

    last: float = inf
    left: float = inf

    def add(self, moved: float) -> None:
        """Note by how much a round has moved the row it moved most, in units of eta."""
        share = min(moved / self.last, SLOWEST) if 0.0 < self.last < inf else SLOWEST
        self.left = moved * max(share / (1.0 - share), 1.0)
        self.last = moved

    def settled(self, tol: float) -> bool:
        """Whether what is left is too little to be seen."""
        return self.left <= STILL * tol
