"""FRED and FRED-MD files: dates, missing values, the seven transformations, damage."""

import gzip

import pandas as pd
import pytest

from driftglm.datasets import read_fred
from driftglm.exceptions import DataError

FRED = """observation_date,UNRATE,DGS10
2004-01-01,5.7,4.15
2004-02-01,5.6,.
2004-03-01,5.8,
2004-02-01,9.9,9.9
"""


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_fred_file_becomes_a_frame(tmp_path):
    table = read_fred(written(tmp_path, FRED))
    assert table.frame.index.tolist() == list(pd.date_range("2004-01-01", periods=3, freq="MS"))
    assert table.frame["UNRATE"].tolist() == [5.7, 5.6, 5.8]
    assert table.frame["DGS10"].isna().tolist() == [False, True, True]
    assert (table.provenance.rows_read, table.provenance.rows) == (4, 3)
    assert table.provenance.dropped == {"repeated dates": 1}


def test_older_and_packed_fred_files_are_read(tmp_path):
    old = FRED.replace("observation_date", "\ufeffDATE").replace("\n", "\r\n")
    path = tmp_path / "old.csv.gz"
    path.write_bytes(gzip.compress(old.encode()))
    assert read_fred(path).frame.equals(read_fred(written(tmp_path, FRED)).frame)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("5.6", "abc", "data.csv, line 3, UNRATE: 'abc' is no number"),
        ("5.6", "inf", "data.csv, line 3, UNRATE: 'inf' is no number"),
        ("2004-02-01,5.6", "soon,5.6", "data.csv, line 3: 'soon' is no date"),
        ("5.6,.", "5.6", "data.csv, line 3: 2 cells under a header of 3"),
        ("observation_date", "<html>", "data.csv: it starts with '<html>'"),
        ("DGS10", "UNRATE", "data.csv, line 1: the series name 'UNRATE' is empty or repeated"),
    ],
)
def test_damage_of_a_fred_file_is_named_by_line(old, new, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read_fred(written(tmp_path, FRED.replace(old, new, 1)))


def test_fred_files_without_rows_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"data.csv: it is empty"):
        read_fred(written(tmp_path, ""))
    with pytest.raises(DataError, match=r"data.csv has a header but no row"):
        read_fred(written(tmp_path, "date,X\n"))
    with pytest.raises(DataError, match=r"gone.csv does not exist in the folder"):
        read_fred(tmp_path / "gone.csv")
