"""FRED-MD (McCracken and Ng, 2016): macroeconomic series and their way to stationarity."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from driftglm.datasets.fred import REPEATED, numeric_frame, split_header
from driftglm.datasets.provenance import Check, Provenance
from driftglm.datasets.tables import Lines, read_cells
from driftglm.exceptions import DataError

NO_DATE = "rows without date"
NO_VALUES = "rows without any value"
_CODE_COLUMNS = 2


@dataclass(frozen=True)
class FredMD:
    r"""Transformed series, the series as published, and the code that leads from these to those.

    Attributes
    ----------
    frame
        Transformed series (months, series). The first months of differenced ones are missing.
    raw
        Series as published, same shape.
    codes
        Transformation code of each series, 1 to 7.
    provenance
        What was read, dropped and checked.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from driftglm.datasets import read_fred_md
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     csv = Path(folder) / "2004-03.csv"
    ...     _ = csv.write_text("sasdate,RPI\nTransform:,2\n1/1/2004,5.0\n2/1/2004,7.0\n")
    ...     vintage = read_fred_md(csv)
    >>> vintage.raw["RPI"].tolist(), int(vintage.codes["RPI"])
    ([5.0, 7.0], 2)
    """

    frame: pd.DataFrame
    raw: pd.DataFrame
    codes: pd.Series
    provenance: Provenance


def read_fred_md(
    csv: str | os.PathLike[str], codes: Mapping[str, int] | str | os.PathLike[str] | None = None
) -> FredMD:
    r"""A vintage of FRED-MD (or FRED-QD), transformed.

    The file starts with a header (`sasdate,RPI,...`) and a row `Transform:,5,...` of codes:

    ==== ================================ ==== =====================
    code series                           code series
    ==== ================================ ==== =====================
    1    x                                4    log x
    2    difference of x                  5    difference of log x
    3    second difference of x           6    second difference of log x
    7    difference of x / previous x - 1
    ==== ================================ ==== =====================

    Parameters
    ----------
    csv
        The file, plain or packed by gzip.
    codes
        Codes by series, or a CSV file of two columns with a header; needed for a file without the
        row of codes, and takes its place in one that has it.

    Raises
    ------
    DataError
        If the file is no such table or a series has no code; the message names line and series.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from driftglm.datasets import read_fred_md
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     csv = Path(folder) / "2004-03.csv"
    ...     _ = csv.write_text("sasdate,RPI\nTransform:,2\n1/1/2004,5.0\n2/1/2004,7.0\n")
    ...     vintage = read_fred_md(csv)
    >>> vintage.frame["RPI"].tolist()  # differences
    [nan, 2.0]
    """
    path = Path(csv)
    header, lines = split_header(path, read_cells(path))
    own, lines = _own_codes(path, header, lines)
    chosen = given_codes(codes) if codes is not None else own
    table = pd.Series({name: _code(chosen, name, path) for name in header}, name="code")
    dated = [(line, cells) for line, cells in lines if cells[0]]
    whole = numeric_frame(path, header, dated)
    unique = whole[~whole.index.duplicated()].sort_index()
    raw = unique[unique.notna().any(axis=1)]
    frame = raw.apply(lambda series: transformed(series, int(table[str(series.name)])))
    logged = raw.loc[:, table.isin([4, 5, 6]).to_numpy()]
    dropped = {
        REPEATED: len(whole) - len(unique),
        NO_DATE: len(lines) - len(dated),
        NO_VALUES: len(unique) - len(raw),
    }
    checks = (
        Check("values without the logarithm needed", 0, int((logged <= 0).sum().sum())),
        Check("months or quarters left out", 0, _n_gaps(raw.index)),
    )
    provenance = Provenance(f"FRED-MD, {path.name}", len(lines), len(raw), dropped, checks)
    provenance.report_differences()
    return FredMD(frame, raw, table, provenance)


def transformed(series: pd.Series, code: int) -> pd.Series:
    """The series after the transformation of its code; missing where it is not defined.

    Examples
    --------
    >>> transformed(pd.Series([1.0, 2.0, 6.0]), 7).tolist()
    [nan, nan, 1.0]
    """
    out: pd.Series = _TRANSFORMATIONS[code](series.astype(np.float64))
    return out


def _log(x: pd.Series) -> pd.Series:
    return x.where(x > 0).transform(np.log)


def _growth(x: pd.Series) -> pd.Series:
    previous = x.shift()
    return x / previous.where(previous != 0) - 1.0


_TRANSFORMATIONS: dict[int, Callable[[pd.Series], pd.Series]] = {
    1: lambda x: x,
    2: lambda x: x.diff(),
    3: lambda x: x.diff().diff(),
    4: _log,
    5: lambda x: _log(x).diff(),
    6: lambda x: _log(x).diff().diff(),
    7: lambda x: _growth(x).diff(),
}


def _own_codes(path: Path, header: list[str], lines: Lines) -> tuple[dict[str, str], Lines]:
    """Codes of the file itself, none if it has no such row, and the rows of data."""
    codes: dict[str, str] = {}
    while lines and lines[0][1][0].lower().startswith(("transform", "factor")):
        line, cells = lines[0]
        if cells[0].lower().startswith("transform"):
            if len(cells) != len(header) + 1:
                raise DataError(
                    f"{path.name}, line {line}: {len(cells) - 1} codes for {len(header)} series."
                )
            codes = dict(zip(header, cells[1:], strict=True))
        lines = lines[1:]  # FRED-QD has one more row, which says what enters its factors
    return codes, lines


def given_codes(codes: Mapping[str, int] | str | os.PathLike[str]) -> dict[str, str]:
    """Codes by series as texts, from a mapping or a CSV file of two columns."""
    if isinstance(codes, Mapping):
        return {str(name): str(code) for name, code in codes.items()}
    path = Path(codes)
    lines = read_cells(path)
    for line, cells in lines:
        if len(cells) != _CODE_COLUMNS:
            raise DataError(
                f"{path.name}, line {line}: {len(cells)} cells; write a series and its code."
            )
    return {cells[0]: cells[1] for _, cells in lines[1:]}


def _code(codes: dict[str, str], name: str, path: Path) -> int:
    if name not in codes:
        raise DataError(
            f"{path.name} has no transformation code for {name!r}; published files have a row "
            "'Transform:' after the header. Pass codes= otherwise."
        )
    code = pd.to_numeric(codes[name], errors="coerce")
    if code not in _TRANSFORMATIONS:
        raise DataError(
            f"{path.name}: the transformation code of {name!r} is {codes[name]!r}; whole numbers "
            "from 1 to 7 are allowed."
        )
    return int(code)


def _n_gaps(index: pd.Index) -> int:
    """Steps longer than the usual one, months counted."""
    months = pd.DatetimeIndex(index)
    steps = np.diff(months.year * 12 + months.month)
    return int((steps > np.median(steps)).sum()) if steps.size else 0
