"""The O(T) posterior of a Gaussian path against dense matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.priors.gaussian_path import (
    HUGE,
    best_intercept_dynamics,
    filter_evidence,
    intercept_evidence,
    kl_divergence,
    posterior_inplace,
    smooth_inplace,
    static_part,
    stationary_chain,
)

FORMS = pytest.mark.parametrize(
    "function",
    [
        pytest.param(posterior_inplace, id="jitted"),
        pytest.param(posterior_inplace.py_func, id="plain"),
    ],
)
SIZES = pytest.mark.parametrize("n_timesteps", [1, 2, 3, 12])
COMPONENTS = pytest.mark.parametrize(
    "component",
    [(0.0, 0.7, 0.9), (0.4, 0.7, 0.9), (2.0, 0.05, 0.0), (0.4, 0.3, 0.999), (1.5, 0.0, 0.0)],
    ids=["no-static", "both", "independent-steps", "slow", "pure-static"],
)


def data(rng, n):
    """Curvature and score of n steps, some of them without data."""
    h = rng.gamma(1.0, 3.0, n) * (rng.random(n) < 0.7)
    return h, np.sqrt(h) * rng.normal(size=n) + h * rng.normal()


def kernel_matrix(n, component):
    static, dynamic, rho = component
    steps = np.arange(n)
    return static + dynamic * rho ** np.abs(steps[:, None] - steps)


def dense(h, b, component):
    """Mean, covariance, log evidence and log|I + K H| without any structure, or 1/h."""
    prior = kernel_matrix(h.size, component)
    inner = np.eye(h.size) + prior * h
    cov = np.linalg.solve(inner, prior)
    logdet = np.linalg.slogdet(inner)[1]
    mean = cov @ b
    return mean, cov, 0.5 * (b @ mean - logdet), logdet


@FORMS
@SIZES
@COMPONENTS
def test_posterior_matches_dense_algebra(function, n_timesteps, component, rng):
    for _ in range(5):
        h, b = data(rng, n_timesteps)
        out = np.full((3, n_timesteps), np.nan)
        evidence, logdet = function(h, b, component, out)
        mean, cov, expected_evidence, expected_logdet = dense(h, b, component)
        # Condition numbers of I + K H are below 1e3; the dense side loses the digits.
        assert_allclose(out[0], mean, rtol=1e-10, atol=1e-12)
        assert_allclose(out[1], np.diag(cov), rtol=1e-10)
        assert_allclose(out[2, :-1], np.diag(cov, 1), rtol=1e-10, atol=1e-13)
        assert out[2, -1] == 0.0
        assert_allclose(evidence, expected_evidence, rtol=1e-10, atol=1e-11)
        assert_allclose(logdet, expected_logdet, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("component", [(0.3, 0.5, 0.8), (0.0, 0.5, 0.8)])
def test_no_data_returns_the_prior(component):
    out = np.empty((3, 4))
    evidence, logdet = posterior_inplace(np.zeros(4), np.zeros(4), component, out)
    assert (evidence, logdet) == (0.0, 0.0)
    assert_array_equal(out[0], 0.0)
    assert_allclose(out[1], component[0] + component[1], rtol=1e-14)
    assert_allclose(out[2, :-1], component[0] + component[1] * component[2], rtol=1e-14)


@FORMS
@SIZES
@pytest.mark.parametrize("dynamic", [0.0, 0.3])
def test_flat_intercept_is_the_limit_of_a_large_static_variance(
    function, n_timesteps, dynamic, rng
):
    h, b = data(rng, n_timesteps)
    h[0], b[0] = 2.0, 1.0
    static = 1e9
    flat, wide = np.empty((3, n_timesteps)), np.empty((3, n_timesteps))
    evidence, logdet = function(h, b, (np.inf, dynamic, 0.9), flat)
    wide_evidence, wide_logdet = function(h, b, (static, dynamic, 0.9), wide)
    # What is left out is of relative size 1/(static h'w), with h'w of order 1 here.
    assert_allclose(flat, wide, rtol=1e-7, atol=1e-8)
    assert_allclose(logdet, wide_logdet - np.log(static), atol=1e-7)
    assert_allclose(evidence, wide_evidence + 0.5 * np.log(static), atol=1e-7)


def test_flat_intercept_without_deviations_is_the_weighted_mean():
    h, b = np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 6.0])
    out = np.empty((3, 3))
    evidence, logdet = posterior_inplace(h, b, (np.inf, 0.0, 0.0), out)
    assert_allclose(out[0], 2.0, rtol=1e-15)
    assert_allclose(out[1], 0.25, rtol=1e-15)
    assert_allclose([evidence, logdet], [0.5 * (8 * 2.0 - np.log(4)), np.log(4)], rtol=1e-15)


def test_flat_intercept_without_data_stays_at_zero():
    out = np.empty((3, 3))
    evidence, _ = posterior_inplace(np.zeros(3), np.zeros(3), (np.inf, 0.5, 0.9), out)
    assert evidence == 0.0
    assert_array_equal(out[0], 0.0)


def test_empty_steps_are_interpolated():
    h, b = np.array([1e8, 0.0, 1e8]), np.array([1e8, 0.0, 3e8])
    out = np.empty((3, 3))
    posterior_inplace(h, b, (np.inf, 1.0, 0.9), out)
    # Ends all but known to be 1 and 3: by symmetry the middle is their mean.
    assert_allclose(out[0], [1.0, 2.0, 3.0], atol=1e-6)


@SIZES
@pytest.mark.parametrize("component", [(0.0, 0.7, 0.9), (0.4, 0.7, 0.5)])
@pytest.mark.parametrize("function", [kl_divergence, kl_divergence.py_func], ids=["jit", "plain"])
def test_kl_divergence_is_that_of_the_dense_gaussians(function, n_timesteps, component, rng):
    h, b = data(rng, n_timesteps)
    out = np.empty((3, n_timesteps))
    _, logdet = posterior_inplace(h, b, component, out)
    mean, cov, *_ = dense(h, b, component)
    prior = kernel_matrix(n_timesteps, component)
    distance = (
        np.trace(np.linalg.solve(prior, cov)) + mean @ np.linalg.solve(prior, mean) - n_timesteps
    )
    logdets = np.linalg.slogdet(prior)[1] - np.linalg.slogdet(cov)[1]
    expected = 0.5 * (distance + logdets)
    assert_allclose(function(h, b, out, logdet), expected, rtol=1e-9, atol=1e-11)


def test_kl_divergence_of_a_pure_intercept_is_one_dimensional(rng):
    h, b = np.array([2.0, 0.0, 1.0]), rng.normal(size=3)
    out = np.empty((3, 3))
    _, logdet = posterior_inplace(h, b, (0.7, 0.0, 0.0), out)
    m, v, s = out[0, 0], out[1, 0], 0.7
    expected = 0.5 * (v / s + m * m / s - 1 + np.log(s / v))
    assert_allclose(kl_divergence(h, b, out, logdet), expected, rtol=1e-13)


def jitted_and_plain(*kernels):
    """All of them compiled, then all of them not."""
    return pytest.mark.parametrize(
        "functions",
        [
            pytest.param(kernels, id="jitted"),
            pytest.param([k.py_func for k in kernels], id="plain"),
        ],
    )


@jitted_and_plain(stationary_chain)
@SIZES
@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_chain_of_the_autoregressive_part(functions, n_timesteps, rho):
    carry, shock, ones = functions[0](0.5, rho, n_timesteps)
    covariance = kernel_matrix(n_timesteps, (0.0, 0.5, rho))
    assert_allclose(ones, np.linalg.solve(covariance, np.ones(n_timesteps)), rtol=1e-12)
    # beta_t = carry_t beta_{t-1} + a shock: the factors of the covariance matrix.
    steps = np.eye(n_timesteps) - np.diag(carry[1:], -1)
    assert_allclose(steps @ covariance @ steps.T, np.diag(shock), atol=1e-15)


@jitted_and_plain(smooth_inplace, filter_evidence, stationary_chain)
@SIZES
def test_smoother_and_forward_pass_match_dense_algebra(functions, n_timesteps, rng):
    smooth, forward, chain_of = functions
    for _ in range(5):
        h, b = data(rng, n_timesteps)
        chain = chain_of(0.5, 0.8, n_timesteps)
        out = np.full((4, n_timesteps), np.nan)
        smooth(h, b, chain, out)
        mean, cov, _, logdet = dense(h, b, (0.0, 0.5, 0.8))
        w = 1 - cov @ h
        assert_allclose(out[0], mean, rtol=1e-10, atol=1e-12)
        assert_allclose(out[1], np.diag(cov), rtol=1e-10)
        assert_allclose(out[2], w, rtol=1e-10, atol=1e-12)
        found = forward(h, b, chain[0], chain[1])
        assert_allclose(found, [b @ mean, logdet, h @ w, w @ b], rtol=1e-10, atol=1e-11)


def test_forward_pass_does_not_overflow():
    # The determinant is a product that is turned into a logarithm before it exceeds HUGE.
    h, n = np.full(50, 1e12), 50
    carry, shock, _ = stationary_chain(1.0, 0.0, n)
    logdet = filter_evidence(h, np.zeros(n), carry, shock)[1]
    assert n * np.log10(1e12) > np.log10(HUGE)
    assert_allclose(logdet, n * np.log1p(1e12), rtol=1e-14)


@jitted_and_plain(static_part)
def test_static_part(functions):
    (function,) = functions
    assert_allclose(function(0.5, 3.0), (1 / (2 + 3.0), np.log(2.5)), rtol=1e-15)
    assert_allclose(function(np.inf, 4.0), (0.25, np.log(4.0)), rtol=1e-15)
    assert function(np.inf, 0.0) == (0.0, 0.0)


@jitted_and_plain(intercept_evidence)
@SIZES
@pytest.mark.parametrize("dynamic", [0.0, 0.3])
def test_intercept_evidence_is_the_posteriors(functions, n_timesteps, dynamic, rng):
    h, b = data(rng, n_timesteps)
    h[0] = 1.0
    expected = posterior_inplace(h, b, (np.inf, dynamic, 0.9), np.empty((3, n_timesteps)))[0]
    assert_allclose(functions[0](h, b, dynamic, 0.9), expected, rtol=1e-12, atol=1e-12)


def intercept_problem(rng, dynamic, rho, n=15):
    """Precise observations of an intercept with known deviations; the third step is empty."""
    h = np.full(n, 40.0)
    h[2] = 0.0
    path = 5.0 + np.linalg.cholesky(kernel_matrix(n, (0.0, dynamic, rho))) @ rng.normal(size=n)
    return h, h * path + np.sqrt(h) * rng.normal(size=n)


@pytest.mark.parametrize(("dynamic", "rho"), [(1.0, 0.9), (0.2, 0.0), (1e-4, 0.5), (3.0, 0.99)])
def test_best_intercept_dynamics_are_as_good_as_brute_force(dynamic, rho, rng):
    h, b = intercept_problem(rng, dynamic, rho)
    found = best_intercept_dynamics(h, b, 1.0, (1.0, 0.5))
    best = max(
        intercept_evidence(h, b, d, 1.0 - far)
        for d in np.geomspace(1e-7, 10.0, 161)
        for far in np.geomspace(0.5**8, 1.0, 81)
    )
    # In nats: a hundredth of what a likelihood-ratio test could tell apart.
    assert intercept_evidence(h, b, *found) >= best - 0.01
    assert 0 <= found[1] < 1


@pytest.mark.parametrize("current", [(1.0, 0.5), (1e-12, 0.99999), (1e4, 0.3)])
def test_best_intercept_dynamics_never_lower_the_evidence(current, rng):
    for dynamic, rho in ((1.0, 0.9), (1e-3, 0.2), (1000.0, 0.3)):
        h, b = intercept_problem(rng, dynamic, rho)
        found = best_intercept_dynamics(h, b, 1.0, current)
        before, after = (intercept_evidence(h, b, *dynamics) for dynamics in (current, found))
        assert after >= before


def test_best_intercept_dynamics_without_the_compiler(rng):
    h, b = intercept_problem(rng, 0.5, 0.8, n=4)
    plain = best_intercept_dynamics.py_func(h, b, 1.0, (1.0, 0.5))
    assert_allclose(plain, best_intercept_dynamics(h, b, 1.0, (1.0, 0.5)), rtol=1e-12)
