"""The ELBO against its definition, E_q[log p(y, paths)] - E_q[log q], computed with dense numpy.

Nothing of the library's formulas is used on the other side: a component is a factor F (path = F z,
z independent standard normal), its posterior a dense Gaussian in z, and the divergence is the
difference of two expectations. A flat intercept has the density 1/sqrt(2 pi): the convention that
leaves the constant log(static) out.
"""

import dataclasses
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.design import ColumnDesign
from driftglm.exceptions import DataError
from driftglm.families import Gaussian
from driftglm.objective import Bound, Intercepts, Noise
from driftglm.priors import Learned
from driftglm.priors.learned import intercept_components, intercept_log_weights
from driftglm.solvers import CAVISolver
from driftglm.solvers.intercepts import average_intercepts

SMALL = Learned(shares=(0.0, 0.5, 1.0), correlations=(0.3, 0.8), n_scales=3)


@dataclasses.dataclass
class Data:
    """Rows sorted by step; the columns as the bound sees them."""

    X: np.ndarray
    y: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    intercepts: np.ndarray
    intercept_static: np.ndarray
    static: np.ndarray


def make_data(rng, n_features=3, n_timesteps=3, rows=7, *, intercepts=True):
    """Three paths, the last static, an intercept and a column that is always in."""
    codes = np.repeat(np.arange(n_timesteps), rows)
    X = rng.normal(size=(codes.size, n_features)) * 10.0 ** np.arange(n_features)
    X[:, 0] += 0.5 * rng.normal(size=codes.size)
    always_in = 0.3 * rng.normal(size=codes.size)
    y = 4.0 * X[:, 0] * (codes - 1.0) + 2.0 + codes + always_in + 0.5 * rng.normal(size=codes.size)
    columns = np.vstack([np.ones(codes.size), always_in])
    return Data(
        X=X,
        y=y,
        codes=codes,
        weights=rng.uniform(0.3, 2.5, codes.size),
        intercepts=columns if intercepts else np.empty((0, codes.size)),
        intercept_static=np.array([False, True]) if intercepts else np.zeros(0, bool),
        static=np.arange(n_features) == 2,
    )


def make_bound(data, prior=SMALL, noise=None, *, centered=True):
    n_timesteps = int(data.codes.max()) + 1
    design, order = ColumnDesign.from_matrix(data.X, data.codes, n_timesteps)
    assert_array_equal(order, np.arange(data.y.size))
    if centered:
        design = design.centered(data.weights)
    square = (
        np.average(data.intercepts**2, axis=1, weights=data.weights)
        if data.intercepts.size
        else 1.0
    )
    reference = float(np.average(data.y**2, weights=data.weights))
    return Bound(
        design=design,
        family=Gaussian(),
        intercepts=Intercepts(
            data.intercepts,
            data.intercept_static,
            np.broadcast_to(reference / square, len(data.intercepts)),
        ),
        noise=Noise(given=noise, reference=reference),
        y=data.y,
        weights=data.weights,
        offset=np.zeros(data.y.size),
        reference=reference,
        effective_rows=float(data.weights.sum()),
        static=data.static,
        prior=prior,
        unit=design.units(data.weights),
    )


# ------------------------------------------------------------------------------- the dense side


def factor_of(component, n):
    """F and the prior precision of z: path = F z; a flat part has precision 0."""
    static, dynamic, rho = component
    columns, precision = [np.zeros((n, 0))], []
    if dynamic > 0:
        steps = np.arange(n)
        columns.append(np.linalg.cholesky(dynamic * rho ** np.abs(steps[:, None] - steps)))
        precision += [1.0] * n
    if static > 0:
        flat = np.isinf(static)
        columns.append(np.full((n, 1), 1.0 if flat else np.sqrt(static)))
        precision.append(0.0 if flat else 1.0)
    return np.hstack(columns), np.array(precision)


def expected_log_ratio(component, h, b):
    """E_q[log q(z) - log p(z)], and mean and covariance of the path, for q prop. to p * likelihood.

    E_q[log q] is minus a Gaussian entropy, E_q[log p] a quadratic: no identity of posteriors.
    """
    factor, precision = factor_of(component, h.size)
    r = precision.size
    cov = np.linalg.inv(factor.T @ np.diag(h) @ factor + np.diag(precision))
    mean = cov @ factor.T @ b
    log_q = -0.5 * (r * np.log(2 * np.pi) + r + np.linalg.slogdet(cov)[1])
    log_p = -0.5 * (r * np.log(2 * np.pi) + precision @ (np.diag(cov) + mean**2))
    return log_q - log_p, factor @ mean, factor @ cov @ factor.T


def mixture(components, log_pi, phi, h, b):
    """E_q[log q - log p] of path and component, mean and variance of the path."""
    total, mean, square = 0.0, np.zeros(h.size), np.zeros(h.size)
    for component, log_weight, p in zip(components, log_pi, phi, strict=True):
        if p == 0:
            continue
        ratio, m, cov = expected_log_ratio(component, h, b)
        total += p * (np.log(p) - log_weight + ratio)
        mean += p * m
        square += p * (np.diag(cov) + m**2)
    return total, mean, square - mean**2


def components_of(components):
    return list(zip(components.static, components.dynamic, components.rho, strict=True))


def steps_sum(codes, rows):
    return np.bincount(codes, rows, int(codes.max()) + 1)


def dense_elbo(bound, data, posterior):
    """The ELBO of a posterior whose intercepts were updated last; it computes these itself."""
    codes, w, noise = data.codes, data.weights, posterior.noise[0]
    center = np.average(data.X, axis=0, weights=w)
    scaled = (data.X - center) / bound.unit
    ratio = 0.0
    mean_eta, var_eta = np.zeros(data.y.size), np.zeros(data.y.size)
    components = components_of(posterior.components)
    for i in range(scaled.shape[1]):
        h = posterior.curvature[i]
        log_pi = posterior.log_pi[int(data.static[i])]
        part, mean, var = mixture(components, log_pi, posterior.phi[i], h, posterior.linear[i])
        ratio += part
        mean_eta += scaled[:, i] * mean[codes]
        var_eta += scaled[:, i] ** 2 * var[codes]
    for j, z in enumerate(data.intercepts):
        # q of an intercept is the exact maximiser given earlier ones new and later ones old
        others = mean_eta + sum(
            data.intercepts[k] * posterior.intercept_mean[k][codes]
            for k in range(j + 1, len(data.intercepts))
        )
        h = steps_sum(codes, w * z**2) / noise
        b = steps_sum(codes, w * z * (data.y - others)) / noise
        components = intercept_components(
            float(bound.intercepts.scale[j]), h.size, static=bool(data.intercept_static[j])
        )
        log_pi = intercept_log_weights(components.count)
        evidence = []
        for component in components_of(components):
            factor, precision = factor_of(component, h.size)
            inner = factor.T @ np.diag(h) @ factor + np.diag(precision)
            linear = factor.T @ b
            evidence.append(
                0.5 * (linear @ np.linalg.solve(inner, linear) - np.linalg.slogdet(inner)[1])
            )
        score = np.array(evidence) + log_pi
        phi = np.exp(score - score.max())
        phi = np.where(phi > 1e-10 * phi.sum(), phi, 0.0)
        phi /= phi.sum()
        part, mean, var = mixture(components_of(components), log_pi, phi, h, b)
        ratio += part
        mean_eta = mean_eta + z * mean[codes]
        var_eta = var_eta + z**2 * var[codes]
    squares = w @ ((data.y - mean_eta) ** 2 + var_eta)
    likelihood = -0.5 * w.sum() * np.log(2 * np.pi * noise) - 0.5 * squares / noise
    prior = 0.0
    if bound.noise.given is None:
        nu, s0 = bound.noise.degrees, bound.noise.reference
        prior = -(nu / 2 + 1) * np.log(noise) - nu * s0 / (2 * noise)
    return likelihood - ratio + prior + prior_of_weights(bound, posterior), mean_eta


def prior_of_weights(bound, posterior):
    """Three nonzero features, two of them constant where components may drift, and three zeros."""
    total = 0.0
    components = posterior.components
    for g, static in enumerate((False, True)[: bound.n_groups]):
        constant = components.is_static & ~components.is_zero
        kinds = [constant] if static else [constant, ~components.is_static]
        pairs = [(kind, n) for kind, n in zip(kinds, (2, 1), strict=False) if kind.any()]
        found = [(posterior.log_pi[g, kind].mean(), n) for kind, n in pairs]
        means, counts = zip(*found, strict=True)
        total += bound.prior.prior_count * np.average(means, weights=counts)
        total += bound.prior.prior_count * posterior.log_pi[g, components.is_zero].sum()
    return total


def after_an_intercept_step(bound, data, posterior):
    """The posterior with its intercepts just updated, eta in step with them."""
    before = posterior.copy()
    score = bound.score(posterior)
    average_intercepts(bound, posterior, score, bound.weights)
    for j, z in enumerate(data.intercepts):
        change = posterior.intercept_mean[j] - before.intercept_mean[j]
        posterior.eta = posterior.eta + z * change[data.codes]
    return before, posterior


@pytest.mark.parametrize("noise", [None, 0.3])
@pytest.mark.parametrize("n_passes", [1, 2, 7])
def test_value_is_the_definition_of_the_elbo(n_passes, noise, rng):
    data = make_data(rng)
    bound = make_bound(data, noise=noise)
    result = CAVISolver().solve(bound, bound.start_posterior(), max_iter=n_passes, tol=1e-12)
    assert_allclose(bound.value(result.state), result.history[-1], rtol=1e-13)
    # The intercepts' h and b are not stored, so both sides take one more step of the intercepts.
    before, after = after_an_intercept_step(bound, data, result.state)
    expected, mean_eta = dense_elbo(bound, data, before)
    assert_allclose(after.eta, mean_eta, rtol=1e-9, atol=1e-9)
    assert_allclose(bound.value(after), expected, rtol=1e-9)
    assert bound.value(after) >= result.history[-1] - 1e-9


def test_the_static_feature_and_the_static_intercept_do_not_move(rng):
    data = make_data(rng)
    bound = make_bound(data)
    state = CAVISolver().solve(bound, bound.start_posterior(), max_iter=20, tol=1e-9).state
    assert np.ptp(state.beta[2]) <= 1e-12 * np.abs(state.beta).max()
    assert np.ptp(state.intercept_mean[1]) <= 1e-12
    assert np.ptp(state.beta[0]) > 0.1
    assert np.ptp(state.intercept_mean[0]) > 0.1


def test_every_term_of_the_value_counts(rng):
    """A change of phi, divergence, variance, weights or noise must change the value as written."""
    data = make_data(rng)
    bound = make_bound(data)
    state = CAVISolver().solve(bound, bound.start_posterior(), max_iter=3, tol=1e-12).state
    value = bound.value(state)
    other = state.copy()
    other.divergence = other.divergence + 1.0
    assert_allclose(value - bound.value(other), 3.0, rtol=1e-9)
    other = state.copy()
    other.intercept_divergence = other.intercept_divergence + 1.0
    assert_allclose(value - bound.value(other), 2.0, rtol=1e-9)
    other = state.copy()
    other.variance = other.variance.copy()
    other.variance[1, 2] += 0.5
    square = (data.weights * (data.X[:, 1] - bound.design.mean[1, 2]) ** 2)[data.codes == 2].sum()
    assert_allclose(value - bound.value(other), 0.25 * square / state.noise[0], rtol=1e-9)
    other = state.copy()
    other.log_pi = other.log_pi - 2.0
    # Three features, and in the prior of each of the two groups six more.
    assert_allclose(value - bound.value(other), 2.0 * (3 + 2 * 6), rtol=1e-6)
    other = state.copy()
    other.intercept_variance = other.intercept_variance.copy()
    other.intercept_variance[0, 1] += 0.5
    square = data.weights[data.codes == 1].sum()
    assert_allclose(value - bound.value(other), 0.25 * square / state.noise[0], rtol=1e-9)


def test_the_noise_step_maximises_the_bound(rng):
    data = make_data(rng)
    bound = make_bound(data)
    state = CAVISolver().solve(bound, bound.start_posterior(), max_iter=4, tol=1e-12).state
    bound.update_noise(state)
    best = bound.value(state)
    for factor in (0.9, 0.99, 1.01, 1.1):
        other = state.copy()
        other.noise = factor * state.noise
        assert bound.value(other) < best


# --------------------------------------------------------------------- the exact log evidence


def exact_log_evidence(bound, data, noise, pi):
    """log sum over combinations of components of pi * p(y | combination), intercepts included."""
    n = int(data.codes.max()) + 1
    steps = (data.codes[:, None] == np.arange(n)).astype(float)
    center = np.average(data.X, axis=0, weights=data.weights) if len(data.intercepts) else 0.0
    scaled = (data.X - center) / bound.unit
    choices = [
        list(zip(components_of(bound.components()), np.log(pi), strict=True))
    ] * scaled.shape[1]
    for j in range(len(data.intercepts)):
        components = intercept_components(
            float(bound.intercepts.scale[j]), n, static=data.intercept_static[j]
        )
        choices.append(
            list(
                zip(components_of(components), intercept_log_weights(components.count), strict=True)
            )
        )
    columns = [*scaled.T, *data.intercepts]
    w = data.weights
    base = -0.5 * w.sum() * np.log(2 * np.pi * noise) - 0.5 * w @ data.y**2 / noise
    terms = []
    for combination in itertools.product(*choices):
        wide, precision, log_weight = [], [], 0.0
        for column, (component, weight) in zip(columns, combination, strict=True):
            factor, part = factor_of(component, n)
            wide.append(column[:, None] * (steps @ factor))
            precision.append(part)
            log_weight += weight
        wide, precision = np.hstack(wide), np.concatenate(precision)
        inner = wide.T @ (w[:, None] * wide) / noise + np.diag(precision)
        linear = wide.T @ (w * data.y) / noise
        quadratic = linear @ np.linalg.solve(inner, linear) if precision.size else 0.0
        logdet = np.linalg.slogdet(inner)[1] if precision.size else 0.0
        terms.append(log_weight + base + 0.5 * (quadratic - logdet))
    return float(np.logaddexp.reduce(terms))


def with_weights(prior, bound, rng):
    """The same grid with fixed random weights."""
    pi = rng.dirichlet(np.ones(bound.components().count))
    return dataclasses.replace(prior, weights=tuple(pi)), pi


@pytest.mark.parametrize("static", [False, True])
def test_one_feature_and_no_intercept_reach_the_exact_evidence(static, rng):
    for _ in range(3):
        data = make_data(rng, n_features=1, intercepts=False)
        data.static = np.array([static])
        prior, pi = with_weights(SMALL, make_bound(data, centered=False), rng)
        bound = make_bound(data, prior, noise=0.6, centered=False)
        if static:
            pi = np.where(bound.components().is_static, pi, 0.0)
            pi /= pi.sum()
        result = CAVISolver().solve(bound, bound.start_posterior(), max_iter=3, tol=0.0)
        with np.errstate(divide="ignore"):
            exact = exact_log_evidence(bound, data, 0.6, pi)
        assert_allclose(result.history, exact, rtol=1e-9)


def test_one_feature_and_an_intercept_stay_below_the_exact_evidence(rng):
    for _ in range(3):
        data = make_data(rng, n_features=1)
        data.static = np.array([False])
        data.intercepts, data.intercept_static = data.intercepts[:1], data.intercept_static[:1]
        prior, pi = with_weights(SMALL, make_bound(data), rng)
        bound = make_bound(data, prior, noise=0.6)
        result = CAVISolver().solve(bound, bound.start_posterior(), max_iter=50, tol=1e-12)
        exact = exact_log_evidence(bound, data, 0.6, pi)
        # Factorising intercept and path costs something, but here less than a nat.
        assert exact - 1.0 < result.history[-1] < exact + 1e-9


def test_correlated_features_cost_the_bound_and_orthogonal_ones_do_not(rng):
    data = make_data(rng, n_features=2, intercepts=False)
    data.static = np.zeros(2, bool)
    data.X[:, 1] = 0.7 * data.X[:, 0] + 0.4 * data.X[:, 1]
    gaps = []
    for orthogonal in (False, True):
        if orthogonal:
            for t in range(3):
                rows = data.codes == t
                root = np.sqrt(data.weights[rows])[:, None]
                data.X[rows] = np.linalg.qr(root * data.X[rows])[0] * (1 + t) / root
        prior, pi = with_weights(SMALL, make_bound(data, centered=False), rng)
        bound = make_bound(data, prior, noise=0.6, centered=False)
        result = CAVISolver().solve(bound, bound.start_posterior(), max_iter=200, tol=1e-13)
        gaps.append(exact_log_evidence(bound, data, 0.6, pi) - result.history[-1])
    assert gaps[0] > 1e-3
    assert_allclose(gaps[1], 0.0, atol=1e-8)


# --------------------------------------------------------------------------------- groups, starts


def test_static_features_form_a_group_of_their_own_and_share_no_weights(rng):
    data = make_data(rng)
    bound = make_bound(data)
    assert bound.n_groups == 2
    assert_array_equal(bound.groups, [0, 0, 1])
    start = bound.start_posterior()
    moving = ~start.components.is_static
    assert np.isneginf(start.log_pi[1, moving]).all()
    assert_allclose(np.exp(start.log_pi).sum(axis=1), 1.0, rtol=1e-12)
    state = CAVISolver().solve(bound, start, max_iter=5, tol=1e-9).state
    counts = bound.counts(state)
    assert_allclose(counts.sum(axis=1), [2.0, 1.0], rtol=1e-9)
    assert_allclose(counts[1], state.phi[2], rtol=1e-12)


def test_without_static_features_there_is_one_group(rng):
    data = make_data(rng)
    data.static[:] = False
    assert make_bound(data).n_groups == 1


@pytest.mark.parametrize("how", ["shares", "weights"])
def test_static_features_need_a_constant_component(how, rng):
    data = make_data(rng)
    prior = Learned(shares=(0.0, 0.5), n_scales=2)
    if how == "weights":
        prior = SMALL
        components = make_bound(data).components()
        weights = np.where(components.is_static & ~components.is_zero, 0.0, 1.0)
        prior = dataclasses.replace(SMALL, weights=tuple(weights))
    with pytest.raises(DataError, match="constant over time"):
        make_bound(data, prior).start_posterior()


def test_weights_may_leave_out_zero_and_constant_components(rng):
    data = make_data(rng)
    data.static[:] = False
    components = make_bound(data).components()
    prior = dataclasses.replace(SMALL, weights=tuple(np.where(components.is_static, 0.0, 1.0)))
    bound = make_bound(data, prior)
    result = CAVISolver().solve(bound, bound.start_posterior(), max_iter=5, tol=1e-9)
    assert np.isfinite(result.history).all()
    assert_array_equal(result.state.inclusion, 1.0)


def test_the_grid_follows_the_data(rng):
    """Twice y: four times every variance; twice a column: nothing, since units follow it."""
    data = make_data(rng)
    grid = make_bound(data).components()
    twice = make_bound(dataclasses.replace(data, y=2 * data.y)).components()
    assert_allclose(twice.dynamic, 4 * grid.dynamic, rtol=1e-12)
    assert_allclose(twice.static, 4 * grid.static, rtol=1e-12)
    wide = make_bound(dataclasses.replace(data, X=data.X * [1.0, 2.0, 1e6])).components()
    assert_allclose(wide.dynamic, grid.dynamic, rtol=1e-9)


def test_a_warm_start_takes_paths_and_noise_and_revives_every_component(rng):
    data = make_data(rng)
    bound = make_bound(data, dataclasses.replace(SMALL, prior_count=0.0))
    state = CAVISolver().solve(bound, bound.start_posterior(), max_iter=60, tol=1e-9).state
    assert state.grid_positions.size < bound.components().count, (
        "some components must have been dropped"
    )
    warm = bound.warm_posterior(state.beta, state.noise)
    assert_array_equal(warm.beta, state.beta)
    assert_array_equal(warm.noise, state.noise)
    assert np.isfinite(warm.log_pi[0]).all()
    assert_allclose(np.exp(warm.log_pi).sum(axis=1), 1.0, rtol=1e-9)
    assert_allclose(warm.eta, bound.design.eta(state.beta), rtol=1e-12, atol=1e-12)


def test_a_warm_start_keeps_a_given_noise(rng):
    data = make_data(rng)
    bound = make_bound(data, noise=0.3)
    start = bound.start_posterior()
    warm = bound.warm_posterior(start.beta, np.full_like(start.noise, 5.0))
    assert_array_equal(warm.noise, 0.3)


# -------------------------------------------------------------------------- kinds of features


def test_groups_are_kinds_times_static(rng):
    data = make_data(rng)
    n = data.static.size
    kinds = np.arange(n) % 3
    bound = dataclasses.replace(make_bound(data), kinds=kinds)
    pairs = {(int(k), bool(s)) for k, s in zip(kinds, data.static, strict=True)}
    assert bound.n_groups == len(pairs)
    for group in range(bound.n_groups):
        members = bound.groups == group
        assert members.any()
        assert len(set(kinds[members])) == 1
        assert (data.static[members] == bound.group_static[group]).all()
    state = bound.start_posterior()
    moving = ~state.components.is_static
    assert np.isneginf(state.log_pi[bound.group_static][:, moving]).all()
    assert_allclose(np.exp(state.log_pi).sum(axis=1), 1.0, rtol=1e-12)
    result = CAVISolver().solve(bound, state, max_iter=30, tol=1e-6)
    assert (np.diff(result.history) >= -1e-9 * np.abs(result.history).max()).all()
    assert result.state.log_pi.shape[0] == bound.n_groups


def test_many_rare_columns_of_one_kind_do_not_widen_the_grid_of_another(rng):
    """The typical column of every kind has size one, whatever the other kinds look like."""
    data = make_data(rng)
    n_rows, n_features = data.X.shape
    rare = (rng.random((n_rows, 40)) < 2.0 / n_rows).astype(float)
    rare[0], rare[1] = 1.0, 0.0  # none of them is constant
    wide = dataclasses.replace(
        data,
        X=np.hstack([data.X, rare]),
        static=np.concatenate([data.static, np.zeros(40, bool)]),
    )
    kinds = np.repeat([0, 1], [n_features, 40])
    alone, together = make_bound(data), make_bound(wide)
    apart = dataclasses.replace(make_bound(wide), kinds=kinds)
    # In the units of the fit the ordinary columns are what they are without the rare ones ...
    assert_allclose(apart.unit[:n_features], alone.unit, rtol=1e-12)
    mean_square = apart.squares.sum(axis=1) / apart.unit**2 / apart.n_rows
    for kind in (0, 1):
        assert_allclose(np.median(mean_square[kinds == kind]), 1.0, rtol=1e-12)
    # ... and as one kind they would have been allowed far larger coefficients.
    assert (together.unit[:n_features] < 0.5 * alone.unit).all()
    grid = apart.components()
    assert_allclose(grid.static + grid.dynamic, sum_of(alone.components()), rtol=1e-12)


def sum_of(components):
    return components.static + components.dynamic
