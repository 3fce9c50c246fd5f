"""The variational bounds against their definition, and what must hold of any such bound."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import digamma, gammaln

from driftglm.exceptions import DataError
from driftglm.priors import Exact, PathPrior, PathStats, Variational
from driftglm.priors import truncated_exponential as texp
from driftglm.priors import variational as module
from driftglm.priors.chain import ALPHA_BOUND, logdet_slope

BOUNDS = pytest.mark.parametrize("bound", ["paper", "elbo"])


def chain(alpha, n):
    return np.eye(n) + alpha * (np.eye(n, k=1) + np.eye(n, k=-1))


def logdet(alpha, n):
    return np.linalg.slogdet(chain(alpha, n))[1]


def expectation(function, kappa):
    """E[function(alpha)] under the truncated exponential, by adaptive quadrature."""
    # The density relative to its largest value, at one end or the other.
    peak = -ALPHA_BOUND if kappa >= 0 else 0.0

    def density(alpha):
        return np.exp(-kappa * (alpha - peak))

    options = {"epsabs": 1e-13, "epsrel": 1e-12, "limit": 200}
    total = quad(density, -ALPHA_BOUND, 0, **options)[0]
    return quad(lambda a: function(a) * density(a), -ALPHA_BOUND, 0, **options)[0] / total


def definition(paths, tau, parameters, bound):
    """E_q[log p(beta, lambda, alpha)] + entropy of q, term by term, for tied paths (m, T).

    q(lambda) = Gamma(shape a, scale b), q(alpha) = truncated exponential(kappa).
    """
    a, b, kappa = parameters
    m, n = paths.shape
    log_lambda, inv_lambda = digamma(a) + np.log(b), 1 / (b * (a - 1))
    alpha = expectation(lambda x: x, kappa)
    if bound == "paper":
        determinant = logdet(alpha, n)
    else:
        determinant = expectation(lambda x: logdet(x, n), kappa)
    quadratic = np.einsum("is,st,it->", paths, chain(alpha, n), paths)
    coefficients = -m * n / 2 * (np.log(2 * np.pi) + log_lambda)
    coefficients += m / 2 * determinant - inv_lambda * quadratic / 2
    prior_alpha = np.log(tau) - np.log(-np.expm1(-tau * ALPHA_BOUND)) - tau * (alpha + ALPHA_BOUND)
    entropy_lambda = a + np.log(b) + gammaln(a) + (1 - a) * digamma(a)
    log_normalizer = np.log(-np.expm1(-kappa * ALPHA_BOUND) / kappa)
    entropy_alpha = log_normalizer + kappa * (alpha + ALPHA_BOUND)
    return coefficients - log_lambda + prior_alpha + entropy_lambda + entropy_alpha


PATHS = {
    "walk": np.array([[0.4, 0.9, 1.1, 0.8, 1.3]]),
    "noise": np.array([[0.4, -0.9, 0.1, 0.8, -1.3]]),
    "two-tied": np.array([[1.0, 0.8, 1.2], [-0.3, -0.2, 0.1]]),
}


@BOUNDS
@pytest.mark.parametrize("name", PATHS)
def test_value_is_the_definition_at_its_maximum(name, bound):
    paths, tau = PATHS[name], 1.5
    m, n = paths.shape
    prior = Variational(rate=tau, bound=bound)
    groups = np.zeros(m, dtype=int)
    found = prior.log_density(paths, groups)[0]
    omega, omega_alpha, mean_alpha = (x[0] for x in prior.expectations(paths, groups))
    stats = PathStats.of(paths).summed(groups)
    setting = (n, m), tau, bound == "elbo", module._legendre()
    profile = module._profile_kappa(stats.R / stats.S, setting)
    a, kappa = module.gamma_shape(m * n), profile[0, 0]
    best = np.array([a, 1 / (omega * (a - 1)), kappa])
    # The reference's quadrature is good to 1e-12.
    assert_allclose(found, definition(paths, tau, best, bound), rtol=1e-10)
    assert_allclose(mean_alpha, expectation(lambda x: x, kappa), rtol=1e-10)
    assert_allclose(omega_alpha, omega * mean_alpha, rtol=1e-14)
    # A maximum in every direction: the fall at +-1 % far exceeds the reference's error.
    for direction in np.eye(3):
        for sign in (-1, 1):
            other = best * (1 + 0.01 * sign * direction)
            assert definition(paths, tau, other, bound) < found - 1e-9


@pytest.mark.parametrize("n", [1, 2, 10, 30, 50_000])
def test_gamma_shape_maximises_the_gamma_part_whatever_the_data(n):
    a = module.gamma_shape(n)

    def part(shape, q):
        """Terms with lambda, the scale being Q / ((shape - 1) n)."""
        b = q / ((shape - 1) * n)
        log_lambda = digamma(shape) + np.log(b)
        entropy = shape + np.log(b) + gammaln(shape) + (1 - shape) * digamma(shape)
        return -(n / 2 + 1) * log_lambda - n / 2 + entropy

    for q in (1e-3, 1.0, 500.0):
        # Steps large enough for the fall to exceed the rounding of terms of size n log n.
        for step in (0.1, 0.2):
            excess = a - 1
            assert part(1 + excess * (1 + step), q) < part(a, q)
            assert part(1 + excess * (1 - step), q) < part(a, q)


@BOUNDS
def test_kappa_solves_its_fixed_point(bound, rng):
    paths = np.vstack([rng.normal(size=(5, 8)), np.cumsum(rng.normal(size=(5, 8)), axis=1)])
    prior, stats = Variational(rate=0.7, bound=bound), PathStats.of(paths)
    kappa = prior.kappa(paths)
    omega, _, mean_alpha = prior.expectations(paths)
    for i in range(10):
        if bound == "paper":
            slope = logdet_slope(mean_alpha[i], 8)
        else:
            mean_det = expectation(lambda x: logdet(x, 8), kappa[i])
            cross = expectation(lambda x: x * logdet(x, 8), kappa[i])
            slope = (cross - mean_alpha[i] * mean_det) / texp.variance(kappa[i])
        # The covariance of the reference cancels some digits.
        assert_allclose(kappa[i], 0.7 + omega[i] * stats.R[i] - slope / 2, rtol=1e-7, atol=1e-7)


def test_kappa_is_negative_for_a_path_without_autocorrelation():
    alternating = np.array([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]])
    for bound in ("paper", "elbo"):
        prior = Variational(rate=1.0, bound=bound)
        assert prior.kappa(alternating)[0] < 0
        assert prior.expectations(alternating)[2][0] > -ALPHA_BOUND / 2


@pytest.mark.parametrize("rate", [-5.0, 0.001, 1.0, 50.0])
@pytest.mark.parametrize("n_timesteps", [1, 2, 10, 40])
def test_elbo_is_a_lower_bound_and_the_papers_lies_above_the_elbo(rate, n_timesteps, rng):
    noise = rng.normal(size=(30, n_timesteps))
    paths = np.vstack([noise, np.cumsum(noise, axis=1), 1 + 0.05 * noise])
    exact = Exact(rate=rate).log_density(paths)
    elbo = Variational(rate=rate, bound="elbo").log_density(paths)
    paper = Variational(rate=rate, bound="paper").log_density(paths)
    assert (elbo < exact).all()
    # At T = 1 there is no determinant, and the two are one.
    assert (paper >= elbo - 1e-12 * np.abs(elbo)).all()


@BOUNDS
def test_gradient_matches_finite_differences(bound, rng):
    paths = 1.0 + np.cumsum(rng.normal(size=(1, 6)), axis=1)
    prior = Variational(rate=1.0, bound=bound)
    omega, omega_alpha, _ = prior.expectations(paths)
    precision = omega * np.eye(6) + omega_alpha * (np.eye(6, k=1) + np.eye(6, k=-1))
    step = 1e-3
    # Five-point rule, error step^4. Being at a maximum over kappa, only beta's own part counts.
    shifts = np.array([-2, -1, 1, 2]) * step
    weights = np.array([1, -8, 8, -1]) / (12 * step)
    slopes = [weights @ prior.log_density(paths + shifts[:, None] * np.eye(6)[t]) for t in range(6)]
    assert_allclose(-(precision @ paths[0]), slopes, rtol=1e-8, atol=1e-8)


@BOUNDS
def test_scaling_paths_shifts_the_log_density_and_zero_has_none(bound, rng):
    paths = np.cumsum(rng.normal(size=(5, 6)), axis=1)
    prior = Variational(rate=0.3, bound=bound)
    expected = prior.log_density(paths) - 6 * np.log(1e-30)
    assert_allclose(prior.log_density(-1e-30 * paths), expected, rtol=1e-12)
    assert prior.log_density(np.zeros((1, 6)))[0] == np.inf


@BOUNDS
def test_the_quadratic_at_the_path_itself_is_the_number_of_coefficients(bound, rng):
    stats = PathStats.of(np.cumsum(rng.normal(size=(30, 7)), axis=1))
    penalty = Variational(bound=bound).evaluate(stats, 7)
    assert_allclose(penalty.omega * stats.S + 2 * penalty.omega_alpha * stats.R, 7, rtol=1e-12)
    assert (penalty.omega_end == 0).all()
    # rho and alpha name the same chain.
    assert_allclose(penalty.mean_rho, -penalty.mean_alpha * (1 + penalty.mean_rho**2), rtol=1e-12)


@pytest.mark.parametrize("kappa", [-2000.0, -3.0, 0.0, 0.5, 60.0, 2000.0])
@pytest.mark.parametrize("n_timesteps", [2, 15])
def test_mean_logdet_matches_adaptive_quadrature(kappa, n_timesteps):
    found, slope = module._mean_logdet(kappa, n_timesteps, module._legendre())
    expected = expectation(lambda x: logdet(x, n_timesteps), kappa)
    # Dense determinants close to 1 lose relative digits, hence the atol.
    assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    step = 1e-3 * max(1.0, abs(kappa))
    ends = [
        module._mean_logdet(kappa + x, n_timesteps, module._legendre())[0] for x in (-step, step)
    ]
    means = [texp.mean(kappa + x) for x in (-step, step)]
    # d E[log det] / d E[alpha] along the family; a second-order difference.
    assert_allclose(slope, (ends[1] - ends[0]) / (means[1] - means[0]), rtol=1e-4)


@BOUNDS
def test_kernels_without_the_compiler(bound):
    setting = (5, 2), 1.0, bound == "elbo", module._legendre()
    arguments = np.array([0.7, -0.4]), setting
    jitted, plain = module._profile_kappa(*arguments), module._profile_kappa.py_func(*arguments)
    assert_allclose(plain, jitted, rtol=1e-11)
    for kappa in (-2.0, 90.0):
        tail = (kappa, 5, module._legendre())
        assert_allclose(module._mean_logdet.py_func(*tail), module._mean_logdet(*tail), rtol=1e-11)
        expected = module._determinant_part(kappa, setting)
        assert_allclose(module._determinant_part.py_func(kappa, setting), expected, rtol=1e-11)
    kappa = np.array([-3.0, 0.0, 2.0])
    expected = [[texp.mean(k) for k in kappa], [texp.entropy(k) for k in kappa]]
    assert_allclose(module._mean_and_entropy.py_func(kappa), expected, rtol=1e-13)
    assert_allclose(np.cosh(module._s_of.py_func(-0.3)), 0.5 / 0.3, rtol=1e-14)


def test_unknown_bound_is_refused():
    with pytest.raises(DataError, match=r"bound='tight' is not known; choose 'paper'"):
        Variational(bound="tight")


def test_it_is_a_sparse_path_prior():
    assert isinstance(Variational(), PathPrior)
    assert Variational().sparse


def test_estimated_rate_of_walks_runs_to_the_limit(rng):
    walks = np.cumsum(rng.normal(size=(40, 10)), axis=1)
    fitted = Variational(rate="estimate").with_estimated_rate((PathStats.of(walks), 10, 1))
    assert fitted == Variational(rate=100.0, bound="paper")
