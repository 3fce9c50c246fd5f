"""The block solver: zeros are found and left, tolerances are reached."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from driftglm.priors import Exact, Fixed, Variational
from driftglm.solvers import BlockSolver, StopReason


def test_a_tight_tolerance_is_reached_though_the_objective_no_longer_moves(mode_problem, rng):
    """An error of 1e-8 in a coefficient changes the objective by 1e-16: it cannot be seen there."""
    objective = mode_problem(rng, Fixed(scale=0.3), intercepts=0, given=0.2)
    result = BlockSolver().solve(objective, objective.start(), max_iter=10_000, tol=1e-11)
    assert result.reason is StopReason.CONVERGED


@pytest.mark.parametrize("prior", [Exact(), Variational()], ids=["exact", "variational"])
def test_block_lets_paths_in_that_start_at_zero(mode_problem, prior, rng):
    objective = mode_problem(rng, prior)
    result = BlockSolver().solve(objective, objective.start(), max_iter=500, tol=1e-5)
    assert_array_equal(np.flatnonzero(result.state.beta.any(axis=1)), [0, 1])
    # Paths headed for zero get there: exact zeros, not small numbers.
    small = np.abs(result.state.beta[2:])
    assert not small.any()


def test_block_throws_out_what_has_no_mode(off_zero, mode_problem, rng):
    objective = mode_problem(rng, Exact())
    result = BlockSolver().solve(objective, off_zero(objective), max_iter=500, tol=1e-5)
    assert_array_equal(np.flatnonzero(result.state.beta.any(axis=1)), [0, 1])


def test_the_fixed_prior_never_gives_a_zero(mode_problem, rng):
    objective = mode_problem(rng, Fixed())
    result = BlockSolver().solve(objective, objective.start(), max_iter=500, tol=1e-5)
    assert result.state.beta.all()
