"""Passes over chunks of words."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.fitting.text_data import (
    collapse,
    effect_design,
    text_problem,
)
from driftglm.priors import Exact, Fixed, Learned
from driftglm.solvers.text_learned import LearnedTextSolver
from driftglm.solvers.text_mode import ModeTextSolver

T, F, V = 3, 4, 7


@pytest.mark.parametrize("by_effect", [True, False])
def test_threads_do_not_change_a_digit(mode_text_solver, text_world, rng, by_effect):
    contexts, _, problem = text_world(rng)
    groups = np.arange(F) if by_effect else np.zeros(F, int)
    found = []
    for n_jobs in (1, 2):
        mode = mode_text_solver(
            problem, contexts, Exact(), by_effect=by_effect, n_jobs=n_jobs
        ).solve(problem, max_iter=20, tol=0)
        learner = LearnedTextSolver(
            Learned(n_scales=3), groups, np.arange(F), np.full(F, 3.0), n_jobs
        )
        bound = learner.solve(problem, max_iter=10, tol=0)
        state = bound.state
        found.append((mode.state.beta, mode.history, state.mean, state.log_pi))
        found[-1] += (bound.history, state.ahead(1, n_jobs))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


T, F, V = 3, 4, 7


@pytest.mark.parametrize("prior", ["fixed", "learned"])
def test_a_count_far_above_its_mean_does_not_diverge(prior):
    """A count of 10 where the background expects 0.1: plain Newton would step to +99."""
    from scipy.sparse import csr_array

    counts = csr_array([[10.0, 0.0, 5.0], [0.0, 40.0, 60.0]])
    contexts = collapse(counts, np.array([[1.0], [0.0]]), np.zeros(2, np.int64))
    share = np.array([0.1 / 15, 0.4, 0.6 - 0.1 / 15])
    base = np.log(share)[None]
    problem = text_problem(contexts, base, effect_design(contexts, 1, None, np.ones(1)))
    if prior == "fixed":
        each = ModeTextSolver(Fixed(100.0, 0.0), True, np.arange(1), np.ones(1))
        found = each.solve(problem, max_iter=200, tol=1e-9)
        beta = found.state.beta[:, 0, 0]
        # Almost no penalty: the ratio of observed shares to the background's (0 counts: low).
        assert_allclose(beta[0] - beta[2], np.log(10 / 5 / (share[0] / share[2])), atol=0.02)
    else:
        learner = LearnedTextSolver(Learned(), np.zeros(1, int), np.arange(1), np.ones(1))
        found = learner.solve(problem, max_iter=100, tol=1e-12)
        beta = found.state.mean[:, 0, 0]
        assert 0.5 < beta[0] < 10
    history = found.history
    assert np.isfinite(beta).all()
    assert np.diff(history).min(initial=0) >= -1e-10 * abs(history[-1])


def test_none_of_200_random_problems_diverges(mode_text_solver, text_world, rng):
    for k in range(200):
        scale = float(rng.choice([0.05, 0.5, 5.0, 500.0]))
        contexts, base, problem = text_world(rng, n_docs=int(rng.integers(3, 20)), scale=scale)
        base += rng.choice([0.0, 3.0]) * rng.normal(size=base.shape)  # a background that is far off
        problem = text_problem(contexts, base, problem.design)
        if k % 2:
            prior = Fixed(float(rng.choice([0.1, 1.0, 100.0])), float(rng.choice([0.0, 0.9])))
            found = mode_text_solver(problem, contexts, prior).solve(problem, max_iter=15, tol=0)
        else:
            learner = LearnedTextSolver(
                Learned(n_scales=3, correlations=(0.9,)),
                np.arange(F),
                np.arange(F),
                np.full(F, 3.0),
            )
            found = learner.solve(problem, max_iter=15, tol=0)
        history = found.history
        assert np.isfinite(history).all()
        assert np.diff(history).min(initial=0) >= -1e-9 * abs(history[-1])
