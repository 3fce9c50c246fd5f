"""Sums of columns over cells (a group in a step) whose rows are spread over partitions.

Workers sum over the rows they have, the client adds partitions up. With the sums of a block's
columns the client lets effects of groups follow its paths: a change of a path takes the column's
sums times the change off the score of cells, and a change of effects the same off gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.design.base import Effects, RowArray
from driftglm.distributed.storage import with_own_values


class LocalCells(NamedTuple):
    """The cell of every row of a partition, counted among those it has rows of."""

    cell: RowArray
    n_cells: int


class CellPart(NamedTuple):
    """What a partition's rows add to sums over cells: numbers, cells, and how many a feature."""

    numbers: FloatArray
    cells: RowArray
    counts: IntArray


def sums_over_cells(
    part: ColumnDesign, curvature: FloatArray | None, local: LocalCells
) -> CellPart:
    """Sums of curvature * x over the cells of a partition, x not centred; zeros are left out."""
    part = with_own_values(part)
    begins, counts = part.segments[:, 0], part.segments[:, -1] - part.segments[:, 0]
    features = np.repeat(np.arange(part.n_features), counts)
    first = np.repeat(begins - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
    chosen = first + np.arange(features.size)
    numbers, rows = part.values[chosen], part.rows[chosen]
    if curvature is not None:
        numbers = numbers * curvature[rows]
    shape = part.n_features, local.n_cells
    found = sp.coo_array((numbers, (features, local.cell[rows])), shape=shape).tocsr()
    return CellPart(found.data, found.indices.astype(np.int32), np.diff(found.indptr))


@dataclass(frozen=True)
class CellSums:
    """The same of a block of features over all partitions.

    Parameters
    ----------
    numbers, cells
        Sums and their cells: feature by feature, step by step.
    counts
        (m, T) how many of them a feature has in a step.
    """

    numbers: FloatArray
    cells: IntArray
    counts: IntArray

    @property
    def nbytes(self) -> int:
        """Size of the arrays."""
        return self.numbers.nbytes + self.cells.nbytes + self.counts.nbytes

    def times(self, by_cell: FloatArray) -> FloatArray:
        """(m, T) sums over the cells of a step, each times a number."""
        place = np.repeat(np.arange(self.counts.size), self.counts.ravel())
        found = np.bincount(place, self.numbers * by_cell[self.cells], self.counts.size)
        return found.astype(np.float64, copy=False).reshape(self.counts.shape)

    def behind(self, gram: FloatArray) -> tuple[FloatArray, RowArray, IntArray]:
        """Values, rows and segments of a block's Gram matrix (m, T, m), sums behind it.

        Rows of a feature and step come first, then cells (see `UpdateBlock`).
        """
        m, n_steps, _ = gram.shape
        lengths = self.counts.ravel() + m
        starts = np.concatenate([[0], np.cumsum(lengths)])
        values, rows = np.empty(starts[-1]), np.empty(starts[-1], dtype=np.int32)
        own = starts[:-1, None] + np.arange(m)
        values[own] = gram.reshape(-1, m)
        others = n_steps * np.arange(m)[None, :] + np.arange(n_steps)[:, None]
        rows[own] = np.tile(others, (m, 1))
        before = np.concatenate([[0], np.cumsum(self.counts.ravel())[:-1]])
        behind = np.repeat(starts[:-1] + m - before, self.counts.ravel())
        behind += np.arange(self.numbers.size)
        values[behind], rows[behind] = self.numbers, m * n_steps + self.cells
        first = starts[:-1].reshape(m, n_steps)
        segments = np.concatenate([first, first[:, -1:] + lengths.reshape(m, n_steps)[:, -1:]], 1)
        return values, rows, segments.astype(np.int64)


@dataclass(frozen=True)
class CellMap:
    """Which cells there are, and where.

    Parameters
    ----------
    cell
        (n_rows,) cell of every row of the design.
    codes
        (n_cells,) step of every cell.
    place
        (n_cells,) number of a cell once they are sorted by step.
    parts
        For every partition its rows' cells, and what they are called here.
    """

    cell: IntArray | RowArray
    codes: IntArray
    place: IntArray
    parts: list[tuple[LocalCells, IntArray]]

    @classmethod
    def of(
        cls, cell: IntArray | RowArray, n_cells: int, steps: IntArray, where: Sequence[IntArray]
    ) -> CellMap:
        """From the cell of every row, where steps begin, and the rows of every partition."""
        codes, place = np.zeros(n_cells, dtype=np.int64), np.empty(n_cells, dtype=np.int64)
        codes[cell] = np.repeat(np.arange(steps.size - 1), np.diff(steps))
        place[np.argsort(codes, kind="stable")] = np.arange(n_cells)
        parts = []
        for rows in where:
            names, local = np.unique(cell[rows], return_inverse=True)
            known = LocalCells(local.ravel().astype(np.int32), names.size)
            parts.append((known, names.astype(np.int64)))
        return cls(cell, codes, place, parts)

    def total(self, answers: Sequence[CellPart], n_steps: int) -> CellSums:
        """What all partitions add up to."""
        m, n_cells = answers[0].counts.size, self.codes.size
        pairs = list(zip(answers, self.parts, strict=True))
        numbers = np.concatenate([answer.numbers for answer, _ in pairs])
        places = np.concatenate([self.place[names[answer.cells]] for answer, (_, names) in pairs])
        features = np.concatenate([np.repeat(np.arange(m), each.counts) for each in answers])
        found = sp.coo_array((numbers, (features, places)), shape=(m, n_cells)).tocsr()
        found.sort_indices()
        cell_at = np.argsort(self.place)
        cells = cell_at[found.indices]
        place = np.repeat(np.arange(m), np.diff(found.indptr)) * n_steps + self.codes[cells]
        counts = np.bincount(place, minlength=m * n_steps).reshape(m, n_steps)
        return CellSums(found.data, cells, counts)


@dataclass
class CellWork:
    """Cells during a pass.

    Parameters
    ----------
    where
        Which cells there are.
    effects
        What kernels change.
    score, curvature
        (n_cells,) sums of both over rows; the score is kept in step with paths and effects.
    start
        (n_cells,) effects at the start of the pass: the score of rows on workers is about them.
    """

    where: CellMap
    effects: Effects
    score: FloatArray
    curvature: FloatArray
    start: FloatArray

    @classmethod
    def of(
        cls, where: CellMap, effects: Effects, score: FloatArray, curvature: FloatArray
    ) -> CellWork:
        """At the start of a pass; no `curvature`: it is one throughout."""
        n_cells = where.codes.size
        sums = np.bincount(where.cell, score, n_cells).astype(np.float64, copy=False)
        weights = np.bincount(where.cell, curvature if curvature.size else None, n_cells)
        return cls(where, effects, sums, weights.astype(np.float64), _effect(effects))

    @property
    def moved(self) -> FloatArray:
        """(n_cells,) how far effects have moved since the start."""
        return _effect(self.effects) - self.start

    def gradient(self, sums: CellSums, center: FloatArray) -> FloatArray:
        """(m, T) what the moves of effects take off gradients of columns."""
        moved = self.moved
        weighed = np.bincount(self.where.codes, self.curvature * moved, center.shape[1])
        return np.asarray(sums.times(moved) - center * weighed)


def _effect(effects: Effects) -> FloatArray:
    _, group, _, constant, anew, _ = effects
    return np.asarray(constant[group] + anew)
