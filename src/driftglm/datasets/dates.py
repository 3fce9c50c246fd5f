"""Columns of dates as people write them: one format a column, found on all of its rows.

03/04/2004 is a day in April or in March. A row such as 13/04/2004 tells which; if no row does, the
user has to. No format is ever chosen row by row.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from datetime import date
from itertools import combinations, product

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype

from driftglm.exceptions import DataError

ISO, QUARTERS, WEEKS, NUMBERED = "ISO8601", "quarters", "weeks", "numbered months"
"""Formats that strptime has no words for: 2004-03-15T08:30:00+01:00, 2004Q1, 2004-W11, 2004m3."""
YEAR = "%Y"
_WHOLE = (YEAR, "%Y%m", "%Y%m%d")
_DAYS = tuple(form.replace("/", sep) for form in ("%d/%m/%Y", "%m/%d/%Y") for sep in "./- ")
_NAMED = tuple(
    form.replace("%B", month)
    for month in ("%B", "%b")
    for form in ("%d %B %Y", "%d. %B %Y", "%B %d, %Y", "%B %d %Y", "%d-%B-%Y", "%d%B%Y", "%Y-%B-%d")
)
_MONTHS = (
    *("%Y-%m", "%Y/%m", "%m/%Y", "%m-%Y", "%m.%Y"),
    *(form.replace("%B", m) for m in ("%B", "%b") for form in ("%B %Y", "%Y %B", "%B-%Y", "%Y-%B")),
)
MONTH_FORMATS = frozenset({"%Y%m", NUMBERED, *_MONTHS})
"""Formats that have no day."""
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
_YEAR_FIRST = tuple(
    f"%Y{sep}%m{sep}%d{clock}" for sep, clock in product("-/.", _CLOCKS) if "%p" in clock
)
FORMATS = (
    *(ISO, QUARTERS, WEEKS, NUMBERED, *_WHOLE, *_MONTHS, *_YEAR_FIRST),
    *(f"{day}{clock}" for day, clock in product((*_DAYS, *_NAMED), _CLOCKS)),
)
"""What is tried. Years of two digits are not: 03.04.05 has six readings."""

# pandas takes "now" and "today" for dates in every format.
_SHAPES = {
    ISO: r"\d{8}|\d{4}([-/.])\d{1,2}\1\d{1,2}([T ].+)?",
    QUARTERS: r"\d{4}[- ]?[Qq][1-4]|[Qq][1-4][-/ ]?\d{4}|[1-4][Qq][-/ ]?\d{4}",
    WEEKS: r"\d{4}-?W\d{2}",
    NUMBERED: r"\d{4}-?[Mm]\d{1,2}",
}
_PERIODS = frozenset({QUARTERS, WEEKS, NUMBERED})
_ORDINARY = "such as 2004-03-15"


@dataclass(frozen=True, eq=False)
class Dates:
    """Datetimes without time zone, and how the column they came from writes them.

    `format` is None if the column held no texts, or if its rows fit several formats alike.
    """

    days: pd.Series
    format: str | None = None


def read_dates(column: pd.Series, table: str, form: str | None = None) -> pd.Series:
    """Datetimes without time zone; see `parse_dates`.

    Examples
    --------
    >>> read_dates(pd.Series([20040315]), "notes.csv").dt.day.tolist()
    [15]
    >>> read_dates(pd.Series(["03.04.2004", "13.04.2004"]), "notes.csv").dt.month.tolist()
    [4, 4]
    """
    return parse_dates(column, table, form).days


def parse_dates(column: pd.Series, table: str, form: str | None = None) -> Dates:
    """Dates of a column, all read by one format.

    Parameters
    ----------
    column
        Texts, datetimes, periods or whole numbers; the latter are years, yyyymm or yyyymmdd (pandas
        would take them for nanoseconds).
    table
        Name of the file for messages.
    form
        The format, if it is known: as of strptime, or one that `parse_dates` has found. None: the
        one that fits all rows.

    Raises
    ------
    DataError
        If a row has no date, if no format fits all rows, or if several do and disagree.
    """
    if isinstance(column.dtype, pd.PeriodDtype):
        return Dates(_given(column, table).dt.to_timestamp())
    if holds_dates(column):
        return Dates(_without_zone(pd.to_datetime(_given(column, table)), table))
    search = FormatSearch.of(column, table, form)
    search.see(column)
    found, cells = search.decide(), _cells(column)
    unique = cells.drop_duplicates()
    days = pd.Series(_parsed(unique, found).array, index=unique.to_numpy())
    each = pd.Series(days.loc[cells.to_numpy()].array, index=column.index, name=column.name)
    certain = not is_numeric_dtype(column) and (len(search.fits) == 1 or found == ISO)
    return Dates(_without_zone(each, table), found if certain else None)


def holds_dates(column: pd.Series) -> bool:
    """Whether a column holds dates that are no texts, maybe as objects, as Parquet files do."""
    if is_datetime64_any_dtype(column) or isinstance(column.dtype, pd.PeriodDtype):
        return True
    given = column.dropna().tolist() if column.dtype == object else []
    return bool(given) and all(isinstance(value, date) for value in given)


def check_format(form: str) -> None:
    """Raise DataError unless dates can be written in a format and read back."""
    if form == ISO or form in _PERIODS:
        return
    day, why = pd.Timestamp(2004, 3, 15), "has no year"
    try:
        if pd.to_datetime(day.strftime(form), format=form).year == day.year:
            return
    except ValueError as error:
        why = f"cannot be used ({error})"
    raise DataError(
        f"the date format {form!r:.40} {why}; write it in the words of strptime, such as %d.%m.%Y "
        "for 15.03.2004."
    )


@dataclass
class FormatSearch:
    """The formats that fit all dates seen so far; a file may be seen in parts, in order.

    Parameters
    ----------
    table
        Name of the file for messages.
    tried
        Formats to try.
    given
        The one that is used if it fits, whatever others do.
    """

    table: str
    tried: tuple[str, ...] = FORMATS
    given: str | None = None
    fits: list[str] = field(default_factory=list)
    n_seen: int = 0
    _apart: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, column: pd.Series, table: str, form: str | None = None) -> FormatSearch:
        """A search for a column of texts or whole numbers; `form` is its format, if known."""
        if form is not None:
            check_format(form)
        if is_numeric_dtype(column):  # 20040315 has one meaning, whatever texts are like
            return cls(table, _WHOLE if form is None else (form, *_WHOLE), form)
        return cls(table, FORMATS if form is None else (form,), form)

    def see(self, column: pd.Series) -> None:
        """Drop formats that do not fit these rows; DataError about a row that none fits."""
        cells = _cells(_given(column, self.table, self.n_seen))
        unique = cells.reset_index(drop=True).drop_duplicates()
        first = unique.iloc[:1]
        tried = self.fits or [form for form in self.tried if _parsed(first, form).notna().all()]
        if not tried:
            self._refuse(self.n_seen, str(first.iloc[0]))
        try:
            found = {form: _parsed(unique, form) for form in tried}
        except ValueError as error:  # time zones that differ
            raise DataError(f"{self.table}: the dates cannot be read ({error}).") from error
        self.fits = [form for form, days in found.items() if days.notna().all()]
        if not self.fits:
            self._refuse_mixed(unique, *min(found.items(), key=lambda item: item[1].isna().sum()))
        for pair in combinations(self.fits, 2):
            differ = (found[pair[0]] != found[pair[1]]).to_numpy()
            if differ.any() and pair not in self._apart:
                k = int(differ.argmax())
                self._apart[pair] = self.n_seen + int(unique.index[k]), str(unique.iloc[k])
        self.n_seen += len(cells)

    def decide(self) -> str:
        """The first of the formats that fit; DataError if they disagree about a row."""
        if self.given in self.fits:
            return self.given
        left = [pair for pair in self._apart if set(pair) <= set(self.fits)]
        if not left:
            return self.fits[0]
        (one, other), (row, cell) = left[0], self._apart[left[0]]
        read = [_parsed(pd.Series([cell]), form).iloc[0] for form in (one, other)]
        days = [f"{day.day} {day:%B %Y}" for day in read]
        raise DataError(
            f"{self.table}: row {row} has the date {cell!r:.40}, which is {days[0]} or {days[1]}, "
            "and no row tells day from month; say which it is (--date-format "
            f"'{one}' or '{other}', date_format=), or write 2004-03-15."
        )

    def _refuse(self, row: int, cell: str) -> None:
        if self.given is not None:
            raise DataError(
                f"{self.table}: row {row} has the date {cell!r:.40}, which is not written as "
                f"{self.given}, the format given or that of the rows a model was fitted to; one "
                "format a column is allowed. Correct it, or pass another (--date-format, "
                "date_format=)."
            )
        why, example = "every row needs one", "%d.%m.%Y"
        if re.fullmatch(r"\d{1,2}:\d{2}.*", cell):
            why = "a time of day alone is none, and every row needs one"
        elif re.match(r"(\d{1,2}[./-]){2}\d{2}\b", cell):
            why, example = "a year of two digits is not guessed", "%d.%m.%y"
        raise DataError(
            f"{self.table}: row {row} has the date {cell!r:.40}; {why}. Write 2004-03-15 or the "
            "like, or, if all rows are written alike, pass their format in the words of strptime "
            f"(--date-format {example}, date_format=)."
        )

    def _refuse_mixed(self, unique: pd.Series, form: str, days: pd.Series) -> None:
        """Raise DataError about the first row that the best format does not fit."""
        k = int(days.isna().to_numpy().argmax())
        row, cell = self.n_seen + int(unique.index[k]), str(unique.iloc[k])
        other = [form for form in self.tried if _parsed(unique.iloc[[k]], form).notna().all()]
        if not other:
            self._refuse(row, cell)
        # A row that shows the difference, since 01/02/2004 looks like both.
        unlike = (_parsed(unique, other[0]).isna() & days.notna()).to_numpy()
        seen = f"and earlier rows are written as {form}"
        if unlike.any():
            k = int(unlike.argmax())
            seen = f"and row {self.n_seen + int(unique.index[k])} has {unique.iloc[k]!r:.40}"
        raise DataError(
            f"{self.table}: row {row} has the date {cell!r:.40} {seen}; one format a column is "
            f"allowed. Write all dates alike, {_ORDINARY}."
        )


def _parsed(cells: pd.Series, form: str) -> pd.Series:
    """Datetimes of texts, NaT where the format does not fit."""
    fits = cells.str.fullmatch(_SHAPES.get(form) or _shape(form))
    if form in _PERIODS:
        days = [
            _first_day(cell, form) if fit else None for cell, fit in zip(cells, fits, strict=True)
        ]
        return pd.Series(pd.to_datetime(pd.Series(days, index=cells.index, dtype=object)))
    with warnings.catch_warnings():
        # Of time zones that differ, by pandas before 3; they are refused.
        warnings.simplefilter("ignore", FutureWarning)
        return pd.to_datetime(cells.where(fits), errors="coerce", format=form)


def _first_day(cell: str, form: str) -> date | None:
    """The day a quarter, week or month begins; None if there is none of that number."""
    year = int(re.findall(r"\d{4}", cell)[0])
    part = int(re.findall(r"\d{1,2}", cell.replace(f"{year:04d}", " "))[0])
    try:
        if form == WEEKS:
            return date.fromisocalendar(year, part, 1)
        return date(year, 3 * part - 2 if form == QUARTERS else part, 1)
    except ValueError:
        return None


def _shape(form: str) -> str:
    """What a text must look like to be a date of this format.

    Without marks between them all digits must be there: 200412 as %Y%m%d is no second of January.
    """
    if re.fullmatch(r"(%[YymdHMSj])+", form):
        return rf"\d{{{len(date(2004, 3, 15).strftime(form))}}}"
    return r".*\d.*"


def _given(column: pd.Series, table: str, first: int = 0) -> pd.Series:
    """The column, whose first row is `first`; DataError if a row has nothing."""
    missing = column.isna().to_numpy(dtype=np.bool_)
    if missing.any():
        row = int(missing.argmax())
        raise DataError(
            f"{table}: row {first + row} has the date {column.iloc[row]!r:.40}; every row needs "
            f"one, {_ORDINARY}. Fill it in, or delete the row."
        )
    return column


def _cells(column: pd.Series) -> pd.Series:
    """Texts without white space around them; whole numbers without a point."""
    texts = [
        str(int(value) if isinstance(value, float) and value.is_integer() else value).strip()
        for value in column.tolist()
    ]
    return pd.Series(texts, index=column.index, dtype=object)


def _without_zone(days: pd.Series, table: str) -> pd.Series:
    """The wall time; DataError if rows have different time zones."""
    if days.dtype == object:
        raise DataError(
            f"{table}: the dates cannot be read (their time zones differ); one zone a column is "
            "allowed. Convert them to one."
        )
    out: pd.Series = days.dt.tz_localize(None)
    return out
