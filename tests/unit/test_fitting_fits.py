"""What finished fits say of steps."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm import DriftRegressor


@pytest.fixture
def constant(rng):
    """Six columns of which one has an effect, the same in all eight steps."""
    X, time = rng.normal(size=(480, 6)), np.repeat(np.arange(8), 60)
    return X, 2.0 * X[:, 0] + rng.normal(size=480), time


def test_the_influence_of_a_step_is_what_a_static_coefficient_moves_without_its_rows(constant):
    """Leaving out a step's h and b is leaving out its rows, where a path is one number."""
    X, y, time = constant
    x = X[:, :1]
    model = DriftRegressor(static=[0], fit_intercept=False, noise=1.0).fit(x, y, time=time)

    def least_squares(rows):
        return np.sum(x[rows, 0] * y[rows]) / np.sum(x[rows] ** 2)

    whole = least_squares(time >= 0)
    moved = [abs(least_squares(time != step) - whole) for step in range(8)]
    # The prior is wide beside the likelihood, and so hardly matters.
    expected = np.array(moved) / model.coef_std_path_[0, 0]
    assert_allclose(model._fits[0].influence(), expected, rtol=0.02, atol=0.02)


def test_a_step_whose_column_is_in_another_unit_decides_a_static_coefficient(constant):
    X, y, time = constant
    model = DriftRegressor(static=list(range(6))).fit(X, y, time=time)
    assert "influence" not in set(model.diagnose()["check"])
    wrong = np.where((time == 5)[:, None], 20.0 * X, X)
    found = model.fit(wrong, y, time=time).diagnose().set_index("check")
    assert "without 5 (60 rows)" in found.loc["influence", "finding"]
