"""The search for a family's own parameter."""

import numpy as np
import pytest

from driftglm.objective import Shape


@pytest.mark.parametrize("start", [0.02, 0.9, 8.0])
def test_repeated_steps_end_at_the_top(start):
    shape, value, calls = Shape(None, 1.0, (1e-3, 1e3)), start, []

    def height(at):
        calls.append(at)
        return -50 * (np.log(at / 0.3) ** 2 + 0.3 * np.log(at / 0.3) ** 3 * (at > 0.3))

    for _ in range(8):
        value, before = shape.improved(height, value), value
        assert height(value) + shape.log_prior(value) >= height(before) + shape.log_prior(before)
    # The prior, Normal(log 1, 3^2) for the logarithm, pulls by a thousandth.
    assert abs(np.log(value / 0.3) - np.log(1 / 0.3) / (18 * 50)) < 1e-4
    calls.clear()
    shape.improved(height, value)
    assert len(calls) <= 4, "where nothing moves a search must be cheap"


def test_bounds_hold_and_given_values_stay():
    shape = Shape(None, 1.0, (0.5, 2.0))
    value = 1.0
    for _ in range(5):
        value = shape.improved(lambda at: 100 * at, value)
    assert value == pytest.approx(2.0)
    assert not Shape(0.7, 1.0, (0.5, 2.0)).learned
    assert Shape(0.7, 1.0, (0.5, 2.0)).start == 0.7
