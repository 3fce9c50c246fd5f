import numpy as np
import pytest

from driftglm.diagnostics import Residuals
from driftglm.exceptions import DataError


def test_medians_and_means_by_step_with_an_empty_step():
    rng = np.random.default_rng(0)
    steps = rng.permutation(np.repeat([0, 2, 3], [5, 4, 1]))
    given = Residuals(rng.normal(size=10), steps, 4)
    for step in (0, 2, 3):
        own = given.residual[steps == step]
        assert given.medians[step] == pytest.approx(np.median(own))
        assert given.means(given.residual)[step] == pytest.approx(own.mean())
    assert np.isnan(given.medians[1])
    assert given.counts.tolist() == [5, 0, 4, 1]
    assert given.labels == ("0", "1", "2", "3")


def test_rows_of_weight_zero_are_left_out():
    given = Residuals(np.array([1.0, 50.0, 2.0]), np.array([0, 0, 1]), 2, weights=[2.0, 0.0, 1.0])
    assert given.residual.tolist() == [1.0, 2.0]
    assert given.counts.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"residual": [0.0, np.nan, np.inf]}, r"residual is nan at 1 \(2 of 3 are not finite\)"),
        ({"steps": [0, 1]}, "one integer for each of the 3 residuals"),
        ({"steps": [0.0, 1.0, 1.0]}, "one integer"),
        ({"steps": [0, 1, 2]}, "steps run from 0 to 2; with 2 steps"),
        ({"labels": ["a"]}, "1 labels for 2 steps"),
        ({"period": 1}, "period is 1"),
        ({"weights": [1.0]}, r"weights has shape \(1,\)"),
        ({"influence": [1.0, np.nan]}, "influence is nan at 1"),
        ({"intercept_path": [1.0]}, "intercept_path has shape"),
    ],
)
def test_what_cannot_be_used_is_refused(changes, message):
    right = {"residual": [0.0, 1.0, 2.0], "steps": [0, 1, 1], "n_timesteps": 2}
    Residuals(**right)
    with pytest.raises(DataError, match=message):
        Residuals(**{**right, **changes})
