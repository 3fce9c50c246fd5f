"""Votes of the countries of the G20 in the United Nations, and the features made of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files as package_files
from io import BytesIO

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from driftglm._typing import FloatArray, IntArray

FIRST = 1970
COUNTRIES = {
    "AR": "Argentina",
    "AU": "Australia",
    "BR": "Brazil",
    "CA": "Canada",
    "CN": "China",
    "DE": "Germany",
    "FR": "France",
    "GB": "United Kingdom",
    "ID": "Indonesia",
    "IN": "India",
    "IT": "Italy",
    "JP": "Japan",
    "KR": "South Korea",
    "MX": "Mexico",
    "RU": "Russia",
    "SA": "Saudi Arabia",
    "TR": "Turkey",
    "US": "United States",
    "ZA": "South Africa",
}
"""The countries of the G20: a choice that others made, for other reasons."""
ISSUES = (
    "Palestinian conflict",
    "nuclear weapons",
    "arms control",
    "human rights",
    "colonialism",
    "economic development",
)
"""A roll call about several of them counts for the first."""
OTHER = "other"
YES, NOT_YES = "yes", "no or abstain"


@dataclass(frozen=True, eq=False)
class Ballots:
    """Rows for a model of yes and no: a cell of the table is one of each, with its votes as weight.

    Parameters
    ----------
    X, names
        Indicators of countries, of issues and of every country with every issue.
    y
        "yes", or "no or abstain".
    year
        The timestep.
    weights
        Votes cast so; never zero.
    """

    X: csr_array
    names: list[str]
    y: np.ndarray
    year: IntArray
    weights: FloatArray


def load_votes() -> pd.DataFrame:
    """The demo's table: year, country, issue, yes (votes), votes (cast: yes, abstentions, no).

    `provenance` says where it comes from.
    """
    data = package_files("driftglm.demo").joinpath("votes.csv.gz").read_bytes()
    return pd.read_csv(BytesIO(data), compression="gzip")


def provenance() -> dict[str, object]:
    """Source, licence facts and checksums of the table."""
    text = package_files("driftglm.demo").joinpath("votes.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def feature_names() -> list[str]:
    """Countries, issues, and "country: issue" of every pair."""
    countries = sorted(COUNTRIES.values())
    pairs = [f"{country}: {issue}" for country in countries for issue in ISSUES]
    return [*countries, *ISSUES, *pairs]


def features(table: pd.DataFrame) -> csr_array:
    """Indicators of the rows; a roll call about none of the issues has that of its country."""
    place = {name: column for column, name in enumerate(feature_names())}
    country = table["country"].map(place).to_numpy(dtype=np.int64)
    known = np.flatnonzero(table["issue"] != OTHER)
    about = table.iloc[known]
    issue = about["issue"].map(place).to_numpy(dtype=np.int64)
    pair = (about["country"] + ": " + about["issue"]).map(place).to_numpy(dtype=np.int64)
    # scikit-learn's solvers take indices of 32 bits only.
    rows = np.concatenate([np.arange(len(table)), known, known]).astype(np.int32)
    columns = np.concatenate([country, issue, pair]).astype(np.int32)
    return csr_array((np.ones(rows.size), (rows, columns)), shape=(len(table), len(place)))


def ballots(table: pd.DataFrame) -> Ballots:
    """Two weighted rows a cell, those of no weight left out."""
    X, year = features(table), table["year"].to_numpy(dtype=np.int64)
    yes, cast = (table[name].to_numpy(dtype=np.float64) for name in ("yes", "votes"))
    weights = np.column_stack([yes, cast - yes]).ravel()
    used = np.flatnonzero(weights)
    cell = (used // 2).astype(np.int32)
    said = np.where(used % 2 == 0, YES, NOT_YES)
    return Ballots(csr_array(X[cell]), feature_names(), said, year[cell], weights[used])
