"""Each distribution against scipy and scoringrules, and at its extremes."""

import mpmath
import numpy as np
import pytest
from scipy import stats

from driftglm.predictive import (
    Bernoulli,
    BetaBinomial,
    Categorical,
    Gamma,
    NegativeBinomial,
    Normal,
    Poisson,
    Student,
)

RNG = np.random.default_rng(3)
N = 200
LOC, SCALE = RNG.normal(size=N), RNG.uniform(0.1, 5.0, N)
DEGREES = RNG.uniform(1.2, 50.0, N)
MEAN, SHAPE = RNG.uniform(0.1, 100.0, N), RNG.uniform(0.2, 30.0, N)
DISPERSION = RNG.uniform(1.05, 8.0, N)
SIZE = MEAN / (DISPERSION - 1)
TRIALS = RNG.integers(1, 60, N)
CHANCE, PRECISION = RNG.uniform(0.02, 0.98, N), RNG.uniform(0.5, 60.0, N)
LEVELS = np.array([1e-6, 0.05, 0.5, 0.8, 0.999])

PAIRS = {
    "normal": (Normal(LOC, SCALE), stats.norm(LOC, SCALE)),
    "student": (Student(LOC, SCALE, DEGREES), stats.t(DEGREES, LOC, SCALE)),
    "gamma": (Gamma(MEAN, SHAPE), stats.gamma(SHAPE, scale=MEAN / SHAPE)),
    "bernoulli": (Bernoulli(CHANCE), stats.bernoulli(CHANCE)),
    "poisson": (Poisson(MEAN), stats.poisson(MEAN)),
    "negative binomial": (
        NegativeBinomial(MEAN, DISPERSION),
        stats.nbinom(SIZE, 1 / DISPERSION),
    ),
    "beta-binomial": (
        BetaBinomial(TRIALS, CHANCE, PRECISION),
        stats.betabinom(TRIALS, CHANCE * PRECISION, (1 - CHANCE) * PRECISION),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_agrees_with_scipy(name):
    ours, theirs = PAIRS[name]
    y = theirs.rvs(size=(3, N), random_state=1).astype(float)
    chance = theirs.logpmf if ours.discrete else theirs.logpdf
    np.testing.assert_allclose(ours.mean, theirs.mean(), rtol=1e-10)
    np.testing.assert_allclose(ours.variance, theirs.var(), rtol=1e-10)
    np.testing.assert_allclose(ours.cdf(y), theirs.cdf(y), rtol=1e-9)
    np.testing.assert_allclose(ours.log_prob(y), chance(y), rtol=1e-9, atol=1e-9)
    expected = np.stack([theirs.ppf(level) for level in LEVELS], axis=1)
    np.testing.assert_allclose(ours.quantile(LEVELS), expected, rtol=1e-9)


@pytest.mark.parametrize("name", PAIRS)
def test_draws_have_the_mean_and_the_cdf(name):
    ours, _ = PAIRS[name]
    one = ours.take([5])
    draws = one.draws(100_000, 0)[:, 0]
    if np.isfinite(one.variance[0]):
        assert abs(draws.mean() - one.mean[0]) < 4 * one.std[0] / np.sqrt(draws.size)
    at = one.quantile(0.4)
    p = one.cdf(at)[0]
    assert abs((draws <= at).mean() - p) < 4 * np.sqrt(p * (1 - p) / draws.size) + 1e-12


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("normal", lambda rules, y: rules.crps_normal(y, LOC, SCALE)),
        ("student", lambda rules, y: rules.crps_t(y, DEGREES, LOC, SCALE)),
        ("gamma", lambda rules, y: rules.crps_gamma(y, SHAPE, SHAPE / MEAN)),
        ("bernoulli", lambda rules, y: rules.brier_score(y, CHANCE)),
        ("poisson", lambda rules, y: rules.crps_poisson(y, MEAN)),
        ("negative binomial", lambda rules, y: rules.crps_negbinom(y, SIZE, 1 / DISPERSION)),
    ],
)
def test_crps_agrees_with_scoringrules(name, theirs, scoringrules):
    ours, reference = PAIRS[name]
    y = reference.rvs(random_state=2).astype(float)
    expected = np.asarray(theirs(scoringrules, y))
    known = np.isfinite(expected)  # Its negative binomial overflows for some rows.
    assert known.mean() > 0.5
    np.testing.assert_allclose(ours.crps(y)[known], expected[known], rtol=1e-8)


@pytest.mark.parametrize("name", ["bernoulli", "poisson", "negative binomial", "beta-binomial"])
def test_crps_of_counts_is_the_sum_over_counts(name):
    ours, _ = PAIRS[name]
    some = ours.take(slice(0, 20))
    y = some.draws(1, 3)[0]
    counts = np.arange(4000.0)[:, None]
    steps = some.cdf(np.broadcast_to(counts, (4000, 20)))
    np.testing.assert_allclose(some.crps(y), ((steps - (counts >= y)) ** 2).sum(0), rtol=1e-9)


def test_crps_between_counts_is_the_integral():
    forecast = NegativeBinomial(3.0, 2.0)
    x = np.linspace(-2, 200, 2_020_001)
    error = (forecast.cdf(x[:, None])[:, 0] - (x >= 2.4)) ** 2
    np.testing.assert_allclose(forecast.crps([2.4]), np.mean(error) * 202, rtol=1e-4)


def test_classes():
    forecast = Categorical([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(forecast.mode, [1.0, 0.0])
    np.testing.assert_allclose(forecast.cdf([1, 0]), [0.7, 1.0])
    np.testing.assert_allclose(forecast.pmf([2, 2]), [0.3, 0.0])
    np.testing.assert_array_equal(forecast.quantile([0.1, 0.9]), [[0, 2], [0, 0]])
    np.testing.assert_allclose(forecast.brier([2, 0]), [0.04 + 0.25 + 0.49, 0.0])
    np.testing.assert_allclose(forecast.crps([2, 0]), [0.2**2 + 0.7**2, 0.0], atol=1e-15)
    draws = forecast.draws(20_000, 0)
    assert abs((draws[:, 0] == 1).mean() - 0.5) < 0.02
    assert (draws[:, 1] == 0).all()


def test_ranked_score_of_classes_agrees_with_scoringrules(scoringrules):
    table = RNG.dirichlet(np.ones(5), 30)
    y = RNG.integers(0, 5, 30)
    # Its categories begin with 1.
    expected = scoringrules.rps_score(y + 1, table)
    np.testing.assert_allclose(Categorical(table).crps(y), expected, rtol=1e-8)


def test_moments_of_student_that_do_not_exist():
    forecast = Student(0.0, 1.0, [0.9, 1.5, 2.5])
    np.testing.assert_array_equal(forecast.mean, [np.nan, 0.0, 0.0])
    np.testing.assert_allclose(forecast.variance, [np.nan, np.inf, 5.0])


def test_a_student_of_many_degrees_is_normal():
    y = np.array([-4.0, 0.3])
    many, normal = Student(0.0, [1.0, 1.0], 1e12), Normal([0.0, 0.0], 1.0)
    np.testing.assert_allclose(many.log_prob(y), normal.log_prob(y), rtol=1e-9)
    np.testing.assert_allclose(many.crps(y), normal.crps(y), rtol=1e-9)


def test_no_excess_dispersion_is_poisson_row_by_row():
    rate = np.array([0.0, 1e-300, 2.0, 1e4, 1e8])
    ours, poisson = NegativeBinomial(rate, 1.0), Poisson(rate)
    y = np.floor(rate) + 1
    for method in ("cdf", "log_prob", "crps"):
        np.testing.assert_array_equal(getattr(ours, method)(y), getattr(poisson, method)(y))
    np.testing.assert_array_equal(ours.quantile(LEVELS), poisson.quantile(LEVELS))


@pytest.mark.parametrize("rate", [0.5, 30.0, 1e5, 1e9, 1e12])
def test_a_little_dispersion_is_nearly_poisson(rate):
    ours, poisson = NegativeBinomial(rate, 1 + 1e-10), Poisson(rate)
    y = np.floor(np.array([rate + np.sqrt(rate)]))
    np.testing.assert_allclose(ours.cdf(y), poisson.cdf(y), rtol=1e-7)
    np.testing.assert_allclose(ours.log_prob(y), poisson.log_prob(y), rtol=1e-8)
    np.testing.assert_allclose(ours.crps(y), poisson.crps(y), rtol=1e-6)


@pytest.mark.parametrize("dispersion", [1.001, 1.7, 2.0])
def test_the_approximation_for_large_means_continues_the_exact_cdf(dispersion):
    mean = 1.5e6
    forecast = NegativeBinomial(mean, dispersion)
    y = np.floor(mean + np.sqrt(mean * dispersion) * np.array([-4, -1, 0.0, 1, 4]))
    exact = stats.nbinom.cdf(y, mean / (dispersion - 1), 1 / dispersion)
    np.testing.assert_allclose(forecast.cdf(y[:, None])[:, 0], exact, atol=1e-8)
    levels = [1e-5, 0.3, 0.999]
    inverse = stats.nbinom.ppf(levels, mean / (dispersion - 1), 1 / dispersion)
    np.testing.assert_allclose(forecast.quantile(levels)[0], inverse, atol=1.0)


@pytest.mark.parametrize("mean", [1e6, 1e9, 1e12])
def test_large_counts_are_finite_and_nearly_normal(mean):
    for forecast in (Poisson(mean), NegativeBinomial(mean, 3.0)):
        normal = Normal(mean, forecast.std)
        y = np.floor(np.array([mean + forecast.std[0]]))
        np.testing.assert_allclose(forecast.log_prob(y), normal.log_prob(y), rtol=1e-3)
        np.testing.assert_allclose(forecast.crps(y), normal.crps(y), rtol=1e-2)
        interval = (forecast.interval(0.9) - mean) / forecast.std[0]
        np.testing.assert_allclose(interval, [[-1.645, 1.645]], atol=5e-3)


def test_probabilities_of_large_counts_are_exact():
    mpmath.mp.dps = 50
    k, mean, dispersion = 10**12 + 10**6, mpmath.mpf(10) ** 12, mpmath.mpf("1.5")
    size = mean / (dispersion - 1)
    exact = (
        mpmath.loggamma(size + k)
        - mpmath.loggamma(size)
        - mpmath.loggamma(k + 1)
        + k * mpmath.log(dispersion - 1)
        - (size + k) * mpmath.log(dispersion)
    )
    ours = NegativeBinomial(1e12, 1.5).log_prob([float(k)])[0]
    assert ours == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("shape", [1.01e5, 1e6, 1e8, 1e12])
def test_tails_of_large_shapes_are_kept(shape):
    """scipy's incomplete gamma function is off by a third at 1e8 and 5 deviations."""
    z = np.array([-8.0, -6.0, -5.0, -4.0, -0.3, 0.0, 2.0])
    x = shape + z * np.sqrt(shape)
    forecast = Gamma(np.full(z.size, shape), shape)
    # The integral of the density from far below, by Gauss-Legendre over deviations.
    nodes, weights = np.polynomial.legendre.leggauss(200)
    half = 0.5 * (z + 16.0)
    grid = -16.0 + half * (nodes[:, None] + 1.0)
    exact = half * (weights @ forecast.pdf(shape + grid * np.sqrt(shape))) * np.sqrt(shape)
    np.testing.assert_allclose(forecast.cdf(x), exact, rtol=1e-8)
    level = float(exact[1])
    found = (forecast.take([0]).quantile(level) - shape) / np.sqrt(shape)
    np.testing.assert_allclose(found, z[1], rtol=1e-6)


def test_the_cdf_of_large_counts_sums_their_probabilities():
    rate = 1e6
    forecast = Poisson(rate)
    y = np.floor(rate - 5.0 * np.sqrt(rate))
    counts = np.arange(y - 8000.0, y + 1.0)[:, None]
    np.testing.assert_allclose(forecast.cdf([y]), forecast.pmf(counts).sum(), rtol=1e-9)


def test_nothing_is_expected_and_nothing_comes():
    none = Poisson([0.0, 1e-300])
    np.testing.assert_array_equal(none.log_prob([0, 0]), [0.0, -1e-300])
    np.testing.assert_allclose(none.log_prob([1, 1]), [-np.inf, np.log(1e-300)])
    np.testing.assert_array_equal(none.crps([0, 1]), [0.0, 1.0])
    np.testing.assert_array_equal(none.quantile(0.99), [0.0, 0.0])
    np.testing.assert_array_equal(none.draws(3, 0), np.zeros((3, 2)))


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_sure_outcomes(p):
    for forecast, sure in ((Bernoulli(p), p), (BetaBinomial(7, p, 3.0), 7 * p)):
        assert forecast.log_prob([sure])[0] == 0.0
        assert forecast.log_prob([1.0 - sure])[0] == -np.inf
        assert forecast.crps([sure])[0] == 0.0
        assert forecast.variance[0] == 0.0
        np.testing.assert_array_equal(forecast.quantile([0.01, 0.99]), [[sure, sure]])
        np.testing.assert_array_equal(forecast.draws(4, 0), np.full((4, 1), sure))


def test_no_trials_no_successes():
    forecast = BetaBinomial(0, 0.3, 2.0)
    np.testing.assert_array_equal(forecast.log_prob([0]), [0.0])
    np.testing.assert_array_equal(forecast.variance, [0.0])
    np.testing.assert_array_equal(forecast.crps([0]), [0.0])


def test_tables_in_pieces_are_the_same(monkeypatch):
    forecast, _ = PAIRS["beta-binomial"]
    y = np.floor(forecast.mean)
    whole = forecast.crps(y), forecast.cdf(y), forecast.quantile(LEVELS)
    monkeypatch.setattr("driftglm.predictive.beta_binomial._CELLS", 100)
    for before, after in zip(
        whole, (forecast.crps(y), forecast.cdf(y), forecast.quantile(LEVELS)), strict=True
    ):
        np.testing.assert_allclose(after, before, rtol=1e-12)


def test_a_precise_beta_binomial_is_binomial():
    forecast = BetaBinomial([50.0, 50.0], 0.3, 1e13)
    np.testing.assert_allclose(
        forecast.log_prob([0, 20]), stats.binom.logpmf([0, 20], 50, 0.3), rtol=1e-9
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e8, 1e300])
def test_scales_only_scale(scale):
    for unit, scaled in (
        (Normal(0.0, 1.0), Normal(0.0, scale)),
        (Student(0.0, 1.0, 3.0), Student(0.0, scale, 3.0)),
        (Gamma(1.0, 2.0), Gamma(scale, 2.0)),
    ):
        y = np.array([0.7])
        np.testing.assert_allclose(scaled.crps(scale * y), scale * unit.crps(y), rtol=1e-10)
        np.testing.assert_allclose(scaled.cdf(scale * y), unit.cdf(y), rtol=1e-10)
        expected = unit.log_prob(y) - np.log(scale)
        np.testing.assert_allclose(scaled.log_prob(scale * y), expected, rtol=1e-10)


def test_far_tails_are_not_lost():
    assert Student(0.0, 1.0, 3.0).log_prob([1e200])[0] == pytest.approx(
        stats.t.logpdf(1e100, 3) - 400 * np.log(10), rel=1e-9
    )
    assert Normal(0.0, 1e-3).log_prob([1e3])[0] == pytest.approx(-5e11, rel=1e-9)
    assert np.isfinite(Gamma(1.0, 2.0).log_prob([1e5]))
    assert Normal(0.0, 1e-300).crps([1e10])[0] == 1e10


def test_the_edge_of_a_gamma_density():
    at_zero = Gamma(2.0, [0.5, 1.0, 3.0]).pdf([0.0, 0.0, 0.0])
    np.testing.assert_allclose(at_zero, [np.inf, 0.5, 0.0])
    np.testing.assert_array_equal(Gamma(2.0, 1.0).cdf([-1.0]), [0.0])


def test_infinite_values_have_a_cdf():
    for name, (forecast, _) in PAIRS.items():
        ends = np.array([[-np.inf], [np.inf]]) * np.ones(N)
        np.testing.assert_array_equal(forecast.cdf(ends), [[0.0] * N, [1.0] * N], err_msg=name)
        assert (forecast.log_prob(ends) == -np.inf).all(), name
