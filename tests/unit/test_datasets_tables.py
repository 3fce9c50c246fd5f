"""Tables as frames; errors name the file and the line."""

import json

import numpy as np
import pandas as pd
import pytest

from driftglm.datasets.tables import as_numbers, number, numeric_cells, read_cells, read_table
from driftglm.exceptions import DataError


def test_a_column_is_numbers_only_if_every_cell_is_one_or_missing():
    found = as_numbers(pd.Series(["1", "NA", "2.5"]))
    np.testing.assert_array_equal(found, [1.0, np.nan, 2.5])
    assert as_numbers(pd.Series(["1", "x"])) is None


def test_cells_have_the_number_of_their_line(tmp_path):
    (tmp_path / "a.csv").write_text('date,x\n\n2004, 1.5 \n"20\n05",2\n')
    lines = read_cells(tmp_path / "a.csv")
    assert lines == [(1, ["date", "x"]), (3, ["2004", "1.5"]), (5, ["20\n05", "2"])]
    assert numeric_cells(tmp_path / "a.csv", ["x"], lines[1:]).tolist() == [[1.5], [2.0]]
    with pytest.raises(DataError, match=r"a.csv, line 3: 2 cells under a header of 3"):
        numeric_cells(tmp_path / "a.csv", ["x", "y"], lines[1:])


def test_a_number_must_be_finite_and_may_be_missing():
    assert np.isnan(number(".", "a.csv, line 2"))
    with pytest.raises(DataError, match=r"a.csv, line 2: 'inf' is no number.* leave it empty"):
        number("inf", "a.csv, line 2")
    with pytest.raises(DataError, match=r"'\.' is no volatility.* delete the line"):
        number(".", "a.csv, line 2", "volatility", missing=())


def test_files_that_are_no_tables_are_named(tmp_path):
    with pytest.raises(DataError, match=r"a.docx is no table that can be read"):
        read_table(tmp_path / "a.docx")


def test_halves_of_letters_are_replaced_and_whole_ones_are_read(tmp_path):
    """As texts have that were cut to a length; no file could hold them."""
    (tmp_path / "a.jsonl").write_text('{"a": "x\\ud83d", "\\udc00": "\\ud83d\\ude00"}\n')
    frame = read_table(tmp_path / "a.jsonl")
    assert frame.loc[0].to_dict() == {"a": "x\ufffd", "\ufffd": "\U0001f600"}


def test_a_name_that_stands_for_two_values_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n')
    with pytest.raises(DataError, match=r"a.jsonl, line 2: .*'a' is named twice"):
        read_table(tmp_path / "a.jsonl")


def test_a_whole_number_beyond_all_floats_stays_one(tmp_path):
    rows = [{"x": 10**400 if k == 1 else k, "y": k, "z": f"{k}"} for k in range(3)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    frame = read_table(tmp_path / "a.jsonl")
    assert frame["x"].tolist() == [0, 10**400, 2]
    assert frame["y"].dtype == np.int64
    assert frame["z"].tolist() == ["0", "1", "2"]
