"""The files of one year of the 10-K corpus; errors name the file and the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from driftglm.datasets.tables import number
from driftglm.exceptions import DataError

AFTER, BEFORE, META, TEXTS = "logvol.+12.txt", "logvol.-12.txt", "meta.txt", "tok.tgz"
KINDS = (AFTER, BEFORE, META, TEXTS)
_FILE = re.compile(rf"([0-9]{{4}})\.({'|'.join(map(re.escape, KINDS))})")
_FIRST_YEAR, _LAST_YEAR = 1900, 2200  # beyond these a date is a slip, or no date at all
_N_META = 5  # key, date, address, company, CIK


@dataclass(frozen=True)
class Volatilities:
    """First value of each key, in the order of the file."""

    by_key: dict[str, float]
    n_lines: int


@dataclass(frozen=True)
class Filing:
    """What meta.txt says about a report; `cik` is None where it is no number."""

    date: date
    company: str
    cik: int | None


def years_in(folder: Path) -> list[int]:
    """Years of which the folder has at least one file."""
    found = (_FILE.fullmatch(path.name) for path in folder.iterdir())
    return sorted({int(match[1]) for match in found if match})


def year_file(folder: Path, year: int, kind: str) -> Path:
    """Path of a file that must be there."""
    path = folder / f"{year}.{kind}"
    if not path.is_file():
        raise DataError(
            f"{path.name} is missing from the folder {folder.name!r}; each year needs "
            f"{year}.{AFTER}, {year}.{BEFORE}, {year}.{META} and {year}.{TEXTS}. Add it, or name "
            "the years to read."
        )
    return path


def read_volatilities(path: Path) -> Volatilities:
    """Lines "<log volatility> <key>"; of a repeated key the first line counts."""
    by_key: dict[str, float] = {}
    n_lines = 0
    for place, line in _lines(path):
        fields = line.split()
        if len(fields) != 2:  # noqa: PLR2004
            raise DataError(
                f"{place}: has {len(fields)} fields ({line.strip()!r:.60}); '<log volatility> "
                "<key>' is allowed."
            )
        by_key.setdefault(fields[1], number(fields[0], place, "volatility", missing=()))
        n_lines += 1
    return Volatilities(by_key, n_lines)


def read_filings(path: Path) -> dict[str, Filing]:
    """Key -> filing; of a repeated key the first line counts."""
    filings: dict[str, Filing] = {}
    for place, line in _lines(path):
        fields = [part.strip() for part in line.split("\t")]
        if len(fields) < _N_META:
            raise DataError(
                f"{place}: has {len(fields)} fields between tabs; key, date (yyyymmdd), address, "
                "company and CIK are needed."
            )
        # A tab inside the company's name makes one field more; the ends stay where they are.
        key, day, company, cik = fields[0], fields[1], " ".join(fields[3:-1]), fields[-1]
        number = int(cik) if re.fullmatch(r"[0-9]{1,10}", cik) else None
        filed = _parsed(day)
        if filed is None:
            raise DataError(f"{place}: {day!r:.40} is no date; yyyymmdd is allowed.")
        filings.setdefault(key, Filing(filed, company, number))
    return filings


def date_in_key(key: str) -> date | None:
    """The filing date that a key ends with."""
    return _parsed(key[-8:])


def _lines(path: Path) -> Iterator[tuple[str, str]]:
    """Place, for messages, and text of each line that is not blank."""
    with path.open(encoding="utf-8", errors="replace", newline="\n") as stream:
        for k, line in enumerate(stream, start=1):
            if line.strip():
                yield f"{path.name}, line {k}", line


def _parsed(text: str) -> date | None:
    """The date of yyyymmdd; None if it is none, or of a time without annual reports."""
    try:
        day = datetime.strptime(text, "%Y%m%d").date()  # noqa: DTZ007 (a day has no time zone)
    except ValueError:
        return None
    is_written_so = re.fullmatch(r"[0-9]{8}", text) is not None
    return day if is_written_so and _FIRST_YEAR <= day.year <= _LAST_YEAR else None
