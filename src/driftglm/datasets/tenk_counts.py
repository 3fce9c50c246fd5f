"""Annual reports whose words are counted already: a matrix, its vocabulary, a table of reports."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from driftglm.datasets.provenance import Provenance
from driftglm.exceptions import DataError

COUNTS, REPORTS, WORDS = "counts.npz", "docs.csv.gz", "vocab.csv"
FILES = (COUNTS, REPORTS, WORDS)
_COLUMNS = ("key", "year", "label", "past")
NO_PAST = "reports of firms without one a year earlier"


@dataclass(frozen=True)
class CountedReports:
    """Reports with a past volatility, and how often each has which word.

    Parameters
    ----------
    frame
        A row a report: key, year, firm (the CUSIP of its key), logvol_after, logvol_before.
    counts
        (reports, words).
    words
        Names of the columns.
    provenance
        What was read and left out.

    Examples
    --------
    >>> import dataclasses
    >>> from driftglm.datasets import CountedReports
    >>> [field.name for field in dataclasses.fields(CountedReports)][:2]
    ['frame', 'counts']
    """

    frame: pd.DataFrame
    counts: sp.csr_matrix
    words: tuple[str, ...]
    provenance: Provenance


def is_counted(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder has the three files of this layout."""
    return all((Path(folder) / name).is_file() for name in FILES)


def load_counted_reports(dir: str | os.PathLike[str]) -> CountedReports:  # noqa: A002
    """Reports of a folder with counts.npz, docs.csv.gz and vocab.csv.

    Parameters
    ----------
    dir
        `counts.npz` is a scipy sparse matrix (reports, words); `docs.csv.gz` has key
        (`<CUSIP>-10-K-<yyyymmdd>`), year, label (log volatility after the report) and past (that of
        the same firm a year earlier, may be empty); `vocab.csv` has a column `word`.

    Returns
    -------
    CountedReports
        Reports with a past volatility only.

    Raises
    ------
    DataError
        If files are missing or do not belong together.

    Examples
    --------
    >>> import tempfile
    >>> from driftglm.exceptions import DataError
    >>> from driftglm.datasets import load_counted_reports
    >>> with tempfile.TemporaryDirectory() as folder:  # empty: the message says what is needed
    ...     try:
    ...         load_counted_reports(folder)
    ...     except DataError as error:
    ...         print(type(error).__name__)
    DataError
    """
    folder = Path(dir)
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise DataError(f"the folder {folder.name!r} has no {missing[0]}; {', '.join(FILES)} are.")
    counts = sp.csr_matrix(sp.load_npz(folder / COUNTS))  # a file of arrays, which runs no code
    reports = pd.read_csv(folder / REPORTS, dtype={"key": str})
    words = tuple(pd.read_csv(folder / WORDS, keep_default_na=False, dtype=str).iloc[:, 0])
    absent = [name for name in _COLUMNS if name not in reports]
    if absent:
        raise DataError(f"{REPORTS} has no column {absent[0]!r}; {', '.join(_COLUMNS)} are needed.")
    if counts.shape != (len(reports), len(words)):
        raise DataError(
            f"{COUNTS} is {counts.shape[0]} x {counts.shape[1]}, but {REPORTS} has {len(reports)} "
            f"reports and {WORDS} {len(words)} words; these files do not belong together."
        )
    if not np.isfinite(reports["label"]).all() or reports["key"].duplicated().any():
        raise DataError(f"{REPORTS} has a report without label or a key twice; remove the rows.")
    known = np.flatnonzero(reports["past"].notna())
    if not known.size:
        raise DataError(f"{REPORTS}: no report has a past volatility.")
    used = reports.iloc[known].reset_index(drop=True)
    frame = pd.DataFrame(
        {
            "key": used["key"],
            "year": used["year"].astype(np.int64),
            "firm": used["key"].str.partition("-")[0],
            "logvol_after": used["label"].astype(np.float64),
            "logvol_before": used["past"].astype(np.float64),
        }
    )
    left_out = {NO_PAST: len(reports) - len(frame)}
    record = Provenance(f"counted reports {folder.name}", len(reports), len(frame), left_out)
    return CountedReports(frame, counts[known], words, record)
