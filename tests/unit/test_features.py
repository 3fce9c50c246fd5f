"""Names, positions and masks all end as one boolean mask, or in an error that names the item."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from driftglm.data.features import feature_mask
from driftglm.exceptions import DataError

NAMES = np.array(["size", "age", "rain", "wind", "ice", "hail"], dtype=object)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, []),
        ([], []),
        (2, [2]),
        (np.int64(2), [2]),
        (-1, [5]),
        ("age", [1]),
        (np.str_("age"), [1]),
        (["age", "ice"], [1, 4]),
        (("ice", "age", "age"), [1, 4]),
        ([0, "wind"], [0, 3]),
        (np.array([0, 5]), [0, 5]),
        (pd.Index(["rain"]), [2]),
        (pd.Series([3, 4]), [3, 4]),
        ([False, True, False, False, False, True], [1, 5]),
        (np.arange(6) > 3, [4, 5]),
        (pd.Series(np.arange(6) == 0), [0]),
        (np.zeros(6, bool), []),
    ],
)
def test_all_ways_to_choose_features(chosen, expected):
    mask = feature_mask(chosen, 6, NAMES, "always_in")
    assert mask.dtype == np.bool_
    assert_array_equal(np.flatnonzero(mask), expected)


def test_positions_need_no_names():
    assert_array_equal(feature_mask([1, 0], 3, None, "static"), [True, True, False])


def test_zeros_and_ones_are_positions_not_a_mask():
    # [0, 1, 1] could be read as a mask; positions are what integers mean everywhere else.
    assert_array_equal(feature_mask([0, 1, 1], 3, None, "static"), [True, True, False])


@pytest.mark.parametrize(
    ("chosen", "found", "cure"),
    [
        ([True, False], "mask of length 2", "one boolean per column"),
        (True, "mask of length 1", "one boolean per column"),
        (6, "names column 6 but X has 6 columns", "positions run from 0 to 5"),
        (-7, "names column -7", "positions run from 0 to 5"),
        ("snow", "'snow', which X does not have", "'size', 'age', 'rain', 'wind', 'ice', ..."),
        (["age", 1.0], "contains 1.0 of type float", "names, positions or one boolean"),
        ([None], "contains None of type NoneType", "names, positions or one boolean"),
        ([True, "age"], "contains True of type bool", "names, positions or one boolean"),
    ],
)
def test_an_error_says_what_was_found_and_what_is_allowed(chosen, found, cure):
    with pytest.raises(DataError) as error:
        feature_mask(chosen, 6, NAMES, "always_in")
    assert str(error.value).startswith("always_in")
    assert found in str(error.value)
    assert cure in str(error.value)


def test_a_name_without_a_frame_is_an_error_that_says_so():
    with pytest.raises(DataError, match=r"static names the column 'age'.*pass a DataFrame"):
        feature_mask("age", 3, None, "static")


def test_few_names_are_listed_without_dots():
    with pytest.raises(DataError, match=r"its columns are 'a', 'b'\.$"):
        feature_mask("c", 2, ["a", "b"], "static")
