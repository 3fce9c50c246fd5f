"""How paths and intercepts make up the user's columns."""

import numpy as np
from numpy.testing import assert_array_equal

from driftglm.fitting.coefficients import Columns, Step


def test_paths_and_always_in_features_go_back_to_their_columns():
    columns = Columns(np.array([False, True, False]), np.zeros((2, 3)), True, 0.0)
    paths = np.array([[1.0, 2.0], [3.0, 4.0]])
    intercepts = np.array([[9.0, 9.0], [5.0, 6.0]])  # the intercept itself comes first
    assert_array_equal(columns.arrange(paths, intercepts), [[1.0, 5.0, 3.0], [2.0, 6.0, 4.0]])
    assert_array_equal(columns.per_feature(paths[:, 0], intercepts[:, 0]), [1.0, 5.0, 3.0])


def test_what_coefficients_share_adds_to_their_variance():
    joint = np.array([[1.0, 2.0], [0.0, 0.0]])
    step = Step(np.zeros(2), 0.0, np.array([0.5, 0.5]), 0.0, np.zeros(2), joint)
    assert_array_equal(step.total_variance, [5.5, 0.5])
