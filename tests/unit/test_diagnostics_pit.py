import numpy as np
import pytest
from scipy import stats

from driftglm.diagnostics import Residuals
from driftglm.diagnostics.pit import GRID, pit

STEPS = np.repeat(np.arange(20), 50)


def test_distance_is_that_of_the_empirical_distribution_on_the_grid():
    values = np.random.default_rng(0).normal(0.1, 1, 1000)
    share = stats.ecdf(stats.norm.cdf(values)).cdf.evaluate(GRID)
    found = pit(Residuals(values, STEPS, 20))
    assert found.statistic == pytest.approx(np.abs(share - GRID).max())
    assert found.statistic <= stats.kstest(values, "norm").statistic


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda z: z + 0.4, "y is higher than predicted"),
        (lambda z: z - 0.4, "y is lower than predicted"),
        (lambda z: 1.5 * z, "intervals are too narrow"),
        (lambda z: 0.6 * z, "intervals are too wide"),
        (lambda z: (np.exp(0.6 * z) - np.exp(0.18)) / 0.79, "skewed to the right"),
        (lambda z: (np.exp(0.18) - np.exp(0.6 * z)) / 0.79, "skewed to the left"),
    ],
)
def test_wrong_shapes_are_found_and_told_apart(change, words):
    values = change(np.random.default_rng(1).normal(size=1000))
    found = pit(Residuals(values, STEPS, 20))
    assert found.p_value < 0.01
    assert found.severity != "none"
    assert words in found.finding


def test_dependent_rows_of_a_step_are_no_wrong_shape():
    rng = np.random.default_rng(2)
    drawn = []
    for _ in range(100):
        values = np.sqrt(0.5) * (rng.normal(size=1000) + rng.normal(size=20)[STEPS])
        drawn.append(pit(Residuals(values, STEPS, 20)).p_value)
    assert np.mean(np.array(drawn) < 0.05) <= 0.12


def test_clean_few_rows_one_step_and_constant_residuals():
    rng = np.random.default_rng(3)
    assert pit(Residuals(rng.normal(size=1000), STEPS, 20)).p_value > 0.05
    assert pit(Residuals(np.zeros(10), np.zeros(10, dtype=int), 1)) is None
    one = pit(Residuals(rng.normal(size=200), np.zeros(200, dtype=int), 1))
    assert one.p_value > 0.05
    assert pit(Residuals(np.ones(1000), STEPS, 20)).severity == "major"
