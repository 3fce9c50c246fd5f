"""What is known of the 10-K corpus of Kogan, Levin, Routledge, Sagi and Smith (2009)."""

from __future__ import annotations

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
    return tuple(checks)
