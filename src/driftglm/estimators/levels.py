"""Probabilities of intervals."""

from __future__ import annotations

from numbers import Real

from scipy.stats import norm

from driftglm.exceptions import DataError

LEVEL = 0.9
"""Of the intervals in tables and reports."""


def checked_level(level: float) -> float:
    """A probability between 0 and 1, or an error."""
    if not (isinstance(level, Real) and 0 < level < 1):
        raise DataError(f"level={level!r}; pass a probability between 0 and 1, e.g. 0.9.")
    return float(level)


def normal_quantile(level: float) -> float:
    """Half-width of a central interval in standard deviations."""
    return float(norm.ppf(0.5 + 0.5 * checked_level(level)))
