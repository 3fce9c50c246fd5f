"""Posteriors of a text model: the bound is the dense one and never falls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.priors import Learned
from driftglm.solvers.text_learned import LearnedTextSolver

T, F, V = 3, 4, 7


@pytest.mark.parametrize("center", ["step", None])
@pytest.mark.parametrize("tied", [True, False])
def test_the_bound_never_falls_and_is_the_dense_one(dense_text, text_world, rng, center, tied):
    contexts, base, problem = text_world(rng, center=center, scale=20)
    groups = np.arange(F) if tied else np.zeros(F, np.int64)
    learner = LearnedTextSolver(Learned(n_scales=4), groups, np.arange(F), np.full(F, 3.0))
    found = learner.solve(problem, max_iter=40, tol=1e-12)
    state, history = found.state, found.history
    assert_allclose(found.optimality, (history[-1] - history[-2]) / contexts.totals.sum())
    assert np.diff(history).min(initial=0) >= -1e-9 * abs(history[-1])
    x, eta, _ = dense_text(contexts, base, problem, state.mean)
    half_variance = 0.5 * np.einsum("ni,win->nw", x**2, state.variance[:, :, contexts.codes])
    log_sum = np.log(np.exp(eta + half_variance).sum(axis=1))
    counts = contexts.counts.toarray()
    value = (counts * eta).sum() - (contexts.totals * log_sum).sum() - state.divergence.sum()
    members = np.zeros_like(state.log_pi)
    np.add.at(members, groups, state.phi.sum(axis=0))
    members += learner.start(problem).prior_counts[:, : members.shape[1]]
    used = members > 0
    value += (members[used] * state.log_pi[used]).sum()
    assert state.log_pi.shape[1] == learner.start(problem).log_pi.shape[1]  # none was dropped
    assert_allclose(history[-1], value, rtol=1e-10)
    assert_allclose(state.phi.sum(axis=2), 1.0, rtol=1e-12)
