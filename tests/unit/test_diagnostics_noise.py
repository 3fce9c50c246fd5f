import numpy as np
import pytest
from scipy import stats

from driftglm.diagnostics import Residuals
from driftglm.diagnostics.noise import moving_noise, wild_step

STEPS = np.repeat(np.arange(12), 50)
LABELS = [f"20{step:02d}" for step in range(12)]


def test_it_is_fligner_and_killeens_test():
    values = np.random.default_rng(0).normal(size=600) * (1 + 0.05 * STEPS)
    expected = stats.fligner(*values.reshape(12, 50)).pvalue
    assert moving_noise(Residuals(values, STEPS, 12)).p_value == pytest.approx(expected)


def test_moving_noise_is_found_with_its_size_and_steps():
    rng = np.random.default_rng(1)
    log_scale = rng.permutation(np.linspace(-0.6, 0.6, 12))
    values = rng.normal(size=600) * np.exp(log_scale)[STEPS]
    found = moving_noise(Residuals(values, STEPS, 12, labels=LABELS))
    assert found.p_value < 1e-4
    assert found.statistic == pytest.approx(log_scale.std(ddof=1), abs=0.1)
    rows = values.reshape(12, 50)
    scale = np.abs(rows - np.median(rows, axis=1, keepdims=True)).mean(axis=1)
    assert f"in {LABELS[int(scale.argmax())]} and" in found.finding
    assert "too narrow" in found.advice
    counts = moving_noise(Residuals(values, STEPS, 12, continuous=False))
    assert "too narrow" not in counts.advice


def test_heavy_tails_are_not_moving_noise():
    rng = np.random.default_rng(2)
    drawn = [moving_noise(Residuals(rng.standard_t(2, 600), STEPS, 12)).p_value for _ in range(100)]
    assert np.mean(np.array(drawn) < 0.05) <= 0.1


def test_a_wild_step_is_named():
    rng = np.random.default_rng(3)
    wrong = (STEPS == 7) & (rng.random(600) < 0.3)
    values = rng.normal(size=600) + 5 * wrong * rng.normal(size=600)
    found = wild_step(Residuals(values, STEPS, 12, labels=LABELS))
    assert found.p_value < 0.001
    assert "2007 (50 rows)" in found.finding
    quiet = wild_step(Residuals(rng.normal(size=600), STEPS, 12))
    assert quiet.severity == "none"


def test_p_values_of_wild_steps_hold_in_small_steps():
    rng = np.random.default_rng(4)
    steps = np.repeat(np.arange(24), 8)
    drawn = [wild_step(Residuals(rng.normal(size=192), steps, 24)).p_value for _ in range(400)]
    assert np.mean(np.array(drawn) < 0.05) <= 0.07


@pytest.mark.parametrize("check", [moving_noise, wild_step])
def test_too_few_rows_one_step_empty_steps_and_constant_residuals(check):
    assert check(Residuals(np.arange(40.0), np.repeat(np.arange(10), 4), 10)) is None
    assert check(Residuals(np.arange(40.0), np.zeros(40, dtype=int), 1)) is None
    found = check(Residuals(np.ones(100), np.repeat(np.arange(0, 20, 2), 10), 20))
    assert (found.p_value, found.severity) == (1, "none")
