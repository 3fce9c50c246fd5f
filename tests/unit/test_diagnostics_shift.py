import numpy as np
import pytest
from scipy.signal import lfilter

from driftglm.diagnostics import Residuals
from driftglm.diagnostics.shift import _against_others, shifted_step

STEPS = np.repeat(np.arange(30), 20)


def panel(rng, shift=0.0, steps=STEPS):
    """An intercept path that follows all there is, and residuals that have no step means left."""
    path = lfilter([0.5], [1, -0.8], rng.normal(size=50))[20:]
    path[12] += shift
    path += rng.normal(size=30) / np.sqrt(np.maximum(np.bincount(steps, minlength=30), 1))
    return Residuals(np.zeros(steps.size), steps, 30, intercept_path=path)


@pytest.mark.parametrize(("shift", "word"), [(5, "above"), (-5, "below")])
def test_a_shifted_step_is_named(shift, word):
    found = shifted_step(panel(np.random.default_rng(0), shift))
    assert found.p_value < 0.001
    assert found.severity == "major"
    assert f"12 (20 rows) as a whole is {word} the steps around it" in found.finding


def test_paths_that_drift_are_quiet_with_steps_of_any_size():
    rng = np.random.default_rng(1)
    sizes = np.repeat(np.arange(30), rng.integers(0, 30, size=30))
    for steps in (STEPS, sizes):
        drawn = [shifted_step(panel(rng, steps=steps)).p_value for _ in range(200)]
        assert np.mean(np.array(drawn) < 0.05) <= 0.07


def test_the_yardstick_leaves_out_the_step_and_its_neighbours():
    apart = np.array([1.0, -2.0, 8.0, -2.0, 1.0, 2.0, -1.0])
    ratio, free = _against_others(apart, np.zeros(7))
    assert ratio[2] == pytest.approx(8 / np.sqrt(np.mean([1.0, 1.0, 4.0, 1.0])))
    assert free == 2


def test_no_path_few_steps_and_constant_paths():
    assert shifted_step(Residuals(np.zeros(600), STEPS, 30)) is None
    few = Residuals(np.zeros(7), np.arange(7), 7, intercept_path=np.zeros(7))
    assert shifted_step(few) is None
    flat = Residuals(np.zeros(600), STEPS, 30, intercept_path=np.zeros(30))
    assert (shifted_step(flat).p_value, shifted_step(flat).severity) == (1, "none")
