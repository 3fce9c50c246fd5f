"""What holds of every path, whatever its length, size and shape."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from driftglm.priors import Exact, Fixed, PathStats, Variational
from driftglm.priors.chain import logdet_pinned, logdet_unit_tridiagonal
from driftglm.priors.gaussian_path import posterior_inplace

RATES = st.sampled_from([-5.0, 0.0, 0.001, 1.0, 30.0])
"""Below about -20 the variational bound can have two maxima in kappa; see docs/errata.md, 9."""

SPARSE_PRIORS = st.one_of(
    st.builds(Exact, rate=RATES, boundary=st.sampled_from(["pinned", "stationary"])),
    st.builds(Variational, rate=RATES, bound=st.sampled_from(["paper", "elbo"])),
)
FIXED_PRIORS = st.builds(
    Fixed,
    scale=st.sampled_from([0.01, 1.0, 50.0]),
    autocorrelation=st.sampled_from([0.0, 0.5, 0.99]),
    boundary=st.sampled_from(["pinned", "stationary"]),
)


@st.composite
def nonzero_paths(draw, count=1):
    """`count` paths of one length, with steps that are exactly zero but never all of them."""
    n_timesteps = draw(st.integers(1, 20))
    # Multiples of 1/100: sums of squares neither underflow nor hide a zero.
    whole = arrays(np.int64, (count, n_timesteps), elements=st.integers(-1000, 1000))
    paths = draw(whole) / 100
    assume((paths != 0).any(axis=1).all())
    return paths


def quadratic(penalty, stats):
    return penalty.omega * stats.S + 2 * penalty.omega_alpha * stats.R + penalty.omega_end * stats.E


@given(nonzero_paths(), SPARSE_PRIORS)
def test_time_reversal_changes_nothing(path, prior):
    assert_allclose(
        prior.log_density(path[:, ::-1]), prior.log_density(path), rtol=1e-11, atol=1e-11
    )


@given(nonzero_paths(), SPARSE_PRIORS)
def test_sign_flip_changes_nothing(path, prior):
    assert_allclose(prior.log_density(-path), prior.log_density(path), rtol=0)


@given(nonzero_paths(), SPARSE_PRIORS, st.floats(-200, 200))
def test_scaling_costs_the_number_of_timesteps(path, prior, log_scale):
    scaled = prior.log_density(np.exp(log_scale) * path)
    expected = prior.log_density(path) - path.shape[1] * log_scale
    assert_allclose(scaled, expected, rtol=1e-11, atol=1e-11)


@given(nonzero_paths(count=3), SPARSE_PRIORS)
def test_quadratic_at_the_paths_themselves_is_their_number_of_coefficients(paths, prior):
    for n_tied, groups in ((1, np.arange(3)), (3, np.zeros(3, dtype=np.int64))):
        stats = PathStats.of(paths).summed(groups)
        penalty = prior.evaluate(stats, paths.shape[1], n_tied)
        assert_allclose(quadratic(penalty, stats), n_tied * paths.shape[1], rtol=1e-10)


@given(nonzero_paths(count=2), st.one_of(SPARSE_PRIORS, FIXED_PRIORS))
def test_tangent_bound(paths, prior):
    """log m(b) >= log m(a) - (quadratic_a(b) - quadratic_a(a)) / 2."""
    a, b = (PathStats.of(path[None]) for path in paths)
    at_a, at_b = (prior.evaluate(stats, paths.shape[1]) for stats in (a, b))
    moved = quadratic(at_a, b) - quadratic(at_a, a)
    rounding = 1e-10 * (1 + np.abs(moved) + np.abs(at_a.log_density))
    assert (at_b.log_density >= at_a.log_density - moved / 2 - rounding).all()


@given(nonzero_paths(), SPARSE_PRIORS)
def test_bound_is_a_positive_definite_matrix(path, prior):
    n = path.shape[1]
    penalty = prior.evaluate(PathStats.of(path), n)
    matrix = penalty.omega * np.eye(n)
    matrix += penalty.omega_alpha * (np.eye(n, k=1) + np.eye(n, k=-1))
    matrix[0, 0] += penalty.omega_end[0]
    matrix[-1, -1] += penalty.omega_end[0]
    assert np.linalg.eigvalsh(matrix).min() > 0
    assert -0.5 < penalty.mean_alpha[0] <= 0
    assert 0 <= penalty.mean_rho[0] < 1


@given(nonzero_paths(), RATES)
def test_elbo_never_exceeds_the_exact_density(path, rate):
    elbo = Variational(rate=rate, bound="elbo").log_density(path)
    assert (elbo < Exact(rate=rate).log_density(path)).all()


@given(nonzero_paths(count=4), SPARSE_PRIORS, st.permutations(range(4)))
def test_order_of_tied_paths_changes_nothing(paths, prior, order):
    groups = np.array([0, 1, 1, 0])
    order = np.array(order)
    expected = prior.log_density(paths, groups)
    assert_allclose(
        prior.log_density(paths[order], groups[order]), expected, rtol=1e-11, atol=1e-11
    )


@given(st.floats(-0.5, 0.5), st.integers(1, 200))
def test_logdet_ignores_the_sign_of_alpha(alpha, n):
    assert logdet_unit_tridiagonal(alpha, n) == logdet_unit_tridiagonal(-alpha, n)


@given(st.floats(0.01, 40.0), st.integers(1, 200))
def test_logdet_lies_between_the_limit_and_zero(s, n):
    # |A| falls from 1 (alpha = 0) to (n + 1) / 2^n (alpha = -1/2).
    limit = np.log(n + 1) - n * np.log(2)
    assert limit - 1e-12 * n <= logdet_pinned(s, n) <= 1e-14 * n


@given(
    arrays(np.float64, 7, elements=st.floats(0, 50)),
    arrays(np.float64, 7, elements=st.floats(-20, 20)),
    st.sampled_from([0.0, 0.3, np.inf]),
    st.floats(1e-3, 5.0),
    st.floats(0.0, 0.99),
)
def test_posterior_of_a_path_reverses_with_time(h, b, static, dynamic, rho):
    forward, backward = np.empty((3, 7)), np.empty((3, 7))
    h[3] = 1.0  # a flat intercept needs some data
    component = (static, dynamic, rho)
    evidence = posterior_inplace(h, b, component, forward)[0]
    reversed_evidence = posterior_inplace(h[::-1].copy(), b[::-1].copy(), component, backward)[0]
    # Scores of up to 20 where h is 0 make the mean and evidence as large as 1e4.
    assert_allclose(backward[:2, ::-1], forward[:2], rtol=1e-9, atol=1e-9)
    assert_allclose(reversed_evidence, evidence, rtol=1e-9, atol=1e-9)
    assert (forward[1] >= 0).all()
