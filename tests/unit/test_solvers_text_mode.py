"""Modes of a text model against dense algebra and a general optimiser."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from driftglm.fitting.text_data import (
    collapse,
    effect_design,
    log_background,
    text_problem,
)
from driftglm.priors import Exact, Fixed, Variational
from driftglm.solvers.base import StopReason

T, F, V = 3, 4, 7


@pytest.mark.parametrize("by_effect", [True, False])
@pytest.mark.parametrize(
    "prior",
    [
        Fixed(1.0, 0.5),
        Fixed(2.0, 0.9, "stationary"),
        Exact(),
        Exact(boundary="stationary"),
        Variational(),
    ],
)
def test_a_mode_s_objective_never_falls_and_is_the_dense_one(
    mode_text_solver, dense_text, text_world, rng, prior, by_effect
):
    contexts, base, problem = text_world(rng, scale=20)
    each = mode_text_solver(problem, contexts, prior, by_effect=by_effect)
    found = each.solve(problem, max_iter=400, tol=1e-6)
    mode, history = found.state, found.history
    assert np.diff(history).min(initial=0) >= -1e-9 * abs(history[-1])
    assert found.reason is not StopReason.MAX_ITER
    assert (found.optimality <= 1e-6) == (found.reason is StopReason.CONVERGED)
    log_p = dense_text(contexts, base, problem, mode.beta)[2]
    likelihood = float((contexts.counts.toarray() * log_p).sum())
    # A path set to zero in the last pass is in the prior's value, not yet in the likelihood.
    assert_allclose(history[-1], likelihood + each._tied().evaluate(mode.beta)[0], rtol=1e-9)


def test_a_lasso_matches_a_general_optimiser(mode_text_solver, text_world, rng):
    """One step, strength |beta|_1 smoothed away by splitting beta = plus - minus for L-BFGS-B."""
    from scipy.optimize import minimize

    contexts, base, problem = one_step(text_world(rng, scale=4)[0])
    strength = 2.0
    each = mode_text_solver(problem, contexts, Fixed(), strength=strength)
    ended = each.solve(problem, max_iter=2000, tol=1e-8)
    mode, history = ended.state, ended.history
    x, counts = contexts.effects - problem.design.mean.T[0], contexts.counts.toarray()

    def loss(both):
        plus, minus = both.reshape(2, V, F)
        log_p = log_softmax(base[0] + x @ (plus - minus).T, axis=1)
        gradient = -(counts - counts.sum(axis=1, keepdims=True) * np.exp(log_p)).T @ x
        value = -(counts * log_p).sum() + strength * both.sum()
        return value, np.concatenate([gradient.ravel(), -gradient.ravel()]) + strength

    found = minimize(
        loss, np.zeros(2 * V * F), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * V * F),
        options={"maxiter": 20000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    assert_allclose(-history[-1], found.fun, rtol=1e-9)
    best = np.subtract(*found.x.reshape(2, V, F))
    assert_allclose(mode.beta[:, :, 0], best, atol=2e-4)
    assert (mode.beta == 0).any()
    assert (mode.beta != 0).any()
    assert np.diff(history).min(initial=0) >= -1e-9 * abs(history[-1])


def one_step(contexts):
    pooled = collapse(contexts.counts, contexts.effects, np.zeros_like(contexts.codes))
    base = log_background(pooled.counts, pooled.codes, 1, "all", 0.5)
    design = effect_design(pooled, 1, "all", np.ones(F))
    return pooled, base, text_problem(pooled, base, design)
