"""Files of other programs become frames: Excel, Stata, Feather."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from driftglm.exceptions import DataError
from driftglm.tables.layout import Layout, open_packed

NEEDED = {".xlsx": "openpyxl", ".xls": "xlrd", ".feather": "pyarrow"}
KINDS = (".xlsx", ".xls", ".dta", ".feather")


def read_binary(path: Path, kind: str, layout: Layout) -> tuple[pd.DataFrame, list[str]]:
    """Frame of a file, and what was guessed."""
    package = NEEDED.get(kind)
    if package is not None and find_spec(package) is None:
        raise DataError(
            f"{path.name} needs the package {package}; pip install {package}, or save it as CSV."
        )
    try:
        if kind == ".dta":
            with open_packed(path) as stream:
                return _plain_categories(pd.read_stata(stream)), []
        if kind == ".feather":
            return pd.read_feather(path), []
        return _excel(path, layout)
    except DataError:
        raise
    except Exception as error:  # every format has errors of its own
        raise DataError(f"{path.name} cannot be read as {kind[1:]} ({error}).") from error


def _excel(path: Path, layout: Layout) -> tuple[pd.DataFrame, list[str]]:
    with pd.ExcelFile(path) as book:
        names: list[Any] = list(book.sheet_names)
        sheet, said = layout.sheet, []
        if sheet is None:
            sheet = names[0]
            if len(names) > 1:
                said.append(
                    f"{path.name} has {len(names)} sheets; the first, {sheet!r:.40}, is read "
                    "(--sheet)."
                )
        elif sheet not in names:
            if not (sheet.isdecimal() and 0 < int(sheet) <= len(names)):
                known = ", ".join(repr(name) for name in names[:8])
                raise DataError(f"{path.name} has no sheet {sheet!r:.40}; its sheets are {known}.")
            sheet = names[int(sheet) - 1]
        frame: pd.DataFrame = book.parse(sheet)
    empty = [name for name in frame.columns if str(name).startswith("Unnamed:")]
    if len(frame.columns) - len(empty) == 1 and any(frame[name].notna().any() for name in empty):
        raise DataError(
            f"{path.name} begins with {frame.columns[0]!r:.40}, which is no row of names; delete "
            "what is above them, or name another sheet (--sheet)."
        )
    return frame.drop(columns=[name for name in empty if frame[name].isna().all()]), said


def _plain_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Stata's value labels are names, in no order that a time axis could use."""
    labelled = [n for n in frame.columns if isinstance(frame[n].dtype, pd.CategoricalDtype)]
    return frame.assign(**{str(name): frame[name].astype(object) for name in labelled})
