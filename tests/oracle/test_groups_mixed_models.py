"""Rows of groups in one step and columns that are always in: a linear mixed model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from driftglm import DriftRegressor

N_GROUPS = 60


def panel(seed):
    """A covariate that varies within groups and one that does not; groups of 4 to 12 rows."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(N_GROUPS), rng.integers(4, 13, N_GROUPS))
    within, between = rng.normal(size=group.size), rng.normal(size=N_GROUPS)[group]
    y = 1.0 + 0.5 * within + 0.8 * between + rng.normal(size=N_GROUPS)[group]
    return np.column_stack([within, between]), y + 0.7 * rng.normal(size=group.size), group


@pytest.mark.parametrize("seed", [0, 1])
def test_coefficients_errors_and_variances_are_those_of_mixedlm(seed):
    formula = pytest.importorskip("statsmodels.formula.api")
    X, y, group = panel(seed)
    model = DriftRegressor(always_in=[0, 1]).fit(X, y, groups=group)
    frame = pd.DataFrame({"y": y, "within": X[:, 0], "between": X[:, 1], "group": group})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixed = formula.mixedlm("y ~ within + between", frame, groups="group").fit(reml=False)
    error = mixed.bse[["within", "between"]].to_numpy()
    found = (model.coef_path_[0] - mixed.params[["within", "between"]].to_numpy()) / error
    assert np.abs(found).max() < 0.05
    assert_allclose(model.coef_std_path_[0], error, rtol=0.05)
    assert_allclose(model.group_variance_["anew"], mixed.cov_re.to_numpy().ravel(), rtol=0.05)
    assert_allclose(model.noise_variance_, mixed.scale, rtol=0.05)
    assert model.group_variance_["constant"].to_numpy() == 0.0  # there is one step
    # Without groups the error of the covariate of groups is far too small.
    plain = DriftRegressor(always_in=[0, 1]).fit(X, y)
    assert plain.coef_std_path_[0, 1] < 0.6 * error[1]


def test_effects_are_the_best_linear_predictors_of_mixedlm():
    formula = pytest.importorskip("statsmodels.formula.api")
    X, y, group = panel(2)
    model = DriftRegressor(always_in=[0, 1]).fit(X, y, groups=group)
    frame = pd.DataFrame({"y": y, "within": X[:, 0], "between": X[:, 1], "group": group})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mixed = formula.mixedlm("y ~ within + between", frame, groups="group").fit(reml=False)
    theirs = np.array([mixed.random_effects[g].iloc[0] for g in range(N_GROUPS)])
    ours = model.group_effects_.sort_values("group")["effect"].to_numpy()
    assert_allclose(ours, theirs, atol=0.02 * theirs.std())


def test_the_posterior_of_one_column_is_that_of_a_dense_computation():
    """Given the variances found: generalised least squares of intercept and column.

    The column is centred and intercept and column have posteriors of their own, whose precisions
    are those of the dense matrix; the means are the joint ones.
    """
    X, y, group = panel(3)
    column = X[:, 1] - X[:, 1].mean()
    model = DriftRegressor(always_in=[0], tol=1e-13, max_iter=2000)
    model.fit(column[:, None], y, groups=group)
    members = np.eye(N_GROUPS)[group]
    variance = float(model.group_variance_["anew"].iloc[0])
    rows = model.noise_variance_ * np.eye(group.size) + variance * members @ members.T
    both = np.column_stack([np.ones(group.size), column])
    weighed = np.linalg.solve(rows, both)
    information = both.T @ weighed
    intercept, coef = np.linalg.solve(information, weighed.T @ y)
    assert_allclose([model.intercept_, model.coef_[0]], [intercept, coef], rtol=1e-6)
    assert_allclose(model.coef_std_path_[0, 0], information[1, 1] ** -0.5, rtol=1e-6)
    # Effects given the rest, and their variances.
    left = y - both @ [intercept, coef]
    counts = np.bincount(group)
    share = 1.0 / (1.0 + counts * variance / model.noise_variance_)
    means = (1.0 - share) * np.bincount(group, left) / counts
    effects = model.group_effects_
    assert_allclose(effects["effect"], means, atol=1e-6)
    assert_allclose(effects["std"], np.sqrt(variance * share), rtol=1e-6)
