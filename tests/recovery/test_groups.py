"""Intervals of covariates in panels: of groups, and within groups."""

import warnings

import numpy as np
import pytest

from driftglm import DriftRegressor
from driftglm.exceptions import ConvergenceWarning

N_PANELS, N_GROUPS, N_STEPS = 16, 150, 6
LEVEL = 0.9
SLOPES = np.array([0.5, -0.5, 0.4, 0.3])
"""Two covariates of groups, two that vary within them; effects are constant over time."""
FOUR_ERRORS = 4.0 * np.sqrt(LEVEL * (1.0 - LEVEL) / (2 * N_PANELS))
"""Each panel has two independent covariates of a kind."""


def panel(seed):
    rng = np.random.default_rng(seed)
    group, time = np.tile(np.arange(N_GROUPS), N_STEPS), np.repeat(np.arange(N_STEPS), N_GROUPS)
    X = rng.normal(size=(group.size, 4))
    X[:, :2] = rng.normal(size=(N_GROUPS, 2))[group]
    y = X @ SLOPES + rng.normal(size=N_GROUPS)[group] + 0.7 * rng.normal(size=group.size)
    return X, y, time, group


@pytest.fixture(scope="module")
def covered():
    """(panels, features): whether the interval at the middle step holds the slope."""
    out = {"with": [], "without": []}
    for seed in range(N_PANELS):
        X, y, time, group = panel(seed)
        for name, ids in (("with", group), ("without", None)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = DriftRegressor(extrapolate="forecast").fit(X, y, time=time, groups=ids)
            low, high = model.coef_interval(LEVEL)[:, N_STEPS // 2]
            out[name].append((low < SLOPES) & (high > SLOPES))
    return {name: np.array(each) for name, each in out.items()}


def test_intervals_of_both_kinds_of_covariates_cover(covered):
    between, within = covered["with"][:, :2].mean(), covered["with"][:, 2:].mean()
    assert abs(between - LEVEL) < FOUR_ERRORS
    assert abs(within - LEVEL) < FOUR_ERRORS


def test_rows_that_count_as_independent_are_too_sure_of_covariates_of_groups(covered):
    assert covered["without"][:, :2].mean() < LEVEL - FOUR_ERRORS


def test_variances_between_groups_and_of_the_noise_are_found():
    found = []
    for seed in range(3):
        X, y, time, group = panel(100 + seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = DriftRegressor(extrapolate="forecast").fit(X, y, time=time, groups=group)
        found.append([model.group_variance_["constant"].iloc[0], model.noise_variance_])
    # The error of a variance of 150 groups is about 0.12.
    np.testing.assert_allclose(np.mean(found, axis=0), [1.0, 0.49], rtol=0.25)
