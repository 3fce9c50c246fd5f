"""The districts of the Federal Reserve, against a table compiled elsewhere."""

import os
from pathlib import Path

import pandas as pd
import pytest

from driftglm.datasets import federal_reserve_districts

DATA = Path(os.environ.get("DRIFTGLM_DATA", Path(__file__).parents[3] / "shared" / "data"))
COMPILED = DATA / "beige_fomc" / "district_states.csv"


def test_there_are_twelve_districts_and_every_state_is_in_one():
    table = federal_reserve_districts()
    assert table.provenance.ok
    frame = table.frame
    assert frame["number"].unique().tolist() == list(range(1, 13))
    assert not frame.duplicated(["district", "state"]).any()
    assert {"DC", "AK", "HI"} <= set(frame["state"])


def test_a_state_is_divided_if_and_only_if_it_is_in_two_districts():
    frame = federal_reserve_districts().frame
    times = frame.groupby("state")["district"].transform("size")
    assert ((times > 1) == (frame["coverage"] == "part")).all()
    assert set(frame.loc[times > 1, "state"]) == {
        "CT", "IL", "IN", "KY", "LA", "MI", "MO", "MS", "NJ", "NM", "PA", "TN", "WI", "WV"
    }  # fmt: skip


@pytest.mark.skipif(not COMPILED.is_file(), reason="the compiled table is not there")
def test_the_table_is_the_one_compiled_elsewhere():
    names = ["district", "district_name", "state", "coverage"]
    ours = set(federal_reserve_districts().frame[names].itertuples(index=False, name=None))
    theirs = set(pd.read_csv(COMPILED)[names].itertuples(index=False, name=None))
    assert ours == theirs
