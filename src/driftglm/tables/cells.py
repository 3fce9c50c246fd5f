"""Cells that should have been numbers: found by what stands around them, named with their lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, time, timedelta

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype

from driftglm._typing import BoolArray
from driftglm.data.checks import refuse_missing
from driftglm.datasets.tables import MISSING
from driftglm.exceptions import DataError
from driftglm.tables.reading import Table, lines_of

NEARLY_ALL = 0.9
"""A column of texts of which at least this share would be numbers is a column of numbers with
mistakes in it, unless the user says that it is categorical. Decimal commas and marks between
thousands count as numbers here, as a person would read them; they are mistakes all the same."""
MOST = 0.5
"""The share that is enough where levels are unlikely: in a target, which would become classes, and
where the numbers differ from each other, as measurements do and codes do not."""
_MARKED = r"[+-]?(\d+,\d+|\d{1,3}([,.' \u2019\u00a0\u202f]\d{3})+([.,]\d+)?)"
ROW = re.compile(r"\brow (\d+)\b(?! \(line)")
N_NAMED = 3
N_COLUMNS = 8


def spoilt(values: pd.Series, least: float = NEARLY_ALL) -> BoolArray | None:
    """Which cells of a column of texts spoil it for numbers; None if it is no such column.

    Parameters
    ----------
    values
        The column. Words for a missing number, such as NA, are counted on neither side.
    least
        Share of the other cells that must be numbers, or nearly so; of numbers that all differ
        more than half is enough.
    """
    gaps = values.isna().to_numpy(dtype=np.bool_)
    texts = [str(value).strip() for value in values.tolist()]
    cells = pd.Series(texts, dtype=object).mask(gaps | np.isin(texts, MISSING), None)
    given = cells.notna()
    is_number = pd.to_numeric(cells, errors="coerce").notna()
    looks_so = is_number | cells.str.fullmatch(_MARKED).eq(other=True)
    bad = given & ~is_number
    if not bad.any():
        return None
    different = cells[looks_so].nunique() > MOST * given.sum()
    if looks_so[given].mean() < least and not different:
        return None
    return bad.to_numpy(dtype=np.bool_)


def refuse_spoilt(
    table: Table, values: pd.Series, name: str, cure: str, *, least: float = NEARLY_ALL
) -> None:
    """Raise DataError if a column of texts is one of numbers but for some cells.

    `cure` says what else the user may do than to correct them.
    """
    bad = spoilt(values, least)
    if bad is not None:
        raise DataError(
            f"column {name!r:.60} has {named_cells(table, values, bad)}; {_others(bad)}, and "
            f"numbers are written like 1234.5. Correct what is not, say what marks mean (--decimal "
            f"',' or --thousands ','), {cure}"
        )


def refuse_gaps(table: Table, names: Sequence[str], cure: str) -> None:
    """Raise DataError about all columns that have gaps, with counts and first rows."""
    found: list[tuple[str, int, int]] = []
    for name in names:
        gaps = table.frame[name].isna().to_numpy(dtype=np.bool_)
        if gaps.any() and not gaps.all():
            found.append((name, int(gaps.sum()), int(gaps.argmax())))
    if not found:
        return
    shown = found[:N_COLUMNS]
    lines = lines_of(table, [row for _, _, row in shown])
    parts = []
    for (name, n_gaps, row), line in zip(shown, lines, strict=True):
        where = f"row {row}" if line is None else f"row {row} (line {line})"
        verb = "column " if len(found) == 1 else ""
        parts.append(
            f"{verb}{name!r:.60} has no value in {n_gaps} of {table.n_rows} rows, first in {where}"
        )
    left = len(found) - len(shown)
    start = "" if len(found) == 1 else f"{len(found)} columns have gaps: "
    more = f" and {left} more columns" if left else ""
    raise DataError(f"{start}{'; '.join(parts)}{more}; {cure}")


def refuse_empty(table: Table, values: pd.Series, name: str, cure: str) -> None:
    """As `refuse_missing`, with the line of the first gap."""
    try:
        refuse_missing(values, name, cure)
    except DataError as error:
        raise DataError(with_lines(table, str(error))) from None


def with_lines(table: Table, message: str) -> str:
    """A message whose rows, counted from 0, also have the lines of the file."""
    rows = [int(found) for found in ROW.findall(message)]
    lines = dict(zip(rows, lines_of(table, rows), strict=True))

    def named(found: re.Match[str]) -> str:
        line = lines[int(found.group(1))]
        return found.group(0) if line is None else f"{found.group(0)} (line {line})"

    return ROW.sub(named, message)


def named_cells(table: Table, values: pd.Series, bad: BoolArray) -> str:
    """The first bad cells with their rows and, where the file has lines, their lines."""
    rows = np.flatnonzero(bad)[:N_NAMED].tolist()
    shown = []
    for row, line in zip(rows, lines_of(table, rows), strict=True):
        where = f"row {row}" if line is None else f"row {row} (line {line})"
        shown.append(f"{str(values.iloc[row])!r:.40} in {where}")
    left = int(bad.sum()) - len(rows)
    return ", ".join(shown) + (f" and {left} more" if left else "")


def _others(bad: BoolArray) -> str:
    n_good = int((~bad).sum())
    if not n_good:
        return "no cell is a number as it stands, though nearly all look like one"
    return f"the other {n_good} of {bad.size} cells are numbers"


def refuse_dates(values: pd.Series, name: str) -> None:
    """Raise DataError for dates, times of day and durations, whose values are no levels."""
    first = values.dropna().iloc[0]
    if is_datetime64_any_dtype(values) or isinstance(first, pd.Period | date | time):
        raise DataError(f"column {name!r:.60} holds dates, which are no feature; drop it (--drop).")
    if isinstance(first, timedelta):
        raise DataError(
            f"column {name!r:.60} holds durations; write them as numbers of one unit, or drop it "
            "(--drop)."
        )


def refuse_nested(values: pd.Series, name: str) -> None:
    """Raise DataError if a cell holds a list or the like, as JSON and Parquet may."""
    nested = list | dict | set | tuple | np.ndarray
    odd = [k for k, value in enumerate(values.tolist()) if isinstance(value, nested)]
    if odd:
        kind = type(values.iloc[odd[0]]).__name__.replace("ndarray", "list")
        raise DataError(f"column {name!r:.60} has a {kind} in row {odd[0]}; drop it (--drop).")
