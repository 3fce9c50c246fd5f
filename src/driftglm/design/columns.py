"""A design matrix stored feature by feature, and within a feature timestep by timestep.

Rows are sorted by timestep once. The entries of feature i at step t are then one contiguous
segment, so that an update of a path streams memory in order and needs no look-up of the step.
Dense and sparse input end in the same arrays: solvers never ask which it was.

Columns may be centred without being touched: x - center is never formed, only accounted for. A
column far from zero would otherwise compete with the intercept, and one-at-a-time updates crawl.
Only columns without a single zero are shifted for good: they alone can lie so far from zero that
accounting would lose all digits, and they have no zeros to keep.

Entries that are all one are not stored: words that occur or do not need a row number each, a third
of the memory, and a pass over them is bound by memory. Values given in single precision stay
in it unless columns are shifted; all sums are in double precision.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from driftglm._threads import parallel_for, ranges
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.design import column_kernels as kernels
from driftglm.design.base import (
    NO_EFFECTS,
    Cells,
    Effects,
    Entries,
    Pair,
    RowArray,
    RowState,
    UpdateBlock,
)
from driftglm.design.cell_kernels import lost_information_inplace
from driftglm.design.layout import columns_of_csr, columns_of_dense, only_ones
from driftglm.design.scores import Scores, scores_of
from driftglm.design.some_columns import RowsOfColumns, SomeColumns, by_row

ROUNDING = kernels.ROUNDING
OTHERS = 1e-11
"""A column of two values may seem to have others by this share of their squared distance."""
FAR = 1e4
"""A column is far from zero if its mean square is so many times its variance."""
MORE_THAN_HALF = 0.5 * (1.0 + 1e-9)
"""What a sum of weights is compared with that may be half of all: its last digits do not count."""


@dataclass(frozen=True)
class ColumnDesign:
    """X as columns of segments.

    Parameters
    ----------
    values, rows
        The nonzero entries and their (sorted) row numbers, each (n_entries,); no values at all
        where every entry is one.
    segments
        (n_features, n_timesteps + 1); entries of feature i at step t are
        values[segments[i, t]:segments[i, t + 1]].
    step_offsets
        (n_timesteps + 1,); rows of step t are step_offsets[t]:step_offsets[t + 1].
    center
        (n_features, n_timesteps); what is to be taken off every entry of a column at a step,
        zeros included.
    shift
        (n_features,); what has been taken off the stored values already.
    threads
        How many threads may work on it; no figure depends on their number.
    """

    values: FloatArray
    rows: RowArray
    segments: IntArray
    step_offsets: IntArray
    center: FloatArray
    shift: FloatArray
    threads: int = field(default=1, kw_only=True)
    brings_squares: ClassVar[bool] = False
    at_hand: ClassVar[bool] = True

    @classmethod
    def from_matrix(
        cls,
        X: FloatArray | csr_array,
        codes: IntArray,
        n_timesteps: int,
        *,
        compact: bool = False,
        threads: int = 1,
    ) -> tuple[ColumnDesign, IntArray]:
        """Build from a dense array or a CSR matrix, not centred; also returns the row order.

        Row n of the design is row order[n] of X; ties keep their order. `compact` leaves out
        values that are all one.
        """
        order = np.argsort(codes, kind="stable").astype(np.int64)
        step_offsets = np.searchsorted(codes[order], np.arange(n_timesteps + 1)).astype(np.int64)
        if isinstance(X, np.ndarray):
            X = np.ascontiguousarray(X)
            parts = columns_of_dense(X, order, step_offsets, compact and only_ones(X.ravel()))
        else:
            if not X.has_canonical_format:
                # Entries given twice would add up in X but not in its squares.
                X = X.copy()
                X.sum_duplicates()
            ones, csr = compact and only_ones(X.data, threads), (X.indptr, X.indices, X.data)
            parts = columns_of_csr(csr, X.shape[1], (order, step_offsets), ones, threads)
        n_features = parts[2].shape[0]
        center, shift = np.zeros((n_features, n_timesteps)), np.zeros(n_features)
        return cls(*parts, step_offsets, center, shift, threads=threads), order

    @property
    def _entries(self) -> Entries:
        return self.values, self.rows, self.segments

    @property
    def _only_ones(self) -> bool:
        """Entries, but no values: they are all one."""
        return self.rows.size > self.values.size

    def _counts(self, weights: FloatArray) -> FloatArray | None:
        """Sums of weights * x where they need no look at the entries: all ones."""
        if not self._only_ones or not bool((weights == 1.0).all()):
            return None
        return np.diff(self.segments, axis=1).astype(np.float64)

    def centered(
        self, weights: FloatArray, per_step_share: FloatArray | None = None
    ) -> ColumnDesign:
        """The same design with every column's weighted mean taken off.

        `per_step_share` (n_timesteps,) is the weight of a step's mean in what is taken off there,
        that of the mean over all steps being the rest; zero if not given. Where all rows of a step
        have the usual value of a column (see `usual`), it is that value, so that nothing is left
        that would compete with the intercept there, with a coefficient of any size. A step without
        rows takes the center of the step before it, or after it at the start.
        """
        sums, counts = self.sums(weights), self.by_step(weights)
        means = sums.sum(axis=1) / weights.sum()
        seen = np.flatnonzero(counts > 0)
        center = np.repeat(means[:, None], seen.size, axis=1)
        if per_step_share is not None:
            center += per_step_share[seen] * (sums[:, seen] / counts[seen] - means[:, None])
        usual, throughout = self.usual(weights)
        center = np.where(throughout[:, seen], usual[:, None], center)
        before = np.searchsorted(seen, np.arange(self.n_timesteps), side="right") - 1
        # Picking columns leaves them one after the other; kernels ask for a feature's steps.
        center = np.ascontiguousarray(center[:, np.maximum(before, 0)])
        is_full = self.segments[:, -1] - self.segments[:, 0] == self.n_rows
        if not is_full.any() or self._only_ones:
            return dataclasses.replace(self, center=center)
        shift = np.where(is_full, means, 0.0)
        values = self._shifted(np.flatnonzero(is_full), shift)
        left, size = center - shift[:, None], np.abs(shift)[:, None]
        left[np.abs(left) <= ROUNDING * size] = 0.0  # the values of a constant column are zero now
        return dataclasses.replace(self, values=values, center=left, shift=shift)

    def usual(self, weights: FloatArray) -> tuple[FloatArray, BoolArray]:
        """(n_features,) the value with more than half of the weight, and steps that are all it.

        Most columns that have one are zero as a rule. That it may be any number makes fits the same
        wherever a column has its zero, and whichever value of an indicator is coded as one. The
        second is (n_features, n_timesteps): none where no value has more than half.
        """
        leader, lead, among = self.votes(weights)
        total = weights.sum()
        value = np.where(lead > total - among, leader, 0.0)
        counts, mass = self.equal_to(value, weights)
        rows, heavy = np.diff(self.step_offsets), mass.sum(axis=1)
        zero = value == 0.0
        counts[zero] = (rows - np.diff(self.segments, axis=1))[zero]
        heavy[zero] = total - among[zero]
        return value, (counts == rows) & (rows > 0) & (heavy > MORE_THAN_HALF * total)[:, None]

    def votes(self, weights: FloatArray) -> FloatArray:
        """(3, n_features): see `kernels.vote_inplace`."""
        if self._only_ones:
            total = self.sums(weights).sum(axis=1)
            return np.stack([np.ones(self.n_features), total, total])
        out = np.empty((3, self.n_features))
        entries, parts = self._entries, ranges(self.n_features, self.threads)
        vote = kernels.vote_inplace
        parallel_for(lambda a, b: vote(entries, a, b, weights, out), parts, self.threads)
        return out

    def equal_to(self, value: FloatArray, weights: FloatArray) -> FloatArray:
        """(2, n_features, n_timesteps) entries equal to a value that is not zero, their weight."""
        if self._only_ones:
            ones = np.diff(self.segments, axis=1).astype(np.float64), self.sums(weights)
            return np.asarray(np.stack(ones) * (value == 1.0)[:, None])
        out = np.zeros((2, self.n_features, self.n_timesteps))
        entries, parts = self._entries, ranges(self.n_features, self.threads)
        count, pair = kernels.equal_inplace, (out[0], out[1])
        parallel_for(lambda a, b: count(entries, a, b, value, weights, pair), parts, self.threads)
        return out

    def _shifted(self, full: IntArray, shift: FloatArray) -> FloatArray:
        """The values without the shift of the columns in `full`.

        In double precision: a difference rounded to single precision would lose digits.
        """
        values = self.values.astype(np.float64)
        kernels.shift_values_inplace(values, self.segments, full, shift)
        return values

    def before(self, step: int) -> ColumnDesign:
        """The steps before one, not centred; entries are shared, not copied."""
        return self._of_steps(np.arange(step + 1))

    def pooled(self) -> ColumnDesign:
        """All rows in one step, not centred; entries are shared, not copied."""
        return self._of_steps(np.array([0, self.n_timesteps]))

    def _of_steps(self, ends: IntArray) -> ColumnDesign:
        """Steps that begin and end where steps of this design do."""
        if self.shift.any():
            raise ValueError("a design that is centred has the means of all its rows")
        return dataclasses.replace(
            self,
            segments=np.ascontiguousarray(self.segments[:, ends]),
            step_offsets=self.step_offsets[ends],
            center=np.zeros((self.n_features, ends.size - 1)),
        )

    def some_columns(self, features: IntArray) -> SomeColumns:
        """Some of the columns, for products with X and back in one go."""
        part = self.values, self.rows, self.segments[features]
        center = np.ascontiguousarray(self.center[features].T)
        return RowsOfColumns(by_row(part, self.n_rows), self.step_offsets, center)

    def with_intercept(self) -> ColumnDesign:
        """The same design and a last column of ones: no entries, measured from -1."""
        end = np.full((1, self.n_timesteps + 1), self.segments[-1, -1], dtype=np.int64)
        return dataclasses.replace(
            self,
            segments=np.concatenate([self.segments, end]),
            center=np.concatenate([self.center, np.full((1, self.n_timesteps), -1.0)]),
            shift=np.append(self.shift, 0.0),
        )

    @property
    def mean(self) -> FloatArray:
        """(n_features, n_timesteps): what is taken off in all, in the units of X."""
        return self.center + self.shift[:, None]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.step_offsets[-1])

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.segments.shape[0])

    @property
    def n_timesteps(self) -> int:
        """Number of timesteps, empty ones included."""
        return int(self.segments.shape[1] - 1)

    def eta(self, beta: FloatArray) -> FloatArray:
        """Linear predictor of every row, for paths (n_features, n_timesteps)."""
        eta = kernels.eta(self._entries, beta, self.n_rows)
        return eta - self.to_rows(np.einsum("it,it->t", self.center, beta))

    def add_moments_inplace(
        self, features: IntArray, beta: FloatArray, variance: FloatArray, moments: FloatArray
    ) -> None:
        """Add to (2, n_rows) means and variances of eta what some features contribute."""
        change = beta, variance
        kernels.add_moments_inplace(self._entries, features, self.center, change, moments)
        center = self.center[features]
        moments[0] -= self.to_rows((center * beta[features]).sum(axis=0))
        moments[1] += self.to_rows((center**2 * variance[features]).sum(axis=0))

    def weigh_inplace(
        self, curvature: FloatArray, features: IntArray, squares: FloatArray, sums: FloatArray
    ) -> None:
        """`squares` and `sums` of some features, put into their rows of both arrays."""
        self._weigh_raw_inplace(curvature, features, squares, sums)
        center, raw = self.center[features], squares[features]
        if center.any():
            left = raw - 2.0 * center * sums[features] + center**2 * self.by_step(curvature)
            squares[features] = without_rounding(left, raw)

    def _weigh_raw_inplace(
        self, curvature: FloatArray, features: IntArray, squares: FloatArray, sums: FloatArray
    ) -> None:
        """The same, x not centred."""
        counts = self._counts(curvature)
        if counts is not None:
            squares[features] = sums[features] = counts[features]
            return
        entries, out = self._entries, (squares, sums)

        def weigh(a: int, b: int) -> None:
            kernels.weigh_inplace(entries, features[a:b], curvature, out)

        parallel_for(weigh, ranges(features.size, self.threads), self.threads)

    def project(self, basis: FloatArray) -> FloatArray:
        """(n_rows, R): every centred row times the columns of `basis` (n_features, R)."""
        taken = np.einsum("it,ir->tr", self.center, basis)
        return np.asarray(self._along(basis) - self._repeated(taken))

    def _repeated(self, steps: FloatArray) -> FloatArray:
        """What every step has, for every row."""
        return np.repeat(steps, np.diff(self.step_offsets), axis=0)

    def _along(self, basis: FloatArray) -> FloatArray:
        """Every row, not centred, times the columns of `basis`."""
        basis = np.ascontiguousarray(basis)
        out = np.zeros((self.n_rows, basis.shape[1]))
        entries, steps = self._entries, [(t, t + 1) for t in range(self.n_timesteps)]
        project = kernels.project_inplace
        parallel_for(lambda a, b: project(entries, a, b, basis, out), steps, self.threads)
        return out

    def scores(self, basis: FloatArray) -> Scores:
        """Every centred row along shared directions."""
        taken = np.einsum("it,ir->tr", self.center, basis)
        return scores_of(self._along(basis), taken, self.step_offsets)

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
        """One block of all features in `order`: the rows are at hand."""
        del paths, fixed, effects
        columns = *self._entries, self.center, weighed[1]
        yield UpdateBlock(order, (columns, columns), rows, weighed[0])

    def gradient(self, score: FloatArray) -> FloatArray:
        """Sum of x * score per feature and step: (n_features, n_timesteps)."""
        return self.sums(score) - self.center * self.by_step(score)

    def squares(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * x^2 per feature and step: the diagonal of X'WX."""
        squares, sums = np.empty((2, self.n_features, self.n_timesteps))
        self.weigh_inplace(curvature, np.arange(self.n_features), squares, sums)
        return squares

    def lost_information(self, features: IntArray, weights: FloatArray, cells: Cells) -> Pair:
        """What columns lose where rows share unknown effects: by step, and about a constant."""
        out = np.zeros((self.n_features, self.n_timesteps)), np.zeros(self.n_features)

        def lose(a: int, b: int) -> None:
            some = features[a:b]
            lost_information_inplace(self._entries, self.center, weights, cells, some, out)

        parallel_for(lose, ranges(features.size, self.threads), self.threads)
        return out

    def units(self, weights: FloatArray) -> FloatArray:
        """What columns are measured in: |b - a| for columns of a and b only, else the deviation.

        So an indicator has the same unit whatever it is coded as. With a and b the least and the
        largest value of a column, the sum of (x - a)(x - b) is zero only if there are no others.
        """
        total, single = weights.sum(), self.single_values()
        mean = self.sums(weights).sum(axis=1) / total
        square = self._raw_squares(weights) / total
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
        full = self.segments[:, -1] - self.segments[:, 0] == self.n_rows
        if full.any() and not self._only_ones:
            low, high = (np.where(full, end, 0.0) for end in self.entry_ranges())
            other = np.abs(square - (low + high) * mean + low * high)
            two = full & (high > low) & (other <= OTHERS * (high - low) ** 2)
            single = np.where(two, high - low, single)
        unit = np.where(single > 0, single, deviation)
        return np.where(unit > 0, unit, 1.0)

    def single_values(self) -> FloatArray:
        """(n_features,) |c| of columns whose nonzero entries are all c; 0 for other columns."""
        return kernels.single_value(self.values, self.segments)

    def entry_ranges(self) -> tuple[FloatArray, FloatArray]:
        """(n_features,) least and largest entry of every column, 0 of one without any."""
        return kernels.entry_ranges(self.values, self.segments)

    def movement(self, weights: FloatArray) -> FloatArray:
        """(n_features,) how much more columns differ from step to step than within steps.

        The F statistic of an analysis of variance by step: about 1 for a column whose mean does not
        move, infinite for one that is constant within every step.
        """
        counts, sums = self.by_step(weights), self.sums(weights)
        seen, mean = counts > 0, sums.sum(axis=1) / weights.sum()
        raw = self._raw_squares(weights)
        level, full = mean**2 * weights.sum(), self.segments[:, -1] - self.segments[:, 0]
        far = (full == self.n_rows) & (level > FAR * np.abs(raw - level))
        if far.any() and not self._only_ones:  # digits are lost in squares of large numbers
            near = self.weighed_about(np.where(far, mean, 0.0), weights)
            raw = np.where(far, near[0].sum(axis=1), raw)
            sums = np.where(far[:, None], near[1], sums)
        by_step = (sums[:, seen] ** 2 / counts[seen]).sum(axis=1)
        between = without_rounding(by_step - sums.sum(axis=1) ** 2 / weights.sum(), raw)
        within = without_rounding(raw - by_step, raw)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (between / (seen.sum() - 1)) / (within / (weights.sum() - seen.sum()))
        return np.where(between > 0, ratio, 0.0)

    def weighed_about(self, about: FloatArray, weights: FloatArray) -> FloatArray:
        """(2, n_features, n_timesteps) sums of weight * (x - about)^2 and weight * (x - about)."""
        out = np.empty((2, self.n_features, self.n_timesteps))
        entries, parts = self._entries, ranges(self.n_features, self.threads)
        weigh, pair = kernels.weigh_about_inplace, (out[0], out[1])
        parallel_for(lambda a, b: weigh(entries, a, b, about, weights, pair), parts, self.threads)
        return out

    def _raw_squares(self, weights: FloatArray) -> FloatArray:
        """(n_features,) sum of weight * x^2, x not centred."""
        uncentred = dataclasses.replace(self, center=np.zeros_like(self.center))
        return np.asarray(uncentred.squares(weights).sum(axis=1))

    def sums(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * x per feature and step, x not centred."""
        counts = self._counts(curvature)
        if counts is not None:
            return counts
        out = np.empty((self.n_features, self.n_timesteps))
        entries, parts = self._entries, ranges(self.n_features, self.threads)
        add = kernels.sums_inplace
        parallel_for(lambda a, b: add(entries, a, b, curvature, out), parts, self.threads)
        return out

    def by_step(self, rows: FloatArray) -> FloatArray:
        """Sums of a row quantity over each step: (n_timesteps,)."""
        return kernels.by_step(rows, self.step_offsets)

    def to_rows(self, path: FloatArray) -> FloatArray:
        """A path's value for every row: (n_rows,)."""
        return self._repeated(path)


def without_rounding(squares: FloatArray, raw: FloatArray) -> FloatArray:
    """Centred squares; what rounding leaves of a constant column is not information."""
    return np.where(squares > ROUNDING * raw, squares, 0.0)
