"""Macroeconomic variables of documents, from a table or from files as they are published."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from driftglm._typing import BoolArray
from driftglm.datasets import Provenance, read_fred, read_fred_md, read_french_portfolios
from driftglm.datasets.covariates import MACRO
from driftglm.datasets.fred_md import given_codes, transformed
from driftglm.datasets.tables import read_table
from driftglm.exceptions import DataError

FRED_MD, FRED, CODES = "fred_md.csv", "fred.csv", "fred_codes.csv"
PORTFOLIOS, FACTORS, RISK_FREE = "french_portfolios.csv", "french_factors.csv", "RF"
RAW_FILES = (FRED_MD, FRED, PORTFOLIOS)
ALL_FILES = (MACRO, *RAW_FILES, CODES, FACTORS)


@dataclass(frozen=True)
class Macro:
    """Standardised variables of every document, and what happened on the way.

    Parameters
    ----------
    variables
        (documents, variables), mean 0 and variance 1 over the training documents.
    notes
        What was left out or filled in.
    provenance
        Records of the files read.
    """

    variables: pd.DataFrame
    notes: tuple[str, ...] = ()
    provenance: tuple[Provenance, ...] = ()


def macro_variables(folder: Path, frame: pd.DataFrame, train: BoolArray) -> Macro:
    """Variables of `macro.csv` (joined to `frame` already) and of raw files in the folder.

    Parameters
    ----------
    folder
        The corpus. Beside macro.csv it may hold fred_md.csv (a FRED-MD vintage, transformed by its
        codes), fred.csv (series of FRED, levels unless fred_codes.csv says otherwise) and
        french_portfolios.csv with french_factors.csv (monthly returns, in excess of the risk-free
        rate, in logs). Monthly values go to the documents dated in that month.
    frame
        A row a document, with `date`.
    train
        Which documents may be used to standardise.
    """
    tables: list[pd.DataFrame] = []
    records: list[Provenance] = []
    if (folder / MACRO).is_file():
        tables.append(_given(folder, frame))
    for name, read in _READERS.items():
        if (folder / name).is_file():
            monthly, record = read(folder)
            tables.append(_of_month(monthly, frame))
            records.append(record)
    if not tables:
        return Macro(pd.DataFrame(index=frame.index))
    values = pd.concat(tables, axis=1)
    repeated = values.columns[values.columns.duplicated()]
    if len(repeated):
        raise DataError(f"two files have the variable {repeated[0]!r}; rename or remove one.")
    standard, notes = standardised(values, train)
    return Macro(standard, notes, tuple(records))


def standardised(values: pd.DataFrame, train: BoolArray) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Mean 0 and variance 1 over the training documents; nothing else is looked at.

    A variable without two different values among them is left out. A missing value becomes 0, the
    training mean.
    """
    known = values[train]
    scale = known.std(ddof=0)
    size = np.maximum(known.abs().max(), np.finfo(np.float64).tiny)
    usable = (scale > 1e-12 * size).to_numpy()  # the same value many times has a tiny scale
    notes = []
    if not usable.all():
        notes.append(
            f"{int((~usable).sum())} macro variables have one value, or none, in the training "
            "years and are left out."
        )
    chosen = values.loc[:, usable]
    out = (chosen - known.loc[:, usable].mean()) / scale[usable]
    n_missing = int(out.isna().to_numpy().sum())
    if n_missing:
        notes.append(
            f"{n_missing:,} of {out.size:,} values of macro variables are missing and count as "
            "the training mean."
        )
    return out.fillna(0.0), tuple(notes)


def _given(folder: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Columns of macro.csv as they were joined to the documents."""
    names = [name for name in read_table(folder / MACRO).columns if name not in {"year", "date"}]
    values = frame[names]
    for name in names:
        if not pd.api.types.is_numeric_dtype(values[name]):
            raise DataError(f"{MACRO}: the column {name!r} holds text; variables are numbers.")
    if not np.isfinite(values.to_numpy(dtype=np.float64, na_value=0.0)).all():
        raise DataError(f"{MACRO} holds an infinite value; leave it empty instead.")
    return values.astype(np.float64)


def _of_month(monthly: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    asked = pd.DatetimeIndex(frame["date"]).to_period("M")
    return monthly.reindex(asked).set_axis(frame.index)


def _by_month(frame: pd.DataFrame, prefix: str) -> pd.DataFrame:
    """Means of the days of each month; a quarterly series holds through its quarter."""
    months = frame.groupby(pd.DatetimeIndex(frame.index).to_period("M")).mean()
    steps = np.diff(pd.PeriodIndex(months.index).asi8)
    if steps.size and np.median(steps) > 1:
        first, last = months.index[0], months.index[-1]
        every = pd.period_range(first, last + int(np.median(steps)) - 1, freq="M")
        months = months.reindex(every, method="ffill")
    return months.add_prefix(prefix)


def _fred_md(folder: Path) -> tuple[pd.DataFrame, Provenance]:
    codes = folder / CODES
    found = read_fred_md(folder / FRED_MD, codes if codes.is_file() else None)
    return _by_month(found.frame, "FRED "), found.provenance


def _fred(folder: Path) -> tuple[pd.DataFrame, Provenance]:
    found = read_fred(folder / FRED)
    path = folder / CODES
    codes = given_codes(path) if path.is_file() else {}
    try:
        series = {
            name: transformed(column, int(codes.get(str(name), "1")))
            for name, column in found.frame.items()
        }
    except (KeyError, ValueError) as error:
        raise DataError(f"{CODES}: {error} is no transformation code; 1 to 7 are.") from error
    return _by_month(pd.DataFrame(series), "FRED "), found.provenance


def _french(folder: Path) -> tuple[pd.DataFrame, Provenance]:
    """Monthly log returns of portfolios in excess of that of the risk-free rate."""
    monthly, record = _monthly(folder / PORTFOLIOS)
    if not monthly:
        raise DataError(f"{PORTFOLIOS} has no monthly table; take the file of monthly returns.")
    if not (folder / FACTORS).is_file():
        raise DataError(
            f"{PORTFOLIOS} needs {FACTORS} beside it, the research factors of the same library, "
            f"whose monthly column {RISK_FREE} is the risk-free rate."
        )
    rates = [table[RISK_FREE] for table in _monthly(folder / FACTORS)[0] if RISK_FREE in table]
    if not rates:
        raise DataError(f"{FACTORS} has no monthly column {RISK_FREE!r}, the risk-free rate.")
    returns = monthly[0]  # value weighted comes first in these files
    gross = returns.where(returns > -100.0) / 100.0  # noqa: PLR2004 (per cent)
    risk_free = rates[0].reindex(returns.index) / 100.0
    excess = gross.apply(np.log1p).sub(risk_free.apply(np.log1p), axis=0)
    return excess.add_prefix("return "), record


def _monthly(path: Path) -> tuple[list[pd.DataFrame], Provenance]:
    found = read_french_portfolios(path)
    tables = [t for t in found.tables.values() if pd.PeriodIndex(t.index).freqstr == "M"]
    return tables, found.provenance


_READERS: dict[str, Callable[[Path], tuple[pd.DataFrame, Provenance]]] = {
    FRED_MD: _fred_md,
    FRED: _fred,
    PORTFOLIOS: _french,
}
