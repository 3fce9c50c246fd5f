"""Ids of groups: which are taken, how they are numbered, and which are refused."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from driftglm.data.groups import UNSEEN, check_groups, known_groups, numbers_of, read_groups
from driftglm.exceptions import DataError

SAME = [
    ["b", "a", "b", "c"],
    [20, 10, 20, 30],
    [20.0, 10.0, 20.0, 30.0],
    pd.Series(["b", "a", "b", "c"], index=[7, 7, 1, 0]),
    pd.Categorical(["b", "a", "b", "c"]),
    np.array(["2002", "2001", "2002", "2003"], dtype="datetime64[Y]"),
    pd.Series([20, 10, 20, 30], dtype="Int64"),
    pd.Series(["b", "a", "b", "c"], dtype="string"),
    np.array(["b", "a", "b", "c"], dtype=object),
]


@pytest.mark.parametrize("ids", SAME, ids=lambda ids: str(type(ids).__name__))
def test_ids_of_many_types_are_numbered_in_their_order(ids):
    labels, numbers = read_groups(ids, 4)
    assert labels.dtype.kind in "iU"
    assert_array_equal(numbers, [1, 0, 1, 2])
    assert_array_equal(np.sort(labels), labels)
    assert_array_equal(known_groups(ids, 4, labels), numbers)


def test_known_groups_keep_their_numbers_and_new_ones_follow():
    labels, numbers = read_groups(["z", "a", "m", "a"], 4, np.array(["m", "z"]))
    assert labels.tolist() == ["m", "z", "a"]
    assert_array_equal(numbers, [1, 2, 0, 2])


def test_groups_that_were_not_seen_have_no_number():
    labels = np.array([5, 3, 9])  # need not be sorted
    assert_array_equal(numbers_of(np.array([9, 4, 3, 100]), labels), [2, UNSEEN, 1, UNSEEN])
    assert_array_equal(known_groups([5, -1], 2, labels), [0, UNSEEN])


def test_numbers_and_texts_are_not_mixed_up():
    with pytest.raises(DataError, match=r"groups holds '7'.* groups such as 3.*same type"):
        known_groups(["7"], 1, np.array([3]))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("firm", "single value"),
        (7, "single value"),
        ([1, 2, 3], r"shape \(3,\) but X has 4 rows"),
        (np.ones((4, 2)), r"shape \(4, 2\).*combinations"),
        ([1.0, np.nan, 2.0, np.nan], "no id in 2 of 4 rows, first in row 1"),
        (["a", None, "b", "c"], "no id in 1 of 4 rows, first in row 1"),
        (pd.Series([1, 2, pd.NA, 4], dtype="Int64"), "no id in 1 of 4 rows, first in row 2"),
    ],
)
def test_bad_ids_are_refused_with_what_to_do(ids, message):
    with pytest.raises(DataError, match=message):
        read_groups(ids, 4)


@pytest.mark.parametrize(
    ("group", "codes", "message"),
    [
        ([0, 1, 2, 3], [0, 0, 1, 1], "4 ids for 4 rows, one each"),
        ([0, 0, 0, 0], [0, 0, 1, 1], "one id for all rows"),
        ([0, 0, 1, 1], [0, 0, 1, 1], "every one of the 2 steps holds one group"),
    ],
)
def test_groups_that_say_nothing_are_refused(group, codes, message):
    with pytest.raises(DataError, match=message):
        check_groups(np.array(group), np.array(codes))
    check_groups(np.array(group), np.array(codes), new=False)  # more rows of groups that are known


def test_groups_of_one_step_are_taken():
    check_groups(np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64))
    check_groups(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]))
