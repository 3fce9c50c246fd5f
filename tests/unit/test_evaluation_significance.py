"""Tests of differences: those that count steps keep their level, the one that counts rows not."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ttest_1samp

from driftglm.evaluation.significance import (
    bootstrap,
    diebold_mariano,
    find_test,
    holm,
    step_means,
    wilcoxon,
)
from driftglm.exceptions import DataError

STEPS = np.repeat(np.arange(6), [4, 3, 5, 2, 6, 4])


def weightless(difference, steps):
    return difference, np.ones(len(steps)), steps


def with_step_effects(rng, n_steps=10, n_rows=30):
    """Differences of losses without a true mean, whose steps have something in common."""
    steps = np.repeat(np.arange(n_steps), n_rows)
    return rng.normal(size=n_steps)[steps] + rng.normal(size=steps.size), steps


def test_only_wilcoxon_rejects_too_often_if_steps_have_effects(rng):
    n_worlds = 400
    worlds = [weightless(*with_step_effects(rng)) for _ in range(n_worlds)]
    rejected = {
        test.__name__: np.mean([test(*world)["p_value"] < 0.05 for world in worlds])
        for test in (wilcoxon, diebold_mariano, bootstrap)
    }
    assert rejected["wilcoxon"] > 0.4
    # Three standard errors of a share of .05 are .033.
    assert 0.017 < rejected["diebold_mariano"] < 0.083
    assert 0.017 < rejected["bootstrap"] < 0.083


def test_the_interval_of_the_bootstrap_covers_as_often_as_it_says(rng):
    found = [bootstrap(*weightless(*with_step_effects(rng))) for _ in range(300)]
    covered = np.mean([one["lower"] < 0 < one["upper"] for one in found])
    assert 0.85 < covered < 0.95


def test_diebold_mariano_is_students_test_of_step_means(rng):
    difference = rng.normal(size=STEPS.size)
    weights = rng.uniform(0.5, 2.0, size=STEPS.size)
    found = diebold_mariano(difference, weights, STEPS)
    means = [np.average(difference[s == STEPS], weights=weights[s == STEPS]) for s in range(6)]
    expected = ttest_1samp(means, 0.0)
    assert_allclose(found["statistic"], expected.statistic)
    assert_allclose(found["p_value"], expected.pvalue)
    # The same from the formula: variance over S, times Harvey's factor at horizon 1.
    plain = np.mean(means) / np.sqrt(np.var(means) / 6)
    assert_allclose(found["statistic"], plain * np.sqrt((6 + 1 - 2) / 6))


@pytest.mark.parametrize("test", [wilcoxon, diebold_mariano, bootstrap])
def test_a_clear_difference_is_found_and_has_its_sign(rng, test):
    clear = 1.0 + 0.1 * rng.normal(size=STEPS.size)
    better, worse = (test(*weightless(sign * clear, STEPS)) for sign in (-1.0, 1.0))
    assert better["mean_difference"] < 0 < worse["mean_difference"]
    assert max(better["p_value"], worse["p_value"]) < 0.01


def test_the_interval_of_the_bootstrap_follows_the_sign(rng):
    clear = 1.0 + 0.1 * rng.normal(size=STEPS.size)
    found, turned = bootstrap(*weightless(clear, STEPS)), bootstrap(*weightless(-clear, STEPS))
    assert 0.5 < found["lower"] < found["mean_difference"] < found["upper"] < 1.5
    assert_allclose([turned["upper"], turned["lower"]], [-found["lower"], -found["upper"]])
    assert_allclose(found["mean_difference"], clear.mean())  # every row counts alike


@pytest.mark.parametrize("test", [wilcoxon, diebold_mariano, bootstrap])
def test_no_difference_is_no_evidence(test):
    assert test(*weightless(np.zeros(STEPS.size), STEPS))["p_value"] == 1.0


@pytest.mark.parametrize(("test", "fewest"), [(diebold_mariano, 2), (bootstrap, 4)])
def test_too_few_steps_are_said_and_have_no_p(rng, test, fewest):
    few, enough = (STEPS[np.isin(STEPS, range(n))] for n in (fewest - 1, fewest))
    found = test(*weightless(rng.normal(size=few.size), few))
    assert np.isnan(found["p_value"])
    assert found["note"].endswith(f"at least {fewest} are needed")
    there = test(*weightless(rng.normal(size=enough.size), enough))
    assert np.isfinite(there["p_value"])
    assert there["note"] == ""


def test_steps_without_weight_are_no_steps():
    values, steps = np.array([1.0, 3.0, 9.0]), np.array([0, 0, 4])
    means, totals = step_means(values, np.array([3.0, 1.0, 0.0]), steps)
    assert (means.tolist(), totals.tolist()) == ([1.5], [4.0])


def test_an_unknown_test_is_refused():
    with pytest.raises(DataError, match="method='t-test'; 'wilcoxon'"):
        find_test("t-test")


def test_holm_by_hand():
    assert_allclose(holm(np.array([0.01, 0.02, 0.03, 0.005])), [0.03, 0.04, 0.04, 0.02])
    assert_allclose(holm(np.array([0.5, 0.9])), [1.0, 1.0])
    assert np.isnan(holm(np.array([np.nan, np.nan]))).all()
    assert holm(np.array([])).size == 0
