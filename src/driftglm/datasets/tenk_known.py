"""What is known of the 10-K corpus of Kogan, Levin, Routledge, Sagi and Smith (2009)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from driftglm.datasets.provenance import Check

# Lines of YYYY.logvol.+12.txt from 1996 on, repeated keys included.
_LINES = (1408, 2260, 2462, 2524, 2425, 2596, 2846, 3612, 3559, 3474, 3308)
ROWS = dict(enumerate(_LINES, start=1996))
# The years of the paper's forecasting experiment; with 7 repeated keys 27,166 lines are 27,159.
PAPER_YEARS = range(1996, 2006)
PAPER_ROWS = 27_159
# Mean squared error of predicting that volatility stays as it was before the filing.
NAIVE_MSE = {2003: 0.1873, 2004: 0.1442, 2005: 0.1365}
# The same on average over these years.
NAIVE_YEARS, NAIVE_MEAN = range(2001, 2007), 0.1578
# Keys that a file of volatilities repeats, by the last of the years from 1996 on.
REPEATED = {2005: 7, 2006: 9}
# Files of the folder as published, and their size in megabytes.
N_FILES, MEGABYTES = 45, 364.4


def known_folder(folder: Path, years: Iterable[int]) -> tuple[Check, ...]:
    """Checks of the folder as published, if all its years are read."""
    if not set(ROWS) <= set(years):
        return ()
    files = [path for path in folder.iterdir() if path.is_file()]
    n_bytes = sum(path.stat().st_size for path in files)
    # Which megabytes are meant is not known.
    size = min((n_bytes / 1e6, n_bytes / 2**20), key=lambda each: abs(each - MEGABYTES))
    return (
        Check("files in the folder", N_FILES, len(files)),
        Check("megabytes in the folder", MEGABYTES, round(size, 1)),
    )


def known_repeats(years: Iterable[int], repeated: int) -> tuple[Check, ...]:
    """Check of the number of repeated keys, if the years are 1996 to 2005 or to 2006."""
    found = sorted(set(years))
    if not found or found != list(range(1996, found[-1] + 1)) or found[-1] not in REPEATED:
        return ()
    return (Check(f"repeated keys of 1996-{found[-1]}", REPEATED[found[-1]], repeated),)


def known_figures(frame: pd.DataFrame, lines: dict[int, int]) -> tuple[Check, ...]:
    """Checks of the years read against what is known of them.

    Parameters
    ----------
    frame
        The rows used: `year`, `logvol_after`, `logvol_before`.
    lines
        Year -> lines of its file of volatilities after the filing.
    """
    checks = [
        Check(f"rows of {year}", ROWS[year], number)
        for year, number in lines.items()
        if year in ROWS
    ]
    if set(PAPER_YEARS) <= set(lines):
        found = int(frame["year"].isin(PAPER_YEARS).sum())
        checks.append(Check("distinct reports of 1996-2005", PAPER_ROWS, found))
    for year in sorted(set(NAIVE_MSE) & set(lines)):
        rows = frame[frame["year"] == year]
        error = float(((rows["logvol_after"] - rows["logvol_before"]) ** 2).mean())
        what = f"mean squared error of the past volatility in {year}"
        checks.append(Check(what, NAIVE_MSE[year], round(error, 4)))
    if set(NAIVE_YEARS) <= set(lines):
        what = "mean squared error of the past volatility, mean of 2001-2006"
        checks.append(Check(what, NAIVE_MEAN, _naive_mean(frame)))
    return tuple(checks)


def _naive_mean(frame: pd.DataFrame) -> float:
    """Of the mean of reports and that of years, the one nearer to what is known: which, is not."""
    rows = frame[frame["year"].isin(NAIVE_YEARS)]
    error = (rows["logvol_after"] - rows["logvol_before"]) ** 2
    of_reports, of_years = float(error.mean()), float(error.groupby(rows["year"]).mean().mean())
    nearer = abs(of_reports - NAIVE_MEAN) <= abs(of_years - NAIVE_MEAN)
    return round(of_reports if nearer else of_years, 4)
