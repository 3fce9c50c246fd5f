"""The truncated exponential distribution against mpmath, over every size of rate."""

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.priors import truncated_exponential as texp
from driftglm.priors.chain import ALPHA_BOUND

EDGE = texp.SERIES_BELOW / ALPHA_BOUND
"""The rate at which the series hands over to the closed form."""

RATES = [0.0] + [
    sign * size
    for size in (1e-300, 1e-8, 1e-3, 0.05, EDGE * (1 - 1e-9), EDGE * (1 + 1e-9), 1.0, 30.0, 700.0)
    for sign in (1, -1)
]
RATES += [1e5, -1e5]
EXTREME = pytest.mark.parametrize("kappa", RATES)


def both(name):
    kernel = getattr(texp, name)
    forms = [pytest.param(kernel, id="jitted"), pytest.param(kernel.py_func, id="plain")]
    return pytest.mark.parametrize("function", forms)


def value(function, kappa):
    # Without the compiler numpy says so when expm1 overflows to the inf that is meant.
    with np.errstate(over="ignore"):
        return function(kappa)


def moments(kappa):
    """log normaliser, mean, variance and entropy from the plain formulas at 400 digits or so."""
    # 1/x^2 - e^x/(e^x - 1)^2 at x = 1e-300 cancels 600 digits.
    digits = 60 if abs(kappa) > 1e-20 else 1000
    with mp.workdps(digits):
        c, k = mp.mpf(ALPHA_BOUND), mp.mpf(kappa)
        if k == 0:
            return tuple(map(float, (mp.log(c), -c / 2, c * c / 12, mp.log(c))))
        x = k * c
        log_normalizer = mp.log((1 - mp.exp(-x)) / k)
        mean = 1 / k - c / mp.expm1(x) - c
        variance = 1 / k**2 - c**2 * mp.exp(x) / mp.expm1(x) ** 2
        entropy = log_normalizer + k * (mean + c)
        return tuple(map(float, (log_normalizer, mean, variance, entropy)))


def test_reference_formulas_are_the_moments_of_the_density():
    kappa, c = 3.0, ALPHA_BOUND

    def density(alpha):
        return mp.exp(-kappa * (alpha + c))

    with mp.workdps(30):
        total = mp.quad(density, [-c, 0])
        mean = mp.quad(lambda a: a * density(a), [-c, 0]) / total
        variance = mp.quad(lambda a: (a - mean) ** 2 * density(a), [-c, 0]) / total
    log_normalizer, expected_mean, expected_variance, _ = moments(kappa)
    assert_allclose(float(mp.log(total)), log_normalizer, rtol=1e-14)
    assert_allclose(float(mean), expected_mean, rtol=1e-14)
    assert_allclose(float(variance), expected_variance, rtol=1e-14)


@both("log_normalizer")
@EXTREME
def test_log_normalizer(function, kappa):
    assert_allclose(value(function, kappa), moments(kappa)[0], rtol=1e-14, atol=1e-15)


@both("mean")
@EXTREME
def test_mean(function, kappa):
    # At the edge of the series 1/x = 20 is subtracted from a number as large: 2 digits go.
    assert_allclose(value(function, kappa), moments(kappa)[1], rtol=1e-13)


@both("variance")
@EXTREME
def test_variance(function, kappa):
    # At the edge 1/x^2 = 400 cancels against a number as large, to leave 1/12: 4 digits go.
    assert_allclose(value(function, kappa), moments(kappa)[2], rtol=1e-11)


@both("entropy")
@EXTREME
def test_entropy(function, kappa):
    # For kappa << 0 the entropy is the difference of two numbers of size |kappa| C.
    assert_allclose(value(function, kappa), moments(kappa)[3], rtol=1e-13, atol=1e-15 * abs(kappa))


@pytest.mark.parametrize("kappa", [0.3, 20.0, 1e5])
def test_mirror_image(kappa):
    # alpha -> -C - alpha turns the rate around.
    assert_allclose(texp.mean(-kappa) + texp.mean(kappa), -ALPHA_BOUND, rtol=1e-14)
    assert texp.variance(kappa) == texp.variance(-kappa)
    assert_allclose(texp.entropy(kappa), texp.entropy(-kappa), rtol=1e-11)


def test_mean_falls_from_zero_to_minus_c():
    means = [texp.mean(kappa) for kappa in np.sinh(np.linspace(-14, 14, 201))]
    assert (np.diff(means) < 0).all()
    assert -ALPHA_BOUND < means[-1] < -ALPHA_BOUND + 1e-5
    assert -1e-5 < means[0] < 0


def test_variance_is_minus_the_slope_of_the_mean():
    step = 1e-3
    for kappa in (-30.0, -1.0, 0.0, 0.4, 50.0):
        slope = (texp.mean(kappa + step) - texp.mean(kappa - step)) / (2 * step)
        # Second-order difference: an error of step^2 times a third moment below 0.1.
        assert_allclose(-slope, texp.variance(kappa), rtol=1e-5)
