"""Draws of the effects of groups, of their variances, and of what effects could stand for.

The two variances are drawn with effects integrated out. Then every path that is not zero, and every
intercept, is moved by a constant together with the effects: given the effects, a covariate of
groups would crawl. Then effects are drawn, constant ones first. A deviation between groups is half
Cauchy, its scale that of y (of eta where the family is not normal).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.objective import GroupState, Problem
from driftglm.objective.groups import Groups, Shrinkage
from driftglm.solvers.gibbs_joint import Likelihood, PathLaws
from driftglm.solvers.gibbs_rows import slice_draw
from driftglm.solvers.groups import log_evidence, step_of_cells

START = 0.1
"""Variance that chains start from, in units of the reference, where the fit has none."""
RANGE = 1e-6, 1e6
"""Variances that may be drawn, in units of the reference."""
LEAST, SMALLEST = 1e-12, 1e-300


class Cells(NamedTuple):
    """What rows say: (n_rows,) information and score, and (n_cells,) their sums over cells."""

    weights: FloatArray
    score: FloatArray
    information: FloatArray
    linear: FloatArray


def start_of(groups: Groups, reference: float, fit: GroupState | None) -> GroupState:
    """Where a chain starts: at a fit, or without effects."""
    found = GroupState.off(groups)
    found.variance = START * reference * np.array([groups.constant, groups.anew], dtype=np.float64)
    if fit is not None:
        found.constant, found.anew = fit.constant.copy(), fit.anew.copy()
        found.variance = np.where(fit.variance > 0, fit.variance, found.variance)
    return found


def log_prior(log_variance: float, reference: float) -> float:
    """Density of the logarithm of a variance whose root is half Cauchy, up to a constant."""
    return float(0.5 * log_variance - np.log1p(np.exp(log_variance) / reference))


@dataclass
class GroupDraws:
    """The effects of one chain.

    Parameters
    ----------
    groups, state
        Which rows belong together, and the effects they have at present.
    codes
        (n_cells,) step of every cell.
    reference
        Variance that those of effects are compared with.
    rng
        Of the chain.
    """

    groups: Groups
    state: GroupState
    codes: IntArray
    reference: float
    rng: np.random.Generator

    @classmethod
    def of(cls, problem: Problem, state: GroupState, rng: np.random.Generator) -> GroupDraws:
        """Of a problem whose rows belong together."""
        assert problem.row_groups is not None  # noqa: S101
        codes = step_of_cells(problem.row_groups, problem)
        return cls(problem.row_groups, state, codes, problem.reference, rng)

    def cells(self, precision: FloatArray, curvature: FloatArray, score: FloatArray) -> Cells:
        """What rows say about effects that are not taken off their score."""
        by_cell = self.groups.by_cell
        weights, linear = precision * curvature, precision * score
        return Cells(weights, linear, by_cell(weights), by_cell(linear))

    def without_anew(self, likelihood: Likelihood, columns: FloatArray, cells: Cells) -> Likelihood:
        """The likelihood of paths, step by step, with effects drawn anew integrated out."""
        a = np.array([self.groups.by_cell(cells.weights * each) for each in columns])
        own = a * self.cell_variance(cells.information)
        gram, linear = likelihood[0].copy(), likelihood[1].copy()
        for t in range(len(gram)):
            here = np.flatnonzero(self.codes == t)
            gram[t] -= own[:, here] @ a[:, here].T
            linear[t] -= own[:, here] @ cells.linear[here]
        return gram, linear

    def by_row(self) -> FloatArray:
        """(n_rows,) effects of the rows' groups."""
        return self.state.effect(self.groups)[self.groups.cell]

    def draw_variances(self, cells: Cells) -> None:
        """Both variances, each given the other and no effects."""
        variance = self.state.variance.copy()
        low, high = np.log(np.array(RANGE) * self.reference)
        for j, wanted in enumerate((self.groups.constant, self.groups.anew)):
            if not wanted:
                continue

            def density(log_variance: float, j: int = j) -> float:
                trial = variance.copy()
                trial[j] = np.exp(log_variance)
                likelihood = log_evidence(self.groups, cells.information, cells.linear, trial)
                return likelihood + log_prior(log_variance, self.reference)

            now = float(np.clip(np.log(variance[j]), low, high))
            variance[j] = np.exp(slice_draw(density, now, (float(low), float(high)), self.rng))
        self.state.variance = variance

    def draw_shifts(
        self, columns: FloatArray, cells: Cells, prior: tuple[FloatArray, FloatArray]
    ) -> FloatArray:
        """(m,) constants to be added to paths of columns (m, n_rows), effects integrated out.

        `prior` is the precision and the linear term of every constant.
        """
        groups, information, along = self.groups, cells.information, cells.linear
        known = Shrinkage.of(groups, information, self.state.variance)
        a = np.array([groups.by_cell(cells.weights * each) for each in columns])
        b = np.array([groups.by_group(known.rest * each) for each in a])
        precision = (columns * cells.weights) @ columns.T + np.diag(prior[0])
        precision -= (a * known.cell_variance) @ a.T + (b * known.group_variance) @ b.T
        linear = columns @ cells.score - a @ (known.cell_variance * along) + prior[1]
        linear -= b @ (known.group_variance * groups.by_group(known.rest * along))
        values, vectors = np.linalg.eigh(precision)
        # A constant of which nothing is known, nor said by its prior, stays where it is.
        seen = values > LEAST * max(float(values.max(initial=0.0)), SMALLEST)
        safe = np.where(seen, values, 1.0)
        normal = self.rng.standard_normal(values.size)
        along = (vectors.T @ linear) / safe + normal / np.sqrt(safe)
        return np.asarray(vectors @ np.where(seen, along, 0.0))

    def draw_effects(self, cells: Cells) -> None:
        """Constant effects, then those drawn anew."""
        groups, state = self.groups, self.state
        information, linear = cells.information, cells.linear
        known = Shrinkage.of(groups, information, state.variance)
        u = known.group_variance * groups.by_group(known.rest * linear)
        state.constant = u + np.sqrt(known.group_variance) * self.rng.standard_normal(u.size)
        left = linear - information * state.constant[groups.group]
        self._draw_anew(known.cell_variance, left)
        state.information = information

    def draw_anew(self, cells: Cells) -> None:
        """Effects drawn anew given the constant ones, which `cells` know nothing of."""
        self._draw_anew(self.cell_variance(cells.information), cells.linear)

    def cell_variance(self, information: FloatArray) -> FloatArray:
        """(n_cells,) of an effect drawn anew."""
        return Shrinkage.of(self.groups, information, self.state.variance).cell_variance

    def _draw_anew(self, variance: FloatArray, linear: FloatArray) -> None:
        normal = self.rng.standard_normal(variance.size)
        self.state.anew = variance * linear + np.sqrt(variance) * normal


def shift_priors(
    laws: PathLaws, static: FloatArray, paths: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(m,) precision and linear term of a constant that is added to paths (m, T).

    It moves the constant part; of a path that has none, the chain.
    """
    constant = laws.static > 0
    precision = np.where(constant, 1.0 / np.where(constant, laws.static, 1.0), 0.0)
    linear = np.where(constant & np.isfinite(laws.static), -precision * static, 0.0)
    for j in np.flatnonzero(~constant & (laws.shock[0] > 0)):
        carry, shock = laws.carry[:, j], laws.shock[:, j]
        slack = np.where(np.arange(carry.size) == 0, 1.0, 1.0 - carry)
        change = paths[j].copy()
        change[1:] -= carry[1:] * paths[j, :-1]
        precision[j] = np.sum(slack**2 / shock)
        linear[j] = -np.sum(slack * change / shock)
    return precision, linear
