"""Mixtures: against draws, closed forms and brute force."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import trapezoid

from driftglm.exceptions import DataError
from driftglm.predictive import (
    Bernoulli,
    BetaBinomial,
    Categorical,
    Gamma,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    Student,
    over_normal,
)

W = [0.2, 0.5, 0.3]
MIXTURES = {
    "normal": Mixture((Normal(-1.0, 0.5), Normal(0.0, 2.0), Normal(5.0, 1.0)), W),
    "student": Mixture((Student(-1.0, 0.5, 6.0), Student(0.0, 2.0, 9.0), Normal(3.0, 1.0)), W),
    "gamma": Mixture((Gamma(1.0, 0.5), Gamma(4.0, 9.0), Gamma(9.0, 2.0)), W),
    "counts": Mixture((Poisson(1.0), NegativeBinomial(6.0, 3.0), Poisson(20.0)), W),
    "trials": Mixture(
        (BetaBinomial(9, 0.2, 5.0), BetaBinomial(9, 0.7, 50.0), BetaBinomial(30, 0.5, 2.0)), W
    ),
    "log-normal rate": over_normal(lambda eta: Poisson(np.exp(eta)), [1.0], [0.4]),
}


@pytest.mark.parametrize("name", MIXTURES)
def test_a_million_draws_agree(name):
    mixture = MIXTURES[name]
    n = 1_000_000
    draws = mixture.take(np.zeros(1000, dtype=int)).draws(n // 1000, 7).ravel()
    mean, std = mixture.mean[0], mixture.std[0]
    assert abs(draws.mean() - mean) < 4 * std / np.sqrt(n)
    squares = (draws - mean) ** 2
    assert abs(squares.mean() - std**2) < 4 * squares.std() / np.sqrt(n)
    for level in (0.05, 0.5, 0.9):
        at = mixture.quantile(level)
        p = mixture.cdf(at)[0]
        error = 4 * np.sqrt(p * (1 - p) / n)
        assert abs((draws <= at).mean() - p) < error
        assert np.quantile(draws, level - error) <= at[0] <= np.quantile(draws, level + error)
    y = np.round(mean)
    away, apart = np.abs(draws - y), 0.5 * np.abs(draws[: n // 2] - draws[n // 2 :])
    error = 4 * (away.std() / np.sqrt(n) + apart.std() / np.sqrt(n // 2))
    assert abs(away.mean() - apart.mean() - mixture.crps([y])[0]) < error


def test_crps_of_normals_agrees_with_scoringrules(scoringrules):
    rng = np.random.default_rng(1)
    loc, scale = rng.normal(size=(50, 4)), rng.uniform(0.1, 3.0, (50, 4))
    weights = rng.dirichlet(np.ones(4), 50)
    y = rng.normal(size=50)
    ours = Mixture(tuple(Normal(m, s) for m, s in zip(loc.T, scale.T, strict=True)), weights)
    expected = scoringrules.crps_mixnorm(y, loc, scale, weights)
    np.testing.assert_allclose(ours.crps(y), expected, rtol=1e-8)


def test_quadrature_agrees_with_the_closed_form_of_normals():
    parts = [(-1.0, 0.01), (0.0, 2.0), (50.0, 1.0)]
    exact = Mixture(tuple(Normal(m, s) for m, s in parts), W)
    # So many degrees are normal, but are not known to be.
    integrated = Mixture(tuple(Student(m, s, 1e13) for m, s in parts), W)
    for y in (-3.0, 0.1, 47.0):
        np.testing.assert_allclose(integrated.crps([y]), exact.crps([y]), rtol=1e-8)


def test_crps_with_heavy_tails_is_the_integral():
    mixture = Mixture((Student(0.0, 1.0, 1.5), Student(1.0, 2.0, 3.0)), [0.4, 0.6])
    t = np.linspace(-35, 35, 400_001)
    x = 0.5 + np.sinh(t)
    square = (mixture.cdf(x[:, None])[:, 0] - (x >= 0.5)) ** 2 * np.cosh(t)
    np.testing.assert_allclose(mixture.crps([0.5]), trapezoid(square, t), rtol=1e-4)


@pytest.mark.parametrize(
    ("mixture", "y", "tolerance"),
    [
        (over_normal(lambda eta: Poisson(np.exp(eta)), [6.0], [0.5]), 500.0, 1e-8),
        (
            Mixture((Poisson(1.0), Poisson(5e3), NegativeBinomial(300.0, 4.0)), [0.3, 0.3, 0.4]),
            200.0,
            1e-8,
        ),
        (
            Mixture((BetaBinomial(5000, 0.3, 40.0), BetaBinomial(4000, 0.3, 400.0)), [0.3, 0.7]),
            1300.0,
            1e-5,
        ),
    ],
)
def test_crps_of_many_counts_is_their_sum(mixture, y, tolerance):
    counts = np.arange(40_000.0)[:, None]
    expected = np.sum((mixture.cdf(counts) - (counts >= y)) ** 2)
    assert mixture.crps([y])[0] == pytest.approx(expected, rel=tolerance)


@pytest.mark.parametrize("name", ["normal", "student", "gamma"])
def test_quantiles_of_numbers_solve_the_cdf(name):
    levels = np.array([1e-9, 1e-3, 0.3, 0.5, 0.99, 1 - 1e-9])
    mixture = MIXTURES[name]
    found = mixture.quantile(levels)
    np.testing.assert_allclose(mixture.cdf(found.T)[:, 0], levels, rtol=1e-12)


def test_tiny_quantiles_are_relative():
    mixture = Mixture((Gamma(1.0, 0.02), Gamma(1.0, 0.05)), [0.5, 0.5])
    at = mixture.quantile(1e-3)
    assert 0 < at[0] < 1e-50
    np.testing.assert_allclose(mixture.cdf(at), 1e-3, rtol=1e-10)


def test_a_median_between_separate_parts_lies_between():
    mixture = Mixture((Normal(0.0, 1e-3), Normal(1e6, 1e-3)), [0.5, 0.5])
    assert 0.0 < mixture.quantile(0.5)[0] < 1e6
    assert mixture.quantile(0.51)[0] == pytest.approx(1e6, rel=1e-6)


def test_densities_far_out_are_logarithms_of_sums():
    mixture = Mixture((Normal(0.0, 1.0), Normal(100.0, 1.0)), [0.25, 0.75])
    far = -1000.0
    assert mixture.log_prob([far])[0] == pytest.approx(np.log(0.25) + stats.norm.logpdf(far))


def test_parts_without_weight_do_not_count():
    mixture = Mixture((Normal([0.0, 0.0], 1.0), Student(0.0, 1.0, 0.5)), [1.0, 0.0])
    np.testing.assert_array_equal(mixture.mean, [0.0, 0.0])
    np.testing.assert_array_equal(mixture.variance, [1.0, 1.0])


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", [Student(0.0, 1.0, 1.02), Gamma(2.0, 0.3), Poisson(1e5)])
def test_equal_parts_disagree_about_nothing(part):
    twice = Mixture((part, part), [0.3, 0.7])
    np.testing.assert_allclose(twice.crps([1.5]), part.crps([1.5]), rtol=1e-12)


def test_nested_mixtures_are_opened():
    inner = Mixture((Normal([0.0, 1.0], 1.0), Normal(5.0, 2.0)), [[0.5, 0.5], [0.1, 0.9]])
    outer = Mixture((inner, Normal(9.0, 1.0)), [0.4, 0.6])
    flat = Mixture(
        (Normal([0.0, 1.0], 1.0), Normal(5.0, 2.0), Normal(9.0, 1.0)),
        [[0.2, 0.2, 0.6], [0.04, 0.36, 0.6]],
    )
    y = [3.0, 4.0]
    for method in ("cdf", "log_prob", "crps"):
        np.testing.assert_allclose(getattr(outer, method)(y), getattr(flat, method)(y), rtol=1e-12)
    np.testing.assert_allclose(outer.quantile(0.3), flat.quantile(0.3), rtol=1e-12)


def test_mixtures_of_chances_are_chances():
    two = Mixture((Bernoulli([0.1, 0.5]), Bernoulli(0.7)), [0.5, 0.5])
    np.testing.assert_allclose(two.collapsed().probability, [0.4, 0.6])
    np.testing.assert_allclose(two.brier([0, 0]), [0.16, 0.36])
    np.testing.assert_allclose(two.crps([0, 0]), [0.16, 0.36])
    classes = Mixture((Categorical([[1.0, 0.0]]), Categorical([[0.5, 0.5]])), [0.5, 0.5])
    np.testing.assert_allclose(classes.brier([0]), [0.25**2 * 2])
    np.testing.assert_allclose(classes.crps([0]), [0.25**2])
    with pytest.raises(DataError, match="no Brier"):
        MIXTURES["counts"].brier([1.0])


def test_a_normal_mean_of_normals_is_normal():
    mixed = over_normal(lambda eta: Normal(eta, 1.0), [0.5, 2.0], [0.3, 0.0])
    exact = Normal([0.5, 2.0], np.sqrt([1.3, 1.0]))
    y = [1.0, 1.0]
    np.testing.assert_allclose(mixed.cdf(y), exact.cdf(y), rtol=1e-10)
    np.testing.assert_allclose(mixed.crps(y), exact.crps(y), rtol=1e-8)
    np.testing.assert_allclose(mixed.interval(0.9), exact.interval(0.9), rtol=1e-8)


def test_known_predictors_collapse_exactly():
    eta = np.array([0.3, 4.0])
    mixed, exact = over_normal(lambda e: Poisson(np.exp(e)), eta, 0.0), Poisson(np.exp(eta))
    y = [2.0, 50.0]
    for method in ("cdf", "log_prob", "crps"):
        np.testing.assert_array_equal(getattr(mixed, method)(y), getattr(exact, method)(y))
    np.testing.assert_array_equal(mixed.quantile([0.1, 0.9]), exact.quantile([0.1, 0.9]))
    np.testing.assert_array_equal(mixed.mean, exact.mean)


def test_nodes_are_checked():
    for n_nodes, variance, words in ((4, 1.0, "n_nodes is 4"), (5, -1.0, "variance is -1.0")):
        with pytest.raises(DataError, match=words):
            over_normal(lambda eta: Normal(eta, 1.0), 0.0, variance, n_nodes)
