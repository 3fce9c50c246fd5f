"""Which places a document is about: 50 states and the whole U.S."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pandas as pd

from driftglm.datasets import federal_reserve_districts
from driftglm.exceptions import DataError
from driftglm.tables.reading import as_strings

COUNTRY = "US"
SUMMARY = "su"
"""Code of the Beige Book's national summary."""
_EVERYWHERE = {COUNTRY, "USA", "ALL"}
_NO_STATES = {"DC", "PR", "VI", "GU", "AS", "MP"}
_SEPARATORS = re.compile(r"[\s,;|/]+")

NO_PLACE = "documents without place"
NO_INDICATOR = "places without indicator (District of Columbia, territories)"
FOREIGN = "companies outside the states"


def district_states() -> dict[str, tuple[str, ...]]:
    """Code, number and name of a Federal Reserve district -> its states, the shared ones included.

    Examples
    --------
    >>> district_states()["dallas"]
    ('LA', 'NM', 'TX')
    """
    table: dict[str, tuple[str, ...]] = {}
    for (number, code, name), rows in federal_reserve_districts().frame.groupby(
        ["number", "district", "district_name"]
    ):
        states = tuple(sorted(rows["state"]))
        table |= {str(number): states, str(code): states, str(name).lower(): states}
    return table | {SUMMARY: (COUNTRY,), "national summary": (COUNTRY,)}


def state_names() -> list[str]:
    """The 50 states, sorted, without the District of Columbia."""
    return sorted(set(federal_reserve_districts().frame["state"]) - _NO_STATES)


def place_indicators(frame: pd.DataFrame, skipped: Counter[str]) -> pd.DataFrame:
    """One column a state and, as the 51st, one for the whole country; zeros and ones.

    The first of these that a document has says where it belongs: `states` (postal codes, or US),
    `district` (code, number or name of a Federal Reserve district, or `su` for the national
    summary), `state` (of the company), its `source` (FOMC transcripts are about all states).
    A text about the whole country has all 51.

    Parameters
    ----------
    frame
        A row a document.
    skipped
        Counts of what has no indicator, added to.
    """
    names = [*state_names(), COUNTRY]
    column = {name: k for k, name in enumerate(names)}
    out = np.zeros((len(frame), len(names)))
    for row, places in enumerate(_places(frame, skipped)):
        if COUNTRY in places:
            out[row] = 1.0
            continue
        out[row, [column[place] for place in places if place in column]] = 1.0
        skipped[NO_INDICATOR] += sum(place in _NO_STATES for place in places)
        skipped[NO_PLACE] += not out[row].any()
    return pd.DataFrame(out, columns=names, index=frame.index)


def _places(frame: pd.DataFrame, skipped: Counter[str]) -> Iterable[tuple[str, ...]]:
    blank = [None] * len(frame)
    columns = [
        frame[name].tolist() if name in frame else blank
        for name in ("states", "district", "state", "source")
    ]
    districts, known = district_states(), {*state_names(), *_NO_STATES}
    for row, (states, district, state, source) in enumerate(zip(*columns, strict=True)):
        if codes := _codes(states):
            yield _checked(codes, known, row)
        elif key := _text(district).lower():
            if key not in districts:
                raise DataError(
                    f"document {row} has the district {district!r:.40}; the two letters of the "
                    "Beige Book (bo, ny, ...), 1 to 12, the city, or su are allowed."
                )
            yield districts[key]
        elif codes := _codes(state):
            skipped[FOREIGN] += codes[0] not in known
            yield codes[:1]
        elif isinstance(source, str) and "fomc" in source.lower():
            yield (COUNTRY,)
        else:
            yield ()


def _codes(cell: object) -> tuple[str, ...]:
    """Codes of a cell: text with any separators, or a list as Parquet has them."""
    if isinstance(cell, Iterable) and not isinstance(cell, str):
        parts = [str(part) for part in cell]
    else:
        parts = _SEPARATORS.split(_text(cell))
    return tuple(dict.fromkeys(part.strip().upper() for part in parts if part.strip()))


def _checked(codes: tuple[str, ...], known: set[str], row: int) -> tuple[str, ...]:
    if _EVERYWHERE & set(codes):
        return (COUNTRY,)
    unknown = [code for code in codes if code not in known]
    if unknown:
        raise DataError(
            f"document {row} has the state {unknown[0]!r:.40}; postal codes such as TX are "
            "allowed, separated by blanks or commas, or US for all states."
        )
    return codes


def _text(cell: object) -> str:
    """A cell as text, a whole number without a point; nothing if it is missing."""
    return str(as_strings(pd.Series([cell], dtype=object))[0] or "").strip()
