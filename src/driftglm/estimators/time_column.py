"""A column of a frame that holds the times of its rows: `DriftRegressor(time="year")`.

It goes with the rows wherever scikit-learn takes them: through pipelines that keep frames, into the
folds of a cross-validation, and to `score`, which no array given to `fit` reaches.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from driftglm._typing import VectorLike
from driftglm._warnings import warn
from driftglm.data.features import listed
from driftglm.data.timesteps import Freq, TimeAxis
from driftglm.datasets.steps import read_steps
from driftglm.exceptions import DataError, DataWarning, TimeError


def split_time(X: Any, time: VectorLike, column: str | None, freq: Freq = None) -> tuple[Any, Any]:
    """A frame without its column of times, and the times; an array of times is used if given.

    The column may hold what `time` may, and texts: 2019Q1, 2019-W05, Jan-2019, 2019-01-31.
    """
    if column is None:
        return X, time
    names = getattr(X, "columns", None)
    if names is None:
        if time is not None:
            return X, time
        raise DataError(
            f"time={column!r} names a column and X is a {type(X).__name__}, which has no names; "
            "pass a frame. In a pipeline, steps before must keep frames "
            "(set_output(transform='pandas')) and this column."
        )
    if column not in list(names):
        return X, time
    values = X[column]
    rest: Any = X.drop(columns=[column]) if isinstance(X, pd.DataFrame) else X.drop(column)
    return rest, _labels(values, column, freq) if time is None else time


def require_time(X: Any, time: VectorLike, column: str | None) -> None:
    """Raise DataError if the times of rows are in no column, and nowhere else either."""
    names = getattr(X, "columns", None)
    if column is None or time is not None or names is None or column in list(names):
        return
    raise DataError(
        f"time={column!r} names a column that X does not have; its columns are "
        f"{listed([repr(name) for name in names])}."
    )


def warn_timeless(axis: TimeAxis, time: VectorLike, column: str | None) -> None:
    """Say that rows are scored as of the next step, where nobody said when they are from."""
    if time is None and column is None and axis.n_timesteps > 1:
        warn(
            "score was called without time, so that all rows count as rows of the step after "
            f"{axis.labels[-1]}. scikit-learn hands time to fit but not to score unless metadata "
            "routing is on: name a column of a frame instead, time='column', or pass time=.",
            DataWarning,
        )


def _labels(values: Any, column: str, freq: Freq) -> Any:
    """Times of a column; texts and yyyymm are read as those of a file."""
    if not isinstance(values, pd.Series):
        if values.dtype.__class__.__name__ not in {"String", "Utf8"}:  # polars
            return values
        values = pd.Series(values.to_list(), dtype=object)
    if isinstance(values.dtype, pd.CategoricalDtype | pd.PeriodDtype) or values.isna().any():
        return values  # read, or refused, as an array of times is
    if values.dtype.kind == "M":
        return values
    try:
        return read_steps(values, f"column {column!r}", freq).periods
    except TimeError:
        raise
    except DataError as error:
        raise TimeError(str(error)) from error
