"""The effects of groups: their update, and what it costs a path that they are unknown.

Effects are updated at the start of a pass, with the variances of highest evidence, and again
whenever paths have moved far enough (`refresh_inplace`): an update of a path takes them for unknown
(`lost_information`), so they must follow it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from driftglm._jit import kernel
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import NO_EFFECTS, Columns, Effects
from driftglm.objective import Problem, State
from driftglm.objective.groups import Groups, GroupState, Shrinkage

N_GRID = 25
SMALLEST, LARGEST = 1e-4, 1e8
"""Variances tried, over the inverse of the largest information of a cell (or group)."""
NEARBY = 4.0
"""How far a variance may move from one pass to the next, as a factor."""
SEARCHED = 1e-3
"""How close to the best logarithm of a variance a search comes."""
HUGE = 1e200
LEAST_LEFT = 1e-6
"""Share of its information about a constant that a path keeps at least."""
LEAST_CURVED = 0.6
"""The same of a path with a season, as a share of its information about changes."""


def group_arrays(problem: Problem, state: State) -> Effects:
    """What kernels change in the middle of a pass; none where no rows belong together."""
    groups, now = problem.row_groups, state.row_groups
    if groups is None or now is None:
        return NO_EFFECTS
    found = Shrinkage.of(groups, now.information, now.variance)
    known = now.information, found.rest, found.cell_variance, found.group_variance
    return groups.cell, groups.group, known, now.constant, now.anew, np.zeros(1)


def update_groups(
    problem: Problem,
    state: State,
    score: FloatArray,
    curvature: FloatArray,
    damping: float = 1.0,
    *,
    learn: bool = True,
    settle: bool = True,
) -> None:
    """Set effects, and their variances where these are to be learned, given the rest.

    `score` is kept in step, `state.eta` is not; the divergence is if it is to `settle`.
    """
    groups, now = problem.row_groups, state.row_groups
    if groups is None or now is None:
        return
    precision = problem.by_row(problem.precision(state))
    before = now.effect(groups)
    information = groups.by_cell(precision * curvature)
    linear = groups.by_cell(precision * score) + information * before
    variance = now.variance
    if learn or not variance.any():
        variance = best_variances(groups, information, linear, variance)
    found = effects(groups, information, linear, variance)
    constant = now.constant + damping * (found[0] - now.constant)
    anew = now.anew + damping * (found[1] - now.anew)
    # An effect of variance zero is zero, however short the step.
    constant, anew = (e * (v > 0) for e, v in zip((constant, anew), variance, strict=True))
    state.row_groups = GroupState(constant, anew, variance, information)
    if settle:
        state.row_groups.settle(groups)
    score -= curvature * (state.row_groups.effect(groups) - before)[groups.cell]


def effects(
    groups: Groups, information: FloatArray, linear: FloatArray, variance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Means of u and v given the likelihood of the cells."""
    known = Shrinkage.of(groups, information, variance)
    constant = known.group_variance * groups.by_group(known.rest * linear)
    anew = known.cell_variance * (linear - information * constant[groups.group])
    return constant, anew


def log_evidence(
    groups: Groups, information: FloatArray, linear: FloatArray, variance: FloatArray
) -> float:
    """Of the cells, compared with no effects at all."""
    return float(_log_evidence(groups.first_cells, information, linear, variance))


@kernel
def _log_evidence(
    first_cells: IntArray, information: FloatArray, linear: FloatArray, variance: FloatArray
) -> float:
    """Cells first, then groups. Logarithms are taken of products, which are fewer."""
    gained, lost, product = 0.0, 0.0, 1.0
    for g in range(first_cells.shape[0] - 1):
        above = below = 0.0
        for c in range(first_cells[g], first_cells[g + 1]):
            excess = 1.0 + variance[1] * information[c]
            gained += variance[1] * linear[c] * linear[c] / excess
            above += linear[c] / excess
            below += information[c] / excess
            product *= excess
            if product > HUGE:
                lost += np.log(product)
                product = 1.0
        excess = 1.0 + variance[0] * below
        gained += variance[0] * above * above / excess
        product *= excess
        if product > HUGE:
            lost += np.log(product)
            product = 1.0
    return float(0.5 * (gained - lost - np.log(product)))


def best_variances(
    groups: Groups, information: FloatArray, linear: FloatArray, current: FloatArray
) -> FloatArray:
    """(2,) variances of u and v of higher evidence, one after the other; zero is possible.

    Each is the best given the other; passes lead to where both are.
    """
    best, value = current.copy(), log_evidence(groups, information, linear, current)
    kinds = [j for j, wanted in enumerate((groups.constant, groups.anew)) if wanted]
    if not information.any() or not np.isfinite(value):
        return best
    top = float(groups.by_group(information).max())
    for j in kinds:

        def of(variance: float, j: int = j) -> float:
            trial = best.copy()
            trial[j] = variance
            return log_evidence(groups, information, linear, trial)

        found = _best(of, float(current[j]), top)
        if (reached := of(found)) > value:
            best[j], value = found, reached
    return best


def _best(value: Callable[[float], float], current: float, top: float) -> float:
    """The variance of highest value, or zero: on a grid first, later about the one of before."""
    if current > 0:
        bounds = float(np.log(current / NEARBY)), float(np.log(current * NEARBY))
    else:
        grid = np.log(np.geomspace(SMALLEST, LARGEST, N_GRID) / top)
        k = int(np.argmax([value(float(np.exp(each))) for each in grid]))
        bounds = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, N_GRID - 1)])
    found = minimize_scalar(
        lambda x: -value(float(np.exp(x))),
        bounds=bounds,
        method="bounded",
        options={"xatol": SEARCHED},
    )
    return float(np.exp(found.x)) if -found.fun > value(0.0) else 0.0


@kernel
def refresh_inplace(
    score: FloatArray,
    curvature: FloatArray,
    steps: FloatArray,
    precision: FloatArray,
    step_offsets: IntArray,
    effects: Effects,
) -> None:
    """Effects given the rest, in the middle of a pass; score and sums of steps follow.

    `curvature` is empty where it is one throughout; `steps` (3, T) is what is pending, the sum of
    the score and that of the curvature (see `design.base.RowState`).
    """
    cell, group = effects[0], effects[1]
    ones, linear = curvature.shape[0] == 0, np.zeros(group.shape[0])
    for t in range(precision.shape[0]):
        pending, steps[0, t] = steps[0, t], 0.0
        for n in range(step_offsets[t], step_offsets[t + 1]):
            score[n] -= (1.0 if ones else curvature[n]) * pending
            linear[cell[n]] += precision[t] * score[n]
    moved = _set_effects_inplace(linear, effects)
    for t in range(precision.shape[0]):
        total = 0.0
        for n in range(step_offsets[t], step_offsets[t + 1]):
            score[n] -= (1.0 if ones else curvature[n]) * moved[cell[n]]
            total += score[n]
        steps[1, t] = total


@kernel
def _set_effects_inplace(linear: FloatArray, effects: Effects) -> FloatArray:
    """Effects given the gradient at the cells; returns their moves."""
    _, group, (information, rest, own, shared), constant, anew, _ = effects
    above, moved = np.zeros(constant.shape[0]), np.empty(group.shape[0])
    for c in range(group.shape[0]):
        before = constant[group[c]] + anew[c]
        linear[c] += information[c] * before
        above[group[c]] += rest[c] * linear[c]
        moved[c] = -before
    for g in range(constant.shape[0]):
        constant[g] = shared[g] * above[g]
    for c in range(group.shape[0]):
        u = constant[group[c]]
        anew[c] = own[c] * (linear[c] - information[c] * u)
        moved[c] += u + anew[c]
    return moved


@kernel
def refresh_away_inplace(
    score: FloatArray,
    columns: Columns,
    pending: FloatArray,
    precision: FloatArray,
    cells: tuple[IntArray, FloatArray],
    effects: Effects,
) -> None:
    """The same where rows are not at hand; `score` are gradients of a block's features, then cells.

    `columns` are the block's Gram matrix and, behind it in every segment, sums over cells; `cells`
    the step and the sum of the curvature of every cell, `pending` (T,) what is not yet in its
    score (see `design.base.UpdateBlock`).
    """
    values, rows, segments, center, _ = columns
    codes, curvature = cells
    m, n_steps, n_cells = segments.shape[0], precision.shape[0], codes.shape[0]
    linear = np.empty(n_cells)
    for c in range(n_cells):
        t = codes[c]
        linear[c] = precision[t] * (score[m * n_steps + c] - curvature[c] * pending[t])
    moved = _set_effects_inplace(linear, effects)
    total = np.zeros(n_steps)
    for c in range(n_cells):
        score[m * n_steps + c] -= curvature[c] * moved[c]
        total[codes[c]] += curvature[c] * moved[c]
    for i in range(m):
        for t in range(n_steps):
            along = 0.0
            for k in range(segments[i, t] + m, segments[i, t + 1]):
                along += values[k] * moved[rows[k] - m * n_steps]
            score[i * n_steps + t] -= along - center[i, t] * total[t]


Loss = tuple[FloatArray, FloatArray]
"""(n, T) information that paths lose step by step, and (n,) what they lose about a constant."""


def lost_information(
    problem: Problem, state: State, weights: FloatArray, features: IntArray
) -> Loss:
    """What some paths lose because effects are unknown, in arrays of all paths.

    `weights` are precision * curvature of the rows.
    """
    groups, known = _known(problem, state, weights)
    codes = step_of_cells(groups, problem)
    order = np.argsort(codes, kind="stable")
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size)
    first = np.searchsorted(codes[order], np.arange(problem.design.n_timesteps + 1))
    table = np.array(
        [
            known.cell_variance,
            known.cell_variance + known.group_variance[groups.group] * known.rest**2,
            known.rest,
            groups.by_cell(weights),
        ]
    )[:, order]
    cells = (
        place[groups.cell],
        groups.group[order].astype(np.int32),
        first.astype(np.int64),
        np.ascontiguousarray(table),
        known.group_variance,
    )
    return problem.design.lost_information(features, weights, cells)


def lost_by_columns(
    problem: Problem, state: State, weights: FloatArray, columns: FloatArray
) -> Loss:
    """The same of columns (n, n_rows) that are not part of the design."""
    groups, known = _known(problem, state, weights)
    by_step, about_constant = np.zeros((len(columns), problem.design.n_timesteps)), []
    codes = step_of_cells(groups, problem)
    for j, column in enumerate(columns):
        cells = groups.by_cell(weights * column)
        own = known.cell_variance * cells**2
        outer = known.group_variance[groups.group] * (known.rest * cells) ** 2
        np.add.at(by_step[j], codes, own + outer)
        inner = groups.by_group(known.rest * cells)
        about_constant.append(own.sum() + known.group_variance @ inner**2)
    return by_step, np.array(about_constant)


def step_of_cells(groups: Groups, problem: Problem) -> IntArray:
    """(n_cells,) the design's step of every cell."""
    codes = np.zeros(groups.n_cells, dtype=np.int64)
    steps = np.arange(problem.design.n_timesteps)
    codes[groups.cell] = np.repeat(steps, np.diff(problem.design.step_offsets))
    return codes


def _known(problem: Problem, state: State, weights: FloatArray) -> tuple[Groups, Shrinkage]:
    assert problem.row_groups is not None  # noqa: S101 (asked for where there are groups)
    assert state.row_groups is not None  # noqa: S101
    groups = problem.row_groups
    return groups, Shrinkage.of(groups, groups.by_cell(weights), state.row_groups.variance)


def with_unknown_effects(
    h: FloatArray, loss: Loss, *, one_error: bool = True
) -> tuple[FloatArray, FloatArray]:
    """What is left of curvatures (n, T), as shares, and (n,) variances of an error steps share.

    The information of a path with effects integrated out is a matrix. It is taken to be that of
    steps measured by themselves, to all of which one error was added (`priors.offset`): its
    diagonal is met up to a factor, its trace and its sum exactly. That is the matrix itself if
    effects are drawn anew in every step, if there is one step, and for covariates of groups in a
    balanced panel. Paths with seasons know no such error: without `one_error` every step has what
    is known about a constant, which says too little about drift, and no less than LEAST_CURVED of
    what is known about changes: updates with half of the curvature that is there would run away.
    """
    left = np.maximum(h - loss[0], LEAST_LEFT * h)
    total, squared = left.sum(axis=1), (left**2).sum(axis=1)
    about = np.clip(h.sum(axis=1) - loss[1], LEAST_LEFT * total, total)
    apart = total**2 - squared
    with np.errstate(invalid="ignore", divide="ignore"):
        x = np.where(apart > 1e-9 * total**2, (total - about) / apart, 0.0)
        factor = 1.0 + np.where(total > 0, x * squared / total, 0.0)
        offset = np.where(x > 0, x / (factor * (factor - x * total)), 0.0)
    kept = np.where(h > 0, left * factor[:, None] / np.where(h > 0, h, 1.0), 1.0)
    if not one_error:
        kept /= np.minimum(1.0 + offset * (kept * h).sum(axis=1), 1.0 / LEAST_CURVED)[:, None]
        offset = np.zeros_like(offset)
    return kept, offset
