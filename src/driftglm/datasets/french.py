"""Portfolio returns as Kenneth French's data library publishes them: many tables in one file."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from driftglm.datasets.fred import REPEATED
from driftglm.datasets.provenance import Check, Provenance
from driftglm.datasets.tables import Lines, numeric_cells, read_lines
from driftglm.exceptions import DataError

MISSING = (-99.99, -999.0)
_FREQUENCIES = {4: "Y", 6: "M", 8: "D"}  # by the digits of a date: yyyy, yyyymm, yyyymmdd
_DATE = re.compile(r"[0-9]{4}(?:[0-9]{2}){0,2}")


@dataclass(frozen=True)
class FrenchPortfolios:
    r"""Tables of a file by title.

    Attributes
    ----------
    tables
        Title -> frame (periods, portfolios), in the order of the file. The index is a PeriodIndex
        of months, years or days; a table without title is named "table" and its number, and a
        title that comes again gets its number in brackets.
    preamble
        What the file says of itself before the first table.
    provenance
        What was read, dropped and checked.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from driftglm.datasets import read_french_portfolios
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     csv = Path(folder) / "portfolios.csv"
    ...     rows = "Made here\n\nReturns\n,Lo,Hi\n200401,1.5,-99.99\n\nCopyright\n"
    ...     _ = csv.write_text(rows)
    ...     found = read_french_portfolios(csv)
    >>> list(found.tables), found.preamble
    (['Returns'], 'Made here')
    """

    tables: dict[str, pd.DataFrame]
    preamble: str
    provenance: Provenance

    def table(self, title: str, freq: str | None = None) -> pd.DataFrame:
        """The one table whose title contains `title`, upper or lower case, with periods `freq`.

        Parameters
        ----------
        title
            Part of the title, such as "value weighted returns".
        freq
            "M", "Y" or "D"; any by default.
        """
        found = {
            name: frame
            for name, frame in self.tables.items()
            if title.lower() in name.lower() and freq in {None, _freq(frame)}
        }
        if len(found) != 1:
            known = "; ".join(f"{name!r} ({_freq(frame)})" for name, frame in self.tables.items())
            raise DataError(
                f"{len(found)} tables have {title!r} in their title and freq={freq!r}; name just "
                f"one of: {known}."
            )
        return next(iter(found.values()))


def read_french_portfolios(csv: str | os.PathLike[str]) -> FrenchPortfolios:
    r"""All tables of a CSV file of Kenneth French's data library, unpacked from its .zip.

    A preamble, then tables one after the other: a title of one or more lines, a header that starts
    with a comma, a row for each month (yyyymm), year (yyyy) or day (yyyymmdd); a copyright line.
    -99.99 and -999 become missing values. Returns stay in per cent.

    Parameters
    ----------
    csv
        The file, plain or packed by gzip.

    Raises
    ------
    DataError
        If the file holds no table or one that cannot be read; the message names the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from driftglm.datasets import read_french_portfolios
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     csv = Path(folder) / "portfolios.csv"
    ...     rows = "Made here\n\nReturns\n,Lo,Hi\n200401,1.5,-99.99\n\nCopyright\n"
    ...     _ = csv.write_text(rows)
    ...     found = read_french_portfolios(csv)
    >>> found.tables["Returns"]["Lo"].tolist()
    [1.5]
    """
    path = Path(csv)
    parts = _split(path)
    if not parts.sections:
        raise DataError(
            f"{path.name} holds no table: no header that starts with a comma is followed by rows "
            "that start with a date. Unpack the .zip and pass the .csv in it."
        )
    whole = {_title(parts.sections, i): _frame(path, part) for i, part in enumerate(parts.sections)}
    tables = {title: frame[~frame.index.duplicated()] for title, frame in whole.items()}
    n_read, n_rows = (sum(map(len, group.values())) for group in (whole, tables))
    checks = (
        Check("copyright line at the end", expected=True, found=parts.has_copyright),
        Check("periods left out", 0, sum(map(_n_gaps, tables.values()))),
    )
    what = f"French data library, {path.name}, {len(tables)} tables"
    provenance = Provenance(what, n_read, n_rows, {REPEATED: n_read - n_rows}, checks)
    provenance.report_differences()
    return FrenchPortfolios(tables, "\n".join(parts.preamble), provenance)


@dataclass
class _Section:
    """Lines of one table: number of the line and its cells."""

    title: str
    header: list[str]
    rows: Lines = field(default_factory=list)


@dataclass
class _Parts:
    """A file taken apart."""

    preamble: list[str] = field(default_factory=list)
    sections: list[_Section] = field(default_factory=list)
    has_copyright: bool = False


def _split(path: Path) -> _Parts:
    """Titles, headers and rows: a line is told by its first cell."""
    parts = _Parts()
    text: list[str] = []  # since the last row, blank lines included
    for i, line in enumerate(read_lines(path), start=1):
        cells = [cell.strip() for cell in line.split(",")]
        if _DATE.fullmatch(cells[0]) and len(cells) > 1:
            if not parts.sections or any(text):
                raise DataError(
                    f"{path.name}, line {i}: a row of numbers without a header above it; each "
                    "table needs a header that starts with a comma."
                )
            parts.sections[-1].rows.append((i, cells))
        elif not cells[0] and len(cells) > 1 and any(cells):
            preamble, title = _divide(text, first=not parts.sections)
            parts.preamble += preamble
            parts.sections.append(_Section(title, cells[1:]))
            text = []
        else:
            parts.has_copyright |= line.strip().lower().startswith("copyright")
            text.append(line.strip())
    return parts


def _divide(text: list[str], *, first: bool) -> tuple[list[str], str]:
    """Preamble and title of a table, from the lines above its header.

    The first table's title is what stands between the last blank line and the header.
    """
    start = 0
    if first:
        blanks = [i for i, line in enumerate(text) if not line]
        start = blanks[-1] + 1 if blanks else len(text)
    title = " ".join(line for line in text[start:] if line)
    return [line for line in text[:start] if line], title


def _title(sections: list[_Section], i: int) -> str:
    """Title of a table, made up or told apart where it has to be."""
    title = sections[i].title
    if not title:
        return f"table {i + 1}"
    before = sum(section.title == title for section in sections[:i])
    return title if not before else f"{title} ({before + 1})"


def _frame(path: Path, section: _Section) -> pd.DataFrame:
    """Numbers of a table, missing values taken out."""
    if not section.rows:
        raise DataError(f"{path.name}: the table {section.title!r} has no rows; download it again.")
    values = numeric_cells(path, section.header, section.rows)
    values[np.isin(values, MISSING)] = np.nan
    dates = pd.Series([cells[0] for _, cells in section.rows])
    digits = len(dates[0])
    days = pd.to_datetime(dates, format="%Y%m%d"[: digits - 2], errors="coerce")
    wrong = (days.isna() | (dates.str.len() != digits)).to_numpy()
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{path.name}, line {section.rows[row][0]}: {dates[row]!r} is no date of {digits} "
            "digits, as the first of the table. Download the file again."
        )
    periods = pd.PeriodIndex(days.dt.to_period(_FREQUENCIES[digits]), name="period")
    return pd.DataFrame(values, index=periods, columns=section.header)


def _freq(frame: pd.DataFrame) -> str:
    """Length of the periods: "D", "M" or "Y"."""
    return str(pd.PeriodIndex(frame.index).freqstr)[0]


def _n_gaps(frame: pd.DataFrame) -> int:
    """Months or years left out; markets close on some days."""
    ordinals = pd.PeriodIndex(frame.index).asi8
    return 0 if _freq(frame) == "D" else int((np.diff(ordinals) != 1).sum())
