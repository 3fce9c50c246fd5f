"""Effects of groups, and what paths lose because they are unknown, against dense matrices."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from driftglm.design import ColumnDesign
from driftglm.objective.groups import Groups, GroupState, Shrinkage
from driftglm.priors.offset import times_information
from driftglm.solvers.groups import (
    best_variances,
    effects,
    group_arrays,
    log_evidence,
    lost_by_columns,
    lost_information,
    refresh_inplace,
    update_groups,
    with_unknown_effects,
)

N_GROUPS, N_STEPS = 6, 4
VARIANCES = [(0.7, 0.3), (0.7, 0.0), (0.0, 0.3)]


@pytest.fixture
def panel(rng):
    """Rows sorted by step, an unbalanced panel: groups, steps of rows, weights."""
    codes = np.sort(rng.integers(0, N_STEPS, 60))
    return made(rng.integers(0, N_GROUPS, 60), codes), codes, rng.gamma(2.0, 0.5, 60)


def made(group, codes, n_groups=N_GROUPS):
    keys, cell = np.unique(group * N_STEPS + codes, return_inverse=True)
    return Groups(cell, keys // N_STEPS, n_groups, keys, constant=True, anew=True)


def members(groups):
    """Z of the constant effects and of those drawn anew, by row."""
    return np.eye(groups.n_groups)[groups.group[groups.cell]], np.eye(groups.n_cells)[groups.cell]


def covariance(groups, variance):
    """Z G Z' of the rows."""
    return sum(v * z @ z.T for v, z in zip(variance, members(groups), strict=True))


def problem_of(groups, codes, X=None):
    design, order = ColumnDesign.from_matrix(
        np.zeros((codes.size, 1)) if X is None else X, codes, N_STEPS
    )
    np.testing.assert_array_equal(order, np.arange(codes.size))
    return SimpleNamespace(
        design=design,
        row_groups=groups,
        precision=lambda state: state.precision,
        by_row=lambda steps: steps[codes],
    )


def state_of(groups, variance, precision=None):
    now = GroupState.off(groups)
    now.variance = np.array(variance)
    return SimpleNamespace(row_groups=now, precision=precision)


@pytest.mark.parametrize("variance", VARIANCES)
def test_effects_and_their_variances_are_those_of_the_joint_posterior(rng, panel, variance):
    groups, _, weights = panel
    residual = rng.normal(size=weights.size)
    information, linear = groups.by_cell(weights), groups.by_cell(weights * residual)
    constant, anew = effects(groups, information, linear, np.array(variance))
    Z = np.hstack(members(groups))  # noqa: N806
    prior = np.repeat(variance, [groups.n_groups, groups.n_cells])
    inner = np.eye(prior.size) + prior[:, None] * (Z.T * weights) @ Z
    posterior = np.linalg.solve(inner, np.diag(prior))
    both = posterior @ Z.T @ (weights * residual)
    assert_allclose(np.concatenate([constant, anew]), both, rtol=1e-10, atol=1e-12)
    known = Shrinkage.of(groups, information, np.array(variance))
    assert_allclose(known.group_variance, np.diag(posterior)[: groups.n_groups], rtol=1e-10)
    now = GroupState(constant, anew, np.array(variance), information)
    by_row = np.diag(Z @ posterior @ Z.T)
    assert_allclose(now.cell_variance(groups)[groups.cell], by_row, rtol=1e-10)
    now.settle(groups)
    used = prior > 0
    inverse = np.diag(1.0 / prior[used])
    cov = posterior[np.ix_(used, used)]
    kl = np.trace(inverse @ cov) - used.sum() + both[used] @ inverse @ both[used]
    kl += np.log(prior[used]).sum() - np.linalg.slogdet(cov)[1]
    assert_allclose(now.divergence, 0.5 * kl, rtol=1e-9)


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_evidence_is_the_density_of_the_rows(rng, panel, variance):
    groups, _, weights = panel
    y = rng.normal(size=weights.size)
    noise = np.diag(1.0 / weights)

    def log_density(cov):
        return -0.5 * (np.linalg.slogdet(cov)[1] + y @ np.linalg.solve(cov, y))

    gained = log_density(noise + covariance(groups, variance)) - log_density(noise)
    given = groups.by_cell(weights), groups.by_cell(weights * y)
    assert_allclose(log_evidence(groups, *given, np.array(variance)), gained, rtol=1e-9)


@pytest.mark.parametrize("truth", [(1.0, 0.0), (0.0, 1.0), (1.0, 0.5), (0.0, 0.0)])
def test_variances_end_where_a_brute_force_search_does(rng, truth):
    codes = np.repeat(np.arange(N_STEPS), 60)
    groups = made(np.tile(np.repeat(np.arange(N_GROUPS), 10), N_STEPS), codes)
    y = rng.normal(size=codes.size)
    for member, variance in zip(members(groups), truth, strict=True):
        y += np.sqrt(variance) * member @ rng.normal(size=member.shape[1])
    given = groups.by_cell(np.ones(codes.size)), groups.by_cell(y)
    best = np.zeros(2)
    for _ in range(40):
        best = best_variances(groups, *given, best)
    reached = log_evidence(groups, *given, best)
    grid = np.concatenate([[0.0], np.geomspace(1e-3, 30.0, 100)])
    values = [log_evidence(groups, *given, np.array([u, v])) for u in grid for v in grid]
    assert reached >= max(values) - 1e-3
    assert reached < max(values) + 0.05  # the grid is fine


def test_a_step_for_variances_never_lowers_the_evidence(rng, panel):
    groups, _, weights = panel
    given = groups.by_cell(weights), groups.by_cell(weights * rng.normal(size=weights.size))
    for start in rng.gamma(0.5, 2.0, (20, 2)):
        after = best_variances(groups, *given, start)
        assert log_evidence(groups, *given, after) >= log_evidence(groups, *given, start)


def dense_loss(groups, codes, weights, column, variance):
    """Diagonal by step and sum of what x'Omega x is less than x'D x."""
    D = np.diag(weights)  # noqa: N806
    omega = np.linalg.inv(np.linalg.inv(D) + covariance(groups, variance))
    by_step = column[:, None] * (codes[:, None] == np.arange(N_STEPS))
    lost = by_step.T @ (D - omega) @ by_step
    return np.diag(lost), lost.sum(), lost


COLUMNS = {
    "dense": lambda rng: rng.normal(size=(60, 3)),
    "sparse": lambda rng: sp.csr_matrix(rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.3)),
    "binary": lambda rng: sp.csr_matrix((rng.random((60, 3)) < 0.3).astype(float)),
    "rare": lambda rng: sp.csr_matrix(rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.08)),
    "a few ones": lambda rng: sp.csr_matrix((rng.random((60, 3)) < 0.08).astype(float)),
}


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("centered", [False, True])
def test_lost_information_is_that_of_the_whole_covariance(rng, panel, variance, kind, centered):
    groups, codes, weights = panel
    X = COLUMNS[kind](rng)
    problem = problem_of(groups, codes, X)
    if centered:
        share = np.linspace(0.1, 0.9, N_STEPS)
        problem.design = problem.design.centered(np.ones(codes.size), share)
    columns = np.column_stack(
        [X[:, [j]].toarray() if sp.issparse(X) else X[:, j] for j in range(3)]
    )
    columns = columns - problem.design.mean.T[codes]
    given = problem, state_of(groups, variance), weights
    by_step, constant = lost_information(*given, np.array([0, 2]))
    beside = lost_by_columns(*given, columns.T)
    for j in (0, 2):
        diagonal, total, _ = dense_loss(groups, codes, weights, columns[:, j], variance)
        assert_allclose(by_step[j], diagonal, rtol=1e-9, atol=1e-10)
        assert_allclose(constant[j], total, rtol=1e-9, atol=1e-10)
        assert_allclose(beside[0][j], diagonal, rtol=1e-9, atol=1e-10)
        assert_allclose(beside[1][j], total, rtol=1e-9, atol=1e-10)
    assert not by_step[1].any()  # was not asked for


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("ones", [False, True])
def test_columns_of_few_entries_lose_what_they_would_if_all_cells_were_looked_at(
    rng, variance, ones
):
    codes = np.sort(rng.integers(0, N_STEPS, 900))
    groups, weights = made(rng.integers(0, 200, 900), codes, 200), rng.gamma(2.0, 0.5, 900)
    X = np.where(rng.random((900, 4)) < [0.02, 0.1, 0.6, 1.0], 1.0, 0.0)
    X *= 1.0 if ones else rng.normal(3.0, 1.0, X.shape)
    problem = problem_of(groups, codes, sp.csr_matrix(X))
    problem.design = problem.design.centered(weights, np.linspace(0.1, 0.9, N_STEPS))
    given = problem, state_of(groups, variance), weights
    by_step, constant = lost_information(*given, np.arange(4))
    beside = lost_by_columns(*given, (X - problem.design.mean.T[codes]).T)
    assert_allclose(by_step, beside[0], rtol=1e-10, atol=1e-10)
    assert_allclose(constant, beside[1], rtol=1e-10, atol=1e-10)


def as_taken(h, kept, offset):
    """The matrix that a path's kernels use."""
    columns = [times_information(h * kept, unit, offset) for unit in np.eye(h.size)]
    return np.array(columns).T


EXACT = {
    "drawn anew": ((0.0, 0.4), False),
    "balanced, of groups": ((0.8, 0.3), True),
    "balanced, constant alone": ((0.8, 0.0), True),
}


@pytest.mark.parametrize("case", EXACT)
def test_where_it_is_said_to_be_exact_the_information_is_the_whole_matrix(rng, panel, case):
    variance, balanced = EXACT[case]
    groups, codes, weights = panel
    column = rng.normal(size=codes.size)
    if balanced:
        codes = np.repeat(np.arange(N_STEPS), 3 * N_GROUPS)
        of_row = np.tile(np.repeat(np.arange(N_GROUPS), 3), N_STEPS)
        groups, weights = made(of_row, codes), np.full(codes.size, 1.3)
        column = rng.normal(size=N_GROUPS)[of_row]
    h = np.bincount(codes, weights * column**2)
    diagonal, total, lost = dense_loss(groups, codes, weights, column, variance)
    (kept,), (offset,) = with_unknown_effects(h[None], (diagonal[None], np.array([total])))
    assert_allclose(as_taken(h, kept, offset), np.diag(h) - lost, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("variance", VARIANCES)
def test_trace_and_sum_are_always_met(rng, panel, variance):
    groups, codes, weights = panel
    column = rng.normal(size=codes.size) + rng.normal(size=N_GROUPS)[groups.group[groups.cell]]
    h = np.bincount(codes, weights * column**2)
    diagonal, total, lost = dense_loss(groups, codes, weights, column, variance)
    (kept,), (offset,) = with_unknown_effects(h[None], (diagonal[None], np.array([total])))
    taken, exact = as_taken(h, kept, offset), np.diag(h) - lost
    assert_allclose(np.trace(taken), np.trace(exact), rtol=1e-9)
    assert_allclose(taken.sum(), exact.sum(), rtol=1e-9)
    assert np.linalg.eigvalsh(taken)[0] > 0


def test_one_step_is_exact_and_nothing_is_lost_without_effects(rng):
    h = rng.gamma(2.0, 1.0, (3, N_STEPS))
    kept, offset = with_unknown_effects(h, (np.zeros_like(h), np.zeros(3)))
    assert_allclose(kept, 1.0)
    assert not offset.any()
    kept, offset = with_unknown_effects(np.array([[5.0]]), (np.array([[2.0]]), np.array([2.0])))
    assert_allclose(as_taken(np.array([5.0]), kept[0], offset[0]), [[3.0]])


@pytest.mark.parametrize("ones", [False, True])
def test_a_refresh_in_the_middle_of_a_pass_is_an_update(rng, panel, ones):
    groups, codes, weights = panel
    curvature = np.ones_like(weights) if ones else weights
    precision = rng.gamma(2.0, 1.0, N_STEPS)
    problem, state = problem_of(groups, codes), state_of(groups, (0.7, 0.3), precision)
    state.row_groups.constant = rng.normal(size=N_GROUPS)
    state.row_groups.anew = rng.normal(size=groups.n_cells)
    state.row_groups.information = groups.by_cell(precision[codes] * curvature)
    score, pending = rng.normal(size=codes.size), rng.normal(size=N_STEPS)
    later = score.copy()
    arrays = copy.deepcopy(group_arrays(problem, state))
    sums = np.bincount(codes, curvature)
    steps = np.array([pending, np.zeros(N_STEPS), sums])
    given = np.empty(0) if ones else curvature
    refresh_inplace(later, given, steps, precision, problem.design.step_offsets, arrays)
    score -= curvature * pending[codes]
    update_groups(problem, state, score, curvature, learn=False)
    assert_allclose(later, score, rtol=1e-10, atol=1e-12)
    assert_allclose(arrays[3], state.row_groups.constant, rtol=1e-10)
    assert_allclose(arrays[4], state.row_groups.anew, rtol=1e-10)
    assert_allclose(steps[1], np.bincount(codes, score), rtol=1e-9, atol=1e-11)
    assert not steps[0].any()
