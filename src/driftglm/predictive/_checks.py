"""What parameters and levels may be, and what is said if they are not."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from driftglm._typing import BoolArray, FloatArray
from driftglm.exceptions import DataError


class Range(NamedTuple):
    """Numbers a parameter may have; always finite."""

    words: str
    low: float = -np.inf
    high: float = np.inf
    above: bool = False
    """Whether `low` itself is refused."""
    whole: bool = False
    """Whether fractions are refused."""

    def check(self, name: str, values: FloatArray) -> None:
        """Refuse values that are not allowed."""
        good = np.isfinite(values) & (values >= self.low) & (values <= self.high)
        if self.above:
            good &= values > self.low
        if self.whole:
            good &= values == np.floor(values)
        refuse(name, values, ~good, self.words)


NUMBERS = Range("finite numbers")
POSITIVE = Range("finite numbers above 0", low=0.0, above=True)
PROBABILITY = Range("numbers from 0 to 1", low=0.0, high=1.0)
LARGEST = 1e15
"""Above, neighbouring counts are no longer told apart reliably by a float."""
COUNTED = Range(f"numbers from 0 to {LARGEST:g}", low=0.0, high=LARGEST)


def refuse(name: str, values: FloatArray, bad: BoolArray, allowed: str) -> None:
    """Raise if anything is bad, naming the first case."""
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise DataError(
            f"{name} is {values[first]} at {first[0] if len(first) == 1 else first}, and is wrong "
            f"in {bad.sum()} of {bad.size} places; allowed are {allowed}."
        )


def checked_levels(levels: ArrayLike) -> FloatArray:
    """Levels of quantiles: one, or a vector, between 0 and 1."""
    asked = np.asarray(levels, dtype=np.float64)
    if asked.ndim > 1 or asked.size == 0:
        raise DataError(f"levels have shape {asked.shape}; give one number or a vector of them.")
    flat = asked.ravel()
    refuse("levels", flat, ~((flat > 0) & (flat < 1)), "numbers between 0 and 1, both excluded")
    return asked


def checked_level(level: float) -> float:
    """The probability of an interval."""
    if not 0 < level < 1:
        raise DataError(f"level is {level}; allowed are numbers between 0 and 1, both excluded.")
    return float(level)


def check_codes(y: FloatArray, n_classes: int) -> None:
    """Refuse what is not the code of a class."""
    bad = (y != np.floor(y)) | (y < 0) | (y >= n_classes)
    refuse("y", y, bad, f"codes of classes, 0 to {n_classes - 1}")
