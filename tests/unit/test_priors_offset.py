"""Paths whose steps share one unknown error, against dense Gaussian algebra."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.priors import Learned
from driftglm.priors.mixture import Components, average_inplace, log_evidences_inplace
from driftglm.priors.offset import (
    last_step_inplace,
    measured,
    offset_average_inplace,
    offset_evidences_inplace,
    times_information,
)

N_STEPS = 5
COMPONENTS = Learned(n_scales=2, correlations=(0.3, 0.9), boundary="stationary").components(
    2.0, 60.0, N_STEPS
)


def covariance(components, k):
    lag = np.abs(np.subtract.outer(*2 * (np.arange(components.n_timesteps),)))
    return components.static[k] + components.dynamic[k] * components.rho[k] ** lag


def information(h, offset):
    """H, its inverse being diag(1 / h) + offset 11'."""
    return np.diag(h) - offset / (1.0 + offset * h.sum()) * np.outer(h, h)


def dense(components, h, b, offset, k):
    """Log evidence, mean, covariance and divergence of one component."""
    prior, seen = covariance(components, k), information(h, offset)
    inner = np.eye(h.size) + prior @ seen
    posterior = np.linalg.solve(inner, prior)
    mean, logdet = posterior @ b, np.linalg.slogdet(inner)[1]
    # KL(q || p) = E[likelihood] - log evidence, the likelihood being exp(b'beta - beta'H beta / 2)
    expected = b @ mean - 0.5 * (mean @ seen @ mean + np.trace(seen @ posterior))
    evidence = 0.5 * (b @ mean - logdet)
    return evidence, mean, posterior, expected - evidence


def found(components, h, b, offset, phi):
    tables, count = components.tables(), components.count
    evidence, parts = np.empty(count), np.empty((3, count))
    out = np.empty((2, h.size))
    offset_evidences_inplace(h, b, offset, tables, evidence, parts)
    divergence, short = offset_average_inplace(h, b, offset, tables, phi, parts, out)
    return evidence, out, divergence, short


def expected(components, h, b, offset, phi):
    """The same by matrices."""
    each = [dense(components, h, b, offset, k) for k in range(components.count)]
    means = np.array([mean for _, mean, _, _ in each])
    second = sum(p * (cov + np.outer(m, m)) for p, (_, m, cov, _) in zip(phi, each, strict=True))
    mean = phi @ means
    spread = second - np.outer(mean, mean)
    used = phi > 0
    divergence = phi[used] @ np.log(phi[used]) + phi @ [kl for *_, kl in each]
    short = np.trace((np.diag(h) - information(h, offset)) @ spread)
    evidence = np.array([value for value, *_ in each])
    return evidence, np.array([mean, np.diag(spread)]), divergence, short


def compared(h, b, offset, phi, components=COMPONENTS):
    ours, theirs = (f(components, h, b, offset, phi) for f in (found, expected))
    for one, two in zip(ours, theirs, strict=True):
        assert_allclose(one, two, rtol=1e-9, atol=1e-10)


numbers = st.floats(-3.0, 3.0)


@settings(max_examples=60, deadline=None)
@given(
    h=st.lists(st.floats(0.0, 20.0), min_size=N_STEPS, max_size=N_STEPS),
    b=st.lists(numbers, min_size=N_STEPS, max_size=N_STEPS),
    offset=st.floats(1e-3, 10.0),
    seed=st.integers(0, 999),
)
def test_evidences_moments_and_divergence_are_those_of_dense_matrices(h, b, offset, seed):
    phi = np.random.default_rng(seed).dirichlet(np.ones(COMPONENTS.count))
    h = np.array(h)
    # A step without information has no linear term.
    b = np.where(h > 0, b, 0.0)
    # b lies where H reaches: the dense likelihood is b = H y of some measured y.
    compared(h, information(h, offset) @ np.array(b), offset, phi)


def test_linear_terms_need_not_lie_where_the_information_is(rng):
    """`measured` holds for any b."""
    h, b = rng.gamma(1.0, 3.0, N_STEPS), rng.normal(size=N_STEPS)
    compared(h, b, 0.7, rng.dirichlet(np.ones(COMPONENTS.count)))


def test_single_components_are_right_one_by_one(rng):
    h, b = rng.gamma(1.0, 3.0, N_STEPS), rng.normal(size=N_STEPS)
    for phi in np.eye(COMPONENTS.count):
        compared(h, b, 0.4, phi)


def test_an_error_without_end_leaves_differences_between_steps(rng):
    """What is known about the level is gone: a static path keeps its prior."""
    components = Components(np.array([2.0]), np.array([0.0]), np.array([0.0]), "stationary", 4)
    h = rng.gamma(2.0, 2.0, 4)
    b = information(h, 1e9) @ rng.normal(size=4)
    _, (mean, variance), _, _ = found(components, h, b, 1e9, np.ones(1))
    assert_allclose(mean, 0.0, atol=1e-6)
    assert_allclose(variance, 2.0, rtol=1e-6)


@pytest.mark.parametrize("dynamic", [0.0, 0.5])
def test_a_flat_level_is_the_limit_of_wide_ones(rng, dynamic):
    """static = inf: the evidence lacks a constant, moments are the limit."""
    rho = np.array([0.6])

    def of(static):
        made = Components(np.array([static]), np.array([dynamic]), rho, "stationary", N_STEPS)
        return found(made, h, b, 0.3, np.ones(1))

    h, b = rng.gamma(2.0, 2.0, N_STEPS), rng.normal(size=N_STEPS)
    flat, wide = of(np.inf), of(1e7)
    assert_allclose(flat[1], wide[1], rtol=1e-5, atol=1e-6)
    assert_allclose(flat[3], wide[3], rtol=1e-5, atol=1e-6)
    # log|I + K H| of the wide one grows with log(static).
    assert_allclose(flat[0] - 0.5 * np.log(1e7), wide[0], rtol=1e-5, atol=1e-5)


def test_without_an_error_numbers_are_those_of_the_mixture_to_the_last_bit(rng):
    h, b = rng.gamma(1.0, 3.0, N_STEPS), rng.normal(size=N_STEPS)
    phi = rng.dirichlet(np.ones(COMPONENTS.count))
    evidence, out, divergence, short = found(COMPONENTS, h, b, 0.0, phi)
    tables, parts, plain = COMPONENTS.tables(), np.empty((3, COMPONENTS.count)), np.empty_like(out)
    other = np.empty(COMPONENTS.count)
    log_evidences_inplace(h, b, tables, other, parts)
    assert average_inplace(h, b, tables, phi, parts, plain) == divergence
    assert short == 0.0
    assert_array_equal(other, evidence)
    assert_array_equal(plain, out)


def test_a_small_error_changes_little(rng):
    """The two ways through the kernels meet."""
    h, b = rng.gamma(1.0, 3.0, N_STEPS), rng.normal(size=N_STEPS)
    phi = rng.dirichlet(np.ones(COMPONENTS.count))
    none, little = (found(COMPONENTS, h, b, offset, phi) for offset in (0.0, 1e-9))
    for one, two in zip(none, little, strict=True):
        assert_allclose(one, two, rtol=1e-6, atol=1e-6)


def test_times_information_and_measured_are_products(rng):
    h, path, offset = rng.gamma(1.0, 3.0, N_STEPS), rng.normal(size=N_STEPS), 0.6
    H = information(h, offset)  # noqa: N806
    assert_allclose(times_information(h, path, offset), H @ path, rtol=1e-12)
    # b = H y, and together = diag(h) y: the term of beta plus the error.
    assert_allclose(measured(h, H @ path, offset), h * path, rtol=1e-12)


@pytest.mark.parametrize("n_more", [1, 3])
def test_the_last_of_some_empty_steps_is_the_conditional(rng, n_more):
    longer = COMPONENTS.extended(n_more)
    h, b = rng.gamma(1.0, 3.0, (2, N_STEPS)), rng.normal(size=(2, N_STEPS))
    phi, offset = rng.dirichlet(np.ones(COMPONENTS.count), 2), np.array([0.5, 0.0])
    out = np.empty((2, 2))
    last_step_inplace(h, b, offset, phi, longer.tables(), out)
    for i in range(2):
        zeros = np.zeros(n_more)
        whole = np.concatenate([h[i], zeros]), np.concatenate([b[i], zeros])
        _, moments, _, _ = expected(longer, *whole, offset[i], phi[i])
        assert_allclose(out[i], moments[:, -1], rtol=1e-9)
