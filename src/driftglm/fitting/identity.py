"""Columns that cannot be told from something else: the intercept, another column, a row's id.

They are found when a model is fitted, and named. What that costs is bounded: correlations are those
of a few thousand rows and a few hundred columns, copies are found by their products with two random
vectors, and what a column does within steps is known from the fit. Of rows on workers that is all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from driftglm._threads import one_thread
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.data.features import listed
from driftglm.data.matrices import dense
from driftglm.fitting.coefficients import ColumnSizes
from driftglm.fitting.inflation import MOST, too_narrow
from driftglm.fitting.rows import Rows

MOST_ROWS, MOST_COLUMNS = 5000, 500
"""From which, and of how many columns at most, correlations are computed."""
ALIKE, THE_SAME = 0.95, 1.0 - 1e-9
"""Correlations from which on columns are said to look alike, and to be copies."""
WITHIN, NEARLY_ALL = 0.001, 0.9
"""A column is a function of time if a smaller share of its variance lies within steps, or if it has
one value in so many of the steps."""
STILL, BETWEEN = 0.5, 0.5
"""So it is, in part, if it has one value in so many steps, and so much variance between them."""
LEAST_ROWS = 50
"""Of fewer rows columns look alike by chance."""
ROWS_A_STEP = 5
"""With fewer rows a step, what a column does within steps says nothing."""
DIGITS = 9
"""Of products, to which copies agree."""
NARROW = 1.5
"""By how much intervals must be too narrow to be worth a warning: those of 90 % cover 73 % then."""
UNIQUE, FILLED, LEAST_IDS = 0.95, 10.0, 30
"""Share of different whole numbers in a step, how much wider than the number of rows their range
may be, and how many rows it takes for a column to look like an id."""


@dataclass(frozen=True)
class ColumnNotes:
    """What there is to say against columns, (p,) each.

    Parameters
    ----------
    still
        Share of the steps in which a column has one value, where that matters, else 0.
    time_only
        Whether it hardly varies within steps.
    ids
        Whether it looks like an id.
    twin, correlation
        Position of the column it is most like, -1 if there is none, and their correlation.
    narrow
        By how much its intervals are too narrow, where columns go together and each is judged by
        itself; else 1.
    """

    still: FloatArray
    time_only: BoolArray
    ids: BoolArray
    twin: IntArray
    correlation: FloatArray
    narrow: FloatArray

    @classmethod
    def none(cls, n_features: int) -> ColumnNotes:
        """Nothing to say."""
        no, nothing = np.zeros(n_features, dtype=np.bool_), np.zeros(n_features)
        return cls(nothing, no, no, np.full(n_features, -1), nothing, np.ones(n_features))

    @classmethod
    def of(
        cls, rows: Rows, sizes: ColumnSizes, included: BoolArray, *, alone: bool = False
    ) -> ColumnNotes:
        """About the columns of a fit; of many, those that are `included` (p,) are compared.

        `alone` says that each of them was judged by itself, the others taken for known.
        """
        n_steps = np.unique(rows.codes).size
        varies = sizes.spread > 0
        still, time_only = np.zeros(varies.size), np.zeros(varies.size, dtype=np.bool_)
        if rows.intercept and n_steps > 1 and rows.codes.size >= ROWS_A_STEP * n_steps:
            between = varies & (1.0 - sizes.within >= BETWEEN)
            time_only = between & ((sizes.within < WITHIN) | (sizes.still >= NEARLY_ALL))
            often = between & (sizes.still >= STILL)
            still = np.where(often | time_only, sizes.still, 0.0)
        if rows.X is None or rows.codes.size < LEAST_ROWS:  # rows on workers, or next to none
            return replace(cls.none(varies.size), still=still, time_only=time_only)
        ids = _ids(rows) & varies & ~time_only
        narrow = too_narrow(rows, included) if alone else np.ones(varies.size)
        return cls(still, time_only, ids, *_twins(rows.X, varies, included), narrow)

    @property
    def unidentified(self) -> BoolArray:
        """(p,) columns that cannot be told from the intercept at all."""
        return self.time_only

    @property
    def copies(self) -> BoolArray:
        """(p,) columns that another one is equal to, but for its unit and zero."""
        return np.asarray((self.twin >= 0) & (np.abs(self.correlation) >= THE_SAME))

    @property
    def misleading(self) -> BoolArray:
        """(p,) columns whose intervals are much too narrow."""
        return np.asarray(self.narrow >= NARROW)

    @property
    def any(self) -> BoolArray:
        """(p,) columns there is something to say against."""
        return np.asarray((self.still > 0) | self.time_only | self.ids | (self.twin >= 0))

    def said(self, i: int, names: Sequence[str], effect: float | None = None) -> str:
        """The note of a feature; `effect` is the probability of one by the shared directions."""
        parts = []
        if self.time_only[i]:
            parts.append("hardly varies within steps: cannot be told from the intercept")
        elif self.still[i] > 0:
            parts.append(f"has one value within {self.still[i]:.0%} of the steps")
        if self.ids[i]:
            parts.append("looks like an id")
        if self.twin[i] >= 0:
            r, other = self.correlation[i], str(names[self.twin[i]])
            same = abs(r) >= THE_SAME
            parts.append(f"a copy of {other!r}" if same else f"correlation {r:.2f} with {other!r}")
        if self.misleading[i]:
            parts.append(f"goes along with others: interval {_times(self.narrow[i])} too narrow")
        if effect is not None:
            parts.append(f"by the shared directions, not zero with probability {effect:.2f}")
        return "; ".join(parts)

    def warning(self, names: Sequence[str]) -> str | None:
        """What to say once after a fit; None if there is nothing."""
        found = [said for said in (self._told_apart(names), self._narrow(names)) if said]
        return " ".join(found) or None

    def _narrow(self, names: Sequence[str]) -> str | None:
        """That intervals are too narrow."""
        which = self.misleading
        if not which.any():
            return None
        n_columns = int(which.sum())
        columns = "one column" if n_columns == 1 else f"{n_columns} columns"
        goes = "goes" if n_columns == 1 else "go"
        return (
            f"{TOO_NARROW} for {columns} that {goes} along with others ({_named(which, names)}), "
            f"by a factor of {'' if n_columns == 1 else 'up to '}{_factor(self.narrow.max())}: "
            "the effect of each was judged as if those of the others were known. "
            "inference='sampling' gives intervals that allow for what is not known."
        )

    def _told_apart(self, names: Sequence[str]) -> str | None:
        """That columns cannot be told from something else."""
        parts, close = [], f"a correlation above {ALIKE:g} with another"

        def add(which: BoolArray, what: tuple[str, str], advice: str) -> None:
            if (count := int(which.sum())) > 0:
                said = f"1 {what[0]}" if count == 1 else f"{count} {what[1]}"
                parts.append(f"{said} ({_named(which, names)}): {advice}")

        add(
            self.time_only,
            ("hardly varies within steps", "hardly vary within steps"),
            "the effect cannot be told from the intercept of the step; drop the column, or give it "
            "values that differ within a step",
        )
        add(
            (self.still > 0) & ~self.time_only,
            ("has one value in most steps", "have one value in most steps"),
            "coefficients there come from the other steps; name such columns in static=",
        )
        add(self.ids, ("looks like an id", "look like ids"), "drop what is an id")
        copies = self.copies
        add(copies, ("is a copy of another", "are copies of others"), "drop all but one of each")
        add(
            (self.twin >= 0) & ~copies,
            (f"has {close}", f"have {close}"),
            "which of them has the effect is hardly known; drop or combine them",
        )
        if not parts:
            return None
        return f"{OPENING}: {'; '.join(parts)}. See `note` in summary()."


OPENING = "some columns cannot be told from something else"
TOO_NARROW = "intervals are too narrow"
OPENINGS = OPENING, TOO_NARROW
"""How the warning may begin."""


@contextmanager
def unsaid() -> Iterator[None]:
    """Without these warnings: in a fit that does not know the names of its columns."""
    with warnings.catch_warnings():
        for opening in OPENINGS:
            warnings.filterwarnings("ignore", message=opening)
        yield


def _named(which: BoolArray, names: Sequence[str]) -> str:
    return listed([repr(str(names[i])) for i in np.flatnonzero(which).tolist()])


def _times(factor: float) -> str:
    return f"{factor:.1f} times" if factor < MOST else f"{MOST:.0f} times or more"


def _factor(factor: float) -> str:
    return f"{factor:.1f}" if factor < MOST else f"{MOST:.0f} or more"


def _ids(rows: Rows) -> BoolArray:
    """Columns of whole numbers, nearly all different within a step and close together."""
    X, codes = rows.X, rows.codes
    found = np.zeros(X.shape[1], dtype=np.bool_)
    largest = np.flatnonzero(codes == np.bincount(codes).argmax())[:MOST_ROWS]
    if not isinstance(X, np.ndarray) or largest.size < LEAST_IDS:  # of a sparse row most are zero
        return found
    # Between two numbers there are no more whole ones than that: few columns are worth a look.
    low, high = rows.column_ranges
    least = UNIQUE * largest.size
    for i in np.flatnonzero(high.astype(np.float64) - low + 1.0 >= least):
        part, every = X[largest, i], X[:, i]
        whole = (part == np.round(part)).all() and np.unique(part).size >= least
        found[i] = whole and float(every.max() - every.min()) <= FILLED * codes.size
    return found


def _twins(X: Any, usable: BoolArray, included: BoolArray) -> tuple[IntArray, FloatArray]:
    """(p,) the column that each is most like, and their correlation; -1 and 0 if none is."""
    twin, correlation = np.full(usable.size, -1), np.zeros(usable.size)
    chosen = np.flatnonzero(usable)
    if chosen.size > MOST_COLUMNS:
        _copies_inplace(X, chosen, twin, correlation)
        chosen = np.flatnonzero(usable & included & (twin < 0))[:MOST_COLUMNS]
    if chosen.size < 2:  # noqa: PLR2004 (a pair)
        return twin, correlation
    rows = np.unique(np.linspace(0, X.shape[0] - 1, MOST_ROWS).astype(np.int64))
    r = _correlations(dense(X[rows][:, chosen]))
    np.fill_diagonal(r, 0.0)
    nearest = np.abs(r).argmax(axis=1)
    for k in np.flatnonzero(np.abs(r[np.arange(chosen.size), nearest]) > ALIKE):
        pair = chosen[[k, nearest[k]]]
        # Of rare values some rows may hold none, and all columns would look alike.
        found = float(_correlations(dense(X[:, pair]))[0, 1])
        if abs(found) > ALIKE:
            twin[pair[0]], correlation[pair[0]] = pair[1], found
    return twin, correlation


def _correlations(columns: FloatArray) -> FloatArray:
    """Of columns; 0 with one that does not vary."""
    part = columns - columns.mean(axis=0, dtype=np.float64)
    norm = np.sqrt((part**2).sum(axis=0))
    part /= np.where(norm > 0, norm, 1.0)
    with one_thread():  # the same digits on any number of threads
        return np.asarray(part.T @ part)


def _copies_inplace(X: Any, chosen: IntArray, twin: IntArray, correlation: FloatArray) -> None:
    """Columns that are the same in every row: so are their products with any vector."""
    weights = np.random.default_rng(0).normal(size=(X.shape[0], 2))
    keys = np.asarray(X.T @ weights)[chosen]
    keys = np.round(keys / np.abs(keys).max(), DIGITS)
    _, first, back = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    back = back.ravel()
    last = np.empty(first.size, dtype=np.int64)
    last[back] = np.arange(back.size)
    # The first of several copies is like the last, the others are like the first.
    other = np.where(first[back] == np.arange(back.size), last[back], first[back])
    copied = other != np.arange(back.size)
    twin[chosen[copied]], correlation[chosen[copied]] = chosen[other[copied]], 1.0
