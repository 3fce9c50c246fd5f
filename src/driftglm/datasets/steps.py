"""Columns of times as people write them become labels of steps, and how long a step is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from driftglm.data.timesteps import Freq
from driftglm.datasets.dates import MONTH_FORMATS, QUARTERS, WEEKS, YEAR, parse_dates
from driftglm.exceptions import TimeError

LENGTHS = {"Y": "a year", "Q": "a quarter", "M": "a month", "W": "a week"}
FEWEST = 3
"""Different first days of months that make them months."""
YEARS = 1800, 2199


@dataclass(frozen=True, eq=False)
class Steps:
    """Labels for an estimator: whole numbers, dates, Periods or an ordered Categorical.

    Parameters
    ----------
    labels
        One a row.
    freq
        Length of a step, given or guessed.
    format
        How dates that were texts are written.
    guess
        What was guessed, in a sentence; None if nothing was.
    """

    labels: Any
    freq: Freq = None
    format: str | None = None
    guess: str | None = None

    @property
    def periods(self) -> Any:
        """The labels, dates as Periods, which know how long a step is."""
        if isinstance(self.freq, str) and isinstance(self.labels, np.ndarray):
            return pd.PeriodIndex(pd.DatetimeIndex(self.labels), freq=self.freq)
        return self.labels


def read_steps(values: pd.Series, where: str, freq: Freq = None, form: str | None = None) -> Steps:
    """Labels of a column of times without missing values.

    Whole numbers are steps themselves, unless all of them are yyyymm of several years; with a
    `freq` such as "M" they are years, yyyymm or yyyymmdd. Texts are dates in one format. Quarters,
    ISO weeks, months and years say how long a step is; so do days that are all first, or all last,
    of their month. Other days do not, and `freq` is needed.

    Parameters
    ----------
    values
        The column.
    where
        File and column, for messages.
    freq, form
        Length of a step and format of dates, where they are known.

    Raises
    ------
    TimeError, DataError
        If a time cannot be read, or nothing says how long a step is.

    Examples
    --------
    >>> read_steps(pd.Series(["2019Q1", "2019Q2"]), "sales.csv").freq
    'Q'
    >>> read_steps(pd.Series([201911, 201912, 202001]), "sales.csv").freq
    'M'
    """
    if isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
        return Steps(values.array, freq)
    if isinstance(values.dtype, pd.PeriodDtype):
        return Steps(values.array, freq)
    named = isinstance(freq, str)
    if is_numeric_dtype(values) and not named and form is None:
        if freq is not None or not _are_months(values):
            return Steps(values.to_numpy(), freq)
        form = "%Y%m"
    dates = parse_dates(values, where, form)
    found = form or dates.format
    if named:
        return Steps(dates.days.to_numpy(), freq, dates.format)
    if found == YEAR:  # texts of years are numbers
        return Steps(dates.days.dt.year.to_numpy(), freq, dates.format)
    length, why = _length(dates.days, found)
    if length is None:
        raise TimeError(
            f"{where} holds dates ({dates.days.iloc[0]:%Y-%m-%d} in row 0) and nothing says how "
            'long a step is; pass freq="Y", "Q", "M", "W" or "D" (--freq M).'
        )
    shown = values.iloc[0]
    _refuse_pairs_of_years(dates.days, found, where, str(shown))
    guess = f"{where}: {shown!s:.20} is {why}; a step is {LENGTHS[length]} (freq {length})."
    return Steps(dates.days.to_numpy(), length, dates.format or found, guess)


def _are_months(values: pd.Series) -> bool:
    """Whether whole numbers are yyyymm: of two years or more, none of them a 13th month."""
    numbers = values.to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all() or (numbers % 1 != 0).any():
        return False
    years, months = numbers // 100, numbers % 100
    in_range = (years >= YEARS[0]) & (years <= YEARS[1]) & (months >= 1) & (months <= 12)  # noqa: PLR2004
    return bool(in_range.all()) and np.unique(years).size > 1


def _refuse_pairs_of_years(days: pd.Series, form: str | None, where: str, shown: str) -> None:
    """Raise TimeError where every month is the number of the next year: 2001-02, 2002-03, ..."""
    distinct = days.drop_duplicates()
    pairs = (distinct.dt.year + 1) % 100 == distinct.dt.month
    if form in MONTH_FORMATS and pairs.all() and len(distinct) > 1:
        raise TimeError(
            f"{where}: {shown:.20} is a month, or a year that ends in the next one, and all rows "
            'may be either; say which: months are freq="M" (--freq M), years freq="Y" (--freq Y).'
        )


def _length(days: pd.Series, form: str | None) -> tuple[str | None, str]:
    """Length of a step that a format, or the days themselves, speak of, and why."""
    known = {QUARTERS: ("Q", "a quarter"), WEEKS: ("W", "a week of ISO 8601")}
    known |= dict.fromkeys(MONTH_FORMATS, ("M", "a month"))
    if form in known:
        return known[form]
    distinct = days.drop_duplicates()
    if len(distinct) < FEWEST or (distinct != distinct.dt.normalize()).any():
        return None, ""
    first, last = (distinct.dt.day == 1).all(), distinct.dt.is_month_end.all()
    if not (first or last):
        return None, ""
    which = f"the {'first' if first else 'last'} day of a month, as in all rows"
    starts = distinct.dt.month if first else distinct.dt.month % 12 + 1
    if len(starts.unique()) == 1:
        return "Y", which
    return ("Q" if starts.isin([1, 4, 7, 10]).all() else "M"), which
