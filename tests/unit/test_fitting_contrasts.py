"""Contrasts against dense algebra: covariances as matrices, mixtures written out."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import norm

from driftglm.fitting.coefficients import ColumnSizes
from driftglm.fitting.contrasts import contrast_of
from driftglm.fitting.fits import Columns, InterceptFit, PosteriorFit, SharedFit
from driftglm.priors.chain import alpha_of_rho
from driftglm.priors.learned import intercept_components, intercept_log_weights
from driftglm.priors.mixture import Components

T, LATER, PATHS, FEATURES = 6, 3, 3, 5
ALWAYS_IN = np.array([False, True, False, False, True])  # the last one is static
ALL = T + LATER


# ------------------------------------------------------------------ a posterior, and it as matrices


def posterior(seed, *, directions=0, boundary="stationary"):
    """A fit whose numbers are drawn, not fitted."""
    rng = np.random.default_rng(seed)
    components = Components(
        static=np.array([0.0, 0.5, 0.0, 0.3, 0.2]),
        dynamic=np.array([0.0, 0.0, 0.4, 0.2, 0.7]),
        rho=np.array([0.0, 0.0, 0.5, 0.9, 0.9]),
        boundary=boundary,
        n_timesteps=T,
    )
    h = rng.gamma(2.0, 3.0, size=(PATHS + 3, T))
    h[0, 2] = h[PATHS, 4] = 0.0  # steps without data
    b = np.sqrt(h) * rng.normal(size=h.shape) + 0.5 * h
    nothing, scale = np.zeros((3, T)), rng.gamma(2.0, size=3)
    static = np.array([False, False, True])
    prior = scale, static, np.zeros_like(scale)
    intercepts = InterceptFit(nothing, nothing, nothing, h[PATHS:], b[PATHS:], *prior)
    shared = SharedFit(np.zeros(PATHS), np.zeros((PATHS, 0)))
    if directions:
        shared = SharedFit(rng.normal(size=PATHS), 0.3 * rng.normal(size=(PATHS, directions)))
    phi = rng.dirichlet(np.ones(components.count), size=PATHS)
    return PosteriorFit(
        columns=Columns(ALWAYS_IN, np.zeros((T, FEATURES)), True, 0.0),
        intercepts=intercepts,
        sizes=ColumnSizes(*np.ones((4, FEATURES)), 1.0),
        beta=np.zeros((PATHS, T)),
        shared=shared,
        variance=np.zeros((PATHS, T)),
        phi=phi,
        log_pi=np.zeros((1, components.count)),
        components=components,
        grid_positions=np.arange(components.count),
        unit=rng.gamma(5.0, 0.2, size=PATHS),
        h=h[:PATHS],
        b=b[:PATHS],
        offset=np.zeros(0),
    )


def chain(dynamic, rho, boundary, n):
    """The covariance of a chain."""
    if boundary == "stationary":
        return dynamic * rho ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    neighbours = np.eye(n, k=1) + np.eye(n, k=-1)
    return dynamic * np.linalg.inv(np.eye(n) + alpha_of_rho(rho) * neighbours)


def padded(values, n):
    return np.concatenate([values, np.zeros(n - T)])


def dense(fit, feature, n):
    """phi (K,), means (K, n) and covariances (K, n, n) of a feature's coefficients."""
    number = np.count_nonzero(ALWAYS_IN[:feature] == ALWAYS_IN[feature])
    if ALWAYS_IN[feature]:
        return dense_intercept(fit.intercepts, number + 1, n)
    h, b = padded(fit.h[number], n), padded(fit.b[number], n)
    found, parts = [], fit.components
    for static, dynamic, rho in zip(parts.static, parts.dynamic, parts.rho, strict=True):
        prior = static + chain(dynamic, rho, parts.boundary, n)
        found.append(np.linalg.solve(np.eye(n) + prior * h, prior))
    covariances = np.array(found)
    unit = fit.unit[number]
    return fit.phi[number], covariances @ b / unit, covariances / unit**2


def dense_intercept(intercepts, number, n):
    """The same of a feature that is always in; its constant part has no prior."""
    h, b = padded(intercepts.h[number], n), padded(intercepts.b[number], n)
    static = bool(intercepts.static[number])
    parts = intercept_components(intercepts.scale[number], n, static=static)
    covariances, evidence = [], []
    for dynamic, rho in zip(parts.dynamic, parts.rho, strict=True):
        prior = chain(dynamic, rho, "stationary", n)
        moves = np.linalg.solve(np.eye(n) + prior * h, prior)
        along = 1.0 - moves @ h
        information = h @ along
        covariances.append(moves + np.outer(along, along) / information)
        size = np.linalg.slogdet(np.eye(n) + prior * h)[1] + np.log(information)
        evidence.append(0.5 * (b @ covariances[-1] @ b - size))
    log_phi = np.array(evidence) + intercept_log_weights(parts.count)
    phi = np.exp(log_phi - log_phi.max())
    return phi / phi.sum(), np.array(covariances) @ b, np.array(covariances)


def mixture(fit, feature, weights):
    """phi, mean and variance of every component of one feature's contrast."""
    phi, means, covariances = dense(fit, feature, weights.size)
    return phi, means @ weights, np.einsum("s,kst,t->k", weights, covariances, weights)


def moments(phi, means, variances):
    mean = phi @ means
    return mean, phi @ (variances + means**2) - mean**2


def alone(feature, weights):
    """Weights (steps, features) of one feature."""
    out = np.zeros((len(weights), FEATURES))
    out[:, feature] = weights
    return out


@pytest.fixture(params=[0, 1])
def fit(request):
    """A posterior without shared directions."""
    return posterior(request.param)


# ----------------------------------------------------------------------------------- one feature


@pytest.mark.parametrize("n", [T, ALL])
@pytest.mark.parametrize("boundary", ["stationary", "pinned"])
@pytest.mark.parametrize("feature", range(FEATURES))
def test_moments_are_those_of_matrices(feature, boundary, n, rng):
    fit = posterior(3, boundary=boundary)
    weights = rng.normal(size=n)
    found = contrast_of(fit, alone(feature, weights), 0.9, hold=False)
    mean, variance = moments(*mixture(fit, feature, weights))
    assert_allclose([found.estimate, found.std], [mean, np.sqrt(variance)], rtol=1e-8)


@pytest.mark.parametrize("feature", [0, 1, 2])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_the_interval_has_quantiles_of_the_whole_mixture(feature, level, fit, rng):
    weights = rng.normal(size=T)
    found = contrast_of(fit, alone(feature, weights), level, hold=False)
    phi, means, variances = mixture(fit, feature, weights)
    zero = phi[variances == 0].sum()
    phi, means, scales = (each[variances > 0] for each in (phi, means, np.sqrt(variances)))

    def cdf(x):
        return phi @ norm.cdf(x, means, scales) + zero * (x >= 0)

    assert_allclose(found.probability_zero, zero, atol=1e-12)
    assert_allclose(found.probability_positive, 1.0 - cdf(0.0), atol=1e-9)
    for end, p in ((found.lower, (1 - level) / 2), (found.upper, (1 + level) / 2)):
        if end == 0:
            assert cdf(-1e-12) <= p <= cdf(0.0)
        else:
            assert_allclose(end, brentq(lambda x, p=p: cdf(x) - p, -9, 9, xtol=1e-13), atol=1e-8)


def test_a_difference_between_steps_has_the_quantiles_of_draws(rng):
    """200,000 paths from the mixture with its full covariance; a still path differs by zero."""
    fit, n_draws = posterior(5), 200_000
    phi, means, covariances = dense(fit, 0, ALL)
    counts = rng.multinomial(n_draws, phi)
    parts = zip(means, covariances, counts, strict=True)
    drawn = np.concatenate([rng.multivariate_normal(m, v, n, method="eigh") for m, v, n in parts])
    for last in (T - 1, T + 1):
        difference = drawn[:, last] - drawn[:, 1]
        difference[np.abs(difference) < 1e-6] = 0.0
        weights = np.zeros(ALL)
        weights[[last, 1]] = 1.0, -1.0
        found = contrast_of(fit, alone(0, weights), 0.9, hold=False)
        assert_allclose(found.probability_zero, phi[:2].sum(), atol=1e-12)
        share = np.mean(difference > 0)
        assert_allclose(found.probability_positive, share, atol=3 * 0.5 / np.sqrt(n_draws))
        assert_allclose(found.estimate, difference.mean(), atol=4 * found.std / np.sqrt(n_draws))
        assert_allclose(found.std, difference.std(), rtol=0.01)
        ends = np.mean(difference < found.lower), np.mean(difference > found.upper)
        assert_allclose(ends, 0.05, atol=4 * np.sqrt(0.05 * 0.95 / n_draws))


def test_weights_that_cancel_but_for_rounding_leave_no_change_of_a_still_path(fit):
    weights = np.zeros(T)
    weights[:3] = 0.1, 0.2, -0.3  # whose sum is 5e-17
    found = contrast_of(fit, alone(2, weights), 0.9, hold=False)
    assert_allclose(found.probability_zero, fit.phi[1, :2].sum(), atol=1e-12)


def test_the_contrast_of_a_static_feature_between_steps_is_zero_for_certain(fit):
    weights = np.zeros(ALL)
    weights[0], weights[-1] = -1.0, 1.0
    found = contrast_of(fit, alone(4, weights), 0.9, hold=False)
    numbers = found.estimate, found.std, found.lower, found.upper, found.probability_positive
    assert numbers == (0.0, 0.0, 0.0, 0.0, 0.0)
    assert found.probability_zero == 1.0
    assert found.distribution is None


def test_weights_of_nothing_give_zero(fit):
    found = contrast_of(fit, np.zeros((ALL, FEATURES)), 0.9, hold=False)
    assert (found.estimate, found.std, found.probability_zero) == (0.0, 0.0, 1.0)


def test_a_negative_multiple_turns_the_interval_round(fit, rng):
    weights = rng.normal(size=T)
    one = contrast_of(fit, alone(0, weights), 0.9, hold=False)
    other = contrast_of(fit, alone(0, -2.0 * weights), 0.9, hold=False)
    assert_allclose([other.estimate, other.std], [-2.0 * one.estimate, 2.0 * one.std], rtol=1e-9)
    assert_allclose([other.lower, other.upper], [-2.0 * one.upper, -2.0 * one.lower], rtol=1e-8)
    below = 1.0 - one.probability_positive - one.probability_zero
    assert_allclose(other.probability_positive, below, rtol=1e-9)


# ------------------------------------------------------------------------------- several features


def test_means_and_variances_of_features_add_up(fit, rng):
    weights = rng.normal(size=(ALL, FEATURES))
    found = contrast_of(fit, weights, 0.8, hold=False)
    each = [moments(*mixture(fit, i, weights[:, i])) for i in range(FEATURES)]
    mean, variance = np.sum(each, axis=0)
    assert_allclose([found.estimate, found.std], [mean, np.sqrt(variance)], rtol=1e-8)
    # What is always in is never zero, so that the whole is normal.
    reach = norm.ppf(0.9) * found.std
    assert_allclose([found.lower, found.upper], [mean - reach, mean + reach], rtol=1e-8)
    assert found.probability_zero == 0.0
    assert_allclose(found.probability_positive, norm.cdf(mean / found.std), rtol=1e-8)


def test_two_features_are_zero_if_both_are_and_the_moments_stay(fit):
    weights = alone(0, np.ones(T)) - alone(3, np.ones(T))
    found = contrast_of(fit, weights, 0.9, hold=False)
    zero = fit.phi[0, 0] * fit.phi[2, 0]
    assert_allclose(found.probability_zero, zero, rtol=1e-9)
    rest = found.distribution
    mean, square = (1 - zero) * rest.mean, (1 - zero) * (rest.variance + rest.mean**2)
    assert_allclose([mean[0], square[0]], [found.estimate, found.std**2 + mean[0] ** 2], rtol=1e-9)


def test_estimates_are_linear_in_the_weights(fit, rng):
    one, other = rng.normal(size=(2, ALL, FEATURES))
    estimates = [
        contrast_of(fit, w, 0.9, hold=False).estimate for w in (one, other, 2 * one - 3 * other)
    ]
    assert_allclose(estimates[2], 2 * estimates[0] - 3 * estimates[1], rtol=1e-9)


# ------------------------------------------------------------------------------ shared directions


@pytest.fixture
def sharing():
    """A posterior with two shared directions."""
    return posterior(8, directions=2)


def test_shared_directions_add_to_one_feature_and_leave_no_zero(sharing, rng):
    weights = rng.normal(size=T)
    found = contrast_of(sharing, alone(2, weights), 0.9, hold=False)
    phi, means, variances = mixture(sharing, 2, weights)
    total = weights.sum()
    means = means + total * sharing.shared.mean[1]
    variances = variances + total**2 * (sharing.shared.root[1] ** 2).sum()
    mean, variance = moments(phi, means, variances)
    assert_allclose([found.estimate, found.std], [mean, np.sqrt(variance)], rtol=1e-8)
    assert found.probability_zero == 0.0
    below = phi @ norm.cdf(found.lower, means, np.sqrt(variances))
    assert_allclose(below, 0.05, rtol=1e-8)


def test_what_features_share_is_added_before_it_is_squared(sharing, rng):
    weights = rng.normal(size=(T, FEATURES))
    found = contrast_of(sharing, weights, 0.9, hold=False)
    own = np.sum([moments(*mixture(sharing, i, weights[:, i])) for i in range(FEATURES)], axis=0)
    totals = weights.sum(axis=0)[~ALWAYS_IN]
    common = ((totals @ sharing.shared.root) ** 2).sum()
    assert_allclose(found.estimate, own[0] + totals @ sharing.shared.mean, rtol=1e-8)
    assert_allclose(found.std**2, own[1] + common, rtol=1e-8)


def test_shared_directions_do_not_change_between_steps(sharing):
    weights = np.zeros(T)
    weights[0], weights[-1] = -1.0, 1.0
    found = contrast_of(sharing, alone(2, weights), 0.9, hold=False)
    nothing = SharedFit(np.zeros(PATHS), np.zeros((PATHS, 0)))
    without = dataclasses.replace(sharing, shared=nothing)
    assert found == contrast_of(without, alone(2, weights), 0.9, hold=False)


def test_two_features_that_share_directions_are_never_exactly_zero(sharing):
    weights = alone(0, np.ones(T)) - alone(3, np.ones(T))
    assert contrast_of(sharing, weights, 0.9, hold=False).probability_zero == 0.0


def test_weights_that_cancel_but_for_rounding_leave_nothing_of_what_is_shared(sharing):
    weights = np.zeros(T)
    weights[:3] = 0.1, 0.2, -0.3  # whose sum is 5e-17
    found = contrast_of(sharing, alone(2, weights), 0.9, hold=False)
    assert_allclose(found.probability_zero, sharing.phi[1, :2].sum(), atol=1e-12)


# ----------------------------------------------------------------------------------- held


def test_held_coefficients_have_the_last_estimate_and_add_the_distance(fit):
    ahead, last = np.zeros((2, ALL))
    ahead[T + 1], last[T - 1] = 1.0, 1.0
    forecast = contrast_of(fit, alone(0, ahead), 0.9, hold=False)
    now = contrast_of(fit, alone(0, last), 0.9, hold=True)
    held = contrast_of(fit, alone(0, ahead), 0.9, hold=True)
    assert now == contrast_of(fit, alone(0, last), 0.9, hold=False)
    assert_allclose(held.estimate, now.estimate, rtol=1e-9)
    distance = forecast.estimate - now.estimate
    assert abs(distance) > 1e-3
    assert_allclose(held.std**2, forecast.std**2 + distance**2, rtol=1e-9)


def test_held_coefficients_do_not_differ_from_the_last_but_may(fit):
    weights = np.zeros(ALL)
    weights[T], weights[T - 1] = 1.0, -1.0
    found = contrast_of(fit, alone(0, weights), 0.9, hold=True)
    mean, variance = moments(*mixture(fit, 0, weights))
    assert_allclose(found.estimate, 0.0, atol=1e-12)
    assert_allclose(found.std**2, variance + mean**2, rtol=1e-8)
    assert_allclose(found.probability_zero, fit.phi[0, :2].sum(), rtol=1e-9)


def test_distances_of_held_features_are_squared_one_by_one(fit):
    weights = np.zeros((ALL, FEATURES))
    weights[T, [0, 1]] = 1.0, -1.0
    found = contrast_of(fit, weights, 0.9, hold=True)
    parts = [contrast_of(fit, alone(i, weights[:, i]), 0.9, hold=True) for i in (0, 1)]
    assert_allclose(found.estimate, sum(part.estimate for part in parts), rtol=1e-9)
    assert_allclose(found.std**2, sum(part.std**2 for part in parts), rtol=1e-9)


def test_a_probability_of_zero_that_leaves_no_variance_is_dropped():
    """Far from zero in the last step, back at it in the forecast, and probably zero throughout."""
    fit = posterior(0)
    phi = np.tile([0.9, 0.0, 0.1, 0.0, 0.0], (PATHS, 1))
    b = fit.h * 3.0
    h, b = 1e4 * fit.h, 1e4 * b
    sure = dataclasses.replace(fit, phi=phi, h=h, b=b)
    weights = np.zeros(T + 9)
    weights[-1] = 1.0
    found = contrast_of(sure, alone(2, weights), 0.9, hold=True)
    assert found.probability_zero == 0.0
    assert_allclose(found.distribution.std, found.std, rtol=1e-9)
