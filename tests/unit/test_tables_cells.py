"""A column that is nearly all numbers is one of numbers, and what spoils it is named."""

import gzip

import numpy as np
import pandas as pd
import pytest

from driftglm.exceptions import DataError
from driftglm.tables import Table, read_data
from driftglm.tables.cells import NEARLY_ALL, refuse_spoilt, spoilt
from driftglm.tables.reading import lines_of


def column(n_numbers, *others):
    return pd.Series([f"{k}.5" for k in range(n_numbers)] + list(others), dtype=object)


@pytest.mark.parametrize(
    "odd", ["#REF!", "1,5", "1,234.5", "1.234.567", "1 234", "1'234,5", "-2,5"]
)
def test_one_bad_cell_among_ninety_numbers_is_found(odd):
    assert spoilt(column(90, odd)).nonzero()[0].tolist() == [90]


@pytest.mark.parametrize("cells", [["1,5", "2,5", "3,25"], ["1,234", "12,345,678"], ["1,5", "2"]])
def test_decimal_commas_and_marks_of_thousands_look_like_numbers(cells):
    assert spoilt(pd.Series(cells)).any()


@pytest.mark.parametrize(
    "cells", [["red", "blue"], ["1", "2", "3"], ["a1", "2"], ["2004-01-01"] * 3, ["1.2.3"] * 5, []]
)
def test_other_columns_are_left_alone(cells):
    assert spoilt(pd.Series(cells, dtype=object)) is None


def test_the_share_decides():
    n_words = 10
    n_numbers = round(n_words * NEARLY_ALL / (1 - NEARLY_ALL))
    assert spoilt(column(n_numbers, *["x"] * n_words)) is not None
    assert spoilt(column(n_numbers - 1, *["x"] * n_words)) is None


def test_words_for_missing_numbers_count_on_neither_side():
    assert spoilt(column(5, *["NA"] * 50)) is None
    assert spoilt(column(9, *["NA"] * 50, "x", None)).nonzero()[0].tolist() == [59]


def test_lines_are_those_of_the_file_whatever_stands_between(tmp_path):
    text = 'x,note\n1,a\n\n2,"two\nlines"\n"#REF!",b\n3,c\n'
    (tmp_path / "a.csv").write_text(text)
    with gzip.open(tmp_path / "b.csv.gz", "wt") as stream:
        stream.write(text)
    for name in ("a.csv", "b.csv.gz"):
        table = read_data(tmp_path / name)
        assert table.frame["x"].tolist()[2] == "#REF!"
        assert lines_of(table, [0, 1, 2, 3]) == [2, 4, 6, 7]
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n\n{"x": "a"}\n')
    assert lines_of(read_data(tmp_path / "a.jsonl"), [1]) == [3]
    assert lines_of(Table(pd.DataFrame({"x": [1]})), [0]) == [None]


def test_the_first_cells_are_named_and_the_others_counted():
    values = column(90, "#REF!", "1,5", "x", "y")
    message = (
        r"column 'x' has '#REF!' in row 90, '1,5' in row 91, 'x' in row 92 and 1 more; the other "
        r"90 of 94 cells are numbers, .* Correct what is not, or else\."
    )
    with pytest.raises(DataError, match=message):
        refuse_spoilt(Table(pd.DataFrame({"x": values})), values, "x", "or else.")


def test_rows_need_not_be_numbered_from_zero():
    values = column(90, "#REF!").set_axis(np.arange(91)[::-1] % 7)
    assert spoilt(values).nonzero()[0].tolist() == [90]
