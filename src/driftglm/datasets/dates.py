"""Columns of dates as people write them."""

from __future__ import annotations

import pandas as pd
from pandas.api.types import is_numeric_dtype

from driftglm.exceptions import DataError

_FORMS = {4: "%Y", 6: "%Y%m", 8: "%Y%m%d"}  # of whole numbers, by their digits


def read_dates(column: pd.Series, table: str) -> pd.Series:
    """Datetimes without time zone; `table` is the name of the file for messages.

    Whole numbers are years, yyyymm or yyyymmdd: pandas would take them for nanoseconds.

    Examples
    --------
    >>> read_dates(pd.Series([20040315]), "notes.csv").dt.day.tolist()
    [15]
    """
    try:
        if is_numeric_dtype(column):
            digits = column.astype("string")
            form = _FORMS.get(int(digits.str.len().max() or 0), "%Y%m%d")
            days = pd.to_datetime(digits, errors="coerce", format=form)
        else:
            days = pd.to_datetime(column, errors="coerce", format="mixed")
    except ValueError as error:
        raise DataError(f"{table}: the dates cannot be read ({error}).") from error
    if days.isna().any():
        row = int(days.isna().to_numpy().argmax())
        raise DataError(
            f"{table}: row {row} has the date {column.iloc[row]!r:.40}; every row needs one, such "
            "as 2004-03-15."
        )
    return days.dt.tz_localize(None)
