"""One word's expected counts, compiled and plain, against the dense softmax."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.priors import Fixed
from driftglm.solvers.text_mode import TiedPrior
from driftglm.solvers.text_rates import log_rates_inplace, slope_inplace, start_rates_inplace

T, F, V = 3, 4, 7


@pytest.mark.parametrize("center", ["step", "all", None])
@pytest.mark.parametrize("compiled", [True, False])
def test_rates_and_slopes_match_the_dense_softmax(dense_text, text_world, rng, center, compiled):
    contexts, base, problem = text_world(rng, center=center)
    beta, variance = 0.5 * rng.normal(size=(V, F, T)), rng.uniform(0, 0.3, (V, F, T))
    x, eta, _ = dense_text(contexts, base, problem, beta)
    half_variance = 0.5 * np.einsum("ni,win->nw", x**2, variance[:, :, contexts.codes])
    log_rate = rng.normal(size=contexts.codes.size)
    counts = contexts.counts.toarray()
    kernels = [log_rates_inplace, start_rates_inplace, slope_inplace]
    rates_of, start, slope_of = kernels if compiled else [k.py_func for k in kernels]
    for w in range(V):
        out = np.empty(contexts.codes.size)
        rates_of(problem.effects(), beta[w], variance[w], problem.background[w], out)
        assert_allclose(out, (eta + half_variance)[:, w], rtol=1e-10, atol=1e-12)
        rates = (out, np.empty(T), np.empty(T))
        start(log_rate, problem.design.step_offsets, rates)
        expected = np.exp((eta + half_variance)[:, w] + log_rate)
        for i in range(F):
            slope = np.empty((3, T))
            observed = np.array(
                [(x[:, i] * counts[:, w])[contexts.codes == t].sum() for t in range(T)]
            )
            slope_of(problem.effects(), i, rates, observed, slope)
            for t in range(T):
                here = contexts.codes == t
                g = (x[here, i] * (counts[here, w] - expected[here])).sum()
                assert_allclose(slope[0, t], g, rtol=1e-10, atol=1e-10)
                assert_allclose(
                    slope[1, t], (x[here, i] ** 2 * expected[here]).sum(), rtol=1e-10, atol=1e-10
                )


def test_the_settled_gradient_is_that_of_the_multinomial_objective(
    mode_text_solver, dense_text, text_world, rng
):
    """At settled log-rates the separate words' gradients are those of the softmax, to 1e-10."""
    contexts, base, problem = text_world(rng)
    found = mode_text_solver(problem, contexts, Fixed(1.0, 0.5)).solve(problem, max_iter=3, tol=0)
    mode, history = found.state, found.history
    log_p = dense_text(contexts, base, problem, mode.beta)[2]
    counts = contexts.counts.toarray()
    likelihood = float((counts * log_p).sum())
    tied = TiedPrior(Fixed(1.0, 0.5), True, np.zeros(F))
    assert_allclose(history[-1], likelihood + tied.evaluate(mode.beta)[0], rtol=1e-10)
    expected = contexts.totals[:, None] * np.exp(log_p)
    for w in range(V):
        rates = (np.empty(contexts.codes.size), np.empty(T), np.empty(T))
        none = np.empty((0, T))
        log_rates_inplace(problem.effects(), mode.beta[w], none, problem.background[w], rates[0])
        start_rates_inplace(mode.log_rate, problem.design.step_offsets, rates)
        assert_allclose(rates[0], expected[:, w], rtol=1e-10)
