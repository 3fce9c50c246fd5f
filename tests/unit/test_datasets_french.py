"""Kenneth French's files: a preamble, several tables of two frequencies, a copyright line."""

import numpy as np
import pandas as pd
import pytest

from driftglm.datasets import read_french_portfolios
from driftglm.exceptions import DataError, DataWarning

PORTFOLIOS = """This file was created by CMPT_ME_BEME_RETS using the 202412 CRSP database.
It contains value- and equal-weighted returns for portfolios formed on size and book-to-market.

Missing data are indicated by -99.99 or -999.


  Average Value Weighted Returns -- Monthly
,SMALL LoBM,ME1 BM2,BIG HiBM
192607,   5.8248,  -1.7006, -99.99
192608,  -2.0206,  -8.0282,   0.5374
192609,  -4.8291,   -999,   -2.6154

  Average Equal Weighted Returns -- Monthly
,SMALL LoBM,ME1 BM2,BIG HiBM
192607,   2.7059,  -2.2229, -99.99
192608,  -9.1361,   0.8632,   1.5374

  Average Value Weighted Returns -- Annual
,SMALL LoBM,ME1 BM2,BIG HiBM
  1927,  62.3051,  33.0149,  14.4502
  1928,   9.9900,   0.0000,  21.1119

  Number of Firms in Portfolios
,SMALL LoBM,ME1 BM2,BIG HiBM
192607,  10,  15,   0

  Value Weight Average of BE/ME Calculated for June of t to June of t+1 as:
    Sum[ME(Mth) * BE(Fiscal Year t-1) / ME(Dec t-1)] / Sum[ME(Mth)]
  Where Mth is a month from June of t to June of t+1
,SMALL LoBM,ME1 BM2,BIG HiBM
192607,   0.2,   0.8,  4.9

Copyright 2025 Eugene F. Fama and Kenneth R. French
"""

FACTORS = """This file was created using the 202412 CRSP database.
The 1-month TBill rate data are from Ibbotson Associates.

,Mkt-RF,SMB,HML,RF
192607,    2.89,   -2.55,   -2.39,    0.22
192608,    2.64,   -1.14,    3.81,    0.25

 Annual Factors: January-December
,Mkt-RF,SMB,HML,RF
  1927,   29.47,   -2.04,   -4.54,    3.12

Copyright 2025 Eugene F. Fama and Kenneth R. French
"""


def written(tmp_path, text):
    path = tmp_path / "french.csv"
    path.write_text(text, newline="\r\n")
    return path


def test_every_table_of_a_file_is_read(tmp_path):
    data = read_french_portfolios(written(tmp_path, PORTFOLIOS))
    assert list(data.tables)[:4] == [
        "Average Value Weighted Returns -- Monthly",
        "Average Equal Weighted Returns -- Monthly",
        "Average Value Weighted Returns -- Annual",
        "Number of Firms in Portfolios",
    ]
    assert list(data.tables)[4].startswith("Value Weight Average of BE/ME")
    assert list(data.tables)[4].endswith("June of t to June of t+1")
    assert data.preamble.startswith("This file was created by")
    assert data.preamble.endswith("indicated by -99.99 or -999.")
    assert (data.provenance.rows_read, data.provenance.rows) == (9, 9)
    assert data.provenance.ok


def test_values_dates_and_missing_values_are_as_printed(tmp_path):
    data = read_french_portfolios(written(tmp_path, PORTFOLIOS))
    monthly = data.table("value weighted returns", freq="M")
    assert list(monthly.columns) == ["SMALL LoBM", "ME1 BM2", "BIG HiBM"]
    assert monthly.index.equals(pd.period_range("1926-07", periods=3, freq="M"))
    np.testing.assert_array_equal(monthly["BIG HiBM"], [np.nan, 0.5374, -2.6154])
    np.testing.assert_array_equal(monthly["ME1 BM2"], [-1.7006, -8.0282, np.nan])
    annual = data.table("value weighted returns", freq="Y")
    assert annual.index.equals(pd.period_range("1927", periods=2, freq="Y"))
    assert annual.loc["1928", "SMALL LoBM"] == 9.99
    assert data.table("number of firms").iloc[0].tolist() == [10.0, 15.0, 0.0]


def test_a_table_is_asked_for_by_part_of_its_title(tmp_path):
    data = read_french_portfolios(written(tmp_path, PORTFOLIOS))
    with pytest.raises(DataError, match=r"2 tables have 'Value Weighted' .* name just one of"):
        data.table("Value Weighted")
    with pytest.raises(DataError, match="0 tables have 'momentum'"):
        data.table("momentum")


def test_factors_have_a_table_without_title(tmp_path):
    data = read_french_portfolios(written(tmp_path, FACTORS))
    assert list(data.tables) == ["table 1", "Annual Factors: January-December"]
    assert data.table("table 1").loc["1926-08", "HML"] == 3.81
    assert data.table("annual").loc["1927", "RF"] == 3.12
    assert "Ibbotson" in data.preamble


def test_daily_files_are_read_and_closed_markets_are_no_gap(tmp_path):
    text = FACTORS.replace("192607,", "19260702,").replace("192608,", "19260706,")
    data = read_french_portfolios(written(tmp_path, text))
    assert data.tables["table 1"].index[1] == pd.Period("1926-07-06", "D")
    assert data.provenance.ok


def test_the_same_title_twice_is_told_apart(tmp_path):
    text = PORTFOLIOS.replace("Average Equal", "Average Value").replace(" -- Annual", " -- Monthly")
    titles = list(read_french_portfolios(written(tmp_path, text)).tables)
    title = "Average Value Weighted Returns -- Monthly"
    assert titles[:3] == [title, f"{title} (2)", f"{title} (3)"]


def test_repeated_dates_are_dropped_and_counted(tmp_path):
    text = FACTORS.replace("192608, ", "192607,  9.9,9.9,9.9,9.9\n192608, ")
    data = read_french_portfolios(written(tmp_path, text))
    assert data.provenance.dropped == {"repeated dates": 1}
    assert data.tables["table 1"]["Mkt-RF"].tolist() == [2.89, 2.64]


def test_a_file_cut_short_and_months_left_out_are_reported(tmp_path):
    text = FACTORS.replace("192608", "192609").split("Copyright", maxsplit=1)[0]
    with pytest.warns(DataWarning, match="copyright line at the end: False, .* left out: 1"):
        read_french_portfolios(written(tmp_path, text))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("-1.14", "-1.1x", "french.csv, line 6, SMB: '-1.1x' is no number"),
        (",    3.81", "", "french.csv, line 6: 4 cells under a header of 5"),
        ("192608", "1926", "french.csv, line 6: '1926' is no date of 6 digits"),
        ("192608", "192613", "french.csv, line 6: '192613' is no date"),
        (",Mkt-RF,SMB,HML,RF\n1926", "1926", "line 4: a row of numbers without a header"),
        ("  1927,   29.47,   -2.04,   -4.54,    3.12\n", "", "table 'Annual.*' has no rows"),
    ],
)
def test_damage_is_named_by_line(old, new, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read_french_portfolios(written(tmp_path, FACTORS.replace(old, new, 1)))


def test_files_without_tables_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"french.csv holds no table"):
        read_french_portfolios(written(tmp_path, "Not found\n"))
    with pytest.raises(DataError, match=r"gone.csv does not exist"):
        read_french_portfolios(tmp_path / "gone.csv")
