"""Effects of groups after a fit: what is known of those it saw, and of those it did not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.objective import GroupState, Problem, State
from driftglm.objective.groups import Groups, Shrinkage

DrawnEffects = tuple[FloatArray, FloatArray, FloatArray]
"""(n_groups + n_cells,) mean and variance of drawn effects, and (2,) mean of their variances."""


@dataclass(frozen=True)
class GroupFit:
    """Effects of groups on one response.

    Parameters
    ----------
    mean, variance
        (n_groups,) of the constant effects; of a group without rows those of its prior.
    keys, stride
        (n_cells,) number of a cell's group times `stride`, plus its step; rising.
    cell_mean, cell_variance
        (n_cells,) of constant effect and the one drawn in that step, together.
    prior
        (2,) variances between groups of constant effects, and of those drawn anew.
    """

    mean: FloatArray
    variance: FloatArray
    keys: IntArray
    stride: int
    cell_mean: FloatArray
    cell_variance: FloatArray
    prior: FloatArray

    @classmethod
    def of(
        cls, problem: Problem, state: State, stride: int, drawn: DrawnEffects | None = None
    ) -> GroupFit | None:
        """Taken from where a solver ended, or from draws; None where no rows belong together."""
        groups, now = problem.row_groups, state.row_groups
        if groups is None or now is None:
            return None
        if drawn is not None:
            mean, cell_mean = np.split(drawn[0], [groups.n_groups])
            variance, cell_variance = np.split(drawn[1], [groups.n_groups])
            return cls(mean, variance, groups.keys, stride, cell_mean, cell_variance, drawn[2])
        return cls(
            now.constant,
            _group_variance(groups, now),
            groups.keys,
            stride,
            now.effect(groups),
            now.cell_variance(groups),
            now.variance,
        )

    def moments(self, group: IntArray, codes: IntArray | int) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the effects of some rows; a negative group was not seen.

        Of a step that was seen the effect drawn in it is known; in another it is drawn anew.
        """
        known = (group >= 0) & (group < self.mean.size)
        place = np.where(known, group, 0)
        mean = np.where(known, self.mean[place], 0.0)
        variance = np.where(known, self.variance[place], self.prior[0]) + self.prior[1]
        keys = np.where(known & (codes < self.stride), place * self.stride + codes, -1)
        found = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        seen = self.keys[found] == keys
        mean = np.where(seen, self.cell_mean[found], mean)
        return mean, np.where(seen, self.cell_variance[found], variance)


def _group_variance(groups: Groups, now: GroupState) -> FloatArray:
    return Shrinkage.of(groups, now.information, now.variance).group_variance
