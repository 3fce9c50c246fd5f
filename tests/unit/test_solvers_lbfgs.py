"""L-BFGS: its certificate is what it says, and zeros stay."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.priors import Exact, Fixed, Variational
from driftglm.solvers import LBFGSSolver, StopReason
from driftglm.solvers.rowstate import RowWork

T = 5
PRIORS = pytest.mark.parametrize(
    "prior",
    [
        Exact(),
        Exact(boundary="stationary"),
        Variational(),
        Variational(bound="elbo"),
        Fixed(),
        Fixed(boundary="stationary"),
    ],
    ids=["exact", "stationary", "paper", "elbo", "fixed", "fixed-stationary"],
)


@PRIORS
def test_the_certificate_of_lbfgs_is_the_largest_scaled_slope(
    scaled_slopes, path_slopes, off_zero, mode_problem, prior, rng
):
    """Cut short, so that there is a slope to measure; intercepts have a round of their own."""
    objective = mode_problem(rng, prior, intercepts=0, given=0.2)
    result = LBFGSSolver().solve(objective, off_zero(objective), max_iter=7, tol=1e-9)
    gradient = path_slopes(objective, result.state)
    expected = scaled_slopes(objective, result.state, gradient).max()
    assert expected > 1e-3
    assert_allclose(result.optimality, expected, rtol=1e-3)


@pytest.mark.parametrize("intercepts", [0, 1])
def test_lbfgs_leaves_paths_at_zero_that_start_there(mode_problem, intercepts, rng):
    objective = mode_problem(rng, Exact(), intercepts=intercepts)
    beta = np.zeros((6, T))
    beta[1] = 0.5
    result = LBFGSSolver().solve(objective, objective.start(beta), max_iter=100, tol=1e-4)
    assert not result.state.beta[[0, 2, 3, 4, 5]].any()
    nothing = LBFGSSolver().solve(objective, objective.start(), max_iter=100, tol=1e-4)
    assert not nothing.state.beta.any()
    assert nothing.reason is StopReason.CONVERGED


@pytest.mark.parametrize("given", [None, 0.5], ids=["estimated", "given"])
def test_without_a_live_path_intercepts_are_found_all_the_same(mode_problem, rng, given):
    """With a given noise one round does not find them, and no path has a gradient to go on for."""
    objective = mode_problem(rng, Variational(), intercepts=2, given=given)
    ours = LBFGSSolver().solve(objective, objective.start(), max_iter=500, tol=1e-5)
    best = ours.state.copy()
    for _ in range(200):  # the same rounds, without a look at gradients
        work = RowWork(objective, best)
        work.set_intercepts()
        objective.update_noise(work.state)
        best = work.state
    assert ours.reason is StopReason.CONVERGED
    assert not ours.state.beta.any()
    assert len(ours.history) > 1
    assert_allclose(ours.history[-1], objective.value(best), rtol=1e-9)
    assert_allclose(ours.state.intercept_mean, best.intercept_mean, atol=1e-4)
