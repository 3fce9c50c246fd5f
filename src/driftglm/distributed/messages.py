"""What client and workers say to each other about rows, beside plain arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.distributed.cells import CellPart, LocalCells
from driftglm.distributed.gram import Packed


@dataclass(frozen=True)
class Spec:
    """What a worker must know to make a partition of a block of rows.

    Parameters
    ----------
    codes, n_steps
        Step of every row that is used, counted among the steps this partition has rows of.
    chosen
        Rows that are used; None: all.
    ordinary
        Columns that are used; None: all.
    shift, constant
        What to take off the entries of every column, and columns of which nothing is left then;
        None: not yet known.
    owner
        The estimator to name in messages.
    """

    codes: IntArray
    n_steps: int
    chosen: IntArray | None
    ordinary: IntArray | None
    owner: str
    shift: FloatArray | None = None
    constant: IntArray | None = None


class Wanted(NamedTuple):
    """What the client wants of a block when it is first read: some rows, some columns."""

    rows: IntArray
    columns: IntArray


class Summary(NamedTuple):
    """What the client must know of a block: its shape, its ranges, and what it wanted.

    `counts` (n_ordinary, n_steps) are entries, `totals` sums of all columns.
    """

    low: FloatArray | None
    high: FloatArray | None
    counts: IntArray
    rows: Any
    columns: FloatArray
    totals: FloatArray


class Change(NamedTuple):
    """What an update did to a block of paths, at all steps or at those of a partition.

    `more` are variance and center of the features, where the moments of eta are wanted.
    """

    features: IntArray
    beta: FloatArray
    more: tuple[FloatArray, ...] = ()

    def used(self) -> Change:
        """The same for those features alone that changed at all."""
        some = np.any([part.any(axis=1) for part in (self.beta, *self.more[:1])], axis=0)
        return Change(self.features[some], self.beta[some], tuple(part[some] for part in self.more))

    def at(self, steps: IntArray) -> Change:
        """The same at some steps."""
        beta, *more = (np.ascontiguousarray(part[:, steps]) for part in (self.beta, *self.more))
        return Change(self.features, beta, tuple(more))

    def same(self, other: Change) -> bool:
        """Whether features, paths and variances are equal."""
        pairs = zip((*self[:2], *self.more[:1]), (*other[:2], *other.more[:1]), strict=True)
        return all(np.array_equal(one, two) for one, two in pairs)


Start = tuple[FloatArray, FloatArray | None, bool, LocalCells | None]
"""Score and curvature (None: ones) of rows, whether moments are wanted, and the rows' cells."""


Told = tuple[FloatArray, Packed, CellPart | None]
"""A block's gradient and sums, its Gram matrix, and sums over cells where rows belong together."""
