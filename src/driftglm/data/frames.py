"""What cannot be used as X: columns of a frame that are no numbers or have gaps, broken matrices.

All such columns are named at once, with what to do.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import (
    is_bool_dtype,
    is_datetime64_any_dtype,
    is_numeric_dtype,
    is_timedelta64_dtype,
)

from driftglm.data.matrices import refuse_broken
from driftglm.exceptions import DataError

_THOUSANDS = r"\d{1,3}([,.' \u2019\u00a0\u202f]\d{3})+([.,]\d+)?"
MARKED = re.compile(rf"[+-]?[$€£¥]? ?[+-]?({_THOUSANDS}|\d+([.,]\d+)?) ?[%$€£¥]?")
"""Decimal commas, marks between thousands, signs of percent and currencies."""
DATED = re.compile(r"\d{4}[-/.]\d{1,2}([-/.]\d{1,2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}.*")
NEARLY_ALL, FEWEST = 0.9, 20
"""Share of the texts of a column that say what it holds; rows from which all may be ids."""
N_NAMED = 8
CURES = {
    "numbers with marks": "numbers with marks are read by driftglm.tables.FrameEncoder() in front "
    "in a pipeline, or marks are replaced (Series.str.replace)",
    "dates": "a column of dates is the time (time='its name' in the constructor) or is left out",
    "ids": "a text of its own in every row says nothing about others, leave it out",
    "texts": "texts become indicators with driftglm.tables.FrameEncoder() in front in a pipeline",
    "gaps": "gaps are filled by FrameEncoder(missing='mean') or 'indicator' in front in a "
    "pipeline, or drop these rows",
    "lists": "a cell holds one number",
    "durations": "durations become numbers by Series.dt.total_seconds()",
}
MARKED_TARGET = "Replace the marks, y.str.replace(',', '.').astype(float) or the like."
OTHER_TARGET = "Pass numbers, one per row; labels are for classifiers."


def check_matrix(X: object) -> None:
    """Raise DataError if X would be misread, or if columns of a frame are no numbers or have gaps.

    Numbers of arrays are looked at elsewhere.
    """
    refuse_broken(X, "X")
    if not (hasattr(X, "columns") and hasattr(X, "dtypes")) or isinstance(X, pd.Series):
        return
    frame: Any = X
    said: list[str] = []
    needed: dict[str, None] = {}
    n_bad = 0
    for place, name in enumerate(frame.columns):
        values = _column(frame, name, place)
        found = [] if values is None else _complaints(values)
        n_bad += bool(found)
        for kind, what in found if n_bad <= N_NAMED else []:
            said.append(f"column {str(name)!r:.60} {what}")
            needed[kind] = None
    if said:
        more = f"; and {n_bad - N_NAMED} more columns" if n_bad > N_NAMED else ""
        cures = "; ".join(CURES[kind] for kind in needed)
        raise DataError(f"X cannot be read as numbers: {'; '.join(said)}{more}. {_sentence(cures)}")


def check_target(y: object) -> None:
    """Raise DataError if a column that should be numbers has gaps or is one of other texts."""
    if not isinstance(y, pd.Series | np.ndarray) or y.ndim != 1:
        return
    values = pd.Series(y if isinstance(y, pd.Series) else np.asarray(y)).reset_index(drop=True)
    for kind, what in _complaints(values):
        if kind == "gaps":
            raise DataError(f"y {what}; rows whose target is missing say nothing. Drop them.")
        cure = MARKED_TARGET if kind == "numbers with marks" else OTHER_TARGET
        raise DataError(f"y is no column of numbers: it {what}. {cure}")


def _column(frame: Any, name: object, place: int) -> pd.Series | None:
    """A column as a Series; None where numbers without gaps are certain or not worth a look."""
    if isinstance(frame, pd.DataFrame):
        values = frame.iloc[:, place]
        return None if isinstance(values.dtype, pd.SparseDtype) else values
    column = frame[name]  # of polars, say
    kind = str(getattr(column, "dtype", ""))
    if kind.startswith(("Float", "Int", "UInt", "Boolean")):
        listed = column.to_numpy()
        return pd.Series(listed)
    return pd.Series(column.to_list(), dtype=object)


def _complaints(values: pd.Series) -> list[tuple[str, str]]:
    """Kinds of what is wrong with a column, and what is said of each."""
    gaps = values.isna().to_numpy(dtype=np.bool_)
    found = _kind(values[~gaps])
    if gaps.any():
        where = f"has no value in {int(gaps.sum()):,} of {gaps.size:,} rows"
        found.append(("gaps", f"{where}, first in row {int(gaps.argmax())}"))
    return found


def _kind(given: pd.Series) -> list[tuple[str, str]]:
    """What the values are, if they are no numbers."""
    kind = given.dtype
    if is_numeric_dtype(kind) or is_bool_dtype(kind) or not len(given):
        return []
    if is_datetime64_any_dtype(kind) or isinstance(kind, pd.PeriodDtype):
        return [("dates", "holds dates")]
    if is_timedelta64_dtype(kind):
        return [("durations", "holds durations")]
    if isinstance(given.iloc[0], list | tuple | dict | set | np.ndarray):
        return [("lists", f"holds a {type(given.iloc[0]).__name__} in a cell")]
    return _kind_of_texts(given)


def _kind_of_texts(given: pd.Series) -> list[tuple[str, str]]:
    """What texts are, if they cannot be read as numbers."""
    if pd.to_numeric(given.astype(object), errors="coerce").notna().all():
        return []
    texts = given.astype(str).str.strip()
    numbers = pd.to_numeric(texts, errors="coerce").notna()
    shown = texts[~numbers].iloc[0]
    what = f"({shown!r:.30} in row {_row(given, ~numbers)})"
    if texts.str.fullmatch(MARKED).mean() >= NEARLY_ALL:
        return [("numbers with marks", f"holds numbers with marks {what}")]
    if texts.str.fullmatch(DATED).mean() >= NEARLY_ALL:
        return [("dates", f"holds dates {what}")]
    if len(given) >= FEWEST and texts.is_unique:
        return [("ids", f"has {len(given):,} different texts in {len(given):,} rows")]
    return [("texts", f"holds texts {what}")]


def _row(given: pd.Series, bad: pd.Series) -> object:
    """Where the first bad value stands: its label, which counts rows unless users gave others."""
    return given.index[bad.to_numpy(dtype=np.bool_)][0]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
