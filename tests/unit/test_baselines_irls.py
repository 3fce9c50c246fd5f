"""Reweighted least squares: no step raises the objective."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.baselines import (
    LassoAll,
    RidgeAll,
)
from driftglm.exceptions import ConvergenceWarning


@pytest.mark.parametrize("kind", ["ridge", "lasso"])
def test_no_step_raises_the_objective(baseline_loss, kind):
    """One enormous count: the first plain IRLS step overshoots by a factor of exp(30)."""
    X = np.vstack([np.zeros((30, 1)), np.ones((1, 1))])
    y = np.concatenate([np.ones(30), [1e6]])
    values = []
    for n_steps in range(1, 30):
        maker = RidgeAll if kind == "ridge" else LassoAll
        model = maker(strength=0.01, family="poisson", max_iter=n_steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        beta = float(model.coef_[0])
        penalty = 0.005 * beta**2 if kind == "ridge" else 0.01 * abs(beta)
        eta = X[:, 0] * beta + model.intercept_
        values.append(baseline_loss("poisson", y, eta, np.ones(31)) + penalty)
    start = baseline_loss("poisson", y, np.full(31, np.log(y.mean())), np.ones(31))
    # The lasso comes through stronger penalties, and ends each within its tolerance.
    assert values[0] < start
    assert (np.diff(values) < 1e-9 * abs(start)).all()
    assert_allclose(model.predict(X[-1:]), 1e6, rtol=1e-3)
