"""What is said about a feature: zero, shared, static, seasonal, drifting, sign-flip or undecided.

The one place where this is decided and counted. In order, the first that holds:

undecided
    The column cannot be told from the intercept of its step (`column_checks.py`), and is not zero.
shared
    It is not included (inclusion probability below .5), yet it has a credible effect by the shared
    directions: a probability of SURE or more, or an interval that leaves zero out at some step.
zero
    It is not included.
static
    It is included, and either constant rather than not (drift probability below .5) or its change
    is negligible all over its interval; all that is included, where there is one step.
seasonal
    It would be drifting, but seasons were looked for (`seasonality`), it rather has one than not,
    and drift beside it cannot be said: what differs between steps comes again with the cycle.
drifting
    Its drift probability reaches `drift_level`, and the interval of its change leaves negligible
    changes out. sign-flip: so it does, and its coefficients are below zero at one step and above
    at another, 90 % intervals and all.
undecided
    Anything else.

A change is negligible if it moves eta by less than `negligible` standard deviations of what there
is to explain (of y, for a Gaussian) when the column moves by one of its own. A mode has neither
probabilities nor intervals: its path is static if its change is negligible, else it drifts.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
import pandas as pd

from driftglm._typing import BoolArray, FloatArray
from driftglm.estimators.levels import LEVEL
from driftglm.exceptions import DataError
from driftglm.fitting.changes import Changes, changes_of
from driftglm.fitting.fits import Fit
from driftglm.fitting.identity import ColumnNotes
from driftglm.fitting.limits import limits_of

KINDS = ("zero", "shared", "static", "seasonal", "drifting", "sign-flip", "undecided")
OUTSIDE = ("zero", "shared")
"""Kinds of features that have no path of their own."""
MOVING = ("drifting", "sign-flip")
TOGETHER = {"drifting": MOVING}
"""Kinds that are counted under the name of one of them; every other is counted by itself."""
INCLUDED = 0.5
SURE = 0.9
"""Probability that makes an effect by the shared directions credible, and a near copy sure."""


@dataclass(frozen=True)
class Thresholds:
    """What it takes to be called drifting.

    Parameters
    ----------
    drift_level
        The least drift probability.
    negligible
        Change of eta per standard deviation of the column that is not worth mentioning, in
        standard deviations of what there is to explain.
    """

    drift_level: float = 0.9
    negligible: float = 0.05

    def __post_init__(self) -> None:
        level, least = self.drift_level, self.negligible
        if not (isinstance(level, Real) and INCLUDED <= level <= 1):
            raise DataError(f"drift_level={level!r}; pass a probability from 0.5 to 1, e.g. 0.9.")
        if not (isinstance(least, Real) and 0 <= least < np.inf):
            raise DataError(
                f"negligible={least!r}; pass a number of standard deviations, 0 or more, e.g. 0.05."
            )

    def least(self, fit: Fit) -> FloatArray:
        """(p,) changes of coefficients that are worth mentioning."""
        spread = np.where(fit.sizes.spread > 0, fit.sizes.spread, np.inf)
        return np.asarray(self.negligible * fit.sizes.reference / spread)

    def beyond(self, fit: Fit, low: FloatArray, high: FloatArray) -> BoolArray:
        """(p,) whether intervals of changes leave negligible ones out."""
        least = self.least(fit)
        return np.asarray((low > least) | (high < -least))


DEFAULT = Thresholds()


@dataclass(frozen=True)
class Judged:
    """What is said about every feature, (p,) each."""

    kind: np.ndarray
    inclusion: FloatArray
    drift: FloatArray
    effect: FloatArray
    changes: Changes


def not_told_apart(
    inclusion: FloatArray, drift: FloatArray, moving: BoolArray, notes: ColumnNotes
) -> BoolArray:
    """(p,) features of which the columns do not tell whether it is they or the most alike one.

    Copies never do. A near copy that may be in, and is not sure to be, may be there for the other,
    if that may be in. Of one that is sure, and is `moving` (p,), it may be the other that moves, if
    that may be in, is not sure to be, and may drift.
    """
    near, least = notes.twin >= 0, 1.0 - SURE
    other, its_drift = (np.where(near, each[notes.twin], 0.0) for each in (inclusion, drift))
    itself = (inclusion >= least) & (inclusion < SURE) & (other >= least)
    path = moving & (other >= least) & (other < SURE) & (its_drift >= least)
    same = notes.copies & (np.maximum(inclusion, other) >= least)
    return np.asarray(near & (itself | path | same))


def judged(
    fit: Fit, thresholds: Thresholds, notes: ColumnNotes, again: BoolArray | None = None
) -> Judged:
    """Kinds of all features of a fit, of whose columns `notes` say what they are like.

    `again` (p,) says of which features no more than a season can be said (None: nobody looked).
    """
    inclusion, drift, effect = fit.inclusion(), fit.drift_probability(), fit.effect_probability()
    changes, ends = changes_of(fit, LEVEL), limits_of(fit, LEVEL)
    above, below = (ends[0] > 0).any(axis=0), (ends[1] < 0).any(axis=0)
    low, high = changes.lower, changes.upper
    if not fit.posterior:
        low = high = changes.estimate
    beyond = thresholds.beyond(fit, low, high)
    within = np.maximum(np.abs(low), np.abs(high)) <= thresholds.least(fit)
    moving = (drift >= thresholds.drift_level) & beyond
    still = (drift < INCLUDED) | within | (fit.n_timesteps == 1)
    kind = np.where(moving, np.where(above & below, "sign-flip", "drifting"), "undecided")
    if again is not None:
        kind = np.where(moving & again, "seasonal", kind)
    kind = np.where(still, "static", kind)
    out = inclusion < INCLUDED
    shared = out & ((effect >= SURE) | above | below)
    kind = np.where(out, np.where(shared, "shared", "zero"), kind)
    kind = np.where(notes.unidentified & (kind != "zero"), "undecided", kind)
    kind = np.where(not_told_apart(inclusion, drift, moving, notes) & ~shared, "undecided", kind)
    return Judged(kind, inclusion, drift, effect, changes)


@dataclass(frozen=True)
class Counted:
    """Features of a summary by what is said of them, names in order of importance."""

    total: int
    included: list[str]
    moving: list[str]
    seasonal: list[str]
    still: list[str]
    undecided: list[str]
    shared: list[str]


def counted(table: pd.DataFrame) -> Counted:
    """Count the features of a summary; with several classes a feature counts once.

    It is then drifting if it is in one class, else undecided if it is in one, else seasonal, else
    constant.
    """
    kind = table["kind"]
    moving = _names(table[kind.isin(TOGETHER["drifting"])])
    undecided = [name for name in _names(table[kind == "undecided"]) if name not in set(moving)]
    taken = {*moving, *undecided}
    seasonal = [name for name in _names(table[kind == "seasonal"]) if name not in taken]
    taken |= set(seasonal)
    still = [name for name in _names(table[kind == "static"]) if name not in taken]
    included = _names(table[~kind.isin(OUTSIDE)])
    inside = set(included)
    shared = [name for name in _names(table[kind == "shared"]) if name not in inside]
    total = table["feature"].nunique()
    return Counted(total, included, moving, seasonal, still, undecided, shared)


def _names(rows: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(rows["feature"].astype(str)))
