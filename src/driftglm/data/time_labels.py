"""Time labels as users give them: taken out of their container, checked, one kind for all rows."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype

from driftglm._typing import BoolArray, IntArray, VectorLike
from driftglm.exceptions import TimeError

Values: TypeAlias = IntArray | pd.DatetimeIndex | pd.PeriodIndex | pd.Categorical
"""What every accepted input is brought to before it is encoded."""
MAX_INTEGER = 2**62
"""The difference of any two labels then fits into int64."""
MAX_EXACT_FLOAT = 2**53
"""From here on a float no longer tells neighbouring integers apart."""


def shown(label: object) -> str:
    """Label as it stands in messages: strings quoted, numpy scalars without their type."""
    return repr(str(label)) if isinstance(label, str) else str(label)


def reject(values: Values | NDArray[Any], bad: BoolArray, why: str) -> None:
    """Raise TimeError about the first bad row, if there is one."""
    if bad.any():
        row = int(bad.argmax())
        raise TimeError(f"time is {shown(values[row])} in row {row}, {why}")


def read_labels(time: VectorLike, n_rows: int) -> Values:
    """Checked labels without their container, one per row, none missing."""
    values = _unwrap(time)
    _check_rows(values, n_rows)
    if isinstance(values, pd.DatetimeIndex | pd.PeriodIndex):
        return values
    if isinstance(values, pd.Categorical) and values.ordered:
        return values
    kind = "unordered Categorical" if isinstance(values, pd.Categorical) else _array_kind(values)
    if kind in {"integer", "floating", "mixed-integer-float"}:
        return _integers(values, MAX_INTEGER if kind == "integer" else MAX_EXACT_FLOAT)
    if kind in {"datetime64", "datetime", "date", "period"}:
        return _dates_or_periods(values, kind)
    raise TimeError(
        f"time holds {kind} labels ({shown(values[0])} in row 0); integers, datetimes with freq, "
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

    def is_mixed(end: int) -> bool:
        return infer_dtype(values[:end], skipna=False) in {"mixed", "mixed-integer"}

    if not is_mixed(len(values)):
        return infer_dtype(values, skipna=False)
    # Once a beginning is mixed, every longer one is: bisection finds the first label at odds.
    row = bisect_left(range(1, len(values)), 1, key=is_mixed)
    if row > 0:
        first, odd = type(values[0]).__name__, type(values[row]).__name__
        why = f"a label of type {odd}, but row 0 is {shown(values[0])} of type {first}"
        cure = "labels of one type, and Periods of one freq, are allowed. Convert them."
        reject(values, np.arange(len(values)) == row, f"{why}; {cure}")
    return type(values[0]).__name__


def _integers(values: NDArray[Any], limit: int) -> IntArray:
    """Labels as int64; TimeError for fractions and for numbers too large to be told apart."""
    if values.dtype.kind == "f":
        values = values.astype(np.float64)  # float16 could not even be compared with the limit
    bad = (values >= limit) | (values <= -limit)
    if limit == MAX_EXACT_FLOAT and not bad.any():
        bad = values.astype(np.float64) % 1 != 0
    why = f"but whole numbers between {-limit} and {limit} are allowed. Round to whole steps, or"
    reject(values, bad, f"{why} use pd.to_datetime with freq.")
    return values.astype(np.int64)


def _dates_or_periods(values: NDArray[Any], kind: str) -> pd.DatetimeIndex | pd.PeriodIndex:
    """Labels as pandas holds them, datetimes at local wall time."""
    try:
        if kind == "period":
            return pd.PeriodIndex(values)
        if kind == "datetime64":
            return pd.DatetimeIndex(values)
        # One by one, because time zones may differ from row to row; a date has none at all.
        local = [v.replace(tzinfo=None) if getattr(v, "tzinfo", None) else v for v in values]
        return pd.DatetimeIndex(local)
    except (TypeError, ValueError, OverflowError) as error:
        raise TimeError(
            f"the {kind} labels ({shown(values[0])} in row 0) cannot be read: {error}; dates "
            "within the range of pandas are allowed. Convert them with pd.to_datetime first."
        ) from error
