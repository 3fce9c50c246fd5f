import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from driftglm.diagnostics import Residuals
from driftglm.diagnostics.step_means import _follows, step_means


def test_lasting_step_effects_are_found_with_their_size():
    rng = np.random.default_rng(0)
    effect = lfilter([0.6], [1, -0.8], rng.normal(size=60))[20:]
    steps = np.repeat(np.arange(40), 50)
    found = step_means(Residuals(rng.normal(size=2000) + 0.5 * effect[steps], steps, 40))
    assert found.p_value < 1e-4
    assert found.severity == "major"
    assert found.statistic == pytest.approx(0.5, abs=0.2)
    assert "fit_intercept" in found.advice


def test_one_row_a_step_is_a_series():
    rng = np.random.default_rng(1)
    series = lfilter([0.8], [1, -0.6], rng.normal(size=100))
    assert step_means(Residuals(series, np.arange(100), 100)).p_value < 0.01
    assert step_means(Residuals(rng.normal(size=100), np.arange(100), 100)).p_value > 0.05


def test_permutations_agree_with_the_normal_approximation():
    rng = np.random.default_rng(2)
    series = rng.normal(size=200)
    p_value, correlation = _follows(series, np.ones(200, dtype=bool), rng)
    approximate = stats.norm.sf((correlation + 1 / 200) * np.sqrt(200))
    assert p_value == pytest.approx(approximate, abs=0.04)


def test_clean_and_over_fitted_step_means_are_quiet():
    rng = np.random.default_rng(3)
    steps = np.repeat(np.arange(30), 20)
    clean = rng.normal(size=600)
    assert step_means(Residuals(clean, steps, 30)).severity == "none"
    taken_off = clean - 0.9 * clean.reshape(30, 20).mean(axis=1)[steps]
    found = step_means(Residuals(taken_off, steps, 30))
    assert found.p_value > 0.2


def test_few_steps_empty_steps_and_constant_residuals():
    assert step_means(Residuals(np.zeros(50), np.repeat(np.arange(5), 10), 5)) is None
    steps = np.repeat(np.arange(0, 20, 2), 10)
    found = step_means(Residuals(np.ones(100), steps, 20))
    assert (found.p_value, found.severity) == (1, "none")
    assert np.isfinite(step_means(Residuals(np.arange(100.0), steps, 20)).statistic)
