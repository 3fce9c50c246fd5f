import numpy as np
import pytest
from scipy import stats

from driftglm.diagnostics import Residuals
from driftglm.diagnostics.tails import heavy_tails, overdispersion, tails

STEPS = np.repeat(np.arange(10), 50)
ONE = np.zeros(300, dtype=int)


def test_with_one_step_it_is_anscombe_and_glynns_test():
    values = np.random.default_rng(0).standard_t(8, 300)
    expected = stats.kurtosistest(values, alternative="greater").pvalue
    assert heavy_tails(Residuals(values, ONE, 1)).p_value == pytest.approx(expected)


@pytest.mark.parametrize("rows", [4, 6, 30])
def test_p_values_are_uniform_whatever_the_noise_of_a_step(rows):
    rng = np.random.default_rng(rows)
    steps = np.repeat(np.arange(20), rows)
    scale = np.exp(rng.normal(size=20))[steps]
    drawn = [
        heavy_tails(Residuals(scale * rng.normal(size=steps.size), steps, 20)).p_value
        for _ in range(400)
    ]
    assert np.mean(np.array(drawn) < 0.05) < 0.08
    assert np.mean(np.array(drawn) < 0.5) == pytest.approx(0.5, abs=0.08)


def test_student_errors_are_found_and_skewed_ones_get_other_advice():
    rng = np.random.default_rng(1)
    # A kurtosis of 6 / (df - 4).
    student = heavy_tails(Residuals(rng.standard_t(5, 500), STEPS, 10))
    assert student.p_value < 1e-4
    assert "errors='student'" in student.advice
    # One wild row makes nothing lopsided.
    wild = heavy_tails(Residuals(np.append(rng.normal(size=499), 50.0), STEPS, 10))
    assert wild.advice == student.advice
    skewed = heavy_tails(Residuals(rng.gamma(1, size=500), STEPS, 10))
    assert skewed.p_value < 1e-4
    assert "transform y" in skewed.advice


def test_variance_of_counts_is_tested_by_chi_squared():
    rng = np.random.default_rng(2)
    values = 1.2 * rng.normal(size=300)
    found = overdispersion(Residuals(values, ONE, 1, continuous=False))
    assert found.statistic == pytest.approx(values.var(ddof=1))
    assert found.p_value == pytest.approx(stats.chi2.sf(299 * values.var(ddof=1), 299))
    assert found.severity == "minor"
    quiet = tails(Residuals(rng.normal(size=500), STEPS, 10, continuous=False))
    assert quiet.severity == "none"


def test_few_rows_and_constant_residuals():
    assert heavy_tails(Residuals(np.arange(60.0), np.repeat(np.arange(20), 3), 20)) is None
    assert overdispersion(Residuals(np.arange(60.0), np.arange(60), 60)) is None
    assert heavy_tails(Residuals(np.ones(500), STEPS, 10)).severity == "none"
    assert overdispersion(Residuals(np.ones(500), STEPS, 10)).p_value == 1
