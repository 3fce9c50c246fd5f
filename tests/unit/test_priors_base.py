"""What a prior is asked of a path: statistics, groups, checks."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from driftglm.exceptions import DataError
from driftglm.priors import Exact, PathStats


def test_statistics_of_paths():
    stats = PathStats.of(np.array([[1.0, 2.0, 3.0], [0.0, -1.0, 2.0]]))
    assert_array_equal(stats.S, [14.0, 5.0])
    assert_array_equal(stats.R, [8.0, -2.0])
    assert_array_equal(stats.E, [10.0, 4.0])
    summed = stats.summed(np.array([1, 1]))
    assert_array_equal([summed.S, summed.R, summed.E], [[0, 19], [0, 6], [0, 14]])
    floored = stats.floored(np.array([0.5, 0.0]))
    assert_array_equal([floored.S, floored.R, floored.E], [[14.5, 5], [8, -2], [10, 4]])
    taken = stats.take(np.array([False, True]))
    assert_array_equal([taken.S, taken.R, taken.E], [[5], [-2], [4]])
    single = PathStats.of(np.array([[3.0]]))
    assert_array_equal([single.S, single.R, single.E], [[9], [0], [18]])


def test_bad_input_is_refused_with_a_reason():
    with pytest.raises(DataError, match=r"shape \(3,\); pass one row per path"):
        Exact().log_density(np.ones(3))
    with pytest.raises(DataError, match=r"shape \(2, 0\)"):
        Exact().log_density(np.ones((2, 0)))
    with pytest.raises(DataError, match="path 1 has values that are not finite"):
        Exact().expectations(np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0]]))
    with pytest.raises(DataError, match=r"groups has shape \(1,\) but there are 2 paths"):
        Exact().log_density(np.ones((2, 3)), groups=np.array([0]))
