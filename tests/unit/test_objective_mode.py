"""The floored log posterior against numpy and scipy, term by term."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import multivariate_normal, norm

from driftglm.design import ColumnDesign
from driftglm.families import Gaussian
from driftglm.objective import FLOOR, Intercepts, Noise, Objective
from driftglm.priors import Exact, Fixed, Variational
from driftglm.solvers.intercepts import update_intercepts

C = 0.5 - 1e-5
PRIORS = pytest.mark.parametrize(
    "prior",
    [Exact(), Exact(rate=5.0, boundary="stationary"), Variational(), Fixed(scale=0.5)],
    ids=["exact", "stationary", "variational", "fixed"],
)


def objective(rng, prior, *, n_timesteps=3, n_features=4, static=(), intercept=False, given=0.4):
    """Rows are sorted by step already, so that y needs no reordering."""
    codes = np.sort(rng.integers(0, n_timesteps, 30))
    X = rng.normal(size=(30, n_features))
    y = rng.normal(size=30) + X[:, 0]
    mask = np.zeros(n_features, bool)
    mask[list(static)] = True
    columns = np.ones((int(intercept), 30))
    return Objective(
        design=ColumnDesign.from_matrix(X, codes, n_timesteps)[0],
        family=Gaussian(),
        prior=prior,
        intercepts=Intercepts(
            columns, np.zeros(int(intercept), bool), np.full(int(intercept), y.var())
        ),
        noise=Noise(given=given, reference=float(y.var())),
        y=y,
        weights=rng.uniform(0.5, 2.0, 30),
        offset=np.zeros(y.size),
        reference=float(y.var()),
        effective_rows=float(y.size),
        static=mask,
    )


def log_likelihood(problem, eta, noise):
    return problem.weights @ norm.logpdf(problem.y, eta, np.sqrt(noise))


def exact_log_density(path, floor, rate):
    """The pinned exact prior by adaptive quadrature over alpha, S raised by the floor."""
    n = path.size
    S, R = path @ path + floor, path[:-1] @ path[1:]
    normalizer = np.log(rate / -np.expm1(-rate * C))

    def integrand(alpha):
        A = np.eye(n) + alpha * (np.eye(n, k=1) + np.eye(n, k=-1))
        log = normalizer - rate * (alpha + C) + 0.5 * np.linalg.slogdet(A)[1]
        return np.exp(log - n / 2 * np.log((S + 2 * alpha * R) / 2))

    integral = quad(integrand, -C, 0, epsabs=0, epsrel=1e-11, limit=200)[0]
    return -n / 2 * np.log(2 * np.pi) + gammaln(n / 2) + np.log(integral)


def test_value_under_the_fixed_prior_is_a_sum_of_normal_densities(rng):
    prior = Fixed(scale=0.5, autocorrelation=0.7, boundary="stationary")
    problem = objective(rng, prior)
    beta = rng.normal(size=(4, 3))
    steps = np.arange(3)
    normal = multivariate_normal(cov=0.5 * 0.7 ** np.abs(steps[:, None] - steps))
    expected = log_likelihood(problem, problem.design.eta(beta), 0.4) + normal.logpdf(beta).sum()
    assert_allclose(problem.value(problem.start(beta)), expected, rtol=1e-12)


def test_value_under_the_exact_prior_is_the_floored_marginal(rng):
    problem = objective(rng, Exact(rate=2.0), static=[2])
    beta = rng.normal(size=(4, 3))
    beta[1] = 0.0
    beta[2] = 0.3
    beta[3] = 1e-7 * rng.normal(size=3)  # so small that the floor matters
    total = (problem.design.squares(problem.weights)).sum(axis=1)
    floor = 1e-12 * problem.noise.reference * problem.weights.sum() / total
    assert_allclose(problem.floor, floor, rtol=1e-12)
    expected = log_likelihood(problem, problem.design.eta(beta), 0.4)
    for i in (0, 1, 3):
        expected += exact_log_density(beta[i], floor[i], 2.0)
    # T = 1: the density is 1 / |beta|, with its constant.
    expected += exact_log_density(np.array([0.3]), floor[2], 2.0)
    assert_allclose(problem.value(problem.start(beta)), expected, rtol=1e-9)


def test_at_one_step_the_exact_prior_is_one_over_beta(rng):
    problem = objective(rng, Exact(), n_timesteps=1)
    beta = rng.normal(size=(4, 1))
    expected = log_likelihood(problem, problem.design.eta(beta), 0.4)
    expected -= np.log(np.abs(beta)).sum()
    assert_allclose(problem.value(problem.start(beta)), expected, rtol=1e-10)


@PRIORS
def test_static_features_see_all_steps_as_one(prior, rng):
    """A static path over T steps is worth exactly what it is worth at T = 1."""
    many = objective(rng, prior, static=range(4))
    design, _ = ColumnDesign.from_matrix(
        dense_of(many.design), np.zeros(30, dtype=np.int64), n_timesteps=1
    )
    one = dataclasses.replace(many, design=design, static=np.zeros(4, bool))
    beta = rng.normal(size=(4, 1))
    beta[2] = 0.0
    expected = one.value(one.start(beta))
    assert_allclose(many.value(many.start(np.tile(beta, 3))), expected, rtol=1e-12)


def dense_of(design):
    columns = np.eye(design.n_features)
    return np.array([design.eta(np.outer(e, np.ones(design.n_timesteps))) for e in columns]).T


@PRIORS
def test_a_zero_path_keeps_its_floored_constant(prior, rng):
    problem = objective(rng, prior)
    beta = rng.normal(size=(4, 3))
    beta[1] = 0.0
    here = problem.penalty(beta)
    shrunk = beta.copy()
    values = []
    for size in (1e-2, 1e-5, 1e-9, 1e-13):
        shrunk[1] = size * np.array([1.0, -0.5, 0.7])
        values.append(problem.penalty(shrunk).log_density[1])
    # No jump: the constant is the limit ...
    assert_allclose(values[-1], here.log_density[1], rtol=1e-9)
    # ... and the top, so that deleting a path never lowers the prior.
    assert (np.diff([*values, here.log_density[1]]) >= -1e-12).all()
    others = problem.penalty(shrunk).log_density[[0, 2, 3]]
    assert_allclose(others, here.log_density[[0, 2, 3]], rtol=0)


@pytest.mark.parametrize("prior", [Exact(), Variational()], ids=["exact", "variational"])
def test_the_floor_follows_the_units_of_x_and_y(prior, rng):
    problem = objective(rng, prior)
    expected = FLOOR * problem.noise.reference
    expected /= np.average(dense_of(problem.design) ** 2, axis=0, weights=problem.weights)
    assert_allclose(problem.floor, expected, rtol=1e-12)
    wide = dataclasses.replace(
        problem, design=dataclasses.replace(problem.design, values=100 * problem.design.values)
    )
    assert_allclose(wide.floor, problem.floor / 1e4, rtol=1e-12)
    assert_allclose(wide.zero_below, problem.zero_below / 1e4, rtol=1e-12)


def test_without_a_spike_there_is_no_floor_and_every_path_is_alive(rng):
    problem = objective(rng, Fixed())
    beta = np.zeros((4, 3))
    assert not problem.floor.any()
    assert problem.alive(beta).all()
    assert (problem.zero_below < 0).all()


def test_paths_are_alive_unless_exactly_zero(rng):
    problem = objective(rng, Exact())
    beta = np.zeros((4, 3))
    beta[1, 2] = 1e-300
    assert problem.alive(beta).tolist() == [False, True, False, False]


@PRIORS
@pytest.mark.parametrize("size", [1.0, 1e8])
def test_a_column_of_zeros_is_harmless(prior, size, rng):
    problem = objective(rng, prior)
    X = dense_of(problem.design)
    X[:, 2] = 0.0
    codes = np.repeat(np.arange(3), np.diff(problem.design.step_offsets))
    blank = dataclasses.replace(
        problem,
        design=ColumnDesign.from_matrix(X, codes, 3)[0],
        y=size * problem.y,
        noise=Noise(given=None, reference=size**2),
    )
    assert np.isfinite(blank.floor).all()
    assert np.isfinite(blank.value(blank.start()))


@pytest.mark.parametrize("dynamics", [(0.0, 0.5), (0.8, 0.6)], ids=["flat", "drifting"])
@pytest.mark.parametrize("empty", [False, True])
def test_an_intercept_contributes_its_log_evidence(dynamics, empty, rng):
    """With the intercept at its posterior the value is the likelihood with it integrated out.

    The flat part has a flat prior of height 1 / sqrt(2 pi).
    """
    problem = objective(rng, Fixed(scale=0.5), intercept=True, n_timesteps=4)
    codes = np.repeat(np.arange(4), np.diff(problem.design.step_offsets))
    if empty:
        weights = problem.weights * np.where(codes == 1, 1e-9, 1.0)
        problem = dataclasses.replace(problem, weights=weights)
    beta = rng.normal(size=(4, 4))
    state = problem.start(beta)
    state.intercept_dynamics[0] = dynamics
    score = problem.score(state)
    start = score.copy()
    update_intercepts(problem, state, score, problem.weights, learn_dynamics=False)
    state.eta += (start - score) / problem.weights
    assert_allclose(
        state.eta, problem.design.eta(beta) + problem.design.to_rows(state.intercept_mean[0])
    )
    residual = problem.y - problem.design.eta(beta)
    covariance = dynamics[0] * dynamics[1] ** np.abs(codes[:, None] - codes) + np.diag(
        0.4 / problem.weights
    )
    inverse = np.linalg.inv(covariance)
    ones = inverse.sum(axis=1)
    squares = residual @ inverse @ residual - (ones @ residual) ** 2 / ones.sum()
    evidence = -0.5 * (np.linalg.slogdet(covariance)[1] + np.log(ones.sum()) + squares)
    evidence -= 0.5 * 30 * np.log(2 * np.pi)
    # A row of weight w counts as w rows: its density is raised to the power of w.
    w = problem.weights
    powers = -0.5 * ((w - 1) * np.log(2 * np.pi * 0.4) + np.log(w)).sum()
    expected = evidence + powers + problem.penalty(beta).log_density.sum()
    assert_allclose(problem.value(state), expected, rtol=1e-9)


def test_estimated_noise_enters_the_value(rng):
    problem = objective(rng, Fixed(scale=0.5), given=None)
    beta = rng.normal(size=(4, 3))
    state = problem.start(beta)
    state.noise = np.full(3, 0.3)
    expected = log_likelihood(problem, problem.design.eta(beta), 0.3)
    expected += problem.penalty(beta).log_density.sum() + problem.noise.log_prior(state.noise)
    assert_allclose(problem.value(state), expected, rtol=1e-12)
    squares = problem.weights * (problem.y - state.eta) ** 2
    problem.update_noise(state)
    best = problem.noise.update(squares, problem.weights)
    assert_allclose(state.noise, best[:3], rtol=1e-13)


def test_a_copied_state_is_independent(rng):
    problem = objective(rng, Fixed(), intercept=True)
    state = problem.start(rng.normal(size=(4, 3)))
    other = state.copy()
    other.beta[:], other.intercept_mean[:], other.eta[:] = 7.0, 7.0, 7.0
    assert not (state.beta == 7.0).any()
    assert not (state.intercept_mean == 7.0).any()
    assert not (state.eta == 7.0).any()
