"""Time labels of the rows (years, dates, Periods, ordered categories) to timesteps 0..T-1."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from numbers import Integral
from typing import Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from driftglm._typing import IntArray, VectorLike
from driftglm.data.time_labels import MAX_INTEGER, Values, read_labels, reject, shown
from driftglm.exceptions import TimeError

Kind: TypeAlias = Literal["none", "integer", "period", "category"]
Labels: TypeAlias = IntArray | pd.PeriodIndex | NDArray[np.object_]
Freq: TypeAlias = int | str | None
Categories: TypeAlias = tuple[str | float, ...]
MOST_AHEAD = 100_000
"""Steps after the last one that can be forecast; a label beyond is a mistake, most likely."""
_PERIOD_FREQ = re.compile(r"([1-9]\d{0,3})?((?:Y|Q|M|W|D|h|min|s|ms|us)(?:-[A-Z]{3})?)")


@dataclass(frozen=True)
class TimeAxis:
    """The evenly spaced timesteps of a fitted model, those without rows included.

    Parameters
    ----------
    kind
        What the labels are; "none" if the model was fitted without time.
    start
        First step: the integer itself, the period counted in steps of `freq` from 1970, or the
        position of the first observed category.
    n_timesteps
        Number of steps T, at least 1.
    freq
        Step of integers, pandas period alias of periods; None for the other kinds.
    categories
        All fitted categories in their order, also those outside the axis; else empty.

    Attributes
    ----------
    labels : ndarray of int64, PeriodIndex or ndarray of object, shape (T,)
        The label of each step.
    """

    kind: Kind
    start: int
    n_timesteps: int
    freq: Freq = None
    categories: Categories = ()
    labels: Labels = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", _labels(self))

    @classmethod
    def single(cls) -> TimeAxis:
        """Axis of a model fitted without time: one step, labelled 0."""
        return cls(kind="none", start=0, n_timesteps=1)

    @property
    def is_single(self) -> bool:
        """Whether the model was fitted without time."""
        return self.kind == "none"

    def encode(self, time: VectorLike, n_rows: int) -> IntArray:
        """Step of every row: 0..T-1 on the axis, T for the first step after it, and so on.

        Parameters
        ----------
        time
            One label per row, of the kind fitted; None if and only if fitted without time.
        n_rows
            Number of rows that `time` must have.

        Raises
        ------
        TimeError
            If a label is missing, of another kind, before the first step, between two steps or
            more than 100,000 steps after the last.

        Examples
        --------
        >>> axis, codes = fit_axis([1996, 1997, 1999], 3)
        >>> axis.encode([1998, 2000], 2)
        array([2, 4])
        """
        if self.is_single and time is None:
            return np.zeros(n_rows, dtype=np.int64)
        if self.is_single or time is None:
            raise TimeError(
                f"time is {'None' if time is None else 'given'}, but the model was fitted "
                f"{self._described()}; pass time= just as in fit, or fit again."
            )
        values = read_labels(time, n_rows)
        if _kind(values) != self.kind:
            raise TimeError(
                f"time holds {_kind(values)} labels ({shown(values[0])} in row 0), but the "
                f"model was fitted {self._described()}; pass labels of that kind."
            )
        ordinals = _ordinals(values, self.freq, self.categories)
        why = f"before the first step: the model was fitted {self._described()}, and later steps"
        cure = "are allowed too. Drop the earlier rows, or fit again with them."
        reject(values, ordinals < self.start, f"{why} {cure}")
        codes = _steps(values, ordinals, self.start, self.freq)
        why = f"more than {MOST_AHEAD} steps after the last: the model was fitted"
        cure = "; look at the labels, their unit may differ."
        far = codes >= self.n_timesteps + MOST_AHEAD
        reject(values, far, f"{why} {self._described()}{cure}")
        return codes

    def _described(self) -> str:
        """How the model was fitted, for messages."""
        if self.is_single:
            return "without time, with a single timestep"
        first, last = shown(self.labels[0]), shown(self.labels[-1])
        return f"with {self.kind} labels from {first} to {last}"


def fit_axis(time: VectorLike, n_rows: int, freq: Freq = None) -> tuple[TimeAxis, IntArray]:
    """Axis that holds all labels, filled where steps have no rows, and the step of every row.

    Parameters
    ----------
    time
        One label per row: integers (or floats that are whole numbers), datetimes, Periods or an
        ordered Categorical, as list, numpy array, pandas or polars Series. The index is ignored,
        time zones are dropped (local wall time counts). None: all rows are in one step.
    n_rows
        Number of rows that `time` must have.
    freq
        Integers: the step, default 1. Datetimes: a pandas period alias such as "Y", "Q-JAN", "M",
        "W", "15min", without default; a multiple counts from 1970 ("10Y": 1990, 2000). Periods:
        the same, default their own; a coarser one puts a week into the month where it ends.

    Raises
    ------
    TimeError
        If the labels cannot be used, or would fill more than twice the observed steps.

    Examples
    --------
    >>> axis, codes = fit_axis([1996, 1999, 1997], 3)
    >>> axis.labels, codes
    (array([1996, 1997, 1998, 1999]), array([0, 3, 1]))
    """
    if time is None and freq is None:
        return TimeAxis.single(), np.zeros(n_rows, dtype=np.int64)
    if time is None:
        raise TimeError(f"freq={freq!r} but time is None (one step); pass time=, or no freq.")
    values = read_labels(time, n_rows)
    freq = _resolve_freq(values, freq)
    categories = _categories(values) if isinstance(values, pd.Categorical) else ()
    ordinals = _ordinals(values, freq, categories)
    start = int(ordinals.min())
    codes = _steps(values, ordinals, start, freq)
    _check_filled(values, codes, freq)
    return TimeAxis(_kind(values), start, int(codes.max()) + 1, freq, categories), codes


def _labels(axis: TimeAxis) -> Labels:
    """Labels of the steps; ValueError if the parts of the axis do not fit."""
    stop = axis.start + axis.n_timesteps
    known = axis.kind in {"none", "integer", "period"}
    inside = axis.kind == "category" and 0 <= axis.start < stop <= len(axis.categories)
    if axis.n_timesteps < 1 or not (known or inside):
        raise ValueError(f"kind={axis.kind!r}, start={axis.start}, stop={stop}")
    labels: IntArray | NDArray[np.object_]
    if axis.kind == "period":
        first = pd.Period(ordinal=axis.start * _split_freq(axis.freq)[0], freq=str(axis.freq))
        return pd.period_range(first, periods=axis.n_timesteps)
    if axis.kind == "category":
        labels = np.fromiter(axis.categories[axis.start : stop], dtype=object)
    else:
        steps = np.arange(axis.n_timesteps, dtype=np.int64)
        labels = axis.start + steps * _integer_freq(axis.freq)
        if labels.dtype != np.int64:  # objects, of whole numbers that numpy 1 has no type for
            raise ValueError(f"start={axis.start}")
    labels.setflags(write=False)
    return labels


def _kind(values: Values) -> Kind:
    """Kind of axis that the labels belong to."""
    if isinstance(values, pd.Categorical):
        return "category"
    return "period" if isinstance(values, pd.DatetimeIndex | pd.PeriodIndex) else "integer"


def _resolve_freq(values: Values, freq: Freq) -> Freq:
    """Step of the axis: the one given if it suits the labels, else their default."""
    if isinstance(values, np.ndarray):
        return _integer_freq(freq)
    if isinstance(values, pd.Categorical):
        if freq is None:
            return None
        raise TimeError(
            f"freq={freq!r} was given for category labels ({shown(values[0])} in row 0), whose "
            "categories are the steps; only freq=None is allowed. Leave freq out."
        )
    if isinstance(values, pd.DatetimeIndex) and freq is None:
        raise TimeError(
            f"time holds datetimes ({values[0]} in row 0) but freq is None; a pandas period alias "
            'is allowed. Say how long a step is: freq="Y", "Q", "M", "W", "D" or "h".'
        )
    multiple, unit = _split_freq(values.freqstr if freq is None else freq)
    return unit if multiple == 1 else f"{multiple}{unit}"


def _integer_freq(freq: Freq) -> int:
    """Step of integer labels, 1 by default."""
    if freq is None:
        return 1
    if isinstance(freq, bool) or not isinstance(freq, Integral) or not 0 < freq < MAX_INTEGER:
        raise TimeError(
            f"freq={freq!r} was given for integer labels; a positive integer is allowed. "
            'Pass one, or convert the labels with pd.to_datetime to use a freq like "M".'
        )
    return int(freq)


def _split_freq(freq: Freq) -> tuple[int, str]:
    """Multiple and unit of a period alias: (15, "min") for "15min"."""
    match = _PERIOD_FREQ.fullmatch(freq) if isinstance(freq, str) else None
    try:
        if match is not None:
            # pandas knows which anchors exist, and names those left out ("W" is "W-SUN").
            return int(match[1] or 1), pd.Period(ordinal=0, freq=match[2]).freqstr
    except ValueError:
        pass
    raise TimeError(
        f"freq={freq!r} was given for datetime or Period labels; the pandas period aliases Y, Q, "
        "M, W, D, h, min, s, ms and us are allowed, also with an anchor (W-MON) or a multiple "
        '(15min). Pass one of them, such as freq="M".'
    )


def _ordinals(values: Values, freq: Freq, categories: Categories) -> IntArray:
    """Place of every label on the number line of its kind: steps from 1970, if it is a date."""
    if isinstance(values, pd.Categorical):
        return _category_positions(values, categories)
    if isinstance(values, pd.DatetimeIndex):
        multiple, unit = _split_freq(freq)
        return np.asarray(values.to_period(unit).asi8 // multiple)
    return _period_ordinals(values, freq) if isinstance(values, pd.PeriodIndex) else values


def _period_ordinals(values: pd.PeriodIndex, freq: Freq) -> IntArray:
    """Steps of `freq` from 1970; TimeError for Periods that do not lie within one step."""
    multiple, unit = _split_freq(freq)
    first, last = (np.asarray(values.asfreq(unit, how).asi8 // multiple) for how in ("S", "E"))
    pair = (values[0], pd.Period(ordinal=0, freq=str(freq)))
    length, step = ((period + 1).start_time - period.start_time for period in pair)
    # Weeks reach over the ends of months, and asfreq puts them where they end; but a Period about
    # as long as a step, or longer, has no claim to be in one step rather than in the next.
    bad = (first != last) & (2 * length > step)
    why = f"a Period of freq {values.freqstr!r} that does not lie within one step of {freq!r}; the"
    cure = "same or a coarser freq is allowed, multiples counted from 1970. Use asfreq first."
    reject(values, bad, f"{why} {cure}")
    return last


def _categories(values: pd.Categorical) -> Categories:
    """Categories as plain values, so that a fitted axis can always be saved."""
    categories = values.categories.tolist()
    plain = [isinstance(category, str | int | float) for category in categories]
    if not all(plain):
        category = categories[plain.index(False)]
        raise TimeError(
            f"time has the category {category} of type {type(category).__name__}; strings and "
            "numbers are allowed. Use rename_categories(str); pass dates as such, with freq."
        )
    return tuple(categories)


def _category_positions(values: pd.Categorical, categories: Categories) -> IntArray:
    """Positions of the labels among the fitted categories."""
    index = pd.Index(categories, dtype=object)
    table = np.asarray(index.get_indexer(values.categories.astype(object)), dtype=np.int64)
    positions: IntArray = table[values.codes]
    why = f"which is not a fitted category; {list(categories)} are allowed. Fit again with all"
    reject(values, positions < 0, f"{why} categories, those of later steps included.")
    if (np.diff(table[table >= 0]) < 0).any():
        raise TimeError(
            f"time has the category order {list(values.categories)}; the fitted order "
            f"{list(categories)} is allowed. Use reorder_categories."
        )
    return positions


def _steps(values: Values, ordinals: IntArray, start: int, freq: Freq) -> IntArray:
    """Steps from `start` on; TimeError for integers between two steps."""
    step = freq if isinstance(freq, int) else 1
    labels = f"{start}, {start + step}, {start + 2 * step}, ..."
    why = f"which is between two steps; with freq={step} the labels {labels} are allowed."
    bad = (ordinals - start) % step != 0
    reject(values, bad, f"{why} Fit with a smaller freq, or correct the label.")
    return (ordinals - start) // step


def _check_filled(values: Values, codes: IntArray, freq: Freq) -> None:
    """Raise TimeError if more than twice the observed steps would be filled."""
    seen, rows = np.unique(codes, return_index=True)
    n_steps = int(seen[-1]) + 1
    if n_steps <= 2 * len(seen):
        return
    gap = int(np.diff(seen).argmax())
    before, after = int(rows[gap]), int(rows[gap + 1])
    cure = f"Pass a coarser freq than {freq!r}, or correct stray labels"
    if isinstance(values, pd.Categorical):
        cure = "Drop categories that are no steps with remove_unused_categories()"
    elif isinstance(values, np.ndarray):
        cure = _integer_cure(values[rows])
    raise TimeError(
        f"the labels would make {n_steps} timesteps of which only {len(seen)} have rows (none lies "
        f"between {shown(values[before])} in row {before} and {shown(values[after])} in row "
        f"{after}); at most twice the observed steps are allowed. {cure}."
    )


def _integer_cure(seen: IntArray) -> str:
    """What to do about distinct integers, ascending, that lie too far apart."""
    low, high = int(seen[0]), int(seen[-1])
    for unit, second in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        if low >= 10**8 * second and high < 10**10 * second:
            return f'They look like unix times: use pd.to_datetime(time, unit="{unit}"), freq="D"'
    for name, how, month, freq in (("yyyymm", "%Y%m", 1, "M"), ("yyyymmdd", "%Y%m%d", 100, "D")):
        years, months = seen // month // 100, seen // month % 100
        if np.isin(years, range(1000, 3000)).all() and np.isin(months, range(1, 13)).all():
            return f'They look like {name}: use pd.to_datetime(time, format="{how}"), freq="{freq}"'
    common = int(np.gcd.reduce(np.diff(seen)))
    if (high - low) // common < 2 * len(seen):
        return f"Pass freq={common}"
    return (
        "Pass a larger freq, correct stray labels, or use pd.Categorical(time, ordered=True) if "
        "the observed labels alone are the steps"
    )
