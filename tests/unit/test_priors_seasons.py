"""Paths with a drift and a season, against dense Gaussian algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from driftglm.priors import Learned, mixture, seasons
from driftglm.priors.averaging import AveragedPath, SeasonalPath
from driftglm.priors.mixture import chain_transitions
from driftglm.priors.season_path import season_evidence, smooth_season_inplace
from driftglm.priors.seasonal_grid import seasonal_components, seasonal_intercept
from driftglm.priors.seasons import UNASKED, SeasonalComponents

LAWS = [(1.3, 0.9, 0.7, 1.0), (0.2, 0.5, 2.0, 0.8), (0.0, 0.0, 1.0, 1.0), (2.0, 0.98, 0.1, 0.0)]
SIZES = [(30, 12), (9, 4), (25, 12), (5, 7)]
FLAT = 1e7


def drift_and_season(n_steps, law, cycle):
    """Dense covariances of the two parts."""
    dynamic, rho, variance, recurrence = law
    apart = np.abs(np.subtract.outer(np.arange(n_steps), np.arange(n_steps)))
    season = np.where(apart % cycle == 0, variance * recurrence ** (apart // cycle), 0.0)
    return dynamic * rho**apart, season


def likelihood(rng, n_steps):
    """Curvature and linear term; some steps are empty, some say ten times as much."""
    h = rng.gamma(1.0, 1.0, n_steps) * rng.choice([0.0, 1.0, 10.0], n_steps)
    return h, 3.0 * rng.normal(size=n_steps) * np.sqrt(h)


def dense_posterior(prior, h, b):
    """Log evidence, mean and covariance of a path with covariance `prior`."""
    inner = np.eye(len(h)) + np.diag(h) @ prior
    covariance = prior - prior @ np.linalg.solve(inner, np.diag(h) @ prior)
    mean = covariance @ b
    return 0.5 * (b @ mean - np.linalg.slogdet(inner)[1]), mean, covariance


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n_steps", "cycle"), SIZES)
def test_filter_and_smoother_of_a_pair_are_exact(rng, law, n_steps, cycle):
    h, b = likelihood(rng, n_steps)
    drift, season = drift_and_season(n_steps, law, cycle)
    evidence, _, posterior = dense_posterior(drift + season, h, b)
    chain = chain_transitions(law[0], law[1], n_steps, "stationary")
    found = season_evidence(h, b, chain, (*law[2:], cycle))
    w = 1.0 - posterior @ h
    assert_allclose(found[0] - found[1], 2 * evidence, atol=1e-9)
    assert_allclose(found[2:], [h @ w, w @ b], atol=1e-9)
    out = np.empty((6, n_steps))
    smooth_season_inplace(h, b, chain, (*law[2:], cycle), out)
    inner = np.eye(n_steps) + np.diag(h) @ (drift + season)
    to_path = season - season @ np.linalg.solve(inner, np.diag(h) @ (drift + season))
    alone = season - season @ np.linalg.solve(inner, np.diag(h) @ season)
    whole = [posterior @ b, posterior @ h, np.diag(posterior)]
    expected = [*whole, to_path @ b, to_path @ h, np.diag(alone)]
    assert_allclose(out, expected, atol=1e-10)
    brief = np.empty((3, n_steps))
    smooth_season_inplace(h, b, chain, (*law[2:], cycle), brief)
    assert_array_equal(brief, out[:3])


def components_of(n_steps=19, cycle=4, boundary="stationary"):
    plain = Learned(n_scales=4, boundary=boundary).components(2.0, 100.0, n_steps)
    return seasonal_components(Learned(n_scales=4), plain, (2.0, 100.0), cycle)


def dense_mixture(components, log_pi, h, b):
    """Probabilities, moments and those of the season, and sum phi (log phi + KL)."""
    n_steps, found = components.n_timesteps, []
    for k in range(components.count):
        parts = [
            getattr(components, name)[k] for name in ("dynamic", "rho", "seasonal", "recurrence")
        ]
        drift, season = drift_and_season(n_steps, parts, components.cycle)
        static = FLAT if np.isinf(components.static[k]) else components.static[k]
        found.append(
            (*dense_posterior(static + drift + season, h, b), static + drift + season, season)
        )
    score = log_pi + [each[0] for each in found]
    phi = np.exp(score - logsumexp(score))
    first = sum(p * mean for p, (_, mean, *_) in zip(phi, found, strict=True))
    pairs = zip(phi, found, strict=True)
    second = sum(p * (np.diag(v) + mean**2) for p, (_, mean, v, *_) in pairs)
    seasons_first = np.zeros(n_steps)
    for p, (_, _, _, prior, season) in zip(phi, found, strict=True):
        seasons_first += p * season @ np.linalg.solve(np.eye(n_steps) + np.diag(h) @ prior, b)
    value = logsumexp(score)  # the bound at its maximum: E[log likelihood] - divergence
    divergence = b @ first - 0.5 * h @ second - value + phi @ log_pi
    return phi, first, second - first**2, seasons_first, divergence


@pytest.mark.parametrize("cycle", [4, 12])
def test_the_joint_update_of_drift_season_and_constant_is_exact(rng, cycle):
    components = components_of(cycle=cycle)
    h, b = likelihood(rng, components.n_timesteps)
    log_pi = np.log(rng.dirichlet(np.ones(components.count)))
    phi, mean, variance, season, divergence = dense_mixture(components, log_pi, h, b)
    tables, count = components.season_tables(), components.count
    evidence, parts, new = np.empty(count), np.empty((3, count)), np.zeros(count)
    new[-1] = 1.0  # it holds a pair that drifts: all are looked at
    out = np.empty((4, components.n_timesteps))
    found = seasons.posterior_inplace(h, b, (tables, log_pi), (evidence, parts, new), out)
    assert_allclose(new, phi, atol=1e-8)
    assert_allclose(out[:2], [mean, variance], atol=1e-8)
    assert_allclose(out[2], season, atol=1e-8)
    assert_allclose(found, divergence, atol=1e-8)


def test_pinned_chains_go_with_seasons_too(rng):
    """The drift of a pair has the boundary of the prior: against the plain components of it."""
    components = components_of(boundary="pinned")
    h, b = likelihood(rng, components.n_timesteps)
    chosen = np.flatnonzero(components.is_seasonal & (components.dynamic > 0))[0]
    without = np.flatnonzero(~components.is_seasonal & (components.dynamic > 0))[:1]
    tiny = components.take(np.array([0, chosen]))
    object.__setattr__(tiny, "seasonal", np.array([0.0, 1e-13]))
    for name in ("static", "dynamic", "rho"):
        object.__setattr__(tiny, name, np.array([0.0, getattr(components, name)[without[0]]]))
    evidence, parts = np.empty(2), np.empty((3, 2))
    every = np.ones(1, dtype=bool)
    seasons.log_evidences_inplace(h, b, tiny.season_tables(), every, (evidence, parts))
    plain, own = components.take(without), np.empty(1)
    tables = mixture.Components(
        plain.static, plain.dynamic, plain.rho, "pinned", plain.n_timesteps
    ).tables()
    mixture.log_evidences_inplace(h, b, tables, own, np.empty((3, 1)))
    assert_allclose(evidence[1], own[0], rtol=1e-8)


def test_without_weight_for_seasons_nothing_differs_from_the_mixture(rng):
    components = components_of()
    n_plain = int((~components.is_seasonal).sum())
    h, b = likelihood(rng, components.n_timesteps)
    log_pi = np.where(components.is_seasonal, -np.inf, -np.log(n_plain))
    plain = components.take(~components.is_seasonal)
    expected = AveragedPath(plain, log_pi[:n_plain]).posterior(h, b)
    found = SeasonalPath(components, np.where(np.isinf(log_pi), -1e4, log_pi)).posterior(h, b)
    assert_array_equal(found.phi[:n_plain], expected.phi)
    assert_allclose(found.mean, expected.mean, rtol=1e-13)
    assert_allclose(found.variance, expected.variance, rtol=1e-9)


def test_pairs_that_drift_are_left_alone_where_a_path_is_all_but_zero(rng):
    components = components_of()
    h = np.ones(components.n_timesteps)
    b = 1e-3 * rng.normal(size=h.size)
    tables, count = components.season_tables(), components.count
    log_pi = np.log(np.where(components.is_zero, 0.99, 0.01 / (count - 1)))
    evidence, parts, phi = np.empty(count), np.empty((3, count)), np.zeros(count)
    phi[0] = 1.0
    out = np.empty((2, h.size))
    seasons.posterior_inplace(h, b, (tables, log_pi), (evidence, parts, phi), out)
    slow = components.is_seasonal & (components.dynamic > 0)
    assert (evidence[slow] == UNASKED).all()
    assert (evidence[~slow] > UNASKED).all()
    phi[:] = components.is_zero
    thrifty = components.season_tables(thrifty=True)
    seasons.posterior_inplace(h, b, (thrifty, log_pi), (evidence, parts, phi), out)
    assert (evidence[components.is_seasonal] == UNASKED).all()


def test_a_season_is_forecast_in_the_middle_of_its_chain():
    """An exact season comes again, one cycle ahead and two; an empty phase is not known."""
    cycle, n_steps = 4, 12
    season = np.array([1.0, -2.0, 0.5, 0.5])
    h = np.full(n_steps, 1e6)
    h[[3, 7, 11]] = 0.0
    b = h * season[np.arange(n_steps) % cycle]
    components = SeasonalComponents.of(
        Learned(n_scales=2).components(1.0, 100.0, n_steps).take([0]),
        [(0.0, 0.0, 0.0)],
        [(1.0, 1.0)],
        cycle,
    )
    longer = components.extended(9)
    out = np.empty((1, 4, n_steps + 9))
    phi = np.array([[0.0, 1.0]])
    seasons.steps_inplace(h[None], b[None], phi, longer.season_tables(), out)
    known = np.array([0, 1, 2, 4, 5, 6, 8])
    assert_allclose(out[0, 0, n_steps + known], season[known % cycle], atol=1e-5)
    assert_allclose(out[0, :2, n_steps + 3], [0.0, 1.0], atol=1e-12)
    assert_allclose(out[0, 2], out[0, 0], atol=1e-12)


def test_an_intercept_with_a_season_is_exact(rng):
    """Against dense algebra with a constant part of a very large variance."""
    components, log_weights = seasonal_intercept(1.5, 14, 4)
    assert_allclose(np.exp(log_weights).sum(), 1.0)
    assert_allclose(np.exp(log_weights[components.is_seasonal]).sum(), 0.5)
    h, b = likelihood(rng, 14)
    found = SeasonalPath(components, log_weights).season(h, b)
    whole = SeasonalPath(components, log_weights).posterior(h, b)
    phi, mean, variance, season, _ = dense_mixture(components, log_weights, h, b)
    assert_allclose(whole.phi, phi, atol=1e-5)
    assert_allclose(whole.mean, mean, atol=1e-4)
    assert_allclose(whole.variance, variance, atol=1e-4)
    assert_allclose(found.mean, season, atol=1e-4)


def test_a_prior_of_other_correlations_has_pairs_that_drift_too():
    prior = Learned(correlations=(0.3, 0.6))
    plain = prior.components(2.0, 100.0, 30)
    found = seasonal_components(prior, plain, (2.0, 100.0), 4)
    assert set(found.rho[found.is_seasonal & (found.dynamic > 0)]) == {0.6}


def test_the_grid_of_seasons_has_a_spike_at_none():
    components = components_of()
    assert components.is_zero.sum() == 1
    assert components.is_zero[0]
    assert not (components.is_static & components.is_seasonal).any()
    still = components.is_seasonal & (components.dynamic == 0)
    assert (components.static[still] == 0).any()
    assert (components.static[still] > 0).any()
    assert set(components.recurrence[components.is_seasonal]) == {1.0, 0.8}
    assert_allclose(components.variances[still], (components.static + components.seasonal)[still])
