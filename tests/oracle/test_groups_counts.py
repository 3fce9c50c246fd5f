"""Counts of groups: standard errors are those of least squares at the truth."""

import numpy as np
import pytest

from driftglm import DriftGLM
from driftglm.exceptions import ConvergenceWarning

N_GROUPS, N_STEPS, N_ROWS = 60, 6, 3
TRUTH, DEVIATION = np.array([0.4, 0.3]), 0.5


def panel(seed, level=3.0, deviation=DEVIATION):
    """A column of groups, one of rows, and standard errors where all but coefficients is known."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(N_GROUPS), N_STEPS * N_ROWS)
    step = np.tile(np.repeat(np.arange(N_STEPS), N_ROWS), N_GROUPS)
    X = np.column_stack([rng.normal(size=N_GROUPS)[group], rng.normal(size=group.size)])
    eta = level + X @ TRUTH + deviation * rng.normal(size=N_GROUPS)[group]
    y, weights = rng.poisson(np.exp(eta)), np.exp(eta)
    columns, members = np.column_stack([X, np.eye(N_STEPS)[step]]), np.eye(N_GROUPS)[group]
    across = columns.T @ (weights[:, None] * members)
    known = np.diag(1.0 / (members.T @ weights + deviation**-2))
    precision = columns.T @ (weights[:, None] * columns) - across @ known @ across.T
    return (X, y, step, group), np.sqrt(np.diag(np.linalg.inv(precision)))[:2]


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("seed", [0, 1, 13, 23, 24])
def test_standard_errors_are_those_of_whole_steps(seed):
    """In all but the first of these the bound refused whole steps, which stood still."""
    (X, y, step, group), error = panel(seed)
    model = DriftGLM(family="poisson", extrapolate="forecast").fit(X, y, time=step, groups=group)
    width = model.coef_std_path_.mean(axis=0) / error
    assert (width > 0.8).all()
    assert (width < 1.6).all()
    away = (model.coef_path_.mean(axis=0) - TRUTH) / error
    assert np.abs(away).max() < 3.0


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.parametrize("family", ["poisson", "negative-binomial"])
def test_a_covariate_of_groups_is_not_lost_among_large_counts(family):
    """After shortened steps effects of groups stand for it, and it seems to be zero."""
    found = []
    for seed in range(501, 505):
        (X, y, step, group), _ = panel(seed, level=5.0, deviation=1.0)
        model = DriftGLM(family=family, extrapolate="forecast").fit(X, y, time=step, groups=group)
        found.append(model.coef_path_[:, 0].mean())
    assert abs(np.mean(found) - TRUTH[0]) < 0.15
