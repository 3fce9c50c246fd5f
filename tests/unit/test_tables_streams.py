"""Files read a chunk of rows at a time."""

import pandas as pd
import pytest

from driftglm.exceptions import DataError
from driftglm.tables.streams import iterate_tables


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_column_has_one_type_in_all_chunks(kind, tmp_path):
    path = tmp_path / f"a.{kind}"
    frame = pd.DataFrame({"late": ["1", "2", "x"], "number": [1.5, 2.0, 3.0]})
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    parts = [table.frame for table in iterate_tables(path, 2)]
    assert [len(part) for part in parts] == [2, 1]
    assert parts[0]["late"].tolist() == ["1", "2"]  # texts, since the last chunk holds one
    pd.testing.assert_series_equal(pd.concat(parts, ignore_index=True)["number"], frame["number"])


def test_columns_named_as_text_are_no_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("day,x\n01032004,1\n")
    table = next(iterate_tables(tmp_path / "a.csv", 5, as_text=("day",)))
    assert table.frame["day"].tolist() == ["01032004"]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(DataError, match="is a folder; a file is needed"):
        next(iterate_tables(tmp_path, 5))
