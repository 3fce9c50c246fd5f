"""Files become tables: a frame of columns, and for SVMlight files a sparse block beside it."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from driftglm.data.shards import first_used
from driftglm.datasets.tables import KINDS as TABLES
from driftglm.datasets.tables import ending, read_lines, read_table
from driftglm.exceptions import DataError
from driftglm.files import check_regular
from driftglm.tables.binary import KINDS as BINARY
from driftglm.tables.binary import read_binary
from driftglm.tables.delimited import read_delimited
from driftglm.tables.layout import Layout, open_laid_out, settled

SVMLIGHT = (".svm", ".svmlight", ".libsvm")
DELIMITED = (".csv", ".tsv", ".tab", ".txt")
KINDS = (*DELIMITED, *TABLES[1:], *BINARY, *SVMLIGHT)
LABEL, QUERY, TIME = "label", "qid", "time"
N_SHOWN, N_LOOKED_AT = 40, 20
MOST_INDEX = 2**22
"""Columns of an SVMlight file: each has a name, and a few bytes may ask for billions of them."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as they were read.

    Parameters
    ----------
    frame
        The columns; of an SVMlight file `label` and, if the file has them, `qid`.
    name
        Name of the file, for messages.
    block
        Sparse features of an SVMlight file; None for other files.
    block_names
        A name a column of the block: `f` and the index that stands in the file.
    path
        The file, where its rows are all rows of one file, in order; see `lines_of`.
    layout
        Separator and encoding of a file of text.
    said
        What was guessed about the file, in sentences.
    """

    frame: pd.DataFrame
    name: str = "the table"
    block: csr_matrix | None = None
    block_names: tuple[str, ...] = ()
    path: Path | None = None
    layout: Layout = field(default_factory=Layout)
    said: tuple[str, ...] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.frame)


def table_kind(path: Path) -> str:
    """What a file is, by its name: one of `KINDS`; DataError if it is none of them."""
    kind = _unpacked_ending(path)
    if kind not in KINDS:
        raise DataError(
            f"{path.name} is no table that can be read; the endings {', '.join(KINDS)} are "
            "allowed, and .gz after all but .parquet, .zip after those of text."
        )
    return kind


def _unpacked_ending(path: Path) -> str:
    """What the name of a file ends in; of a zip file, before .zip, else .csv."""
    if path.suffix.lower() != ".zip":
        return ending(path)
    return Path(path.stem).suffix.lower() or ".csv"


def read_data(
    path: str | os.PathLike[str],
    *,
    as_text: tuple[str, ...] = (),
    time_file: str | os.PathLike[str] | None = None,
    layout: Layout | None = None,
) -> Table:
    """Table of a file of text (.csv, .tsv), .jsonl, .parquet, Excel, Stata, Feather or SVMlight.

    Also of a folder of shards.

    Parameters
    ----------
    path
        The file. Text, JSON lines, Stata and SVMlight may be packed as .gz, text as .zip.
    as_text
        Columns of a CSV file, or `time` of a file of times, that stay as they stand.
    time_file
        A file with one time a line, for SVMlight files; it becomes the column `time`.
    layout
        Separator, encoding, marks in numbers, sheet; None: guessed, and said in `Table.said`.

    Raises
    ------
    DataError
        If the file is missing, empty, damaged, or names a column twice.
    """
    source = Path(path)
    if source.is_dir():
        from driftglm.tables.shards import read_shards

        table = read_shards(source)
    else:
        table = _read_file(source, as_text, layout or Layout())
    if not table.n_rows:
        raise DataError(f"{source.name} has no rows; a header alone cannot be used.")
    if time_file is None:
        return table
    return _with_times(table, Path(time_file), as_text=TIME in as_text)


def _read_file(path: Path, as_text: tuple[str, ...], layout: Layout) -> Table:
    kind = table_kind(path)
    check_readable(path)
    said: list[str] = []
    if kind in SVMLIGHT:
        return read_svmlight(path, path.name)
    if kind in DELIMITED:
        try:
            layout, said = settled(path, layout)
        except (OSError, EOFError) as error:
            raise DataError(f"{path.name} cannot be read as CSV ({error}).") from error
        check_header(csv_header(path, layout), path.name)
        frame, layout, more = read_delimited(path, layout, as_text)
        said += more
    elif kind in BINARY:
        frame, said = read_binary(path, kind, layout)
        frame = with_index(frame)
    else:
        frame = with_index(read_table(path, as_text))
    frame = frame if kind in DELIMITED else _decoded(frame)
    frame, more = _without_empty_end(frame)
    said = [*said, *more]
    check_header([str(name) for name in frame.columns], path.name)
    frame.columns = pd.Index([str(name) for name in frame.columns], dtype=object)
    return Table(frame, path.name, path=path, layout=layout, said=tuple(said))


def _decoded(frame: pd.DataFrame) -> pd.DataFrame:
    """Texts that a file holds as bytes, as texts."""

    def text(cell: object) -> object:
        return cell.decode(errors="backslashreplace") if isinstance(cell, bytes) else cell

    out = frame.copy(deep=False)
    for k, kind in enumerate(frame.dtypes):
        if kind.kind == "O" and any(isinstance(cell, bytes) for cell in frame.iloc[:, k]):
            out.isetitem(k, frame.iloc[:, k].map(text).to_numpy())
    return out


def _without_empty_end(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The rows up to the last that has a value, and what was left out; sheets often end so."""
    empty = frame.isna().all(axis=1).to_numpy(dtype=np.bool_)
    if not empty.any() or not empty[-1] or empty.all():
        return frame, []
    n_kept = int(np.flatnonzero(~empty)[-1]) + 1
    return frame.iloc[:n_kept], [f"{len(frame) - n_kept} empty rows at the end are left out."]


def with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with its index as columns, if it has names: in a Parquet file they are columns."""
    names = [name for name in frame.index.names if name is not None]
    return frame.reset_index(names) if names else frame


def check_readable(path: Path) -> None:
    """Raise DataError unless a file is there and has content."""
    if not path.exists():
        raise DataError(f"{path} does not exist; check the path.")
    check_regular(path)
    try:
        with path.open("rb") as stream:
            empty = not stream.read(1)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}).") from error
    if empty:
        raise DataError(f"{path.name} is empty; a table needs a header or rows.")


def csv_header(path: Path, layout: Layout | None = None) -> list[str]:
    """Names of the columns as they stand in the first line."""
    layout = layout or Layout(sep=",", encoding="utf-8-sig")
    try:
        with open_laid_out(path, layout) as stream:
            header = next(csv.reader(stream, delimiter=layout.sep or ","), [])
    except UnicodeError as error:
        raise DataError(
            f"{path.name} is no text in {layout.encoding} ({error}); name its encoding (--encoding "
            "cp1252), or save it as UTF-8."
        ) from error
    except (OSError, EOFError, csv.Error) as error:
        raise DataError(f"{path.name} cannot be read as CSV ({error}).") from error
    if not header:
        raise DataError(f"{path.name} is empty; a table needs a header or rows.")
    _refuse_title(path, layout, header)
    if len(header) == 1 and any(mark in header[0] for mark in ",;\t|"):
        raise DataError(
            f"{path.name} has the single column {header[0]!r:.{N_SHOWN}}, which has a separator in "
            "it; say what stands between cells (--sep ';')."
        )
    return header


def _refuse_title(path: Path, layout: Layout, header: list[str]) -> None:
    """Raise DataError if the first line is a heading and names come later."""
    try:
        with open_laid_out(path, layout) as stream:
            rows = list(islice(csv.reader(stream, delimiter=layout.sep or ","), N_LOOKED_AT))
    except csv.Error as error:
        raise DataError(f"{path.name} cannot be read as CSV ({error}).") from error
    longest = max((len(row) for row in rows), default=0)
    if len([cell for cell in header if cell.strip()]) == 1 < longest:
        line = next(k for k, row in enumerate(rows, start=1) if len(row) == longest and all(row))
        raise DataError(
            f"{path.name} begins with {header[0]!r:.{N_SHOWN}}, which is no row of names; these "
            f"seem to stand in row {line}. Delete what is above them."
        )


def lines_of(table: Table, rows: Sequence[int]) -> list[int | None]:
    """Lines of the file on which rows begin, counted from 1; None where a file has no lines.

    The file is read again, since only messages about mistakes need this.
    """
    found: dict[int, int] = {}
    kind = None if table.path is None else table_kind(table.path)
    if table.path is not None and kind in {*DELIMITED, ".jsonl", ".ndjson"}:
        with open_laid_out(table.path, table.layout) as stream:
            given = (k for k, line in enumerate(stream, start=1) if line.strip())
            starts = _csv_starts(stream, table.layout.sep or ",") if kind in DELIMITED else given
            found = {row: line for row, line in enumerate(starts) if row in rows}
    return [found.get(row) for row in rows]


def _csv_starts(stream: Iterable[str], sep: str) -> Iterator[int]:
    """First line of every row; a cell may have several lines, and blank lines are no rows."""
    reader, before = csv.reader(stream, delimiter=sep), 0
    is_header = True
    for cells in reader:
        start, before = before + 1, reader.line_num
        if not any(cell.strip() for cell in cells) and len(cells) <= 1:
            continue
        if not is_header:
            yield start
        is_header = False


def check_header(names: list[str], table: str) -> None:
    """Raise DataError if two columns have one name."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"{table} has {names.count(repeated[0])} columns named {repeated[0]!r:.{N_SHOWN}}; "
            "names must differ. Rename or delete all but one."
        )


def read_svmlight(source: Path | IO[bytes], name: str, *, trim: bool = True) -> Table:
    """Table of an SVMlight file or stream of bytes: `label`, `qid` and a sparse block.

    `trim` drops column 0 if it is empty; a part of a file cannot tell.
    """
    from sklearn.datasets import load_svmlight_file

    path = str(source) if isinstance(source, Path) else source
    try:
        block, labels, queries = load_svmlight_file(path, zero_based=True, query_id=True)
    except (ValueError, OSError, EOFError, OverflowError) as error:
        raise DataError(f"{name} cannot be read as SVMlight ({error}).") from error
    if block.shape[1] > MOST_INDEX:
        raise DataError(
            f"{name} has the feature index {block.shape[1] - 1}; every index up to the largest is "
            f"a column, and {MOST_INDEX} columns can be read. Number features from 1 without gaps."
        )
    frame = pd.DataFrame({LABEL: labels})
    if queries.size:
        if queries.size != labels.size:
            raise DataError(f"{name} has qid in {queries.size} of {labels.size} rows; all or none.")
        frame[QUERY] = queries
    # Files that count from 1 have nothing in column 0.
    first = first_used(block.shape[1], holds_first=(block.indices == 0).any()) if trim else 0
    names = tuple(f"f{i}" for i in range(first, block.shape[1]))
    return Table(frame, name, csr_matrix(block[:, first:]), names)


def _with_times(table: Table, path: Path, *, as_text: bool) -> Table:
    check_readable(path)
    lines = read_lines(path)
    if len(lines) != table.n_rows:
        raise DataError(
            f"{path.name} has {len(lines)} lines for the {table.n_rows} rows of {table.name}; one "
            "time a line, without a header, is needed."
        )
    times = pd.Series(lines).str.strip()
    numbers = pd.to_numeric(times, errors="coerce")
    frame = table.frame.assign(**{TIME: times if as_text or numbers.isna().any() else numbers})
    return replace(table, frame=frame)


def as_strings(values: pd.Series) -> np.ndarray:
    """Values as text such that 1, 1.0 and "1" are one level; missing ones become None."""
    out = np.empty(len(values), dtype=object)
    for k, value in enumerate(values.tolist()):
        whole = isinstance(value, float) and value.is_integer()
        out[k] = None if pd.isna(value) else str(int(value) if whole else value)
    return out
