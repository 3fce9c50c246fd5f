"""Tables as frames: CSV, JSON lines and Parquet; errors name the file and the line."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.files import check_regular

# How pandas reads cells; its own guesses make "null" a missing value even in a column of strings.
AS_IT_STANDS: Any = {"dtype": str, "na_filter": False, "encoding": "utf-8-sig"}
KINDS = (".csv", ".jsonl", ".ndjson", ".parquet")
MISSING: tuple[str, ...] = ("", ".", "NA", "NaN", "nan", "N/A", "null")  # among numbers
MISSING += ("n/a", "#N/A", "NULL", "None", "-", "?", "N.A.", "n.a.", "na", "missing", "#DIV/0!")


Lines = list[tuple[int, list[str]]]  # number and cells of each line


def read_table(path: Path, as_text: Collection[str] = ()) -> pd.DataFrame:
    """Frame of a .csv, .jsonl, .ndjson or .parquet file, the first three also packed as .gz.

    Parameters
    ----------
    path
        The file; its name says what it is.
    as_text
        Columns of a CSV file that stay as they stand: "007" is no number, and "null" is a word.
    """
    kind = ending(path)
    if kind not in KINDS:
        raise DataError(
            f"{path.name} is no table that can be read; {', '.join(KINDS)} are allowed, and .gz "
            "after the first three."
        )
    _require_file(path)
    if kind == ".csv":
        return _read_csv(path, as_text)
    return _read_parquet(path) if kind == ".parquet" else _frame(list(json_rows(path)))


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Frame of the rows; a whole number beyond all floats stays one, whatever pandas thinks."""
    try:
        return pd.DataFrame(rows)
    except OverflowError:  # before pandas 3
        cells = pd.DataFrame(rows, dtype=object)
        return pd.DataFrame({name: _inferred(cells[name]) for name in cells})


def _inferred(column: pd.Series) -> pd.Series:
    try:
        return column.infer_objects()
    except OverflowError:
        return column


def ending(path: Path) -> str:
    """What the name of a file ends in, in small letters; of a packed one, before .gz."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"] and len(suffixes) > 1
    return suffixes[-2] if packed else path.suffix.lower()


def read_lines(path: Path) -> list[str]:
    """All lines of a text file, with their ends; meant for files of numbers, which are small."""
    _require_file(path)
    try:
        with open_text(path) as stream:
            return list(stream)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} cannot be read as text ({error}).") from error


def read_cells(path: Path) -> Lines:
    """Number and cells of each line of a CSV file, without white space around cells.

    Lines without any content are left out.
    """
    reader = csv.reader(read_lines(path))
    try:
        rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    except csv.Error as error:
        raise DataError(f"{path.name} cannot be read as CSV ({error}).") from error
    return [(line, cells) for line, cells in rows if any(cells)]


def numeric_cells(path: Path, header: list[str], lines: Lines) -> FloatArray:
    """Numbers of the lines under a header; the first cell of each, a date, is left out."""
    values = np.empty((len(lines), len(header)))
    for row, (line, cells) in enumerate(lines):
        place = f"{path.name}, line {line}"
        if len(cells) != len(header) + 1:
            raise DataError(
                f"{place}: {len(cells)} cells under a header of {len(header) + 1}; the file may be "
                "cut short or edited. Download it again."
            )
        pairs = zip(header, cells[1:], strict=True)
        values[row] = [number(cell, f"{place}, {name}") for name, cell in pairs]
    return values


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise DataError(f"{path.name} does not exist in the folder {path.parent.name!r}.")


def open_text(path: Path) -> IO[str]:
    """The file's text; unpacked if its name ends in .gz, a byte order mark taken off."""
    check_regular(path)
    opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
    stream: IO[str] = opened(path, "rt", encoding="utf-8-sig", newline="")
    return stream


def number(
    cell: str, place: str, what: str = "number", missing: Collection[str] = ("", ".")
) -> float:
    """The number in a cell, nan if it is one of `missing`; `place` names file, line and column."""
    if cell in missing:
        return np.nan
    try:
        value = float(cell)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        cure = "leave it empty" if missing else "delete the line"
        raise DataError(f"{place}: {cell!r:.40} is no {what}; correct it, or {cure}.")
    return value


def _read_csv(path: Path, as_text: Collection[str]) -> pd.DataFrame:
    try:
        table: pd.DataFrame = pd.read_csv(path, **AS_IT_STANDS)
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path.name} cannot be read as CSV ({error}).") from error
    return table.assign(**{k: _guessed(table[k]) for k in table.columns if k not in as_text})


def _guessed(cells: pd.Series) -> pd.Series:
    """Numbers if all cells are numbers or missing, and not all missing; else strings."""
    numbers = as_numbers(cells)
    return cells.mask(cells == "") if numbers is None or numbers.isna().all() else numbers


def as_numbers(cells: pd.Series) -> pd.Series | None:
    """The numbers of a column whose cells are all numbers or missing; None if one is neither."""
    given = cells.astype(object).mask(cells.isin(MISSING))
    numbers: pd.Series = pd.to_numeric(given, errors="coerce")
    return numbers if numbers.notna().equals(given.notna()) else None


def json_rows(path: Path, *, flat: bool = False) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines, one after the other; `flat` refuses nested ones."""
    try:
        with open_text(path) as stream:
            for k, line in enumerate(stream, start=1):
                if line.strip():
                    yield _json_object(line, f"{path.name}, line {k}", flat=flat)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} cannot be read as JSON lines ({error}).") from error


def _json_object(line: str, place: str, *, flat: bool) -> dict[str, Any]:
    try:
        row = json.loads(line, object_pairs_hook=_once)
        if "\\ud" in line.lower():
            row = json.loads(_whole_letters(json.dumps(row, ensure_ascii=False)))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place}: this is no JSON ({error}); one object a line.") from error
    if not isinstance(row, dict):
        raise DataError(f"{place}: a {type(row).__name__}; one object {{...}} a line is allowed.")
    if flat and any(isinstance(value, list | dict) for value in row.values()):
        raise DataError(f"{place}: one flat object {{...}} a line is allowed.")
    return row


def _whole_letters(text: str) -> str:
    """A text without halves of letters, as texts cut to a length have; no file could hold them."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which no name stands for two values: one would be lost without a word."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r:.40} is named twice")
    return found


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        if importlib.util.find_spec("pyarrow") is not None:
            return pd.read_parquet(path)
        if importlib.util.find_spec("polars") is not None:
            import polars as pl

            table = pl.read_parquet(path)
            # polars' own way to pandas needs pyarrow.
            return pd.DataFrame({column.name: column.to_list() for column in table})
    except Exception as error:  # each library has errors of its own, none is a built-in one
        raise DataError(f"{path.name} cannot be read as Parquet ({error}).") from error
    raise DataError(f"{path.name} is Parquet, which needs pyarrow or polars; install one of them.")
