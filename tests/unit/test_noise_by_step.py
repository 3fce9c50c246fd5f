"""A noise variance that differs from step to step, through every part that divides by it.

The oracle: rows of step t with noise s_t are rows of noise one with weight w / s_t. Up to constants
of the objective the two are one problem, so that solvers must end at the same place.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.design import ColumnDesign
from driftglm.families import Gaussian, Poisson
from driftglm.objective import Bound, Intercepts, Noise, Objective, Problem, SharedDirections
from driftglm.priors import Exact, Fixed, Learned
from driftglm.solvers import BlockSolver, CAVISolver, LBFGSSolver
from driftglm.solvers.rowstate import RowWork
from driftglm.solvers.shared import update_shared

T, N, P = 4, 160, 6
NOISE = np.array([0.3, 2.0, 0.8, 5.0])


@dataclass(frozen=True)
class GivenByStep(Noise):
    """Noise that is known, step by step."""

    def update(self, deviance, n_rows):
        del deviance, n_rows
        return NOISE.copy()


def problem(rng, *, by_step, family=None, directions=0):
    """The same data with noise by step, or with noise one and weights that say the same."""
    codes = np.sort(rng.integers(0, T, N))
    X = rng.normal(size=(N, P))
    y = X[:, 0] * codes - X[:, 1] + np.sqrt(NOISE[codes]) * rng.normal(size=N)
    weights = rng.uniform(0.5, 2.0, N)
    design, order = ColumnDesign.from_matrix(X, codes, T)
    assert (order == np.arange(N)).all()
    basis = rng.normal(size=(P, directions))
    intercepts = Intercepts(np.ones((1, N)), np.zeros(1, bool), np.array([float(y.var())]))
    return Problem(
        design=design,
        family=family or Gaussian(),
        intercepts=intercepts,
        noise=(GivenByStep if by_step else Noise)(given=1.0, reference=1.0),
        y=y if family is None else np.exp(np.clip(y, -2, 2)).round(),
        weights=weights if by_step else weights / NOISE[codes],
        offset=np.zeros(N),
        static=np.arange(P) == 3,
        reference=float(y.var()),
        effective_rows=float(N),
        shared=SharedDirections(design.scores(basis), basis) if directions else None,
    )


def both(make, seed=0, **settings):
    """The problem told in the two ways."""
    return [
        make(problem(np.random.default_rng(seed), by_step=by_step, **settings))
        for by_step in (True, False)
    ]


def at_their_noise(one, other, start):
    """States at the noise of each way."""
    states = [start(one), start(other)]
    states[0].noise = NOISE.copy()
    return states


@pytest.mark.parametrize("prior", [Exact(), Fixed(0.5, 0.8)], ids=["exact", "fixed"])
@pytest.mark.parametrize("solver", [BlockSolver(), LBFGSSolver()], ids=["block", "lbfgs"])
def test_mode_noise_by_step_equals_weights_divided_by_noise(prior, solver):
    one, other = both(lambda made: Objective.of(made, prior))
    # Sizes that decide what counts as zero come from the weights, and are given.
    other = replace(other)
    for name in ("floor", "zero_below", "zero_log_density"):
        getattr(other, name)[:] = getattr(one, name)
    rng = np.random.default_rng(1)
    beta = rng.normal(size=(P, T))
    beta[3] = beta[3, 0]
    states = at_their_noise(one, other, lambda each: each.start(beta.copy()))
    gap = one.value(states[0]) - other.value(states[1])
    results = [
        solver.solve(each, state, max_iter=500, tol=1e-9)
        for each, state in zip((one, other), states, strict=True)
    ]
    assert_allclose(results[0].state.beta, results[1].state.beta, rtol=1e-6, atol=1e-8)
    assert_allclose(results[0].state.intercept_mean, results[1].state.intercept_mean, atol=1e-6)
    # The objectives differ by the constant they began with.
    ends = [result.history[-1] for result in results]
    assert_allclose(ends[0] - ends[1], gap, rtol=1e-6)
    assert_allclose(results[0].state.noise, NOISE)


@pytest.mark.parametrize("directions", [0, 2])
def test_posterior_noise_by_step_equals_weights_divided_by_noise(directions):
    prior, unit = Learned(n_directions=directions), np.ones(P)
    one, other = both(lambda made: Bound.of(made, prior, unit, made.shared), directions=directions)
    other = replace(other, unit=one.unit)
    object.__setattr__(other, "unit", one.unit)  # the columns' units come from the weights
    states = at_their_noise(one, other, lambda each: each.start_posterior())
    gap = one.value(states[0]) - other.value(states[1])
    results = [
        CAVISolver().solve(each, state, max_iter=40, tol=0.0)
        for each, state in zip((one, other), states, strict=True)
    ]
    for name in (
        "beta",
        "variance",
        "phi",
        "curvature",
        "linear",
        "intercept_mean",
        "intercept_variance",
    ):
        found = [getattr(result.state, name) for result in results]
        assert_allclose(found[0], found[1], rtol=1e-7, atol=1e-9, err_msg=name)
    shared = [result.state.shared for result in results]
    assert_allclose(shared[0].mean, shared[1].mean, rtol=1e-6, atol=1e-9)
    assert_allclose(shared[0].covariance, shared[1].covariance, rtol=1e-6, atol=1e-12)
    ends = [result.history[-1] for result in results]
    assert_allclose(ends[0] - ends[1], gap, rtol=1e-7)
    assert (np.diff(results[0].history) >= -1e-9).all()


def test_the_shared_directions_of_counts_reads_the_dispersion_of_every_step():
    """Curvatures of counts change, so that their Gram matrix is not the cached one."""
    made = problem(
        np.random.default_rng(2), by_step=True, family=Poisson(dispersed=True), directions=2
    )
    state = made.start()
    state.noise = NOISE.copy()
    work = RowWork(made, state)
    scores = made.shared.scores.values
    rows = (1.0 / NOISE)[np.repeat(np.arange(T), np.diff(made.design.step_offsets))]
    h = (scores * (rows * work.curvature)[:, None]).T @ scores
    b = scores.T @ (rows * work.score)
    update_shared(made, state, work.score.copy(), work.curvature)
    assert_allclose(state.shared.h, h, rtol=1e-10)
    assert_allclose(state.shared.b, b, rtol=1e-10)


def test_the_dispersion_of_counts_enters_the_likelihood_row_by_row():
    rng = np.random.default_rng(3)
    family, y = Poisson(dispersed=True), rng.poisson(5.0, 20).astype(float)
    eta, ones, noise = rng.normal(1.5, 0.3, 20), np.ones(20), rng.uniform(1.0, 4.0, 20)
    together = family.log_likelihood(y, eta, np.zeros(1), ones, noise)
    alone = [
        family.log_likelihood(y[[n]], eta[[n]], np.zeros(1), ones[:1], noise[[n]])
        for n in range(20)
    ]
    assert_allclose(together, np.sum(alone), rtol=1e-12)
