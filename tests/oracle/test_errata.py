"""Every number on docs/errata.md, computed again and looked up in the section that states it.

The paper's printed formulas are written out here and nowhere else; the package holds the right
ones. `says(item, value, decimals)` fails when the page and the computation disagree.
"""

import json
import pkgutil
import re
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln, polygamma

from driftglm.priors import Exact, PathStats, Variational
from driftglm.priors import truncated_exponential as texp
from driftglm.priors.chain import ALPHA_BOUND, logdet_slope, logdet_unit_tridiagonal
from driftglm.priors.variational import gamma_shape

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "errata.md").read_text()
SECTIONS = dict(re.findall(r"^## (\d+)\. (.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE))
CASES = json.loads((Path(__file__).parent / "cases.json").read_text())["prior"]


def says(item, value, decimals):
    """The section of this item shows the number, rounded to so many decimals."""
    shown = f"{value:.{decimals}f}"
    # A digit on either side would make it another number.
    pattern = rf"(?<![\d.-]){re.escape(shown)}(?!\d)"
    assert re.search(pattern, SECTIONS[str(item)]), f"docs/errata.md, item {item}, lacks {shown}"


@pytest.fixture
def noise_path():
    """The white-noise case of the oracle: T = 10, rate 0.001."""
    found = [c for c in CASES if (c["shape"], len(c["beta"]), c["tau"]) == ("noise", 10, 0.001)]
    return np.array([found[0]["beta"]])


def chain(alpha, n):
    return np.eye(n) + alpha * (np.eye(n, k=1) + np.eye(n, k=-1))


def printed_eigenvalues(alpha, n):
    """Item 1: the index runs over t + 1 instead of t."""
    return 1 + 2 * alpha * np.cos(np.pi * (np.arange(1, n + 1) + 1) / (n + 1))


def free_of_lambda(kappa, r, n, tau):
    """The part of the bound B' that depends on kappa, for a path with R/S = r."""
    alpha = texp.mean(kappa)
    value = -n / 2 * np.log1p(2 * alpha * r) + logdet_unit_tridiagonal(alpha, n) / 2
    return value - tau * (alpha + ALPHA_BOUND) + texp.entropy(kappa)


def lambda_part(a, q, n):
    """Terms of the bound with lambda, q(lambda) = Gamma(a, scale b), b at its best."""
    b = q / ((a - 1) * n)
    expected_log = digamma(a) + np.log(b)
    entropy = a + np.log(b) + gammaln(a) + (1 - a) * digamma(a)
    coefficients = -n / 2 * (np.log(2 * np.pi) + expected_log) - n / 2
    return coefficients - expected_log + entropy


def test_the_page_has_all_eleven_items():
    assert sorted(map(int, SECTIONS)) == list(range(1, 12))


def test_1_log_determinant():
    true = logdet_unit_tridiagonal(-0.3, 5)
    printed = np.log(printed_eigenvalues(-0.3, 5)).sum()
    assert_allclose(true, np.linalg.slogdet(chain(-0.3, 5))[1], rtol=1e-13)
    says(1, true, 5)
    says(1, printed, 5)


def test_2_jensen(noise_path):
    exact = Exact(rate=0.001).log_density(noise_path)[0]
    elbo = Variational(rate=0.001, bound="elbo").log_density(noise_path)[0]
    paper = Variational(rate=0.001, bound="paper").log_density(noise_path)[0]
    # A lower bound that lies above what it bounds.
    assert elbo < exact < paper
    for value in (exact, elbo, paper):
        says(2, value, 4)
    assert f"{paper - exact:.2f} nats above" in PAGE


def test_3_gradient_of_the_penalty():
    path, t, step = np.array([[1.0, 2.0, 2.0, 1.0]]), 1, 1e-5
    prior = Variational(rate=1.0, bound="paper")
    shift = step * np.eye(4)[t]
    ends = prior.log_density(np.vstack([path + shift, path - shift]))
    measured = (ends[0] - ends[1]) / (2 * step)
    omega, omega_alpha, _ = (x[0] for x in prior.expectations(path))
    neighbours = path[0, t - 1] + path[0, t + 1]
    right = -(omega * path[0, t] + omega_alpha * neighbours)
    halved = -(omega * path[0, t] + omega_alpha * neighbours / 2)
    flipped = -(omega * path[0, t] - omega_alpha * neighbours)
    # A central difference: an error of step^2 and 1e-15/step.
    assert_allclose(right, measured, rtol=1e-8)
    assert abs(halved - measured) > 0.5
    for value in (measured, halved, flipped):
        says(3, value, 4)


def test_4_positive_kappa_pins_the_autocorrelation():
    path = np.tile([1.0, 1.0, -1.0, -1.0], 8)[None, :30]
    stats = PathStats.of(path)
    assert (stats.S[0], stats.R[0]) == (30.0, 1.0)
    prior = Variational(rate=1.0, bound="paper")
    kappa = prior.kappa(path)[0]
    assert kappa < 0
    r = stats.R[0] / stats.S[0]
    best = minimize_scalar(lambda k: -free_of_lambda(k, r, 30, 1.0), bounds=(-100, 100))
    # The maximum of a smooth function is located to half the digits.
    assert_allclose(best.x, kappa, rtol=1e-4)
    # Among positive values the least is best: the bound falls all the way.
    positive = np.geomspace(1e-6, 1e3, 100)
    assert (np.diff([free_of_lambda(k, r, 30, 1.0) for k in positive]) < 0).all()
    says(4, Exact(rate=1.0).expectations(path)[2][0], 3)
    says(4, texp.mean(kappa), 3)
    says(4, kappa, 2)
    says(4, texp.mean(1e-6), 3)


@pytest.mark.parametrize("n", [1, 2, 10, 30])
def test_5_the_gamma_shape_is_a_constant(n):
    a = gamma_shape(n)
    for q in (0.01, 1.0, 100.0):
        best = minimize_scalar(lambda x, q=q: -lambda_part(x, q, n), bounds=(1.01, 2 * n + 5))
        assert_allclose(best.x, a, rtol=1e-4)
    slope = -(n / 2 + a) * polygamma(1, a) + 1 + n / (2 * (a - 1))
    assert abs(slope) < 1e-12
    # Whatever a is, E[1/lambda] = 1 / (b (a - 1)) with b = Q / ((a - 1) T).
    says(5, a, 4)


def test_5_the_expected_precision_does_not_know_the_shape(noise_path):
    prior, stats = Variational(rate=1.0), PathStats.of(noise_path)
    omega, _, alpha = prior.expectations(noise_path)
    assert_allclose(omega, 10 / (stats.S + 2 * alpha * stats.R), rtol=1e-13)


def test_6_sign_in_the_caption(noise_path):
    prior, stats = Variational(rate=0.001, bound="paper"), PathStats.of(noise_path)
    kappa, r = prior.kappa(noise_path)[0], (stats.R / stats.S)[0]
    alpha = texp.mean(kappa)

    def weighted(x):
        log_density = -kappa * (x + ALPHA_BOUND) - texp.log_normalizer(kappa)
        return np.exp(log_density) * logdet_unit_tridiagonal(x, 10)

    inner = quad(weighted, -ALPHA_BOUND, 0, epsabs=1e-12)[0]
    outer = logdet_unit_tridiagonal(alpha, 10)
    assert inner < outer < 0 < -outer
    says(6, inner, 4)
    says(6, outer, 4)
    says(6, -outer, 4)
    # With plus the bound is stationary at this kappa, with minus it is not.
    step = 1e-4
    for sign, stationary in ((1, True), (-1, False)):
        ends = [
            free_of_lambda(k, r, 10, 0.001)
            + (sign - 1) / 2 * logdet_unit_tridiagonal(texp.mean(k), 10)
            for k in (kappa - step, kappa + step)
        ]
        slope = float(ends[1] - ends[0]) / (2 * step)
        assert (abs(slope) < 1e-8) is stationary


def test_7_normaliser_of_the_density_of_alpha():
    for tau in (0.001, 1.0, 10.0):
        value = np.log(tau) - np.log(-np.expm1(-tau * ALPHA_BOUND))
        assert_allclose(value, -texp.log_normalizer(tau), rtol=1e-12)
        says(7, value, 4)
    says(7, 5 * np.log(2 * np.pi), 4)
    constant, rates = np.ones((1, 10)), (-10.0, 1.0, 100.0)
    complete = [Variational(rate=tau).log_density(constant)[0] for tau in rates]
    printed = [b + texp.log_normalizer(tau) for b, tau in zip(complete, rates, strict=True)]
    # A constant path should want a large tau; without the normaliser every path wants a small one.
    assert complete == sorted(complete)
    assert printed == sorted(printed, reverse=True)
    for value in (*complete, *printed):
        says(7, value, 3)


@pytest.mark.parametrize("n", [1, 2, 10, 30])
def test_8_gamma_instead_of_inverse_gamma(n):
    for q in (0.1, 7.0):
        # E[1/lambda] = T/Q and E[log lambda] = log(Q/2) - digamma(T/2) under the optimal
        # InverseGamma(T/2, Q/2), whose part is the integral over lambda itself.
        best = gammaln(n / 2) - n / 2 * np.log(2 * np.pi) - n / 2 * np.log(q / 2)
        log_lambda = np.log(q / 2) - digamma(n / 2)
        entropy = n / 2 + np.log(q / 2) + gammaln(n / 2) - (1 + n / 2) * digamma(n / 2)
        by_parts = -n / 2 * (np.log(2 * np.pi) + log_lambda) - n / 2 - log_lambda + entropy
        assert_allclose(by_parts, best, rtol=1e-12)
        cost = best - lambda_part(gamma_shape(n), q, n)
        says(8, cost, 3)


def test_8_at_one_timestep_the_cost_is_all_the_bound_loses():
    path = np.array([[0.7]])
    loss = Exact(rate=1.0).log_density(path) - Variational(rate=1.0).log_density(path)
    says(8, loss[0], 3)


def test_9_most_of_the_derivative_is_identically_zero():
    with mp.workdps(40):
        c = mp.mpf(ALPHA_BOUND)
        for kappa in map(mp.mpf, (-50, -0.3, 0.01, 2, 400)):
            mean = 1 / kappa - c / mp.expm1(c * kappa) - c
            rest = c * mp.exp(-c * kappa) / (1 - mp.exp(-c * kappa))
            assert abs(-1 / kappa + c + mean + rest) < mp.mpf(10) ** -35


def test_9_fixed_points(noise_path):
    stats = PathStats.of(noise_path)
    for bound in ("paper", "elbo"):
        prior = Variational(rate=0.001, bound=bound)
        kappa = prior.kappa(noise_path)[0]
        omega, _, alpha = (x[0] for x in prior.expectations(noise_path))
        if bound == "paper":
            slope = logdet_slope(alpha, 10)
        else:
            slope = covariance_with_logdet(kappa, 10) / texp.variance(kappa)
        assert_allclose(kappa, 0.001 + omega * stats.R[0] - slope / 2, rtol=1e-8)
        says(9, kappa, 4)


def covariance_with_logdet(kappa, n):
    alpha = texp.mean(kappa)

    def integrand(x):
        log_density = -kappa * (x + ALPHA_BOUND) - texp.log_normalizer(kappa)
        return np.exp(log_density) * (x - alpha) * logdet_unit_tridiagonal(x, n)

    return quad(integrand, -ALPHA_BOUND, 0, epsabs=1e-13)[0]


def test_9_two_maxima_at_rates_far_below_zero():
    kappa = np.linspace(-100, 150, 2501)
    for tau, expected in ((-50.0, 2), (1.0, 1)):
        value = np.array([free_of_lambda(k, 0.87, 30, tau) for k in kappa])
        tops = (value[1:-1] > value[:-2]) & (value[1:-1] > value[2:])
        assert tops.sum() == expected
        if expected == 2:
            for k in kappa[1:-1][tops]:
                says(9, k, 1)
            low, high = np.sort(value[1:-1][tops])
            says(9, high - low, 2)


def test_9_one_maximum_at_rates_from_zero_up(rng):
    kappa = np.sinh(np.linspace(-13, 13, 300))
    for _ in range(100):
        n, tau = int(rng.integers(2, 60)), float(rng.choice([0.0, 0.001, 1.0, 10.0, 100.0]))
        # |R/S| cannot exceed cos(pi / (T + 1)).
        r = rng.uniform(-1, 1) * np.cos(np.pi / (n + 1))
        value = np.array([free_of_lambda(k, r, n, tau) for k in kappa])
        rises = np.diff(value) > 0
        # Up, then down, and never up again.
        assert (np.diff(rises.astype(int)) <= 0).all()


def test_10_rewritten_penalty():
    beta, t, alpha = np.array([1.0, 3.0, 2.0, 1.0]), 1, -0.4
    rewritten = (1 + 2 * alpha) * beta[t]
    rewritten -= alpha * (beta[t] - beta[t - 1]) + alpha * (beta[t] - beta[t + 1])
    assert_allclose(rewritten, (chain(alpha, 4) @ beta)[t], rtol=1e-14)
    says(10, rewritten, 1)
    turned = (1 + 2 * alpha) * beta[t]
    turned += alpha * (beta[t] - beta[t - 1]) + alpha * (beta[t] - beta[t + 1])
    says(10, turned, 1)


def test_11_smallest_eigenvalue():
    true, printed = np.linalg.eigvalsh(chain(-0.3, 5)).min(), printed_eigenvalues(-0.3, 5).min()
    assert_allclose(true, 1 - 0.6 * np.cos(np.pi / 6), rtol=1e-12)
    says(11, true, 4)
    says(11, printed, 4)


def test_11_reported_results():
    lasso_one, lasso_all = np.array([0.164, 0.116, 0.124]), np.array([0.176, 0.119, 0.124])
    adaptive = np.array([0.164, 0.113, 0.122])
    assert (lasso_all > adaptive).all()
    assert (lasso_all >= lasso_one).all()
    for value in (*lasso_all, *adaptive):
        says(11, value, 3)


def test_11_nats_per_token():
    for thousands, millions in ((2974, 1.5), (2997, 1.9), (2912, 2.3)):
        says(11, thousands / 1000 / millions, 2)
    # A uniform guess among the modelled words, for comparison.
    says(11, np.log(5501 - 501 + 1), 2)


def test_11_counts():
    words = (10_101 - 101 + 1, 5_501 - 501 + 1)
    tests = 3_611 + 3_558 + 3_474
    reports = sum([1408, 2260, 2462, 2524, 2425, 2596, 2846, 3612, 3559, 3474])
    for count in (*words, tests, 13_488 - tests, reports, reports - 7):
        assert f"{count:,}" in SECTIONS["11"]


@pytest.mark.parametrize("page", ["errata.md", "theory.md"])
def test_every_function_of_the_priors_named_on_the_page_exists(page):
    names = set(re.findall(r"`(driftglm\.priors(?:\.\w+)+)", (DOCS / page).read_text()))
    assert len(names) > 5
    for name in names:
        pkgutil.resolve_name(name)  # raises if there is no such thing
