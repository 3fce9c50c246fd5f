"""FRED-MD: series are transformed by their codes."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from driftglm.datasets import read_fred_md
from driftglm.datasets.fred_md import transformed
from driftglm.exceptions import DataError, DataWarning

DATA = Path(os.environ.get("DRIFTGLM_DATA", Path(__file__).parents[3] / "shared" / "data"))
VINTAGE = DATA / "beige_fomc" / "fred_md_2026_02_raw.csv.gz"
FRED_MD = """sasdate,LEVEL,GROWTH,RATE,RESERVES
Transform:,1,5,2,7
1/1/1959,3.0,100,4.5,10
2/1/1959,3.5,110,4.0,20
3/1/1959,2.5,99,,60
4/1/1959,2.0,121,4.25,30
,,,,
"""


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


X = [2.0, 3.0, 6.0, 3.0]
LOG = np.log(X)
# By hand: growth is 1/2, 1, -1/2.
EXPECTED = {
    1: X,
    2: [np.nan, 1.0, 3.0, -3.0],
    3: [np.nan, np.nan, 2.0, -6.0],
    4: LOG,
    5: [np.nan, np.log(1.5), np.log(2.0), -np.log(2.0)],
    6: [np.nan, np.nan, np.log(2.0 / 1.5), -2 * np.log(2.0)],
    7: [np.nan, np.nan, 0.5, -1.5],
}


@pytest.mark.parametrize("code", EXPECTED)
def test_the_transformations_are_those_worked_out_by_hand(code):
    assert_allclose(transformed(pd.Series(X), code), EXPECTED[code], rtol=1e-14)


def test_a_fred_md_file_is_transformed_by_its_own_codes(tmp_path):
    data = read_fred_md(written(tmp_path, FRED_MD))
    assert data.codes.to_dict() == {"LEVEL": 1, "GROWTH": 5, "RATE": 2, "RESERVES": 7}
    assert data.raw.shape == data.frame.shape == (4, 4)
    assert data.raw.index[3] == pd.Timestamp(1959, 4, 1)
    assert data.frame["LEVEL"].tolist() == [3.0, 3.5, 2.5, 2.0]
    expected = [np.nan, np.log(1.1), np.log(0.9), np.log(121 / 99)]
    assert_allclose(data.frame["GROWTH"], expected, rtol=1e-12)
    assert_allclose(data.frame["RATE"], [np.nan, -0.5, np.nan, np.nan])
    assert_allclose(data.frame["RESERVES"], [np.nan, np.nan, 1.0, -2.5])
    # The row of commas at the end has no content at all.
    assert (data.provenance.rows_read, data.provenance.rows, data.provenance.ok) == (4, 4, True)


def test_codes_may_come_from_elsewhere(tmp_path):
    codes = {"LEVEL": 2, "GROWTH": 1, "RATE": 1, "RESERVES": 1}
    bare = written(tmp_path, FRED_MD.replace("Transform:,1,5,2,7\n", ""))
    with pytest.raises(DataError, match=r"no transformation code for 'LEVEL'.*Pass codes="):
        read_fred_md(bare)
    data = read_fred_md(bare, codes=codes)
    assert_allclose(data.frame["LEVEL"], [np.nan, 0.5, -1.0, -0.5])
    lines = "series,tcode\n" + "".join(f"{name},{code}\n" for name, code in codes.items())
    again = read_fred_md(bare, codes=written(tmp_path, lines, "codes.csv"))
    pd.testing.assert_frame_equal(again.frame, data.frame)
    own = read_fred_md(written(tmp_path, FRED_MD, "own.csv"), codes=codes)
    pd.testing.assert_frame_equal(own.frame, data.frame)


def test_a_quarterly_file_has_one_more_row_before_the_data(tmp_path):
    text = FRED_MD.replace("Transform:", "factors,1,1,1,1\ntransform")
    for month in (4, 3, 2):
        text = text.replace(f"{month}/1/1959", f"{3 * month - 2}/1/1959")
    data = read_fred_md(written(tmp_path, text))
    assert data.codes["GROWTH"] == 5
    assert data.provenance.ok


def test_what_is_dropped_from_a_fred_md_file_is_counted(tmp_path):
    extra = "2/1/1959,1,1,1,1\n,,,,7\n5/1/1959,,,,\n"
    data = read_fred_md(written(tmp_path, FRED_MD + extra))
    assert data.provenance.dropped == {
        "repeated dates": 1, "rows without date": 1, "rows without any value": 1
    }  # fmt: skip
    assert (data.provenance.rows_read, data.provenance.rows) == (7, 4)


def test_what_has_no_logarithm_and_months_left_out_are_reported(tmp_path):
    text = FRED_MD.replace("110", "-110").replace("4/1/1959", "5/1/1959")
    with pytest.warns(DataWarning, match="without the logarithm needed: 1, .* left out: 1"):
        data = read_fred_md(written(tmp_path, text))
    assert data.frame["GROWTH"].isna().tolist() == [True, True, True, False]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Transform:,1,5", "Transform:,1,9", "code of 'GROWTH' is '9'; whole numbers from 1 to 7"),
        ("Transform:,1,5", "Transform:,1,x", "code of 'GROWTH' is 'x'"),
        ("Transform:,1,5", "Transform:,1.5,5", "code of 'LEVEL' is '1.5'"),
        ("Transform:,1,5", "Transform:,1", "data.csv, line 2: 3 codes for 4 series"),
        ("110", "1l0", "data.csv, line 4, GROWTH: '1l0' is no number"),
    ],
)
def test_damage_of_a_fred_md_file_is_named(old, new, message, tmp_path):
    with pytest.raises(DataError, match=message):
        read_fred_md(written(tmp_path, FRED_MD.replace(old, new, 1)))


@pytest.mark.skipif(not VINTAGE.is_file(), reason="the vintage of FRED-MD is not there")
def test_a_real_vintage_gives_the_yearly_means_computed_elsewhere():
    data = read_fred_md(VINTAGE, codes=VINTAGE.parent / "fred_md_tcodes.csv")
    assert data.raw.shape == (805, 126)
    yearly = data.frame.groupby(data.frame.index.year).mean()
    table = pd.read_csv(VINTAGE.parent / "macro_yearly.csv", index_col="year")
    for name, code in (("RPI", 5), ("INDPRO", 5), ("HWI", 2), ("HOUST", 4), ("M1SL", 6)):
        assert data.codes[name] == code
        if f"FRED_{name}" in table:
            expected = table.loc[1970:2020, f"FRED_{name}"]
            assert_allclose(yearly.loc[1970:2020, name], expected, atol=1e-6)
