"""Both solvers: monotone, certified, honest about why they stopped."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.design import ColumnDesign
from driftglm.families import Gaussian
from driftglm.objective import Intercepts, Noise, Objective
from driftglm.priors import Exact, Fixed, Variational
from driftglm.solvers import BlockSolver, LBFGSSolver, StopReason

T = 5
SOLVERS = pytest.mark.parametrize("solver", [BlockSolver(), LBFGSSolver()], ids=["block", "lbfgs"])
PRIORS = pytest.mark.parametrize(
    "prior",
    [
        Exact(),
        Exact(boundary="stationary"),
        Variational(),
        Variational(bound="elbo"),
        Fixed(),
        Fixed(boundary="stationary"),
    ],
    ids=["exact", "stationary", "paper", "elbo", "fixed", "fixed-stationary"],
)


def problem(rng, prior, *, intercepts=1, static=(), given=None, n_features=6, scale=1.0):
    """Feature 0 is constant, 1 drifts through zero, the others do nothing; step 3 is empty."""
    codes = np.sort(rng.choice([0, 1, 2, 4], 80))
    X = rng.normal(size=(80, n_features))
    truth = np.zeros((T, n_features))
    truth[:, 0], truth[:, 1] = 1.0, np.linspace(-1, 1, T)
    y = (X * truth[codes]).sum(axis=1) + 0.4 * rng.normal(size=80)
    columns = np.ones((intercepts, 80))
    if intercepts > 1:
        columns[1:] = rng.normal(size=(intercepts - 1, 80))
        y = y + columns[1]
    if intercepts:
        y = y + 0.3 * codes
    y = scale * y
    mask = np.zeros(n_features, bool)
    mask[list(static)] = True
    return Objective(
        design=ColumnDesign.from_matrix(X, codes, T)[0],
        family=Gaussian(),
        prior=prior,
        intercepts=Intercepts(columns, np.arange(intercepts) == 2, np.full(intercepts, y.var())),
        noise=Noise(given=given, reference=float(y.var())),
        y=y,
        weights=rng.uniform(0.5, 2.0, 80),
        offset=np.zeros(y.size),
        reference=float(y.var()),
        effective_rows=float(y.size),
        static=mask,
    )


def ridge_start(objective):
    """Every path a little off zero."""
    rng = np.random.default_rng(0)
    beta = np.tile(rng.normal(size=(objective.design.n_features, 1)), T)
    beta[0], beta[1] = 1.0, 0.5
    return objective.start(0.5 * beta * np.sqrt(objective.noise.reference))


def eta_of(objective, state):
    """The linear predictor from scratch."""
    eta = objective.design.eta(state.beta)
    for column, path in zip(objective.intercepts.columns, state.intercept_mean, strict=True):
        eta = eta + column * objective.design.to_rows(path)
    return eta


@SOLVERS
@PRIORS
@pytest.mark.parametrize("intercepts", [0, 3])
def test_the_objective_never_falls(solver, prior, intercepts, rng):
    objective = problem(rng, prior, intercepts=intercepts, static=[2])
    start = ridge_start(objective)
    result = solver.solve(objective, start, max_iter=60, tol=1e-5)
    history = result.history
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-10 * np.abs(history).max()).all()
    # The last entry is the objective at the state that is returned.
    assert_allclose(objective.value(result.state), history[-1], rtol=1e-11)
    assert_allclose(result.state.eta, eta_of(objective, result.state), rtol=1e-9, atol=1e-10)


def slopes(objective, state, step=1e-6):
    """d value / d path by central differences, the intercepts and the noise held."""
    base = state.eta - objective.design.eta(state.beta)
    out = np.zeros_like(state.beta)
    for i, t in np.ndindex(*out.shape):
        if not state.beta[i].any():
            continue
        values = []
        for sign in (1, -1):
            moved = state.copy()
            moved.beta[i, slice(None) if objective.static[i] else t] += sign * step
            moved.eta = base + objective.design.eta(moved.beta)
            values.append(objective.value(moved))
        out[i, t] = (values[0] - values[1]) / (2 * step)
    return out


def scaled(objective, state, gradient):
    """Slopes in units of one over the conditional posterior deviation."""
    h = objective.design.squares(objective.weights) / state.noise
    penalty = objective.penalty(state.beta)
    h = np.where(objective.static[:, None], h.sum(axis=1, keepdims=True), h)
    alive = objective.alive(state.beta)
    return (np.abs(gradient) / np.sqrt(h + penalty.omega[:, None] + ~alive[:, None]))[alive]


@SOLVERS
@PRIORS
def test_a_converged_fit_is_a_stationary_point(solver, prior, rng):
    objective = problem(rng, prior, static=[0])
    found = BlockSolver().solve(objective, objective.start(), max_iter=2000, tol=1e-6)
    # L-BFGS starts close by: from afar it may need thousands of steps along the spike.
    result = solver.solve(objective, found.state, max_iter=2000, tol=1e-5)
    assert result.reason is StopReason.CONVERGED
    assert result.optimality <= 1e-5
    gradient = slopes(objective, result.state)
    assert scaled(objective, result.state, gradient).max() < 1e-4
    off = result.state.copy()
    off.beta *= 1.05
    off.eta += 0.05 * objective.design.eta(result.state.beta)
    assert scaled(objective, off, slopes(objective, off)).max() > 1e-2


@PRIORS
def test_the_certificate_of_lbfgs_is_the_largest_scaled_slope(prior, rng):
    """Cut short, so that there is a slope to measure; intercepts have a round of their own."""
    objective = problem(rng, prior, intercepts=0, given=0.2)
    result = LBFGSSolver().solve(objective, ridge_start(objective), max_iter=7, tol=1e-9)
    gradient = slopes(objective, result.state)
    expected = scaled(objective, result.state, gradient).max()
    assert expected > 1e-3
    assert_allclose(result.optimality, expected, rtol=1e-3)


@SOLVERS
def test_the_intercepts_and_the_noise_are_at_their_best_too(solver, rng):
    objective = problem(rng, Fixed(scale=0.3), intercepts=2)
    result = solver.solve(objective, objective.start(), max_iter=500, tol=1e-5)
    state = result.state
    squares = objective.design.by_step(objective.weights * (objective.y - state.eta) ** 2)
    best = objective.noise.update(squares + objective.uncertainty(state), objective.rows_by_step)
    assert_allclose(state.noise, best, rtol=1e-4)
    # Moving an intercept's mean costs in the likelihood more than any prior could pay back.
    for column, path in zip(objective.intercepts.columns, state.intercept_mean, strict=True):
        score = objective.weights * column * (objective.y - state.eta)
        total = objective.design.by_step(score).sum()
        # The flat part of an intercept is not penalised: its score vanishes.
        assert abs(total) < 1e-3 * np.sqrt(objective.n_rows), path


@SOLVERS
def test_one_iteration_is_reported_as_such(solver, rng):
    objective = problem(rng, Exact())
    result = solver.solve(objective, ridge_start(objective), max_iter=1, tol=1e-12)
    assert result.reason is StopReason.MAX_ITER
    assert result.n_iter == result.history.size == 1
    assert result.optimality > 1e-12


@SOLVERS
@pytest.mark.parametrize("prior", [Exact(), Fixed()], ids=["exact", "fixed"])
def test_whoever_stops_early_has_not_reached_the_tolerance(solver, prior, rng):
    """MAX_ITER and STALLED come with a residual above the tolerance, CONVERGED with one below."""
    objective = problem(rng, prior)
    for max_iter in (3, 30, 300):
        result = solver.solve(objective, ridge_start(objective), max_iter=max_iter, tol=1e-3)
        assert result.n_iter <= max_iter
        assert (result.reason is StopReason.CONVERGED) == (result.optimality <= 1e-3)


@SOLVERS
def test_a_tolerance_of_zero_ends_in_a_stall_not_in_an_endless_loop(solver, rng):
    objective = problem(rng, Fixed(scale=0.3), intercepts=0, given=0.2, n_features=3)
    result = solver.solve(objective, objective.start(), max_iter=100_000, tol=0.0)
    assert result.reason in {StopReason.STALLED, StopReason.CONVERGED}
    assert result.optimality < 1e-5


def test_a_tight_tolerance_is_reached_though_the_objective_no_longer_moves(rng):
    """An error of 1e-8 in a coefficient changes the objective by 1e-16: it cannot be seen there."""
    objective = problem(rng, Fixed(scale=0.3), intercepts=0, given=0.2)
    result = BlockSolver().solve(objective, objective.start(), max_iter=10_000, tol=1e-11)
    assert result.reason is StopReason.CONVERGED


@SOLVERS
def test_the_state_given_is_left_alone(solver, rng):
    objective = problem(rng, Exact())
    state = ridge_start(objective)
    before = dataclasses.asdict(state)
    solver.solve(objective, state, max_iter=20, tol=1e-5)
    after = dataclasses.asdict(state)
    before.update(before.pop("shared"))
    after.update(after.pop("shared"))
    for name, value in before.items():
        assert_array_equal(after[name], value)


@SOLVERS
def test_progress_is_told_the_truth(solver, rng):
    objective = problem(rng, Exact())
    calls = []
    result = solver.solve(
        objective,
        ridge_start(objective),
        max_iter=250,
        tol=1e-5,
        progress=lambda *call: calls.append(call),
    )
    assert calls[-1][0] == result.n_iter
    # What is below the floor at the very end is set to zero after the last call.
    assert_allclose(calls[-1][1], result.history[-1], rtol=1e-3)
    assert all(0 <= call[2] <= 6 for call in calls)


# ------------------------------------------------------------------------------------- zeros


@pytest.mark.parametrize("intercepts", [0, 1])
def test_lbfgs_leaves_paths_at_zero_that_start_there(intercepts, rng):
    objective = problem(rng, Exact(), intercepts=intercepts)
    beta = np.zeros((6, T))
    beta[1] = 0.5
    result = LBFGSSolver().solve(objective, objective.start(beta), max_iter=100, tol=1e-4)
    assert not result.state.beta[[0, 2, 3, 4, 5]].any()
    nothing = LBFGSSolver().solve(objective, objective.start(), max_iter=100, tol=1e-4)
    assert not nothing.state.beta.any()
    assert nothing.reason is StopReason.CONVERGED


@pytest.mark.parametrize("prior", [Exact(), Variational()], ids=["exact", "variational"])
def test_block_lets_paths_in_that_start_at_zero(prior, rng):
    objective = problem(rng, prior)
    result = BlockSolver().solve(objective, objective.start(), max_iter=500, tol=1e-5)
    assert_array_equal(np.flatnonzero(result.state.beta.any(axis=1)), [0, 1])
    # Paths headed for zero get there: exact zeros, not small numbers.
    small = np.abs(result.state.beta[2:])
    assert not small.any()


def test_block_throws_out_what_has_no_mode(rng):
    objective = problem(rng, Exact())
    result = BlockSolver().solve(objective, ridge_start(objective), max_iter=500, tol=1e-5)
    assert_array_equal(np.flatnonzero(result.state.beta.any(axis=1)), [0, 1])


def test_the_fixed_prior_never_gives_a_zero(rng):
    objective = problem(rng, Fixed())
    result = BlockSolver().solve(objective, objective.start(), max_iter=500, tol=1e-5)
    assert result.state.beta.all()


def test_static_paths_stay_constant(rng):
    objective = problem(rng, Exact(), static=[0, 1])
    for solver in (BlockSolver(), LBFGSSolver()):
        state = solver.solve(objective, ridge_start(objective), max_iter=50, tol=1e-4).state
        assert_array_equal(state.beta[:2], state.beta[:2, :1] * np.ones(T))
    assert objective.static[:2].all()


@SOLVERS
def test_from_the_same_start_both_reach_the_same_mode(solver, rng):
    objective = problem(rng, Exact())
    reference = BlockSolver().solve(objective, objective.start(), max_iter=2000, tol=1e-8)
    moved = reference.state.copy()
    moved.beta *= 1.02
    moved.eta += 0.02 * objective.design.eta(reference.state.beta)
    result = solver.solve(objective, moved, max_iter=5000, tol=1e-7)
    # Both certificates are about 1e-7, in units of posterior deviations of about .1.
    assert_allclose(result.state.beta, reference.state.beta, rtol=1e-4, atol=1e-5)
    # The intercept's dynamics go on rising along a flat likelihood.
    assert_allclose(result.history[-1], reference.history[-1], rtol=1e-5)


@SOLVERS
@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_unit_of_y_does_not_change_the_way(solver, scale):
    """The paths are scaled, the objective is shifted by a constant, the iterations are the same."""
    states, shifts = [], []
    for unit in (1.0, scale):
        objective = problem(np.random.default_rng(5), Exact(), scale=unit)
        result = solver.solve(objective, ridge_start(objective), max_iter=25, tol=1e-12)
        states.append(result.state.beta / unit)
        shifts.append(result.history - result.history[0])
    assert_allclose(states[1], states[0], rtol=1e-4, atol=1e-6)
    assert_allclose(shifts[1], shifts[0], rtol=1e-4, atol=1e-5)


@SOLVERS
def test_no_paths_and_no_intercepts_is_a_fit_of_the_noise_alone(solver, rng):
    full = problem(rng, Exact(), intercepts=0)
    empty = dataclasses.replace(
        full,
        design=ColumnDesign.from_matrix(np.empty((80, 0)), np.zeros(80, int), T)[0],
        static=np.empty(0, bool),
    )
    result = solver.solve(empty, empty.start(), max_iter=10, tol=1e-4)
    best = empty.noise.update(empty.weights * empty.y**2, empty.weights)
    assert_allclose(result.state.noise, best[:T], rtol=1e-9)
    assert result.reason is StopReason.CONVERGED
