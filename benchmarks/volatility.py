"""Weekly volatility of two stock indices, 2000 to 2018: a table in which next to nothing drifts."""

import json
from pathlib import Path

import pandas as pd

from driftglm.tables import Table, TableSpec

FOLDER = Path(__file__).resolve().parent
TARGET = "log_volatility"
SPEC = TableSpec(target=TARGET, time="year", drop=("week",))
DEV, TEST = 2011, tuple(range(2012, 2019))


def load_volatility():
    """A row a week and index.

    `log_volatility` is the target; all other columns but `week`, `year` and `index` are features
    known at the end of the week before. `provenance` says where the figures come from.
    """
    return Table(pd.read_csv(FOLDER / "volatility.csv.gz"), "volatility.csv.gz")


def provenance():
    """Sources, licence facts and checksums of the table."""
    return json.loads((FOLDER / "volatility.json").read_text(encoding="utf-8"))
