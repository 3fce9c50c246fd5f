"""Rows that belong together: effects of groups, constant over steps, or drawn anew in every step.

    eta of a row = ... + u_g + v_c,    u_g ~ Normal(0, s_u),    v_c ~ Normal(0, s_v)

g is the row's group, and c its cell: the rows of that group in one step. Given the rest, the
likelihood of the cells is exp(S_c x - W_c x^2 / 2) with x = u_g + v_c, and everything about u and v
follows in closed form, cells first, then groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftglm._typing import FloatArray, IntArray


@dataclass(frozen=True)
class Groups:
    """Which rows belong together.

    Parameters
    ----------
    cell
        (n_rows,) cell of every row, rows in the design's order.
    group
        (n_cells,) group of every cell; the cells of a group follow each other.
    n_groups
        Number of groups; some may have no rows here.
    keys
        (n_cells,) by which a cell is found again, rising.
    constant, anew
        Whether groups have effects that are constant over steps, and that are drawn anew in every
        step. Where each group is in one step the two are the same; where each cell is one row, an
        effect drawn anew is noise.
    """

    cell: IntArray
    group: IntArray
    n_groups: int
    keys: IntArray
    constant: bool
    anew: bool

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return int(self.group.size)

    @cached_property
    def first_cells(self) -> IntArray:
        """(n_groups + 1,) where the cells of every group begin, and where the last ones end."""
        return np.searchsorted(self.group, np.arange(self.n_groups + 1)).astype(np.int64)

    def by_cell(self, rows: FloatArray) -> FloatArray:
        """Sums over the rows of every cell."""
        return np.bincount(self.cell, rows, self.n_cells).astype(np.float64, copy=False)

    def by_group(self, cells: FloatArray) -> FloatArray:
        """Sums over the cells of every group."""
        return np.bincount(self.group, cells, self.n_groups).astype(np.float64, copy=False)


@dataclass(frozen=True)
class Shrinkage:
    """What follows from the variances and from the information of the cells alone.

    Parameters
    ----------
    rest
        (n_cells,) share of a cell's information that is left when its own effect is unknown.
    cell_variance
        (n_cells,) variance of v given u.
    group_information
        (n_groups,) information about u when v is unknown.
    group_variance
        (n_groups,) variance of u.
    """

    rest: FloatArray
    cell_variance: FloatArray
    group_information: FloatArray
    group_variance: FloatArray

    @classmethod
    def of(cls, groups: Groups, information: FloatArray, variance: FloatArray) -> Shrinkage:
        """Of cells with so much information, under the two variances."""
        rest = 1.0 / (1.0 + variance[1] * information)
        known = groups.by_group(rest * information)
        return cls(rest, variance[1] * rest, known, variance[0] / (1.0 + variance[0] * known))

    def effect_variance(self, groups: Groups) -> FloatArray:
        """(n_cells,) variance of u + v."""
        return self.cell_variance + self.rest**2 * self.group_variance[groups.group]


@dataclass
class GroupState:
    """Posterior of the effects of groups.

    Parameters
    ----------
    constant, anew
        (n_groups,) and (n_cells,) means of u and v.
    variance
        (2,) prior variances of u and v.
    information
        (n_cells,) W of the likelihood that the covariance comes from.
    divergence
        From the prior.
    """

    constant: FloatArray
    anew: FloatArray
    variance: FloatArray
    information: FloatArray
    divergence: float = 0.0

    @classmethod
    def off(cls, groups: Groups) -> GroupState:
        """Where every fit starts."""
        cells = np.zeros(groups.n_cells)
        return cls(np.zeros(groups.n_groups), cells, np.zeros(2), cells.copy())

    def effect(self, groups: Groups) -> FloatArray:
        """(n_cells,) mean of u + v."""
        return self.constant[groups.group] + self.anew

    def cell_variance(self, groups: Groups) -> FloatArray:
        """(n_cells,) variance of u + v."""
        return Shrinkage.of(groups, self.information, self.variance).effect_variance(groups)

    def settle(self, groups: Groups) -> None:
        """Bring the divergence in step with the rest."""
        found = Shrinkage.of(groups, self.information, self.variance)
        # log|I + prior covariance * information|, cells first, then groups
        total = -np.log(found.rest).sum()
        total += np.log1p(self.variance[0] * found.group_information).sum()
        for effect, variance in zip((self.constant, self.anew), self.variance, strict=True):
            if variance > 0:
                total += np.sum(effect * effect) / variance
        total -= np.sum(self.information * found.effect_variance(groups))
        self.divergence = 0.5 * float(total)
