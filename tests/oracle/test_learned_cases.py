"""The mixture's kernels against 40-digit references and against dense Gaussian algebra.

The dense side never uses the library's formulas. A path is written as F z with independent
standard normal z: F = [chol(D) | sqrt(static) 1], the column of ones with a flat prior where
static is infinite (density 1/sqrt(2 pi), the constant the kernels leave out). Everything follows
from the posterior of z.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.priors.learned import Learned, intercept_components, intercept_log_weights
from driftglm.priors.mixture import (
    NEGLIGIBLE,
    STATIC_CHAIN,
    ZERO_CHAIN,
    Components,
    average_inplace,
    chain_transitions,
    log_evidences_inplace,
    weights_inplace,
)

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())["block"]
BOUNDARIES = pytest.mark.parametrize("boundary", ["stationary", "pinned"])
PLAIN = {
    "evidences": log_evidences_inplace.py_func,
    "weights": weights_inplace.py_func,
    "average": average_inplace.py_func,
}
JITTED = {
    "evidences": log_evidences_inplace,
    "weights": weights_inplace,
    "average": average_inplace,
}
FORMS = pytest.mark.parametrize(
    "kernels", [pytest.param(JITTED, id="jitted"), pytest.param(PLAIN, id="plain")]
)


def components_of(components, boundary, n_timesteps):
    """Components from (static, dynamic, rho), those that share a chain side by side."""
    static, dynamic, rho = np.array(
        sorted(components, key=lambda component: (component[1], component[2], component[0])), float
    ).T
    return Components(static.copy(), dynamic.copy(), rho.copy(), boundary, n_timesteps)


def run(components, h, b, log_pi=None, phi=None, kernels=JITTED):
    """Evidences, weights, (mean, variance) and sum phi (log phi + KL)."""
    tables, count = components.tables(), components.count
    evidence, parts, weights = np.empty(count), np.empty((3, count)), np.empty(count)
    kernels["evidences"](h, b, tables, evidence, parts)
    if phi is None:
        kernels["weights"](evidence, np.zeros(count) if log_pi is None else log_pi, weights)
    else:
        weights[:] = phi
    out = np.full((2, h.size), np.nan)
    divergence = kernels["average"](h, b, tables, weights, parts, out)
    return evidence, weights, out, divergence


# ------------------------------------------------------------------------------- dense algebra


def chain_covariance(dynamic, rho, n, boundary):
    """D, from its definition: covariance rho^|s - t|, or precision A(alpha)."""
    steps = np.arange(n)
    if boundary == "stationary":
        return dynamic * rho ** np.abs(steps[:, None] - steps)
    alpha = -rho / (1 + rho**2)
    off = np.eye(n, k=1) + np.eye(n, k=-1)
    return dynamic * np.linalg.inv(np.eye(n) + alpha * off)


def dense_component(component, h, b, boundary):
    """Log evidence, mean (T,), covariance (T, T) and KL(posterior || component)."""
    static, dynamic, rho = component
    n = h.size
    if static == 0 and dynamic == 0:
        return 0.0, np.zeros(n), np.zeros((n, n)), 0.0
    factor, precision = [], []
    if dynamic > 0:
        factor.append(np.linalg.cholesky(chain_covariance(dynamic, rho, n, boundary)))
        precision += [1.0] * n
    if static > 0:
        flat = np.isinf(static)
        factor.append(np.full((n, 1), 1.0 if flat else np.sqrt(static)))
        precision.append(0.0 if flat else 1.0)
    factor, precision = np.hstack(factor), np.array(precision)
    inner = factor.T @ (h[:, None] * factor) + np.diag(precision)
    cov = np.linalg.inv(inner)
    mean = cov @ factor.T @ b
    logdet = np.linalg.slogdet(inner)[1]
    evidence = 0.5 * (b @ factor @ mean - logdet)
    # E log q(z) - E log p(z); the constants (2 pi)^(-1/2) cancel, the flat one's by convention.
    kl = 0.5 * (logdet - mean.size + precision @ (np.diag(cov) + mean**2))
    return evidence, factor @ mean, factor @ cov @ factor.T, kl


def dense_mixture(components, log_pi, h, b):
    """Evidences, weights, mean, variance, sum phi (log phi + KL)."""
    triples = zip(components.static, components.dynamic, components.rho, strict=True)
    parts = [dense_component(component, h, b, components.boundary) for component in triples]
    evidence = np.array([part[0] for part in parts])
    score = evidence + log_pi
    phi = np.exp(score - score.max())
    phi = np.where(phi > NEGLIGIBLE * phi.sum(), phi, 0.0)
    phi /= phi.sum()
    means = np.array([part[1] for part in parts])
    squares = np.array([np.diag(part[2]) + part[1] ** 2 for part in parts])
    mean = phi @ means
    kl = np.array([part[3] for part in parts])
    used = phi > 0
    divergence = float(phi[used] @ (np.log(phi[used]) + kl[used]))
    return evidence, phi, mean, phi @ squares - mean**2, divergence


def data(rng, n, empty=0.3):
    """Curvature and linear term of n steps, some of them without data."""
    h = rng.gamma(1.0, 3.0, n) * (rng.random(n) >= empty)
    return h, np.sqrt(h) * rng.normal(size=n) + h * 0.5 * rng.normal()


# --------------------------------------------------------------------------- 40-digit references


def test_the_references_hold_steps_without_data_and_chains_near_one():
    assert len(CASES) == 24
    assert any(0.0 in case["h"] for case in CASES)
    assert any(case["rho"] > 0.99 for case in CASES)


@FORMS
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_block_cases_to_nine_digits(case, kernels):
    h, b = np.array(case["h"]), np.array(case["b"])
    components = components_of(
        [(case["static"], case["dynamic"], case["rho"])], "stationary", h.size
    )
    evidence, phi, out, _ = run(components, h, b, kernels=kernels)
    assert_array_equal(phi, [1.0])
    assert_allclose(evidence[0], case["log_evidence"], rtol=1e-9, atol=1e-9)
    assert_allclose(out[0], case["mean"], rtol=1e-9, atol=1e-9)
    assert_allclose(out[1], case["variance"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_block_cases_among_other_components_of_the_same_chain(case):
    """Components share a chain's filter and smoother; neighbours must not leak into each other."""
    h, b = np.array(case["h"]), np.array(case["b"])
    static, dynamic, rho = case["static"], case["dynamic"], case["rho"]
    others = [(0.0, 0.0, 0.0), (0.7, 0.0, 0.0), (9.0, dynamic, rho), (0.2, 3.0, 0.4)]
    components = components_of([(static, dynamic, rho), *others], "stationary", h.size)
    mine = np.flatnonzero((components.static == static) & (components.dynamic == dynamic))[0]
    chosen = np.eye(components.count)[mine]
    evidence, _, out, _ = run(components, h, b, phi=chosen)
    assert_allclose(evidence[mine], case["log_evidence"], rtol=1e-9, atol=1e-9)
    assert_allclose(out[0], case["mean"], rtol=1e-9, atol=1e-9)
    assert_allclose(out[1], case["variance"], rtol=1e-9, atol=1e-9)


# ------------------------------------------------------------------------------- dense mixtures

MIXED = [
    (0.0, 0.0, 0.0),
    (0.3, 0.0, 0.0),
    (2.0, 0.0, 0.0),
    (0.0, 0.5, 0.0),
    (0.5, 0.5, 0.0),
    (0.0, 0.5, 0.9),
    (4.5, 0.5, 0.9),
    (0.0, 2.0, 0.5),
    (1.0, 0.01, 0.99),
]
FLAT = [(np.inf, 0.0, 0.0), (np.inf, 0.5, 0.0), (np.inf, 0.5, 0.9), (np.inf, 2.0, 0.3)]


def assert_matches_dense(components, log_pi, h, b, kernels=JITTED):
    evidence, phi, out, divergence = run(components, h, b, log_pi, kernels=kernels)
    expected = dense_mixture(components, log_pi, h, b)
    # The dense side inverts matrices of condition 1e4 at most and is the less exact one.
    assert_allclose(evidence, expected[0], rtol=1e-9, atol=1e-10)
    assert_allclose(phi, expected[1], rtol=1e-9, atol=1e-15)
    size = np.sqrt(expected[3].max() + np.abs(expected[2]).max() ** 2)
    assert_allclose(out[0], expected[2], rtol=1e-9, atol=1e-11 * size)
    assert_allclose(out[1], expected[3], rtol=1e-9, atol=1e-11 * size**2)
    assert_allclose(divergence, expected[4], rtol=1e-9, atol=1e-10)


@FORMS
def test_weights_are_proportional_and_negligible_ones_exactly_zero(kernels, rng):
    evidence, log_pi = 1e4 + 8 * rng.normal(size=40), np.log(rng.dirichlet(np.ones(40)))
    phi = np.empty(40)
    kernels["weights"](evidence, log_pi, phi)
    exact = np.exp(evidence + log_pi - (evidence + log_pi).max())
    exact /= exact.sum()
    assert_allclose(phi, exact, rtol=1e-7, atol=NEGLIGIBLE)
    assert_array_equal(phi[exact < 0.9 * NEGLIGIBLE], 0.0)
    assert (phi == 0).any()
    assert_allclose(phi.sum(), 1.0, rtol=1e-14)


@FORMS
@BOUNDARIES
@pytest.mark.parametrize("n_timesteps", [1, 2, 3, 11])
def test_mixtures_match_dense_algebra(n_timesteps, boundary, kernels, rng):
    components = components_of(MIXED, boundary, n_timesteps)
    for _ in range(4):
        log_pi = np.log(rng.dirichlet(np.ones(components.count)))
        assert_matches_dense(components, log_pi, *data(rng, n_timesteps), kernels=kernels)


@BOUNDARIES
@pytest.mark.parametrize("n_timesteps", [1, 2, 5])
def test_flat_intercepts_match_dense_algebra(n_timesteps, boundary, rng):
    components = components_of(FLAT, boundary, n_timesteps)
    for _ in range(6):
        h, b = data(rng, n_timesteps)
        h[rng.integers(n_timesteps)] += 2.0  # a flat intercept needs data somewhere
        log_pi = np.log(rng.dirichlet(np.ones(components.count)))
        assert_matches_dense(components, log_pi, h, b)


@pytest.mark.parametrize("static", [False, True])
def test_the_components_of_an_intercept_match_dense_algebra(static, rng):
    components = intercept_components(1.7, 6, static=static)
    h, b = data(rng, 6)
    log_pi = intercept_log_weights(components.count)
    assert_allclose(np.exp(log_pi).sum(), 1.0, rtol=1e-12)
    assert_matches_dense(components, log_pi, h, b)


@BOUNDARIES
def test_the_priors_own_grid_matches_dense_algebra(boundary, rng):
    components = Learned(boundary=boundary).components(2.0, 300.0, 7)
    log_pi = np.log(Learned().start_weights(components.count))
    for _ in range(3):
        assert_matches_dense(components, log_pi, *data(rng, 7))


@BOUNDARIES
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_unit_of_a_path_changes_no_evidence(boundary, scale, rng):
    """beta -> scale * beta: K times scale^2, h over scale^2, b over scale."""
    h, b = data(rng, 5)
    small = components_of(MIXED, boundary, 5)
    large = components_of([(s * scale**2, d * scale**2, r) for s, d, r in MIXED], boundary, 5)
    log_pi = np.zeros(small.count)
    evidence, phi, out, divergence = run(small, h, b, log_pi)
    other = run(large, h / scale**2, b / scale, log_pi)
    assert_allclose(other[0], evidence, rtol=1e-10, atol=1e-12)
    assert_allclose(other[1], phi, rtol=1e-10, atol=1e-15)
    assert_allclose(other[2][0] / scale, out[0], rtol=1e-10)
    assert_allclose(other[2][1] / scale**2, out[1], rtol=1e-10)
    assert_allclose(other[3], divergence, rtol=1e-10)


@BOUNDARIES
def test_reversing_time_reverses_the_posterior(boundary, rng):
    h, b = data(rng, 8)
    components = components_of(MIXED, boundary, 8)
    evidence, phi, out, divergence = run(components, h, b)
    other = run(components, h[::-1].copy(), b[::-1].copy())
    assert_allclose(other[0], evidence, rtol=1e-11, atol=1e-12)
    assert_allclose(other[1], phi, rtol=1e-11, atol=1e-15)
    assert_allclose(other[2][:, ::-1], out, rtol=1e-11)
    assert_allclose(other[3], divergence, rtol=1e-11)


# ------------------------------------------------------------------------------ corners


@BOUNDARIES
def test_without_data_the_weights_and_the_component_are_the_priors(boundary):
    components = components_of(MIXED, boundary, 4)
    pi = np.arange(1.0, components.count + 1)
    pi /= pi.sum()
    evidence, phi, out, divergence = run(components, np.zeros(4), np.zeros(4), np.log(pi))
    assert_array_equal(evidence, 0.0)
    assert_allclose(phi, pi, rtol=1e-14)
    assert_array_equal(out[0], 0.0)
    triples = zip(components.static, components.dynamic, components.rho, strict=True)
    expected = sum(
        p * (static + (np.diag(chain_covariance(d, r, 4, boundary)) if d > 0 else 0.0))
        for p, (static, d, r) in zip(pi, triples, strict=True)
    )
    assert_allclose(out[1], expected, rtol=1e-12)
    assert_allclose(divergence, pi @ np.log(pi), rtol=1e-12)


def test_a_flat_intercept_without_data_stays_at_zero():
    components = components_of(FLAT, "stationary", 3)
    evidence, _, out, _ = run(components, np.zeros(3), np.zeros(3))
    assert_array_equal(evidence, 0.0)
    assert_array_equal(out[0], 0.0)
    assert np.isfinite(out[1]).all()


@pytest.mark.parametrize("size", [1e-12, 1e12])
def test_curvatures_of_any_size_are_finite(size, rng):
    components = components_of([*MIXED, *FLAT], "stationary", 6)
    h = size * rng.gamma(1.0, 1.0, 6)
    b = np.sqrt(h) * rng.normal(size=6) + h * rng.normal()
    evidence, phi, out, divergence = run(components, h, b)
    assert np.isfinite(evidence).all()
    assert np.isfinite(divergence)
    assert_allclose(phi.sum(), 1.0, rtol=1e-14)
    assert np.isfinite(out).all()
    assert (out[1] >= 0).all()


def test_overwhelming_evidence_leaves_one_component_and_exact_zeros():
    components = components_of(MIXED, "stationary", 3)
    h = np.full(3, 1e6)
    _, phi, out, _ = run(components, h, h * np.array([3.0, -3.0, 3.0]))
    assert phi[components.is_zero | components.is_static].max() == 0.0
    assert_allclose(out[0], [3.0, -3.0, 3.0], rtol=1e-5)


def test_a_component_of_no_weight_is_never_used():
    components = components_of(MIXED, "stationary", 3)
    log_pi = np.full(components.count, -np.inf)
    log_pi[1] = 0.0
    h = np.full(3, 50.0)
    _, phi, out, divergence = run(components, h, h * np.array([1.0, -1.0, 1.0]), log_pi)
    assert_array_equal(phi, np.eye(components.count)[1])
    assert np.ptp(out[0]) == 0.0  # component 1 is static
    assert np.isfinite(divergence)


# ------------------------------------------------------------------------------- structure


@BOUNDARIES
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("n_timesteps", [1, 2, 6])
def test_transitions_are_those_of_the_covariance(boundary, rho, n_timesteps):
    """beta_t = carry beta_{t-1} + shock, iterated, has covariance D."""
    carry, shock = chain_transitions(0.7, rho, n_timesteps, boundary)
    forward = np.linalg.inv(np.eye(n_timesteps) - np.diag(carry[1:], k=-1))
    expected = chain_covariance(0.7, rho, n_timesteps, boundary)
    assert_allclose(forward @ np.diag(shock) @ forward.T, expected, rtol=1e-12, atol=1e-14)


@BOUNDARIES
def test_tables_hold_the_inverse_chain_applied_to_ones(boundary):
    components = components_of(MIXED, boundary, 5)
    chains, static, _, _, ones = components.tables()
    assert_array_equal(static, components.static)
    for k in range(components.count):
        if chains[k] >= 0:
            chain = chain_covariance(components.dynamic[k], components.rho[k], 5, boundary)
            assert_allclose(ones[:, chains[k]], np.linalg.solve(chain, np.ones(5)), rtol=1e-10)
    assert_array_equal(chains == ZERO_CHAIN, components.is_zero)
    assert_array_equal(chains == STATIC_CHAIN, components.is_static & ~components.is_zero)


def test_taking_and_extending_keep_the_components():
    components = components_of(MIXED, "pinned", 5)
    some = components.take(np.array([0, 3, 5])).extended(2)
    assert_array_equal(some.static, components.static[[0, 3, 5]])
    assert_array_equal(some.dynamic, components.dynamic[[0, 3, 5]])
    assert_array_equal(some.rho, components.rho[[0, 3, 5]])
    assert (some.boundary, some.n_timesteps, some.count) == ("pinned", 7, 3)
