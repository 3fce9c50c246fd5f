"""Time labels of the rows (years, dates, Periods, ordered categories) to timesteps 0..T-1."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype

from driftglm._typing import BoolArray, IntArray
from driftglm.exceptions import TimeError

Kind: TypeAlias = Literal["none", "integer", "period", "category"]
Labels: TypeAlias = IntArray | pd.PeriodIndex | NDArray[np.object_]
Freq: TypeAlias = int | str | None
# What every accepted input is brought to before it is encoded.
_Values: TypeAlias = IntArray | pd.DatetimeIndex | pd.PeriodIndex | pd.Categorical

_MAX_INTEGER = 2**62  # the difference of any two labels then fits into int64
_MAX_EXACT_FLOAT = 2**53  # from here on a float no longer tells neighbouring integers apart
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
    categories: tuple[str | float, ...] = ()
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

    def encode(self, time: Any, n_rows: int) -> IntArray:
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
            If a label is missing, of another kind, before the first step or between two steps.

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
        values = _read(time, n_rows)
        ordinals = self._ordinals(values)
        why = f"before the first step: the model was fitted {self._described()}, and later steps"
        cure = "are allowed too. Drop the earlier rows, or fit again with them."
        _reject(values, ordinals < self.start, f"{why} {cure}")
        return _steps(values, ordinals, self.start, self.freq)

    def _ordinals(self, values: _Values) -> IntArray:
        """Ordinals of labels that must be of the kind fitted."""
        if _kind(values) != self.kind:
            raise TimeError(
                f"time holds {_kind(values)} labels ({_text(values[0])} in row 0), but the model "
                f"was fitted {self._described()}; pass labels of that kind."
            )
        return _ordinals(values, self.freq, self.categories)

    def _described(self) -> str:
        """How the model was fitted, for messages."""
        first, last = _text(self.labels[0]), _text(self.labels[-1])
        kind = f"with {self.kind} labels from {first} to {last}"
        return "without time, with a single timestep" if self.is_single else kind


def fit_axis(time: Any, n_rows: int, freq: Freq = None) -> tuple[TimeAxis, IntArray]:
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
    values = _read(time, n_rows)
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
    if axis.kind == "category":
        known = 0 <= axis.start < stop <= len(axis.categories)
    if axis.n_timesteps < 1 or not known:
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
    labels.setflags(write=False)
    return labels


def _kind(values: _Values) -> Kind:
    """Kind of axis that the labels belong to."""
    if isinstance(values, pd.Categorical):
        return "category"
    return "period" if isinstance(values, pd.DatetimeIndex | pd.PeriodIndex) else "integer"


def _text(label: Any) -> str:
    """Label as it stands in messages: strings quoted, numpy scalars without their type."""
    return repr(str(label)) if isinstance(label, str) else str(label)


def _reject(values: Any, bad: BoolArray, why: str) -> None:
    """Raise TimeError about the first bad row, if there is one."""
    if bad.any():
        row = int(bad.argmax())
        raise TimeError(f"time is {_text(values[row])} in row {row}, {why}")


def _read(time: Any, n_rows: int) -> _Values:
    """Checked labels without their container, one per row, none missing."""
    values = _unwrap(time)
    _check_rows(values, n_rows)
    if isinstance(values, pd.DatetimeIndex | pd.PeriodIndex):
        return values
    if isinstance(values, pd.Categorical) and values.ordered:
        return values
    kind = "unordered Categorical" if isinstance(values, pd.Categorical) else _array_kind(values)
    if kind in {"integer", "floating", "mixed-integer-float"}:
        return _integers(values, _MAX_INTEGER if kind == "integer" else _MAX_EXACT_FLOAT)
    if kind in {"datetime64", "datetime", "date", "period"}:
        return _dates_or_periods(values, kind)
    raise TimeError(
        f"time holds {kind} labels ({_text(values[0])} in row 0); integers, datetimes with freq, "
        "Periods and ordered Categoricals are allowed. For names use pd.Categorical(time, "
        "categories=[...], ordered=True), for dates pd.to_datetime and freq."
    )


def _unwrap(time: Any) -> Any:
    """Labels without their container: Categorical, Datetime- or PeriodIndex, or an ndarray."""
    if getattr(getattr(time, "dtype", None), "time_zone", None) is not None:
        # A zoned polars Series turns into UTC when numpy reads it; the wall time is wanted.
        time = time.dt.replace_time_zone(None)
    if isinstance(time, list | tuple):  # np.asarray would make [2001, "2002"] all strings
        return np.fromiter(time, dtype=object, count=len(time))
    if isinstance(time, np.ma.MaskedArray):
        return np.ma.filled(time.astype(object), np.nan)
    in_pandas = isinstance(time, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray))
    if not in_pandas or isinstance(time, pd.MultiIndex):
        return np.asarray(time)
    series = pd.Series(time)
    if isinstance(series.dtype, pd.PeriodDtype):
        return pd.PeriodIndex(series)
    if series.dtype.kind == "M":
        return pd.DatetimeIndex(series).tz_localize(None)
    return series.array if isinstance(series.dtype, pd.CategoricalDtype) else series.to_numpy()


def _check_rows(values: Any, n_rows: int) -> None:
    """Raise TimeError unless there is one label per row and none is missing."""
    if values.ndim != 1:
        raise TimeError(
            f"time has shape {values.shape}; a one-dimensional list, array or Series of labels is "
            "allowed. Pass a single column such as frame['year'], time.ravel() or list(time)."
        )
    if len(values) != n_rows or n_rows == 0:
        raise TimeError(
            f"time has {len(values)} labels for {n_rows} rows; exactly one label per row, and at "
            "least one row, are allowed. Select the same rows of X and time."
        )
    missing = np.asarray(pd.isna(values))
    if missing.any():
        raise TimeError(
            f"time is missing in {int(missing.sum())} of {n_rows} rows, first in row "
            f"{int(missing.argmax())}; every row needs a label. Drop these rows or fill them in."
        )


def _array_kind(values: NDArray[Any]) -> str:
    """Kind of the labels as pandas names it; TimeError if there are several."""
    kind = infer_dtype(values, skipna=False)
    mixed = {"mixed", "mixed-integer"}
    if kind not in mixed:
        return kind
    # Once a beginning is mixed, every longer one is: bisection finds the first label at odds.
    beginnings = range(1, len(values))
    row = bisect_left(
        beginnings, 1, key=lambda end: infer_dtype(values[:end], skipna=False) in mixed
    )
    if row > 0:
        first, odd = type(values[0]).__name__, type(values[row]).__name__
        why = f"a label of type {odd}, but row 0 is {_text(values[0])} of type {first}"
        cure = "labels of one type, and Periods of one freq, are allowed. Convert them."
        _reject(values, np.arange(len(values)) == row, f"{why}; {cure}")
    return type(values[0]).__name__


def _integers(values: NDArray[Any], limit: int) -> IntArray:
    """Labels as int64; TimeError for fractions and for numbers too large to be told apart."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64)  # float16 could not even be compared with the limit
    bad = (values >= limit) | (values <= -limit)
    if limit == _MAX_EXACT_FLOAT and not bad.any():
        bad = values.astype(np.float64) % 1 != 0
    why = f"but whole numbers between {-limit} and {limit} are allowed. Round to whole steps, or"
    _reject(values, bad, f"{why} use pd.to_datetime with freq.")
    return values.astype(np.int64)


def _dates_or_periods(values: NDArray[Any], kind: str) -> pd.DatetimeIndex | pd.PeriodIndex:
    """Labels as pandas holds them, datetimes at local wall time."""
    try:
        if kind == "period":
            return pd.PeriodIndex(values)
        if kind == "datetime64":
            return pd.DatetimeIndex(values)
        # One by one, because time zones may differ from row to row; a date has none at all.
        zoned = (getattr(value, "tzinfo", None) is not None for value in values)
        pairs = zip(values, zoned, strict=True)
        return pd.DatetimeIndex([v.replace(tzinfo=None) if zone else v for v, zone in pairs])
    except (TypeError, ValueError, OverflowError) as error:
        raise TimeError(
            f"the {kind} labels ({_text(values[0])} in row 0) cannot be read: {error}; dates "
            "within the range of pandas are allowed. Convert them with pd.to_datetime first."
        ) from error


def _resolve_freq(values: _Values, freq: Freq) -> Freq:
    """Step of the axis: the one given if it suits the labels, else their default."""
    if isinstance(values, pd.Categorical) and freq is not None:
        raise TimeError(
            f"freq={freq!r} was given for category labels ({_text(values[0])} in row 0), whose "
            "categories are the steps; only freq=None is allowed. Leave freq out."
        )
    if isinstance(values, pd.DatetimeIndex) and freq is None:
        raise TimeError(
            f"time holds datetimes ({values[0]} in row 0) but freq is None; a pandas period alias "
            'is allowed. Say how long a step is: freq="Y", "Q", "M", "W", "D" or "h".'
        )
    if isinstance(values, pd.Categorical):
        return None
    if not isinstance(values, pd.DatetimeIndex | pd.PeriodIndex):
        return _integer_freq(freq)
    if isinstance(values, pd.PeriodIndex) and freq is None:
        freq = values.freqstr
    multiple, unit = _split_freq(freq)
    return unit if multiple == 1 else f"{multiple}{unit}"


def _integer_freq(freq: Freq) -> int:
    """Step of integer labels, 1 by default."""
    if freq is None:
        return 1
    if isinstance(freq, bool) or not isinstance(freq, Integral) or not 0 < freq < _MAX_INTEGER:
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


def _ordinals(values: _Values, freq: Freq, categories: tuple[Any, ...]) -> IntArray:
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
    _reject(values, bad, f"{why} {cure}")
    return last


def _categories(values: pd.Categorical) -> tuple[str | float, ...]:
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


def _category_positions(values: pd.Categorical, categories: tuple[Any, ...]) -> IntArray:
    """Positions of the labels among the fitted categories."""
    index = pd.Index(categories, dtype=object)
    table = np.asarray(index.get_indexer(values.categories.astype(object)), dtype=np.int64)
    positions: IntArray = table[values.codes]
    why = f"which is not a fitted category; {list(categories)} are allowed. Fit again with all"
    _reject(values, positions < 0, f"{why} categories, those of later steps included.")
    if (np.diff(table[table >= 0]) < 0).any():
        raise TimeError(
            f"time has the category order {list(values.categories)}; the fitted order "
            f"{list(categories)} is allowed. Use reorder_categories."
        )
    return positions


def _steps(values: Any, ordinals: IntArray, start: int, freq: Freq) -> IntArray:
    """Steps from `start` on; TimeError for integers between two steps."""
    step = freq if isinstance(freq, int) else 1
    labels = f"{start}, {start + step}, {start + 2 * step}, ..."
    why = f"which is between two steps; with freq={step} the labels {labels} are allowed."
    bad = (ordinals - start) % step != 0
    _reject(values, bad, f"{why} Fit with a smaller freq, or correct the label.")
    return (ordinals - start) // step


def _check_filled(values: _Values, codes: IntArray, freq: Freq) -> None:
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
        f"between {_text(values[before])} in row {before} and {_text(values[after])} in row "
        f"{after}); at most twice the observed steps are allowed. {cure}."
    )


def _integer_cure(seen: IntArray) -> str:
    """What to do about distinct integers, ascending, that lie too far apart."""
    low, high = int(seen[0]), int(seen[-1])
    for unit, second in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        if low >= 10**8 * second and high < 10**10 * second:
            return f'They look like unix times: use pd.to_datetime(time, unit="{unit}"), freq="D"'
    for name, form, month, freq in (("yyyymm", "%Y%m", 1, "M"), ("yyyymmdd", "%Y%m%d", 100, "D")):
        years, months = seen // month // 100, seen // month % 100
        if np.isin(years, range(1000, 3000)).all() and np.isin(months, range(1, 13)).all():
            return (
                f'They look like {name}: use pd.to_datetime(time, format="{form}"), freq="{freq}"'
            )
    common = int(np.gcd.reduce(np.diff(seen)))
    if (high - low) // common < 2 * len(seen):
        return f"Pass freq={common}"
    return (
        "Pass a larger freq, correct stray labels, or use pd.Categorical(time, ordered=True) if "
        "the observed labels alone are the steps"
    )
