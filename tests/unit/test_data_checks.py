"""Weights and exposures as users give them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.data.checks import (
    check_numbers,
    check_weights,
    log_exposure,
    refuse_missing,
)
from driftglm.exceptions import DataError


def test_one_number_stands_for_all_rows_and_none_for_one():
    assert_array_equal(check_weights(None, 3), np.ones(3))
    assert_array_equal(check_weights(2, 3), np.full(3, 2.0))
    assert_array_equal(log_exposure(None, 2), np.zeros(2))
    assert_allclose(log_exposure(np.e, 2), np.ones(2), rtol=2**-52)  # one place, in numpy 1.26


@pytest.mark.parametrize(
    ("check", "given", "match"),
    [
        (check_weights, [1.0, -1.0], "sample_weight is -1.0 at row 1; weights must be finite"),
        (check_weights, [0.0, 0.0], "every sample weight is zero"),
        (check_weights, [[1.0], [1.0]], r"sample_weight has shape \(2, 1\) but X has 2 rows"),
        (log_exposure, [1.0, 0.0], "exposure is 0.0 at row 1; exposures must be positive"),
        (check_weights, [1.0, 1e101], "sample_weight is 1e.101 at row 1; sizes from 1e-60"),
        (check_weights, [1e-101, 1e-102], "sample_weight is 1e-101 at row 0; sizes from 1e-60"),
        (check_weights, [1j, 2j], "sample_weight holds complex numbers"),
        (check_weights, [1.0, [2.0, 3.0]], "sample_weight cannot be read as numbers"),
        (check_weights, np.ma.array([1.0, 9.0], mask=[0, 1]), "sample_weight is a masked array"),
        (log_exposure, [1.0, 1e-16], "exposure differs by 16 orders of magnitude"),
        (log_exposure, ["a", "b"], "exposure cannot be read as numbers"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name_and_row(check, given, match):
    with pytest.raises(DataError, match=match):
        check(given, 2)


def test_targets_must_be_numbers_that_can_be_multiplied():
    check_numbers(np.array([0.0, 1e60, 1e-60]))
    for size in (1e61, 1e-61):
        with pytest.raises(DataError, match="Change its unit"):
            check_numbers(np.array([size]))
    with pytest.raises(DataError, match="pass numbers, one per row"):
        check_numbers(np.array(["1", "2"]))


def test_gaps_in_a_column_are_counted():
    with pytest.raises(DataError, match="no value in 2 of 3 rows, first in row 1; fill them"):
        refuse_missing(pd.Series([1.0, None, None]), "income", "fill them")


def test_rows_that_are_forgotten_weigh_nothing():
    found = check_weights(0.9 ** np.arange(500.0), 500)
    assert found[0] == 1.0
    assert_array_equal(found > 0, np.arange(500) < np.log(1e-15) / np.log(0.9))
    assert_array_equal(check_weights([0.0, 1e-120, 1.0], 3), [0.0, 0.0, 1.0])


def test_weights_of_zero_are_of_no_order_of_magnitude():
    assert_array_equal(check_weights([0.0, 1e-9, 1e6], 3), [0.0, 1e-9, 1e6])
    assert_array_equal(check_weights(np.ma.array([1.0, 2.0], mask=False), 2), [1.0, 2.0])
