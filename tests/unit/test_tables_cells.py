"""A column that is nearly all numbers is one of numbers, and what spoils it is named."""

import numpy as np
import pandas as pd
import pytest

from driftglm.exceptions import DataError
from driftglm.tables import Table
from driftglm.tables.cells import MOST, NEARLY_ALL, refuse_spoilt, spoilt


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


@pytest.mark.parametrize("least", [NEARLY_ALL, MOST])
def test_the_share_decides_where_numbers_occur_again_and_again(least):
    n_words = 10
    n_numbers = round(n_words * least / (1 - least))
    codes = [str(k % 3) for k in range(n_numbers)]
    assert spoilt(pd.Series([*codes, *["x"] * n_words]), least) is not None
    assert spoilt(pd.Series([*codes[1:], *["x"] * n_words]), least) is None


def test_where_more_than_half_of_the_cells_are_different_numbers_the_rest_are_mistakes():
    """As in short files: eight measurements, one of them a word, are no eight levels."""
    assert spoilt(column(7, "x")).nonzero()[0].tolist() == [7]
    assert spoilt(column(11, *["x"] * 10)).sum() == 10
    assert spoilt(column(10, *["x"] * 10)) is None


def test_words_for_missing_numbers_count_on_neither_side():
    assert spoilt(column(5, *["NA"] * 50)) is None
    assert spoilt(column(9, *["NA"] * 50, "x", None)).nonzero()[0].tolist() == [59]


def test_the_first_cells_are_named_and_the_others_counted():
    values = column(90, "#REF!", "1,5", "x", "y")
    message = (
        r"column 'x' has '#REF!' in row 90, '1,5' in row 91, 'x' in row 92 and 1 more; the other "
        r"90 of 94 cells are numbers, .* Correct what is not, .*or else\."
    )
    with pytest.raises(DataError, match=message):
        refuse_spoilt(Table(pd.DataFrame({"x": values})), values, "x", "or else.")


def test_rows_need_not_be_numbered_from_zero():
    values = column(90, "#REF!").set_axis(np.arange(91)[::-1] % 7)
    assert spoilt(values).nonzero()[0].tolist() == [90]
