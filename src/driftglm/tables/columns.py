"""What stands in a column: found by name, checked, read as numbers, times or classes."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from driftglm._typing import FloatArray
from driftglm._warnings import warn
from driftglm.data.timesteps import Freq
from driftglm.datasets.steps import Steps, read_steps
from driftglm.exceptions import DataError, DataWarning, TimeError
from driftglm.families import family_named
from driftglm.registry import FAMILIES
from driftglm.tables.cells import MOST, named_cells, refuse_empty, refuse_spoilt, with_lines
from driftglm.tables.reading import Table, as_strings

MOST_CLASSES = 50
NUMBER = bool | int | float | Decimal | np.number
LARGEST_WHOLE = int(np.finfo(np.float64).max)
N_SHOWN, MOST_DIGITS = 8, 15


def column(table: Table, name: str, role: str) -> pd.Series:
    """A column by name; DataError with the nearest names if there is none.

    `role` says in a message what the column is for, such as "target".
    """
    if name in table.frame.columns:
        return table.frame[name]
    known = [str(each) for each in table.frame.columns]
    raise DataError(f"{table.name} has no column {name!r:.60} ({role}); {near(name, known)}")


def near(name: str, known: Sequence[str], what: str = "columns") -> str:
    """Which names a user may have meant."""
    folded = {each.casefold(): each for each in reversed(known)}
    close = [folded[each] for each in get_close_matches(name.casefold(), list(folded), 3, 0.7)]
    if close:
        return f"did you mean {' or '.join(repr(each) for each in close)}?"
    shown = ", ".join(repr(each) for each in known[:N_SHOWN])
    return f"its {what} are {shown}{', ...' if len(known) > N_SHOWN else ''}."


def is_number_column(values: pd.Series) -> bool:
    """Whether all values are numbers or booleans; objects are looked at one by one."""
    if is_numeric_dtype(values) or is_bool_dtype(values):
        return True
    given = values.dropna()
    return bool(len(given)) and all(isinstance(v, NUMBER) for v in given)


def as_floats(cells: pd.Series) -> FloatArray:
    """Cells as numbers, NaN where they are none; what is too large for a float is infinite."""
    try:
        found: FloatArray = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    except OverflowError:
        large = cells.map(lambda v: isinstance(v, int) and abs(v) >= LARGEST_WHOLE)
        found = np.where(large, np.inf, as_floats(cells.mask(large.to_numpy(dtype=np.bool_))))
    return found


def numbers(table: Table, values: pd.Series, name: str, cure: str) -> FloatArray:
    """A column of a table as finite numbers; DataError names the first cells that hold none."""
    refuse_empty(table, values, name, cure)
    cells = values if values.dtype.kind in "fiu" else values.astype(object)
    found = as_floats(cells)
    bad = ~np.isfinite(found)
    if bad.any():
        what = "which is no finite number" if bad.sum() == 1 else "which are no finite numbers"
        raise DataError(
            f"column {name!r:.60} has {named_cells(table, values, bad)}, {what}; {cure}"
        )
    return found


def read_times(
    table: Table, name: str, freq: Freq, date_format: str | None = None
) -> tuple[Any, str | None]:
    """Time labels for an estimator, and the format of dates that were texts.

    Labels are whole numbers, dates or an ordered Categorical.

    Parameters
    ----------
    table
        The rows.
    name
        The column.
    freq
        Length of a step; needed for dates. With "Y", "Q", "M" and the like whole numbers are years,
        yyyymm or yyyymmdd.
    date_format
        How dates are written, in the words of strptime; None: as all rows show.

    Raises
    ------
    TimeError
        If a time is missing or no date; the message has row and value.
    """
    found = table_steps(table, name, freq, date_format)
    return found.labels, found.format


def table_steps(table: Table, name: str, freq: Freq, date_format: str | None = None) -> Steps:
    """Time labels of a column, how long a step is, and what of that was guessed."""
    values = column(table, name, "time")
    cure = "every row needs a time. Fill it in, or delete these rows."
    refuse_empty(table, values, name, cure)
    if values.dtype.kind == "f" and date_format is None:
        _refuse_parts_of_years(table, values, name)
    try:
        return read_steps(values, f"{table.name}, column {name!r}", freq, date_format)
    except DataError as error:
        raise type(error)(with_lines(table, str(error))) from error


def _refuse_parts_of_years(table: Table, values: pd.Series, name: str) -> None:
    """Raise DataError about times such as 2001.25."""
    bad = (values % 1 != 0).to_numpy(dtype=np.bool_)
    if bad.any():
        raise TimeError(
            f"{table.name}, column {name!r:.60} has {named_cells(table, values, bad)}; a step is a "
            "whole number or a date. Write quarters as 2001Q2 and months as 2001-04."
        )


def parse_freq(text: str | None) -> Freq:
    """A freq as it is typed: whole numbers are numbers, other things stay as they are."""
    if text is None or not text.strip().isdecimal():
        return text
    if len(text.strip()) > MOST_DIGITS or int(text) < 1:
        raise DataError(f"freq {text.strip():.20}; a step is 1 or more, or Y, Q, M, W, D of dates.")
    return int(text)


def target(table: Table, name: str, family: str) -> tuple[np.ndarray, str, str]:
    """Values to predict, the family, and why it is that one.

    "auto" takes texts, booleans and two-valued numbers for classes and all else for numbers:
    whether whole numbers are counts, only the user knows. Texts of which half are numbers are a
    mistake, unless the user says "binomial".
    """
    if family != "auto" and family not in FAMILIES:
        raise DataError(f"family {family!r}; auto, {', '.join(FAMILIES)} are allowed.")
    values = column(table, name, "target")
    if values.isna().all():
        raise DataError(f"the target {name!r:.60} has no values; name another column.")
    cure = "the target must be known in every row. Delete these rows (--missing drop)."
    refuse_empty(table, values, name, cure)
    if family == "auto" and not is_number_column(values):
        cure = "or, if they are classes, say so (--family binomial)."
        refuse_spoilt(table, values, name, cure, least=MOST)
    chosen, why = (family, "as asked") if family != "auto" else _guess(values)
    if family_named(chosen).target == "classes":
        return _classes(values, name), chosen, why
    cure = "numbers are needed; for classes use family binomial."
    found = numbers(table, values, name, cure)
    if np.ptp(found) == 0.0 and (found[0] or family_named(chosen).link != "log"):
        # Counts that are all zero are spoken of by the fit.
        warn(
            f"the target {name!r:.60} is {found[0]:g} in every row: it teaches nothing.",
            DataWarning,
        )
    return found, chosen, why


def _guess(values: pd.Series) -> tuple[str, str]:
    n_values = values.astype(str).nunique()
    if is_bool_dtype(values) or not is_number_column(values):
        return "binomial", f"the target has {n_values} classes"
    if n_values == 2:  # noqa: PLR2004
        return "binomial", "the target has two values"
    whole = np.asarray(values, dtype=np.float64)
    if (whole >= 0).all() and (whole % 1 == 0).all():
        return "gaussian", "the target is whole numbers; if they are counts, use family poisson"
    return "gaussian", "the target is numbers"


def _classes(values: pd.Series, name: str) -> np.ndarray:
    """Classes as text, or as numbers where they are numbers."""
    n_classes = values.astype(str).nunique()
    if n_classes < 2 or n_classes > MOST_CLASSES:  # noqa: PLR2004
        raise DataError(
            f"the target {name!r:.60} has {n_classes} different values; 2 to {MOST_CLASSES} are "
            "allowed as classes. Name another column, or use family gaussian for numbers."
        )
    if is_number_column(values) and not is_bool_dtype(values):
        found = np.asarray(values, dtype=np.float64)
        return found.astype(np.int64) if (found % 1 == 0).all() else found
    return as_strings(values).astype(str)
