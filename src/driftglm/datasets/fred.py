"""Series as FRED, the database of the Federal Reserve Bank of St. Louis, gives them out."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pandas as pd

from driftglm.datasets.provenance import Provenance, Table
from driftglm.datasets.tables import Lines, numeric_cells, read_cells
from driftglm.exceptions import DataError

DATE_COLUMNS = ("observation_date", "date", "sasdate", "month")
REPEATED = "repeated dates"
_FORMATS = ("%Y-%m-%d", "%m/%d/%Y", "%Y-%m")


def read_fred(csv: str | os.PathLike[str]) -> Table:
    r"""One or more series of a CSV file downloaded from FRED.

    The first column holds dates (`observation_date`, or `DATE` in older files), each other one a
    series; a value that is empty or "." is missing.

    Parameters
    ----------
    csv
        The file, plain or packed by gzip.

    Returns
    -------
    Table
        `frame` is indexed by date, ascending, a column a series; of a repeated date the first row
        is used, and `provenance` says how many were dropped.

    Raises
    ------
    DataError
        If the file is no such table; the message names the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from driftglm.datasets import read_fred
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     csv = Path(folder) / "UNRATE.csv"
    ...     _ = csv.write_text("observation_date,UNRATE\n2004-01-01,5.7\n2004-02-01,5.6\n")
    ...     table = read_fred(csv)
    >>> table.frame["UNRATE"].tolist(), table.provenance.rows
    ([5.7, 5.6], 2)
    """
    path = Path(csv)
    header, lines = split_header(path, read_cells(path))
    whole = numeric_frame(path, header, lines)
    frame = whole[~whole.index.duplicated()].sort_index()
    dropped = {REPEATED: len(whole) - len(frame)}
    return Table(frame, Provenance(f"FRED, {path.name}", len(whole), len(frame), dropped))


def split_header(path: Path, lines: Lines) -> tuple[list[str], Lines]:
    """Names of the series, and the lines after the header."""
    if not lines or lines[0][1][0].lower() not in DATE_COLUMNS or len(lines[0][1]) == 1:
        found = f"it starts with {lines[0][1][0]!r:.40}" if lines else "it is empty"
        raise DataError(
            f"{path.name}: {found}; it must start with a header, as 'observation_date,UNRATE'."
        )
    header = lines[0][1][1:]
    bad = [name for name, times in Counter(header).items() if not name or times > 1]
    if bad:
        raise DataError(
            f"{path.name}, line {lines[0][0]}: the series name {bad[0]!r} is empty or repeated."
        )
    return header, lines[1:]


def numeric_frame(path: Path, header: list[str], lines: Lines) -> pd.DataFrame:
    """Frame indexed by date, in the order of the lines."""
    if not lines:
        raise DataError(f"{path.name} has a header but no row; download it again.")
    values = numeric_cells(path, header, lines)
    index = pd.DatetimeIndex([_day(cells[0], line, path) for line, cells in lines], name="date")
    return pd.DataFrame(values, index=index, columns=header)


def _day(cell: str, line: int, path: Path) -> pd.Timestamp:
    for form in _FORMATS:
        day = pd.to_datetime(cell, format=form, errors="coerce")
        if isinstance(day, pd.Timestamp):
            return day
    raise DataError(
        f"{path.name}, line {line}: {cell!r:.40} is no date; yyyy-mm-dd and m/d/yyyy are allowed."
    )
