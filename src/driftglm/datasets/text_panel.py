"""Dated documents with covariates: a table that holds the texts, or a folder of text files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from driftglm._typing import IntArray
from driftglm.datasets.corpus import Documents, Reader, TextCorpus
from driftglm.datasets.covariates import join_companies, join_macro
from driftglm.datasets.dates import read_dates
from driftglm.datasets.provenance import Check, Provenance
from driftglm.datasets.tables import read_table
from driftglm.exceptions import DataError

REPEATED = "repeated documents"
NO_TEXT = "rows without text"
NO_ROW = "text files without row"
_ENDINGS = (".parquet", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".csv", ".csv.gz")


def load_text_panel(
    path: str | os.PathLike[str],
    *,
    key: str = "id",
    date: str = "date",
    text: str = "text",
    file: str = "file",
    date_format: str | None = None,
) -> TextCorpus:
    r"""Documents with dates and covariates.

    Three layouts are told apart by what is there:

    - a table (.csv, .jsonl, .ndjson, .parquet; all but the last also .gz), a row a document, with
      the texts in it;
    - a folder with such a table named `documents`, as in `documents.parquet`;
    - a folder with a table named `metadata` and text files in UTF-8: the column `file` gives the
      path of each within the folder, else it is `<id>.txt`.

    A folder may also hold `macro.csv`, whose values are joined by its column `year` or by the month
    of its column `date`, and `companies.csv` (cik, state), joined by `cik`.

    Parameters
    ----------
    path
        The table or the folder.
    key, date, text, file
        Names of the columns. Without a column of keys, rows are numbered, and none is a repetition.
    date_format
        How dates are written, in the words of strptime, such as "%d.%m.%Y"; None: as all rows show.

    Returns
    -------
    TextCorpus
        `frame` has `id`, `date` (datetime) and all covariates, without the texts. Of a repeated key
        the first row is kept; rows whose text is missing or blank are left out; both are counted
        in `provenance`.
        Text files are read one at a time; the texts of a table stay in memory.

    Raises
    ------
    DataError
        If a file is missing or a date cannot be read; the message names file and row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from driftglm.datasets import load_text_panel
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     csv = Path(folder) / "documents.csv"
    ...     _ = csv.write_text("id,date,source,text\na,2004-03-01,Herald,rain again\n")
    ...     corpus = load_text_panel(csv)
    >>> corpus.frame["source"].tolist(), list(corpus.texts())
    (['Herald'], ['rain again'])
    """
    source = Path(path).absolute()  # texts are read later, maybe from another working folder
    columns = _Columns(key, date, text, file, date_format)
    columns.check()
    table = _find(source, "documents") if source.is_dir() else source
    rows = _text_files(source, columns) if table is None else _texts_of(table, columns)
    frame, reader = rows.usable()
    checks: list[Check] = []
    if source.is_dir():
        frame = join_macro(join_companies(frame, source, checks), source, checks)
    what, n_rows = f"text panel {source.name}", len(rows.frame)
    provenance = Provenance(what, n_rows, len(frame), dict(rows.dropped), tuple(checks))
    provenance.report_differences()
    return TextCorpus(frame, provenance, Documents(np.arange(len(frame)), reader))


@dataclass(frozen=True)
class _Columns:
    """Names of the columns in the user's table."""

    key: str
    date: str
    text: str
    file: str
    date_format: str | None

    def check(self) -> None:
        """Raise DataError if a column is to be two things."""
        names = (self.key, self.date, self.text)
        if len(set(names)) < len(names):
            raise DataError(
                f"keys, dates and texts are in the columns {', '.join(map(repr, names))}, of which "
                "two are the same; each has a column of its own (key=, date=, text=)."
            )

    def as_text(self, *others: str) -> tuple[str, ...]:
        """Columns of a CSV file that stay as they stand; 01032004 is no number if it is a date."""
        return (self.key, *others, *([self.date] if self.date_format else []))


@dataclass(frozen=True)
class _Held:
    """Texts that are in memory."""

    texts: tuple[str, ...]

    def __call__(self, positions: IntArray) -> Iterator[str]:
        return (self.texts[i] for i in positions)


@dataclass(frozen=True)
class _TextFiles:
    """Texts that are read from a file each."""

    paths: tuple[Path, ...]

    def __call__(self, positions: IntArray) -> Iterator[str]:
        for i in positions:
            try:
                yield self.paths[i].read_text(encoding="utf-8", errors="replace")
            except OSError as error:
                raise DataError(
                    f"{self.paths[i].name} cannot be read ({error.strerror}); load it again."
                ) from error


def _find(folder: Path, name: str) -> Path | None:
    """The table of that name; DataError if there are two."""
    found = [path for end in _ENDINGS if (path := folder / f"{name}{end}").is_file()]
    if len(found) > 1:
        raise DataError(
            f"the folder {folder.name!r} holds {found[0].name} and {found[1].name}; keep one."
        )
    return found[0] if found else None


@dataclass(frozen=True)
class _Rows:
    """All rows of a table, and their texts or the files of them; None where there is none."""

    table: Path
    frame: pd.DataFrame
    texts: list[str | None] | list[Path | None]
    reader: type[_Held | _TextFiles]
    dropped: Counter[str] = field(default_factory=lambda: Counter({REPEATED: 0, NO_TEXT: 0}))

    def usable(self) -> tuple[pd.DataFrame, Reader]:
        """The rows with text that are the first with their key; others are counted."""
        frame = self.frame[[text is not None for text in self.texts]]
        first = frame[~frame["id"].duplicated()]
        self.dropped[NO_TEXT] += len(self.frame) - len(frame)
        self.dropped[REPEATED] += len(frame) - len(first)
        if first.empty:
            raise DataError(
                f"{self.table.name}: none of {len(self.frame)} rows has a text; texts stand in the "
                "table 'documents', or in files beside the table 'metadata'."
            )
        return first.reset_index(drop=True), self.reader(tuple(self.texts[i] for i in first.index))


def _texts_of(table: Path, columns: _Columns) -> _Rows:
    """Rows of a table that holds the texts."""
    rows = read_table(table, as_text=columns.as_text(columns.text))
    _require(rows, table, columns.text)
    frame = _dated(rows, table, columns).drop(columns=columns.text)
    texts: list[str | None] = []
    for row, value in enumerate(rows[columns.text].tolist()):
        if not isinstance(value, str) and not pd.isna(value):
            raise DataError(
                f"{table.name}: row {row} has the text {value!r:.40}, of type "
                f"{type(value).__name__}; texts are strings."
            )
        # CSV cannot tell an empty text from a missing one, so that neither counts in any table.
        texts.append(value if isinstance(value, str) and value.strip() else None)
    return _Rows(table, frame, texts, _Held)


def _text_files(folder: Path, columns: _Columns) -> _Rows:
    """Rows of a table that lies beside the files of the texts."""
    table = _find(folder, "metadata")
    if table is None:
        raise DataError(
            f"the folder {folder.name!r} holds neither a table 'documents' nor a table 'metadata'; "
            f"add a .csv, .jsonl or .parquet with columns {columns.key!r} and {columns.date!r}."
        )
    rows = read_table(table, as_text=columns.as_text(columns.file))
    if columns.file not in rows:
        _require(rows, table, columns.key)
    frame = _dated(rows, table, columns)
    names = rows[columns.file] if columns.file in rows else frame["id"].astype(str) + ".txt"
    paths = [_inside(folder, str(name), table) for name in names]
    there = [path if path.is_file() else None for path in paths]
    found = _Rows(table, frame.drop(columns=columns.file, errors="ignore"), there, _TextFiles)
    listed = {path.resolve() for path in paths}
    found.dropped[NO_ROW] = sum(file.resolve() not in listed for file in folder.rglob("*.txt"))
    return found


def _inside(folder: Path, name: str, table: Path) -> Path:
    """Path of a text file, which may not lie outside the folder, links followed."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(
            f"{table.name}: the text file {name!r:.80} lies outside the folder; move it inside."
        )
    return path


def _require(rows: pd.DataFrame, table: Path, column: str) -> None:
    if column not in rows:
        known = ", ".join(map(str, rows.columns))
        raise DataError(f"{table.name} has no column {column!r}; it has: {known:.200}.")


def _dated(rows: pd.DataFrame, table: Path, columns: _Columns) -> pd.DataFrame:
    """The table with its keys in `id` and datetimes in `date`, in front."""
    _require(rows, table, columns.date)
    days = read_dates(rows[columns.date], table.name, columns.date_format)
    keys = rows[columns.key] if columns.key in rows else pd.Series(rows.index)
    unknown = (keys.isna() | (keys == "")).to_numpy(dtype=np.bool_)
    if unknown.any():
        raise DataError(
            f"{table.name}: row {int(unknown.argmax())} has nothing in the column {columns.key!r}; "
            "fill it in, or drop the column to have rows numbered."
        )
    others = rows.drop(columns=[columns.key, columns.date], errors="ignore")
    return pd.concat([keys.rename("id"), days.rename("date"), others], axis=1)
