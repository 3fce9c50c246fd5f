"""Covariates of documents that stand in tables of their own: by period, by company."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from driftglm.datasets.dates import read_dates
from driftglm.datasets.provenance import Check
from driftglm.datasets.tables import read_table
from driftglm.exceptions import DataError

MACRO, COMPANIES = "macro.csv", "companies.csv"


def join_macro(frame: pd.DataFrame, folder: Path, checks: list[Check]) -> pd.DataFrame:
    """Join macro.csv, if there is one, by its column `year` or the month of its column `date`.

    Documents of a period that it lacks have missing values; a check counts them.
    """
    path = folder / MACRO
    if not path.is_file():
        return frame
    macro = read_table(path)
    if "year" in macro:
        periods, asked = macro["year"], frame["date"].dt.year
        values = macro.drop(columns="year")
    elif "date" in macro:
        days = read_dates(macro["date"], MACRO)
        periods, asked = days.dt.to_period("M"), frame["date"].dt.to_period("M")
        values = macro.drop(columns="date")
    else:
        raise DataError(f"{MACRO} has neither a column 'year' nor a column 'date'; add one.")
    return _joined(frame, values.set_index(pd.Index(periods)), pd.Index(asked), MACRO, checks)


def join_companies(frame: pd.DataFrame, folder: Path, checks: list[Check]) -> pd.DataFrame:
    """Join companies.csv (cik, state, ...), if there is one and documents have a `cik`."""
    path = folder / COMPANIES
    if not path.is_file() or "cik" not in frame:
        return frame
    companies = read_table(path)
    if "cik" not in companies:
        raise DataError(f"{COMPANIES} has no column 'cik'; add one.")
    # As numbers: the same CIK is written with leading zeros here and without them there.
    known = pd.to_numeric(companies["cik"], errors="coerce")
    asked = pd.to_numeric(frame["cik"], errors="coerce")
    values = companies.drop(columns="cik").set_index(pd.Index(known))
    has_company = asked.notna().to_numpy()
    found = _joined(frame[has_company], values, pd.Index(asked[has_company]), COMPANIES, checks)
    return pd.concat([found, frame[~has_company]]).sort_index()


def _joined(
    frame: pd.DataFrame, values: pd.DataFrame, asked: pd.Index, name: str, checks: list[Check]
) -> pd.DataFrame:
    """Frame with the columns of `values` at the rows `asked` for, missing where there are none."""
    shared = sorted(set(map(str, values.columns)) & set(map(str, frame.columns)))
    if shared:
        raise DataError(f"{name} and the documents both have the column {shared[0]!r}; rename one.")
    unique = values[~values.index.duplicated()]
    found = unique.reindex(asked).set_index(frame.index)
    checks += [
        Check(f"repeated rows of {name}", 0, len(values) - len(unique)),
        Check(f"documents that {name} lacks", 0, int((~asked.isin(unique.index)).sum())),
    ]
    return pd.concat([frame, found], axis=1)
