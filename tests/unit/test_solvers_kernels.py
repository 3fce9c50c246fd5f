"""The block solver's inner loops: compiled and plain, against dense algebra and brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from driftglm.design import ColumnDesign
from driftglm.families import Gaussian
from driftglm.objective import Intercepts, Noise, Objective
from driftglm.priors import Exact, Fixed, Variational
from driftglm.solvers.kernels import search_inplace, sweep_inplace
from driftglm.solvers.rowstate import RowWork

T = 4
NOISE = 0.5


def problem(rng, prior, *, center=False, weighted=False, static=(), n_features=5):
    codes = np.sort(rng.integers(0, T, 40))
    X = rng.normal(size=(40, n_features)) * (rng.random((40, n_features)) < 0.7) + 0.3
    X[:, 1] = np.where(codes == 2, 0.0, X[:, 1])  # a step this feature knows nothing about
    truth = np.zeros((T, n_features))
    truth[:, 0], truth[:, 3] = 2.0, np.linspace(-2, 2, T)
    y = (X * truth[codes]).sum(axis=1) + np.sqrt(NOISE) * rng.normal(size=40)
    weights = rng.uniform(0.5, 2.0, 40) if weighted else np.ones(40)
    design = ColumnDesign.from_matrix(X, codes, T)[0]
    mask = np.zeros(n_features, bool)
    mask[list(static)] = True
    return Objective(
        design=design.centered(weights) if center else design,
        family=Gaussian(),
        prior=prior,
        intercepts=Intercepts(np.empty((0, 40)), np.empty(0, bool), np.empty(0)),
        noise=Noise(given=NOISE, reference=float(y.var())),
        y=y,
        weights=weights,
        offset=np.zeros(y.size),
        reference=float(y.var()),
        effective_rows=float(y.size),
        static=mask,
    )


class Update:
    """One call of a kernel on a problem at given paths."""

    def __init__(self, objective, beta):
        self.objective = objective
        self.state = objective.start(beta.copy())
        self.work = RowWork(objective, self.state)
        penalty = objective.penalty(beta)
        self.penalties = np.column_stack([penalty.omega, penalty.omega_alpha, penalty.omega_end])

    @property
    def paths(self):
        return self.state.beta, self.objective.static, self.objective.zero_below

    def sweep(self, order, kernel=sweep_inplace):
        order = np.asarray(order, dtype=np.int64)
        for update in self.work.update_blocks(order):
            precision = np.full(T, 1 / NOISE)
            worst = kernel(update.inputs, precision, self.penalties, self.paths, 1.0)
        return worst

    def search(self, order, kernel=search_inplace):
        order = np.asarray(order, dtype=np.int64)
        nodes = self.objective.prior.search_nodes(T), self.objective.prior.search_nodes(1)
        for update in self.work.update_blocks(order):
            switched = kernel(update.inputs, np.full(T, 1 / NOISE), nodes, self.paths, 1.0)
        return switched

    def numbers(self):
        return np.concatenate([self.state.beta.ravel(), self.work.score])


def prior_matrix(penalty, n):
    omega, beside, end = penalty
    matrix = omega * np.eye(n) + beside * (np.eye(n, k=1) + np.eye(n, k=-1))
    matrix[0, 0] += end
    matrix[-1, -1] += end
    return matrix


def dense_columns(objective):
    """(rows, features) with centering carried out, and the step of every row."""
    design = objective.design
    one = [np.outer(e, np.ones(T)) for e in np.eye(design.n_features)]
    X = np.array([design.eta(beta) for beta in one]).T
    return X, np.repeat(np.arange(T), np.diff(design.step_offsets))


CASES = pytest.mark.parametrize(
    ("center", "weighted"), [(False, False), (False, True), (True, False), (True, True)]
)
PRIORS = pytest.mark.parametrize(
    "prior",
    [Exact(), Exact(boundary="stationary"), Variational(), Fixed(boundary="stationary")],
    ids=["exact", "stationary", "variational", "fixed"],
)


@CASES
@PRIORS
def test_a_update_solves_the_dense_system_of_its_path(prior, center, weighted, rng):
    objective = problem(rng, prior, center=center, weighted=weighted)
    beta = rng.normal(size=(5, T))
    X, codes = dense_columns(objective)
    for i in range(5):
        update = Update(objective, beta)
        update.sweep([i])
        residual = objective.y - objective.design.eta(beta) + X[:, i] * beta[i, codes]
        h = np.bincount(codes, objective.weights * X[:, i] ** 2, T) / NOISE
        b = np.bincount(codes, objective.weights * X[:, i] * residual, T) / NOISE
        expected = beta.copy()
        expected[i] = np.linalg.solve(np.diag(h) + prior_matrix(update.penalties[i], T), b)
        assert_allclose(update.state.beta, expected, rtol=1e-9, atol=1e-11)
        # The score is kept in step with the new path.
        left = objective.weights * (objective.y - objective.design.eta(expected))
        assert_allclose(update.work.score, left, rtol=1e-9, atol=1e-10)


@CASES
@PRIORS
def test_a_static_path_solves_one_pooled_equation(prior, center, weighted, rng):
    objective = problem(rng, prior, center=center, weighted=weighted, static=[3])
    beta = rng.normal(size=(5, T))
    beta[3] = 0.4
    update = Update(objective, beta)
    update.sweep([3])
    X, codes = dense_columns(objective)
    residual = objective.y - objective.design.eta(beta) + X[:, 3] * beta[3, codes]
    h = (objective.weights * X[:, 3] ** 2).sum() / NOISE
    b = (objective.weights * X[:, 3] * residual).sum() / NOISE
    assert_allclose(update.state.beta[3], np.full(T, b / (h + update.penalties[3, 0])), rtol=1e-10)


@PRIORS
def test_a_sweep_is_one_update_after_the_other(prior, rng):
    objective = problem(rng, prior, weighted=True)
    beta = rng.normal(size=(5, T))
    together = Update(objective, beta)
    together.sweep([4, 0, 2])
    current = beta
    for i in (4, 0, 2):
        single = Update(objective, current)
        single.penalties = together.penalties  # the bound is that of the start of the sweep
        single.sweep([i])
        current = single.state.beta
    assert_allclose(together.state.beta, current, rtol=1e-10, atol=1e-12)
    assert_array_equal(together.state.beta[[1, 3]], beta[[1, 3]])


@CASES
@PRIORS
def test_the_certificate_is_the_scaled_slope_of_the_objective(prior, center, weighted, rng):
    objective = problem(rng, prior, center=center, weighted=weighted)
    beta = rng.normal(size=(5, T))
    for i in range(5):
        update = Update(objective, beta)
        found = update.sweep([i])
        slopes, step = np.empty(T), 1e-6
        for t in range(T):
            shifted = [beta.copy(), beta.copy()]
            shifted[0][i, t] += step
            shifted[1][i, t] -= step
            up, down = (objective.value(objective.start(path)) for path in shifted)
            slopes[t] = (up - down) / (2 * step)
        X, codes = dense_columns(objective)
        h = np.bincount(codes, objective.weights * X[:, i] ** 2, T) / NOISE
        curvature = h + np.diag(prior_matrix(update.penalties[i], T))
        assert_allclose(found, np.max(np.abs(slopes) / np.sqrt(curvature)), rtol=1e-5)


def test_a_path_below_its_threshold_becomes_exactly_zero(rng):
    objective = problem(rng, Exact())
    beta = rng.normal(size=(5, T))
    update = Update(objective, beta)
    objective.zero_below[:] = 0.0
    update.sweep([2])
    size = (update.state.beta[2] ** 2).sum()
    for threshold, dead in ((0.99 * size, False), (1.01 * size, True)):
        again = Update(objective, beta)
        objective.zero_below[2] = threshold
        again.sweep([2])
        assert (not again.state.beta[2].any()) == dead
        left = objective.weights * (objective.y - objective.design.eta(again.state.beta))
        assert_allclose(again.work.score, left, rtol=1e-9, atol=1e-10)


@CASES
@pytest.mark.parametrize("static", [(), (0, 3)])
def test_plain_python_gives_the_same_numbers(center, weighted, static, rng):
    objective = problem(rng, Exact(), center=center, weighted=weighted, static=static)
    beta = rng.normal(size=(5, T))
    beta[list(static)] = beta[list(static), :1]
    order = [3, 1, 0, 4, 2]
    fast, plain = Update(objective, beta), Update(objective, beta)
    assert_allclose(fast.sweep(order), plain.sweep(order, sweep_inplace.py_func), rtol=1e-10)
    assert_allclose(fast.numbers(), plain.numbers(), rtol=1e-9, atol=1e-11)
    fast, plain = (Update(objective, np.zeros((5, T))) for _ in range(2))
    assert fast.search(order) == plain.search(order, search_inplace.py_func)
    assert_allclose(fast.numbers(), plain.numbers(), rtol=1e-9, atol=1e-11)


def test_the_search_lets_strong_features_in_and_weak_ones_out(rng):
    objective = problem(rng, Exact())
    update = Update(objective, np.zeros((5, T)))
    n_switched = update.search([0, 3, 1, 2, 4])
    assert_array_equal(np.flatnonzero(update.state.beta.any(axis=1)), [0, 3])
    assert n_switched == 2
    weak = np.zeros((5, T))
    weak[[1, 2, 4]] = 0.01
    weak[[0, 3]] = update.state.beta[[0, 3]]
    again = Update(objective, weak)
    assert again.search([0, 3, 1, 2, 4]) == 3
    assert_array_equal(np.flatnonzero(again.state.beta.any(axis=1)), [0, 3])
    left = objective.weights * (objective.y - objective.design.eta(again.state.beta))
    assert_allclose(again.work.score, left, rtol=1e-9, atol=1e-10)


# ------------------------------------------------------------------ the zero rule, b'H^-1 b < 4 T


def single_path(h, b, boundary="pinned"):
    """A problem with one feature whose conditional has curvature h and linear term b."""
    n = h.size
    design = ColumnDesign.from_matrix(np.sqrt(h)[:, None], np.arange(n), n)[0]
    return Objective(
        design=design,
        family=Gaussian(),
        prior=Exact(boundary=boundary),
        intercepts=Intercepts(np.empty((0, n)), np.empty(0, bool), np.empty(0)),
        noise=Noise(given=1.0, reference=1.0),
        y=b / np.sqrt(h),
        weights=np.ones(n),
        offset=np.zeros(n),
        reference=1.0,
        effective_rows=1.0,
        static=np.zeros(1, bool),
    )


def searched(h, b, boundary="pinned"):
    objective = single_path(h, b, boundary)
    state = objective.start()
    work = RowWork(objective, state)
    nodes = objective.prior.search_nodes(h.size), objective.prior.search_nodes(1)
    for update in work.update_blocks(np.array([0])):
        paths = state.beta, objective.static, objective.zero_below
        search_inplace(update.inputs, np.ones(state.beta.shape[1]), nodes, paths, 1.0)
    return state.beta[0]


def conditional_log_density(h, b, boundary):
    """log p(path | rest) up to a constant, without any floor."""
    prior = Exact(boundary=boundary)

    def value(path):
        return b @ path - 0.5 * path @ (h * path) + float(prior.log_density(path[None])[0])

    return value


BOUNDARIES = pytest.mark.parametrize("boundary", ["pinned", "stationary"])


@BOUNDARIES
@pytest.mark.parametrize("n", [1, 2, 3])
def test_below_the_bound_the_density_falls_along_every_ray_from_zero(n, boundary, rng):
    """Brute force: no path is a mode, since making it smaller always pays."""
    prior = Exact(boundary=boundary)
    for share in (0.3, 0.9, 0.999):
        h = rng.uniform(0.2, 5.0, n)
        b = rng.normal(size=n)
        b *= np.sqrt(share * 4 * n / (b**2 / h).sum())
        directions = rng.normal(size=(300, n))
        # The direction of the worst case, too, and sizes around where it peaks.
        directions = np.vstack([directions, b / h])
        sizes = np.geomspace(1e-3, 10, 60)[:, None, None]
        paths = (sizes * directions / np.linalg.norm(directions, axis=1)[:, None]).reshape(-1, n)
        values = [
            paths @ b * c - 0.5 * c**2 * (paths**2 @ h) + prior.log_density(c * paths)
            for c in (1.0, 1.0 + 1e-4)
        ]
        assert (values[1] < values[0]).all()
        assert not searched(h, b, boundary).any()


@pytest.mark.parametrize("z", [-9.0, -2.5, 2.1, 4.0, 30.0])
@pytest.mark.parametrize("h", [0.3, 40.0])
def test_at_one_step_the_mode_is_known(h, z):
    """b beta - h beta^2 / 2 - log|beta| has its mode at (b + sign(b) sqrt(b^2 - 4 h)) / (2 h)."""
    b = z * np.sqrt(h)
    expected = (b + np.sign(b) * np.sqrt(b * b - 4 * h)) / (2 * h)
    # The search stops when a path moves by less than 1e-3 of its size.
    assert_allclose(searched(np.array([h]), np.array([b]))[0], expected, rtol=2e-2)


@BOUNDARIES
@pytest.mark.parametrize("n", [2, 3])
def test_above_the_bound_the_search_finds_a_mode(n, boundary, rng):
    for _ in range(5):
        h = rng.uniform(0.5, 5.0, n)
        b = rng.normal(size=n)
        b *= np.sqrt(12 * n / (b**2 / h).sum())
        value = conditional_log_density(h, b, boundary)
        found = searched(h, b, boundary)
        assert found.any()
        mode = minimize(lambda path: -value(path), found, method="BFGS", options={"gtol": 1e-7}).x  # noqa: B023
        # The mixture in the search is coarse, and the ascent refines what it finds.
        assert_allclose(found, mode, rtol=0.05, atol=0.02 * np.abs(mode).max())
