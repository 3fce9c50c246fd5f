"""Which columns `feature_groups` means, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from driftglm.data.kinds import read_kinds
from driftglm.exceptions import DataError

NAMES = ["w_a", "w_b", "gdp", "cpi", "odd*name"]


@pytest.mark.parametrize(
    "words",
    ["w_*", ["w_a", "w_b"], [0, 1], np.array([True, True, False, False, False]), ("w_?",), [-5, 1]],
)
def test_names_patterns_positions_and_masks_mean_the_same(words):
    found = read_kinds({"words": words, "macro": ["gdp", 3]}, 5, NAMES)
    assert found.names == ("words", "macro", "other")
    assert_array_equal(found.codes, [0, 0, 1, 1, 2])


def test_a_name_with_a_wildcard_is_a_name_first():
    found = read_kinds({"odd": "odd*name"}, 5, NAMES)
    assert_array_equal(found.codes, [1, 1, 1, 1, 0])


def test_no_column_left_leaves_no_other_kind():
    assert read_kinds({"all": "*"}, 5, NAMES).names == ("all",)
    assert read_kinds(None, 5, NAMES) is None


def test_other_is_called_otherwise_where_the_name_is_taken():
    assert read_kinds({"other": 0}, 5, None).names == ("other", "in no group")


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ({"a": "w_*", "b": ["gdp", "w_b"]}, "'w_b' in 'a' and in 'b'; a column belongs to one"),
        ({"a": ["gdp", "gnp"]}, "'gnp', which X does not have"),
        ({"a": []}, "has no columns; name some"),
        ({"a": [False] * 5}, "has no columns; name some"),
        ({"a": "z_*"}, "the pattern 'z_\\*', which matches no column; the columns are 'w_a'"),
        ({"a": 7}, "positions run from 0 to 4"),
        ({"a": [True, False]}, "mask of length 2"),
        ({"a": 1.5}, "contains 1.5 of type float"),
        ({"a": None}, "is None; name its columns"),
        ({}, "names no group"),
        ([["w_a"]], "pass a dict"),
        ({"1": 0, 1: 1}, "two groups of one name"),
    ],
)
def test_what_cannot_be_meant_is_refused(groups, said):
    with pytest.raises(DataError, match=said):
        read_kinds(groups, 5, NAMES)


def test_patterns_need_names():
    with pytest.raises(DataError, match="X came without column names"):
        read_kinds({"a": "w_*"}, 5, None)
