import numpy as np
import pytest
from scipy.signal import lfilter
from statsmodels.tsa.stattools import acf

from driftglm.diagnostics import Residuals
from driftglm.diagnostics.neighbours import neighbours

STEPS = np.repeat(np.arange(10), 100)


def dependent(rng, n, rho=0.3):
    return lfilter([np.sqrt(1 - rho**2)], [1, -rho], rng.normal(size=n))


def test_in_one_step_it_is_the_autocorrelation_of_the_scores():
    values = dependent(np.random.default_rng(0), 200)
    given = Residuals(values, np.zeros(200, dtype=int), 1)
    # The expectation of -1 / n is added back.
    expected = acf(given.scores, nlags=1)[1] + 1 / 200
    assert neighbours(given).statistic == pytest.approx(expected)


def test_p_value_is_that_of_permutations_inside_steps():
    rng = np.random.default_rng(5)
    steps = np.repeat(np.arange(8), 25)
    values = rng.normal(size=200) + 0.5 * rng.normal(size=8)[steps]
    ours = neighbours(Residuals(values, steps, 8))
    drawn = []
    for _ in range(400):
        shuffled = rng.permuted(values.reshape(8, 25), axis=1).ravel()
        drawn.append(neighbours(Residuals(shuffled, steps, 8)).statistic)
    assert ours.p_value == pytest.approx(np.mean(np.array(drawn) >= ours.statistic), abs=0.06)


def test_dependent_rows_are_found_wherever_the_rows_of_a_step_are():
    rng = np.random.default_rng(1)
    values = np.concatenate([dependent(rng, 100) for _ in range(10)])
    together = neighbours(Residuals(values, STEPS, 10))
    assert together.p_value < 1e-4
    assert together.severity == "major"
    # Firm by firm instead of step by step: neighbours of a step are the same rows as before.
    order = np.arange(1000).reshape(10, 100).T.ravel()
    apart = neighbours(Residuals(values[order], STEPS[order], 10))
    assert apart.statistic == pytest.approx(together.statistic)
    assert "pairs" in apart.finding
    assert "sum them up" in apart.advice


def test_wild_rows_and_moving_noise_do_not_fake_it():
    rng = np.random.default_rng(2)
    values = rng.standard_cauchy(1000) * np.exp(rng.normal(size=10))[STEPS]
    assert neighbours(Residuals(values, STEPS, 10)).p_value > 0.05


def test_a_trivial_correlation_of_many_rows_does_not_matter():
    values = dependent(np.random.default_rng(3), 100_000, rho=0.02)
    found = neighbours(Residuals(values, np.repeat(np.arange(10), 10_000), 10))
    assert found.p_value < 1e-4
    assert found.severity == "none"


def test_too_few_pairs_and_constant_residuals():
    assert neighbours(Residuals(np.arange(30.0), np.arange(30), 30)) is None
    found = neighbours(Residuals(np.ones(1000), STEPS, 10))
    assert (found.p_value, found.severity) == (1, "none")
