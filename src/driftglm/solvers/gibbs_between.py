"""Draws of paths of columns that hardly vary within groups, with the effects integrated out.

The effects of groups can stand for such a column: given them, chains take long to find out whether
it is in. With them integrated out its information is a matrix (see `solvers.groups`), for which
there are no filters; a component is R z with z standard normal, and everything follows from
I + R'HR. O(K T^3) a column, so for few columns and short panels only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.objective.groups import Groups, Shrinkage
from driftglm.priors.mixture import Components
from driftglm.priors.path_draws import draw_index
from driftglm.solvers.gibbs_groups import Cells, GroupDraws
from driftglm.solvers.gibbs_joint import column_inplace

MOST_STEPS, MOST_COLUMNS, MOST_FEATURES = 30, 20, 500
MOSTLY = 0.8
"""Share of a column's squares that lies between the means of groups."""

Found = tuple[int, FloatArray, float]
"""Component, path and constant part."""


def between_columns(design: ColumnDesign, groups: Groups, squares: FloatArray) -> IntArray:
    """Columns that hardly vary within groups; none where this would take too long."""
    if design.n_timesteps > MOST_STEPS or design.n_features > MOST_FEATURES:
        return np.empty(0, dtype=np.int64)
    column, share = np.empty(design.n_rows), np.zeros(design.n_features)
    entries, group = (design.values, design.rows, design.segments), groups.group[groups.cell]
    rows = np.maximum(np.bincount(group, minlength=groups.n_groups), 1)
    for i in np.flatnonzero(squares.any(axis=1)):
        column_inplace(entries, int(i), design.center, design.step_offsets, column)
        sums = np.bincount(group, column, groups.n_groups)
        share[i] = np.sum(sums**2 / rows) / np.sum(column**2)
    order = np.argsort(-share, kind="stable")[:MOST_COLUMNS]
    return np.sort(order[share[order] > MOSTLY]).astype(np.int64)


def roots_of(components: Components) -> FloatArray:
    """(K, T, T + 1) R of every component: its constant part first, then its chain."""
    steps = np.arange(components.n_timesteps)
    lags = np.abs(steps[:, None] - steps)
    out = np.zeros((components.count, steps.size, steps.size + 1))
    for k, rho in enumerate(components.rho):
        out[k, :, 0] = np.sqrt(components.static[k])
        if components.dynamic[k] > 0:
            chain = np.linalg.cholesky(components.dynamic[k] * rho**lags)
            out[k, :, 1:] = chain
    return out


def information(
    effects: GroupDraws, column: FloatArray, cells: Cells, step_offsets: IntArray
) -> tuple[FloatArray, FloatArray]:
    """(T, T) curvature and (T,) linear term of a column, effects integrated out.

    `cells` are those of rows without the column and without effects.
    """
    groups, codes, n_steps = effects.groups, effects.codes, step_offsets.size - 1
    known = Shrinkage.of(groups, cells.information, effects.state.variance)
    a, first = groups.by_cell(cells.weights * column), step_offsets[:-1]
    by_group = np.zeros((groups.n_groups, n_steps))
    np.add.at(by_group, (groups.group, codes), known.rest * a)
    h, b = np.zeros(n_steps), np.zeros(n_steps)
    seen = np.diff(step_offsets) > 0
    h[seen] = np.add.reduceat(cells.weights * column**2, first[seen])
    b[seen] = np.add.reduceat(cells.score * column, first[seen])
    h -= np.bincount(codes, known.cell_variance * a**2, n_steps)
    b -= np.bincount(codes, known.cell_variance * a * cells.linear, n_steps)
    weighed = by_group * known.group_variance[:, None]
    b -= weighed.T @ groups.by_group(known.rest * cells.linear)
    return np.diag(h) - weighed.T @ by_group, b


@dataclass
class BetweenDraws:
    """Draws of such columns, `features`, whose components have `roots`."""

    features: IntArray
    roots: FloatArray

    def draw(
        self,
        likelihood: tuple[FloatArray, FloatArray],
        log_counts: FloatArray,
        unit: float,
        rng: np.random.Generator,
    ) -> tuple[Found, FloatArray]:
        """Component, path and constant part of a column, and the probabilities of components."""
        h, b = likelihood
        roots = self.roots / unit
        inner = np.swapaxes(roots, 1, 2) @ h @ roots + np.eye(roots.shape[2])
        along = np.swapaxes(roots, 1, 2) @ b
        solved = np.linalg.solve(inner, along[..., None])[..., 0]
        evidence = 0.5 * (np.sum(along * solved, axis=1) - np.linalg.slogdet(inner)[1])
        log_phi = evidence + log_counts
        phi = np.exp(log_phi - log_phi.max())
        phi /= phi.sum()
        k = int(draw_index(phi, rng))
        factor = np.linalg.cholesky(inner[k])
        normal = solved[k] + np.linalg.solve(factor.T, rng.standard_normal(b.size + 1))
        return (k, roots[k] @ normal, float(roots[k, 0, 0] * normal[0])), phi
