"""Tables to files."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from driftglm.exceptions import DataError
from driftglm.tables import write_table
from driftglm.tables.writing import check_writable, table_bytes

FRAME = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})


def test_the_ending_says_how_a_table_is_written(tmp_path):
    plain = table_bytes(FRAME, Path("t.csv"))
    assert plain == b"a,b\n1,x\n2,y\n"
    assert gzip.decompress(table_bytes(FRAME, Path("t.csv.GZ"))) == plain
    write_table(FRAME, tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), FRAME)
    with pytest.raises(DataError, match=r"the endings .csv, .csv.gz and .parquet are allowed"):
        write_table(FRAME, tmp_path / "t.xlsx")


def test_what_is_read_is_never_written_over(tmp_path):
    (tmp_path / "a.csv").write_text("mine")
    with pytest.raises(DataError, match="writing would destroy it"):
        check_writable(tmp_path / "a.csv", inputs=[tmp_path / "a.csv"])
    with pytest.raises(DataError, match="is a folder; name a file"):
        check_writable(tmp_path)
    assert not check_writable(tmp_path / "new", folder=True).exists()  # made when it is written to
