"""Both solvers: monotone, certified, honest about why they stopped."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.design import ColumnDesign
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


def eta_of(objective, state):
    """The linear predictor from scratch."""
    eta = objective.design.eta(state.beta)
    for column, path in zip(objective.intercepts.columns, state.intercept_mean, strict=True):
        eta = eta + column * objective.design.to_rows(path)
    return eta


@SOLVERS
@PRIORS
@pytest.mark.parametrize("intercepts", [0, 3])
def test_the_objective_never_falls(off_zero, mode_problem, solver, prior, intercepts, rng):
    objective = mode_problem(rng, prior, intercepts=intercepts, static=[2])
    start = off_zero(objective)
    result = solver.solve(objective, start, max_iter=60, tol=1e-5)
    history = result.history
    assert np.isfinite(history).all()
    assert (np.diff(history) >= -1e-10 * np.abs(history).max()).all()
    # The last entry is the objective at the state that is returned.
    assert_allclose(objective.value(result.state), history[-1], rtol=1e-11)
    assert_allclose(result.state.eta, eta_of(objective, result.state), rtol=1e-9, atol=1e-10)


@SOLVERS
@PRIORS
def test_a_converged_fit_is_a_stationary_point(
    scaled_slopes, path_slopes, mode_problem, solver, prior, rng
):
    objective = mode_problem(rng, prior, static=[0])
    found = BlockSolver().solve(objective, objective.start(), max_iter=2000, tol=1e-6)
    # L-BFGS starts close by: from afar it may need thousands of steps along the spike.
    result = solver.solve(objective, found.state, max_iter=2000, tol=1e-5)
    assert result.reason is StopReason.CONVERGED
    assert result.optimality <= 1e-5
    gradient = path_slopes(objective, result.state)
    assert scaled_slopes(objective, result.state, gradient).max() < 1e-4
    off = result.state.copy()
    off.beta *= 1.05
    off.eta += 0.05 * objective.design.eta(result.state.beta)
    assert scaled_slopes(objective, off, path_slopes(objective, off)).max() > 1e-2


@SOLVERS
def test_the_intercepts_and_the_noise_are_at_their_best_too(mode_problem, solver, rng):
    objective = mode_problem(rng, Fixed(scale=0.3), intercepts=2)
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
def test_one_iteration_is_reported_as_such(off_zero, mode_problem, solver, rng):
    objective = mode_problem(rng, Exact())
    result = solver.solve(objective, off_zero(objective), max_iter=1, tol=1e-12)
    assert result.reason is StopReason.MAX_ITER
    assert result.n_iter == result.history.size == 1
    assert result.optimality > 1e-12


@SOLVERS
@pytest.mark.parametrize("prior", [Exact(), Fixed()], ids=["exact", "fixed"])
def test_whoever_stops_early_has_not_reached_the_tolerance(
    off_zero, mode_problem, solver, prior, rng
):
    """MAX_ITER and STALLED come with a residual above the tolerance, CONVERGED with one below."""
    objective = mode_problem(rng, prior)
    for max_iter in (3, 30, 300):
        result = solver.solve(objective, off_zero(objective), max_iter=max_iter, tol=1e-3)
        assert result.n_iter <= max_iter
        assert (result.reason is StopReason.CONVERGED) == (result.optimality <= 1e-3)


@SOLVERS
def test_a_tolerance_of_zero_ends_in_a_stall_not_in_an_endless_loop(mode_problem, solver, rng):
    objective = mode_problem(rng, Fixed(scale=0.3), intercepts=0, given=0.2, n_features=3)
    result = solver.solve(objective, objective.start(), max_iter=100_000, tol=0.0)
    assert result.reason in {StopReason.STALLED, StopReason.CONVERGED}
    assert result.optimality < 1e-5


@SOLVERS
def test_the_state_given_is_left_alone(off_zero, mode_problem, solver, rng):
    objective = mode_problem(rng, Exact())
    state = off_zero(objective)
    before = dataclasses.asdict(state)
    solver.solve(objective, state, max_iter=20, tol=1e-5)
    after = dataclasses.asdict(state)
    before.update(before.pop("shared"))
    after.update(after.pop("shared"))
    for name, value in before.items():
        assert_array_equal(after[name], value)


@SOLVERS
def test_progress_is_told_the_truth(off_zero, mode_problem, solver, rng):
    objective = mode_problem(rng, Exact())
    calls = []
    result = solver.solve(
        objective,
        off_zero(objective),
        max_iter=250,
        tol=1e-5,
        progress=lambda *call: calls.append(call),
    )
    assert calls[-1][0] == result.n_iter
    # What is below the floor at the very end is set to zero after the last call.
    assert_allclose(calls[-1][1], result.history[-1], rtol=1e-3)
    assert all(0 <= call[2] <= 6 for call in calls)


# ------------------------------------------------------------------------------------- zeros


def test_static_paths_stay_constant(off_zero, mode_problem, rng):
    objective = mode_problem(rng, Exact(), static=[0, 1])
    for solver in (BlockSolver(), LBFGSSolver()):
        state = solver.solve(objective, off_zero(objective), max_iter=50, tol=1e-4).state
        assert_array_equal(state.beta[:2], state.beta[:2, :1] * np.ones(T))
    assert objective.static[:2].all()


@SOLVERS
def test_from_the_same_start_both_reach_the_same_mode(mode_problem, solver, rng):
    objective = mode_problem(rng, Exact())
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
def test_the_unit_of_y_does_not_change_the_way(off_zero, mode_problem, solver, scale):
    """The paths are scaled, the objective is shifted by a constant, the iterations are the same."""
    states, shifts = [], []
    for unit in (1.0, scale):
        objective = mode_problem(np.random.default_rng(5), Exact(), scale=unit)
        result = solver.solve(objective, off_zero(objective), max_iter=25, tol=1e-12)
        states.append(result.state.beta / unit)
        shifts.append(result.history - result.history[0])
    assert_allclose(states[1], states[0], rtol=1e-4, atol=1e-6)
    assert_allclose(shifts[1], shifts[0], rtol=1e-4, atol=1e-5)


@SOLVERS
def test_no_paths_and_no_intercepts_is_a_fit_of_the_noise_alone(mode_problem, solver, rng):
    full = mode_problem(rng, Exact(), intercepts=0)
    empty = dataclasses.replace(
        full,
        design=ColumnDesign.from_matrix(np.empty((80, 0)), np.zeros(80, int), T)[0],
        static=np.empty(0, bool),
    )
    result = solver.solve(empty, empty.start(), max_iter=10, tol=1e-4)
    best = empty.noise.update(empty.weights * empty.y**2, empty.weights)
    assert_allclose(result.state.noise, best[:T], rtol=1e-9)
    assert result.reason is StopReason.CONVERGED
