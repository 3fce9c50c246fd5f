"""Simulation-based calibration, small: the whole of it is `benchmarks/sampling.py sbc`."""

import pytest
import sampling

LEAST = 0.001
"""Six tests, seeds fixed: none is to fail by chance."""


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_the_truth_is_anywhere_among_the_draws(family):
    _, least, inclusion = sampling.calibrated(family, 25, seed=5)
    assert least > LEAST
    assert inclusion > LEAST


def test_a_wrong_variance_is_found():
    """Rows counted more than once make draws too sure."""
    p_values, least, _ = sampling.calibrated("gaussian", 25, weight=2.5, seed=5)
    assert least < LEAST
    assert p_values["noise"] < LEAST
