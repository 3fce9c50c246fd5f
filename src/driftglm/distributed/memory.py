"""What the client remembers of the workers' answers."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from driftglm._typing import BoolArray, FloatArray
from driftglm.distributed.cells import CellMap, CellSums
from driftglm.distributed.messages import Change

GRAM_MEMORY = 256 * 2**20
"""Bytes of Gram matrices that are remembered where curvatures never change."""


class Products(NamedTuple):
    """What pairs of a block's columns add up to.

    Parameters
    ----------
    gram
        (m, T, m) of the centred columns.
    squares, sums
        (m, T) sums of curvature * x^2, centred, and of curvature * x, not centred.
    cells
        Where rows belong together, sums over cells.
    """

    gram: FloatArray
    squares: FloatArray
    sums: FloatArray
    cells: CellSums | None

    @property
    def nbytes(self) -> int:
        """Size of the arrays."""
        return sum(each.nbytes for each in self if each is not None)


@dataclass
class Memory:
    """What the client remembers of the workers' answers; all of it could be asked again."""

    weighed: OrderedDict[bytes, tuple[FloatArray, FloatArray]] = field(default_factory=OrderedDict)
    grams: OrderedDict[bytes, Products] = field(default_factory=OrderedDict)
    cells: CellMap | None = None
    usual: dict[bytes, tuple[FloatArray, BoolArray]] = field(default_factory=dict)
    moments: tuple[Change, FloatArray] | None = None
    passes: int = 0
    scores: int = 0

    def keep_gram(self, key: bytes, gram: Products) -> None:
        """Remember a block's products, forgetting the oldest where there is no room."""
        self.grams[key] = gram
        while sum(each.nbytes for each in self.grams.values()) > GRAM_MEMORY:
            self.grams.popitem(last=False)
