"""What solvers and estimators ask of a design, wherever its rows are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from driftglm._typing import FloatArray, IntArray
from driftglm.design.scores import Scores

RowArray = NDArray[np.int32]
Entries = tuple[FloatArray, RowArray, IntArray]
"""values, rows, segments (see `ColumnDesign`)."""
Columns = tuple[FloatArray, RowArray, IntArray, FloatArray, FloatArray]
"""values, rows, segments, center, and the sums of curvature * x per feature and step."""
RowState = tuple[FloatArray, FloatArray, FloatArray]
"""score, curvature (empty: all ones) and (3, T): offset of eta not yet in the score, sum of the
score, sum of the curvature."""
KernelBlock = tuple[IntArray, tuple[Columns, Columns], RowState, FloatArray]
"""order, columns, rows and squares of an `UpdateBlock`, as kernels take them."""
Pair = tuple[FloatArray, FloatArray]
Cells = tuple[RowArray, RowArray, IntArray, FloatArray, FloatArray]
"""Rows that share effects: the cell of every row, cells being sorted by step; their groups; where
those of every step begin; (4, n_cells) variance of a cell's own effect, what the cell loses in its
step, the share of its information that is left, the information; (n_groups,) variance of a group's
effect."""
Effects = tuple[IntArray, IntArray, tuple[FloatArray, ...], FloatArray, FloatArray, FloatArray]
"""Effects of groups, as kernels change them in the middle of a pass: the cell of every row, the
group of every cell, what does not change in a pass (of every cell the information, the share of it
that is left when the cell's own effect is unknown, and that effect's variance; of every group the
variance), means of the constant effects and of those drawn anew, and (1,) how far paths have moved
since effects were set. Empty where no rows belong together."""
NO_EFFECTS: Effects = (
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int64),
    (np.empty(0), np.empty(0), np.empty(0), np.empty(0)),
    np.empty(0),
    np.empty(0),
    np.zeros(1),
)

Scalar = TypeVar("Scalar", bound=np.generic)
Arrays = TypeVar("Arrays", bound=tuple[np.ndarray, ...])


@dataclass
class UpdateBlock:
    """Features for a kernel to update, and the arrays it works on.

    A kernel reads a path's gradient from the score through the first of `columns` and keeps the
    score in step through the second. Where the rows are at hand both are the design's. Where they
    are not, `features` are a block of them, the score is the block's gradient, the first is the
    identity and the second the block's Gram matrix: what a change of one path does to the gradients
    of the others. The kernel does the same in either case.

    Parameters
    ----------
    order
        What to update, as positions in the arrays of this update.
    columns, rows
        See above.
    squares
        Sums of curvature * x^2.
    features
        The block's features; None: all of the design's.
    cells
        Where rows belong together and are not at hand, the step of every cell and its sum of the
        curvature. The last entries of the score are then the cells' sums of the score.
    """

    order: IntArray
    columns: tuple[Columns, Columns]
    rows: RowState
    squares: FloatArray
    features: IntArray | None = None
    cells: tuple[IntArray, FloatArray] = field(
        default_factory=lambda: (np.empty(0, dtype=np.int64), np.empty(0))
    )
    _taken: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    @property
    def inputs(self) -> KernelBlock:
        """What every kernel takes."""
        return self.order, self.columns, self.rows, self.squares

    def take(self, array: NDArray[Scalar]) -> NDArray[Scalar]:
        """What a kernel may read of an array with one row a feature."""
        return array if self.features is None else array[self.features]

    def take_all(self, arrays: Arrays) -> Arrays:
        """The same for several arrays that a kernel may change; `put_back` must follow."""
        if self.features is None:
            return arrays
        parts = tuple(array[self.features] for array in arrays)
        self._taken += list(zip(arrays, parts, strict=True))
        return cast("Arrays", parts)

    def put_back(self) -> None:
        """Put what the kernel has changed into the arrays it was taken from."""
        for array, part in self._taken:
            array[self.features] = part
        self._taken.clear()


class Design(Protocol):
    """X by columns, rows sorted by step; see `ColumnDesign` for what is meant."""

    @property
    def center(self) -> FloatArray:
        """(n_features, n_timesteps): what is still to be taken off the columns."""

    @property
    def step_offsets(self) -> IntArray:
        """(n_timesteps + 1,): rows of step t are step_offsets[t]:step_offsets[t + 1]."""

    @property
    def mean(self) -> FloatArray:
        """(n_features, n_timesteps): what is taken off in all, in the units of X."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_features(self) -> int:
        """Number of columns."""

    @property
    def n_timesteps(self) -> int:
        """Number of timesteps, empty ones included."""

    @property
    def brings_squares(self) -> bool:
        """Whether blocks come with their own `squares`, so that nobody needs to ask before."""

    def centered(self, weights: FloatArray, per_step_share: FloatArray | None = None) -> Self:
        """The same design with every column's weighted mean taken off."""

    def eta(self, beta: FloatArray) -> FloatArray:
        """Linear predictor of every row."""

    def gradient(self, score: FloatArray) -> FloatArray:
        """Sum of x * score per feature and step."""

    def squares(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * x^2 per feature and step."""

    def sums(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * x per feature and step, x not centred."""

    def weigh_inplace(
        self, curvature: FloatArray, features: IntArray, squares: FloatArray, sums: FloatArray
    ) -> None:
        """`squares` and `sums` of some features."""

    def add_moments_inplace(
        self, features: IntArray, beta: FloatArray, variance: FloatArray, moments: FloatArray
    ) -> None:
        """Add to (2, n_rows) means and variances of eta what some features contribute."""

    def update_blocks(
        self,
        order: IntArray,
        rows: RowState,
        weighed: Pair,
        paths: Pair,
        *,
        fixed: bool,
        effects: Effects = NO_EFFECTS,
    ) -> Iterator[UpdateBlock]:
        """Blocks of the features in `order` to update, the score in `rows` being kept in step.

        `weighed` are the squares and sums known so far, `paths` the means and variances and
        `effects` those of groups that kernels change between updates. `fixed`: the curvature is the
        same in every pass; else nobody asks for the score thereafter.
        """

    def scores(self, basis: FloatArray) -> Scores:
        """Every centred row along the columns of `basis` (n_features, R)."""

    def units(self, weights: FloatArray) -> FloatArray:
        """What columns are measured in."""

    def movement(self, weights: FloatArray) -> FloatArray:
        """How much more columns differ from step to step than within steps."""

    def lost_information(self, features: IntArray, weights: FloatArray, cells: Cells) -> Pair:
        """What columns lose where rows share unknown effects: by step, and about a constant.

        Arrays of all features are returned, with the rows of those asked for set.
        """

    def by_step(self, rows: FloatArray) -> FloatArray:
        """Sums of a row quantity over each step."""

    def to_rows(self, path: FloatArray) -> FloatArray:
        """A path's value for every row."""
