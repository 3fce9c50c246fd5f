"""The text model's inner loops: compiled and plain, against dense numpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from driftglm.fitting.text_data import (
    collapse,
    effect_design,
    effect_units,
    log_background,
    text_problem,
)
from driftglm.priors import Exact, Fixed, Learned, Variational
from driftglm.solvers.base import StopReason
from driftglm.solvers.text_learned import LearnedTextSolver
from driftglm.solvers.text_mode import ModeTextSolver, TiedPrior
from driftglm.solvers.text_rates import log_rates_inplace, slope_inplace, start_rates_inplace

T, F, V = 3, 4, 7


def world(rng, *, center="step", n_docs=30, scale=3):
    """Documents with two indicators, a number and a sparse number; a problem made of them."""
    from scipy.sparse import csr_array

    codes = rng.integers(0, T, n_docs)
    effects = np.column_stack(
        [
            rng.random(n_docs) < 0.5,
            rng.random(n_docs) < 0.3,
            rng.normal(size=n_docs),
            rng.normal(size=n_docs) * (rng.random(n_docs) < 0.4),
        ]
    ).astype(float)
    counts = csr_array(rng.poisson(scale, (n_docs, V)).astype(float))
    contexts = collapse(counts, effects, codes)
    base = log_background(contexts.counts, contexts.codes, T, "step", 0.5)
    design = effect_design(contexts, T, center, np.ones(F))
    return contexts, base, text_problem(contexts, base, design)


def dense(contexts, base, problem, beta):
    """Centred effects (N, F), eta (N, V) and log p (N, V) by plain algebra."""
    x = contexts.effects - problem.design.mean.T[contexts.codes]
    eta = base[contexts.codes] + np.einsum("ni,win->nw", x, beta[:, :, contexts.codes])
    return x, eta, log_softmax(eta, axis=1)


@pytest.mark.parametrize("center", ["step", "all", None])
@pytest.mark.parametrize("compiled", [True, False])
def test_rates_and_slopes_match_the_dense_softmax(rng, center, compiled):
    contexts, base, problem = world(rng, center=center)
    beta, variance = 0.5 * rng.normal(size=(V, F, T)), rng.uniform(0, 0.3, (V, F, T))
    x, eta, _ = dense(contexts, base, problem, beta)
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


def solver(problem, contexts, prior, *, by_effect=True, n_jobs=None, strength=0.0):
    squares = problem.design.squares(contexts.totals).sum(axis=1) / contexts.totals.sum()
    squares[squares == 0] = 1.0  # an effect that does not vary: any unit will do
    return ModeTextSolver(prior, by_effect, np.arange(F), squares, n_jobs, strength)


def test_the_settled_gradient_is_that_of_the_multinomial_objective(rng):
    """At settled log-rates the separate words' gradients are those of the softmax, to 1e-10."""
    contexts, base, problem = world(rng)
    found = solver(problem, contexts, Fixed(1.0, 0.5)).solve(problem, max_iter=3, tol=0)
    mode, history = found.state, found.history
    log_p = dense(contexts, base, problem, mode.beta)[2]
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
def test_a_mode_s_objective_never_falls_and_is_the_dense_one(rng, prior, by_effect):
    contexts, base, problem = world(rng, scale=20)
    each = solver(problem, contexts, prior, by_effect=by_effect)
    found = each.solve(problem, max_iter=400, tol=1e-6)
    mode, history = found.state, found.history
    assert np.diff(history).min(initial=0) >= -1e-9 * abs(history[-1])
    assert found.reason is not StopReason.MAX_ITER
    assert (found.optimality <= 1e-6) == (found.reason is StopReason.CONVERGED)
    log_p = dense(contexts, base, problem, mode.beta)[2]
    likelihood = float((contexts.counts.toarray() * log_p).sum())
    # A path set to zero in the last pass is in the prior's value, not yet in the likelihood.
    assert_allclose(history[-1], likelihood + each._tied().evaluate(mode.beta)[0], rtol=1e-9)


@pytest.mark.parametrize("center", ["step", None])
@pytest.mark.parametrize("tied", [True, False])
def test_the_bound_never_falls_and_is_the_dense_one(rng, center, tied):
    contexts, base, problem = world(rng, center=center, scale=20)
    groups = np.arange(F) if tied else np.zeros(F, np.int64)
    learner = LearnedTextSolver(Learned(n_scales=4), groups, np.arange(F), np.full(F, 3.0))
    found = learner.solve(problem, max_iter=40, tol=1e-12)
    state, history = found.state, found.history
    assert_allclose(found.optimality, (history[-1] - history[-2]) / contexts.totals.sum())
    assert np.diff(history).min(initial=0) >= -1e-9 * abs(history[-1])
    x, eta, _ = dense(contexts, base, problem, state.mean)
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


def test_a_lasso_matches_a_general_optimiser(rng):
    """One step, strength |beta|_1 smoothed away by splitting beta = plus - minus for L-BFGS-B."""
    from scipy.optimize import minimize

    contexts, base, problem = one_step(rng)
    strength = 2.0
    each = solver(problem, contexts, Fixed(), strength=strength)
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


def one_step(rng):
    contexts, _, _ = world(rng, scale=4)
    pooled = collapse(contexts.counts, contexts.effects, np.zeros_like(contexts.codes))
    base = log_background(pooled.counts, pooled.codes, 1, "all", 0.5)
    design = effect_design(pooled, 1, "all", np.ones(F))
    return pooled, base, text_problem(pooled, base, design)


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


def test_none_of_200_random_problems_diverges(rng):
    for k in range(200):
        scale = float(rng.choice([0.05, 0.5, 5.0, 500.0]))
        contexts, base, problem = world(rng, n_docs=int(rng.integers(3, 20)), scale=scale)
        base += rng.choice([0.0, 3.0]) * rng.normal(size=base.shape)  # a background that is far off
        problem = text_problem(contexts, base, problem.design)
        if k % 2:
            prior = Fixed(float(rng.choice([0.1, 1.0, 100.0])), float(rng.choice([0.0, 0.9])))
            found = solver(problem, contexts, prior).solve(problem, max_iter=15, tol=0)
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


@pytest.mark.parametrize("by_effect", [True, False])
def test_threads_do_not_change_a_digit(rng, by_effect):
    contexts, _, problem = world(rng)
    groups = np.arange(F) if by_effect else np.zeros(F, int)
    found = []
    for n_jobs in (1, 2):
        mode = solver(problem, contexts, Exact(), by_effect=by_effect, n_jobs=n_jobs).solve(
            problem, max_iter=20, tol=0
        )
        learner = LearnedTextSolver(
            Learned(n_scales=3), groups, np.arange(F), np.full(F, 3.0), n_jobs
        )
        bound = learner.solve(problem, max_iter=10, tol=0)
        state = bound.state
        found.append((mode.state.beta, mode.history, state.mean, state.log_pi))
        found[-1] += (bound.history, state.ahead(1, n_jobs))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_units_are_one_for_indicators(rng):
    contexts, _, _ = world(rng)
    unit = effect_units(contexts)
    assert_allclose(unit[:2], 1.0)
    x = contexts.effects[:, 2]
    mean = np.average(x, weights=contexts.totals)
    assert_allclose(unit[2], np.sqrt(np.average((x - mean) ** 2, weights=contexts.totals)))
