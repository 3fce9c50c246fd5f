"""The 10-K corpus: annual reports with the volatility of the share before and after the filing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd

from driftglm._progress import Advance, progress_bar
from driftglm._typing import IntArray
from driftglm.datasets import tenk_files as files
from driftglm.datasets.archive import Limits, read_members
from driftglm.datasets.corpus import Documents, TextCorpus
from driftglm.datasets.provenance import Check, Provenance
from driftglm.datasets.tenk_known import known_figures
from driftglm.exceptions import DataError

# Reasons for which something is left out, as they stand in the record.
REPEATED = "repeated keys"
NO_DOCUMENT = "keys without document"
NO_PAST = "keys without volatility before the filing"
NO_KEY = "documents without key"
PACKED_TWICE = "documents packed more than once"
OTHER = "other files in the archives"
_REASONS = (REPEATED, NO_DOCUMENT, NO_PAST, NO_KEY, PACKED_TWICE, OTHER)
_COLUMNS = ["key", "year", "date", "cik", "company", "logvol_after", "logvol_before"]


def load_10k_corpus(
    dir: str | os.PathLike[str],  # noqa: A002 (short, and nothing here lists a namespace)
    years: int | Iterable[int] | None = None,
    *,
    strict: bool = False,
    verbose: bool | None = None,
    max_document_bytes: int = Limits.document,
    max_archive_bytes: int = Limits.archive,
) -> TextCorpus:
    """Annual reports and volatilities in the layout of Kogan et al. (2009).

    The archives are read as streams, here for the names of the documents and again whenever the
    texts are asked for; nothing is unpacked to disk, and one report at a time is in memory. Rows
    are ordered by year, then as the documents lie in the archive.

    Parameters
    ----------
    dir
        Folder with YYYY.logvol.+12.txt, YYYY.logvol.-12.txt, YYYY.meta.txt and YYYY.tok.tgz.
    years
        Year or years to read; all that have files by default.
    strict
        Whether figures that differ from the known ones (rows of 1996-2006, among others) are an
        error rather than a warning. Every figure is in `provenance.checks`.
    verbose
        Whether to show progress on stderr; by default on a terminal.
    max_document_bytes, max_archive_bytes
        Unpacked sizes beyond which an archive is refused.

    Returns
    -------
    TextCorpus
        `frame` has key, year (of the files), date (of the filing), cik, company, logvol_after and
        logvol_before; `texts()` gives the reports; `timesteps()` the years of the filings.

    Raises
    ------
    DataError
        If a file is missing, damaged or cannot be read; the message names file and line.

    Examples
    --------
    >>> import tempfile
    >>> from driftglm.exceptions import DataError
    >>> from driftglm.datasets import load_10k_corpus
    >>> with tempfile.TemporaryDirectory() as folder:  # empty: the message says what is needed
    ...     try:
    ...         load_10k_corpus(folder)
    ...     except DataError as error:
    ...         print(type(error).__name__)
    DataError
    """
    folder = Path(dir).absolute()  # texts are read later, maybe from another working folder
    limits = Limits(max_document_bytes, max_archive_bytes)
    reading = _read_years(folder, _chosen_years(folder, years), limits, verbose=verbose)
    frame = pd.DataFrame(reading.rows.values(), columns=_COLUMNS)
    frame = frame.assign(date=pd.to_datetime(frame["date"]), cik=frame["cik"].astype("Int64"))
    checks = (*known_figures(frame, reading.lines), *_date_checks(frame))
    what, n_lines = f"10-K corpus {reading.span}", sum(reading.lines.values())
    provenance = Provenance(what, n_lines, len(frame), dict(reading.dropped), checks)
    provenance.report_differences(strict=strict)
    keys, of_years = tuple(frame["key"]), frame["year"].to_numpy(copy=True)
    reader = ReportReader(keys, of_years, reading.archives, limits)
    return TextCorpus(frame, provenance, Documents(np.arange(len(frame)), reader))


@dataclass(frozen=True)
class ReportReader:
    """Reads reports from the archives, in the order in which they lie there."""

    keys: tuple[str, ...]
    years: IntArray
    paths: dict[int, Path]
    limits: Limits

    def __call__(self, positions: IntArray) -> Iterator[str]:
        """Texts of the rows at ascending `positions`."""
        for year, path in self.paths.items():
            wanted = [self.keys[i] for i in positions[self.years[positions] == year]]
            if wanted:
                yield from self._of_year(wanted, year, path)

    def _of_year(self, wanted: list[str], year: int, path: Path) -> Iterator[str]:
        """Texts of the wanted keys; reading stops at the last of them."""
        missing = iter(wanted)
        key = next(missing, None)
        for name, content in read_members(path, self.limits):
            # Only the first of several documents of a key can match: the next one is then wanted.
            if _key_of(name, year) == key:
                yield content.decode("utf-8", "replace").rstrip("\r\n")
                key = next(missing, None)
                if key is None:
                    return
        raise DataError(
            f"{path.name}: the document of {key!r} is no longer where it was; the archive has "
            "changed since the corpus was loaded. Load it again."
        )


@dataclass
class _Reading:
    """What has been read so far: archives and numbers of lines by year, rows by key."""

    archives: dict[int, Path]
    rows: dict[str, tuple[object, ...]] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(_REASONS, 0)))

    @property
    def span(self) -> str:
        """First and last year."""
        return f"{min(self.archives)}-{max(self.archives)}"


def _chosen_years(folder: Path, years: int | Iterable[int] | None) -> list[int]:
    if not folder.is_dir():
        raise DataError(f"{folder.name!r} is no folder; pass the one that holds YYYY.tok.tgz.")
    given = files.years_in(folder) if years is None else years
    chosen = sorted({given} if isinstance(given, int) else {int(year) for year in given})
    if not chosen:
        raise DataError(
            f"the folder {folder.name!r} holds no year of the 10-K corpus, or years is empty; "
            "files are named like 1996.logvol.+12.txt and 1996.tok.tgz."
        )
    return chosen


def _read_years(
    folder: Path, years: list[int], limits: Limits, *, verbose: bool | None
) -> _Reading:
    """All rows of the years; DataError if there are none."""
    reading = _Reading({year: files.year_file(folder, year, files.TEXTS) for year in years})
    total = sum(path.stat().st_size for path in reading.archives.values())
    with progress_bar(total, "reading the archives", verbose=verbose, in_bytes=True) as advance:
        for year in years:
            _add_year(reading, folder, year, limits, advance)
    if not reading.rows:
        raise DataError(
            f"no key of the years {reading.span} in the folder {folder.name!r} has a document "
            f"({reading.dropped[NO_KEY]} documents have other keys); the archive must hold "
            "YYYY.tok/<key>.mda."
        )
    return reading


def _add_year(reading: _Reading, folder: Path, year: int, limits: Limits, advance: Advance) -> None:
    """Read the files of a year and add its rows, in the order of the archive."""
    after = files.read_volatilities(files.year_file(folder, year, files.AFTER))
    before = files.read_volatilities(files.year_file(folder, year, files.BEFORE)).by_key
    meta = files.year_file(folder, year, files.META)
    filings = files.read_filings(meta)
    reading.lines[year] = after.n_lines
    dropped = reading.dropped
    dropped[REPEATED] += after.n_lines - len(after.by_key)
    keys: set[str | None] = set()
    for name, _ in read_members(reading.archives[year], limits, advance):
        key = _key_of(name, year)
        if key is None:
            dropped[OTHER] += 1
        elif key in keys:
            dropped[PACKED_TWICE] += 1
        elif key not in after.by_key:
            dropped[NO_KEY] += 1
        elif key not in before:
            dropped[NO_PAST] += 1
        elif key in reading.rows:
            dropped[REPEATED] += 1
        else:
            filing = filings.get(key) or _filing_of(key, meta)
            about = filing.date, filing.cik, filing.company
            reading.rows[key] = (key, year, *about, after.by_key[key], before[key])
        keys.add(key)
    dropped[NO_DOCUMENT] += len(after.by_key.keys() - keys)


def _key_of(name: str, year: int) -> str | None:
    """Key of the member YYYY.tok/<key>.mda; None for any other name."""
    path = PurePosixPath(name)
    is_report = path.suffix == ".mda" and path.parent.name == f"{year}.tok"
    return path.stem if is_report else None


def _filing_of(key: str, meta: Path) -> files.Filing:
    """Filing of a key that meta.txt does not list: its date is in the key, the rest is unknown."""
    day = files.date_in_key(key)
    if day is None:
        raise DataError(
            f"{meta.name}: no line for the key {key!r}, which ends in no date; add the line."
        )
    return files.Filing(day, "", None)


def _date_checks(frame: pd.DataFrame) -> tuple[Check, ...]:
    in_keys = pd.to_datetime(frame["key"].map(files.date_in_key))
    other = int((in_keys.notna() & (in_keys != frame["date"])).sum())
    outside = int((frame["date"].dt.year != frame["year"]).sum())
    return (
        Check("filing dates other than in the key", 0, other),
        Check("filing dates outside the year of the file", 0, outside),
    )
