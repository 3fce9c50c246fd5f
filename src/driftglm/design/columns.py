"""A design matrix stored feature by feature, and within a feature timestep by timestep.

Rows are sorted by timestep once. The entries of feature i at step t are then one contiguous
segment, so that an update of a path streams memory in order and needs no look-up of the step.
Dense and sparse input end in the same arrays: solvers never ask which it was.

Columns may be centred without being touched: x - center is never formed, only accounted for. A
column far from zero would otherwise compete with the intercept, and one-at-a-time updates crawl.
Only columns without a single zero are shifted for good: they alone can lie so far from zero that
accounting would lose all digits, and they have no zeros to keep.

Entries that are all one are not stored: words that occur or do not need a row number each, a third
of the memory, and a pass over them is bound by memory. Values given in single precision are kept
in it unless columns are shifted; all sums are in double precision.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from driftglm._jit import kernel
from driftglm._threads import parallel_for, ranges
from driftglm._typing import FloatArray, IntArray
from driftglm.design.base import RowArray, RowState, UpdateBlock
from driftglm.design.layout import Entries, columns_of_csr, columns_of_dense, only_ones
from driftglm.design.scores import ArrayScores

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ROUNDING = 1e-13


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
            ones = compact and only_ones(X.data, threads)
            csr: Any = (X.indptr, X.indices, X.data)
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

        `per_step_share` (n_timesteps,) is the share a step's own mean has in what is taken off there, the
        rest being the mean over all steps; none if not given. Where a column is zero in all rows
        of a step, nothing is: it would compete with the intercept there, with a coefficient of any
        size. A step without rows takes the center of the step before it, or after it at the start.
        """
        sums, counts = self.sums(weights), self.by_step(weights)
        means = sums.sum(axis=1) / weights.sum()
        seen = np.flatnonzero(counts > 0)
        center = np.repeat(means[:, None], seen.size, axis=1)
        if per_step_share is not None:
            center += per_step_share[seen] * (sums[:, seen] / counts[seen] - means[:, None])
        center[np.diff(self.segments, axis=1)[:, seen] == 0] = 0.0
        before = np.searchsorted(seen, np.arange(self.n_timesteps), side="right") - 1
        # Picking columns leaves them one after the other; kernels ask for a feature's steps.
        center = np.ascontiguousarray(center[:, np.maximum(before, 0)])
        full = np.flatnonzero(self.segments[:, -1] - self.segments[:, 0] == self.n_rows)
        if not full.size or self._only_ones:
            return dataclasses.replace(self, center=center)
        shift = np.zeros_like(means)
        shift[full] = means[full]
        values = self._shifted(full, shift)
        return dataclasses.replace(self, values=values, center=center - shift[:, None], shift=shift)

    def _shifted(self, full: IntArray, shift: FloatArray) -> FloatArray:
        """The values without the shift of the columns in `full`.

        In double precision: rounded to single, a difference would have lost digits of its own.
        """
        values = self.values.astype(np.float64)
        shift_values_inplace(values, self.segments, full, shift)
        return values

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
        eta = _eta(self.values, self.rows, self.segments, beta, self.n_rows)
        return eta - self.to_rows(np.einsum("it,it->t", self.center, beta))

    def add_moments_inplace(
        self, features: IntArray, beta: FloatArray, variance: FloatArray, moments: FloatArray
    ) -> None:
        """Add to (2, n_rows) means and variances of eta what some features contribute."""
        _add_moments(self._entries, features, self.center, (beta, variance), moments)
        center = self.center[features]
        moments[0] -= self.to_rows((center * beta[features]).sum(axis=0))
        moments[1] += self.to_rows((center**2 * variance[features]).sum(axis=0))

    def weigh_inplace(
        self, curvature: FloatArray, features: IntArray, squares: FloatArray, sums: FloatArray
    ) -> None:
        """`squares` and `sums` of some features, put into their rows of both arrays."""
        self._weigh_raw_inplace(curvature, features, squares, sums)
        center, raw = self.center[features], squares[features]
        if not center.any():
            return
        twice = 2.0 * center * sums[features]
        squares[features] = without_rounding(raw - twice + center**2 * self.by_step(curvature), raw)

    def _weigh_raw_inplace(
        self, curvature: FloatArray, features: IntArray, squares: FloatArray, sums: FloatArray
    ) -> None:
        """The same, x not centred."""
        counts = self._counts(curvature)
        if counts is not None:
            squares[features] = sums[features] = counts[features]
            return
        entries, parts = self._entries, ranges(features.size, self.threads)
        parallel_for(
            lambda a, b: _weigh(entries, features[a:b], curvature, squares, sums),
            parts,
            self.threads,
        )

    def project(self, basis: FloatArray) -> FloatArray:
        """(n_rows, R): every centred row times the columns of `basis` (n_features, R)."""
        basis = np.ascontiguousarray(basis)
        out = np.zeros((self.n_rows, basis.shape[1]))
        entries, parts = self._entries, ranges(self.n_timesteps, self.n_timesteps)
        parallel_for(lambda a, b: _project_inplace(entries, a, b, basis, out), parts, self.threads)
        taken = np.einsum("it,ir->tr", self.center, basis)
        return np.asarray(out - np.repeat(taken, np.diff(self.step_offsets), axis=0))

    def scores(self, basis: FloatArray) -> ArrayScores:
        """The same, for shared directions."""
        return ArrayScores(self.project(basis), self.step_offsets)

    def update_blocks(
        self,
        order: IntArray,
        rows: RowState,
        weighed: tuple[FloatArray, FloatArray],
        paths: tuple[FloatArray, FloatArray],
        *,
        fixed: bool,
    ) -> Iterator[UpdateBlock]:
        """One update to all features in `order`: the rows are at hand."""
        del paths, fixed
        squares, sums = weighed
        columns = self.values, self.rows, self.segments, self.center, sums
        yield UpdateBlock(order, (columns, columns), rows, squares)

    def gradient(self, score: FloatArray) -> FloatArray:
        """Sum of x * score per feature and step: (n_features, n_timesteps)."""
        return self.sums(score) - self.center * self.by_step(score)

    def squares(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * x^2 per feature and step: the diagonal of X'WX."""
        squares = np.empty((self.n_features, self.n_timesteps))
        features = np.arange(self.n_features)
        self.weigh_inplace(curvature, features, squares, np.empty_like(squares))
        return squares

    def units(self, weights: FloatArray) -> FloatArray:
        """What columns are measured in: |c| for columns of zeros and c, else the deviation."""
        total = weights.sum()
        mean = self.sums(weights).sum(axis=1) / total
        square = dataclasses.replace(self, center=np.zeros_like(self.center)).squares(weights)
        square = square.sum(axis=1) / total
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
        single = self.single_values()
        unit = np.where(single > 0, single, deviation)
        return np.where(unit > 0, unit, 1.0)

    def single_values(self) -> FloatArray:
        """(n_features,) |c| of columns whose nonzero entries are all c; 0 for other columns."""
        return _single_value(self.values, self.segments)

    def movement(self, weights: FloatArray) -> FloatArray:
        """(n_features,) how much more columns differ from step to step than within steps.

        The F statistic of an analysis of variance by step: about 1 for a column whose mean does not
        move, infinite for one that is constant within every step.
        """
        counts, sums = self.by_step(weights), self.sums(weights)
        seen = counts > 0
        n_free = weights.sum() - seen.sum()
        raw = dataclasses.replace(self, center=np.zeros_like(self.center)).squares(weights)
        by_step = (sums[:, seen] ** 2 / counts[seen]).sum(axis=1)
        between = by_step - sums.sum(axis=1) ** 2 / weights.sum()
        within = raw.sum(axis=1) - by_step
        rounding = ROUNDING * raw.sum(axis=1)
        between, within = (np.where(part > rounding, part, 0.0) for part in (between, within))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (between / (seen.sum() - 1)) / (within / n_free)
        return np.where(between > 0, ratio, 0.0)

    def sums(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * x per feature and step, x not centred."""
        counts = self._counts(curvature)
        if counts is not None:
            return counts
        out = np.empty((self.n_features, self.n_timesteps))
        entries, parts = self._entries, ranges(self.n_features, self.threads)
        parallel_for(lambda a, b: _sums_inplace(entries, a, b, curvature, out), parts, self.threads)
        return out

    def by_step(self, rows: FloatArray) -> FloatArray:
        """Sums of a row quantity over each step: (n_timesteps,)."""
        return _by_step(rows, self.step_offsets)

    def to_rows(self, path: FloatArray) -> FloatArray:
        """A path's value for every row: (n_rows,)."""
        return np.repeat(path, np.diff(self.step_offsets))


def without_rounding(squares: FloatArray, raw: FloatArray) -> FloatArray:
    """Centred squares; what rounding leaves of a constant column is not information."""
    return np.where(squares > ROUNDING * raw, squares, 0.0)


@kernel
def dot_segment(
    values: FloatArray, rows: RowArray, first: int, last: int, vector: FloatArray
) -> float:
    """Sum of x * vector over some entries.

    Four sums at once: each addition would otherwise wait for the one before it. Rows are taken for
    unsigned: a number that may be negative would be looked at before it is used.
    """
    a = b = c = d = 0.0
    part = rows[first:last]
    count = part.shape[0]
    even = count - count % 4
    if values.shape[0] == 0:
        for k in range(0, even, 4):
            a += vector[np.uint32(part[k])]
            b += vector[np.uint32(part[k + 1])]
            c += vector[np.uint32(part[k + 2])]
            d += vector[np.uint32(part[k + 3])]
        for k in range(even, count):
            a += vector[np.uint32(part[k])]
    else:
        x = values[first:last]
        for k in range(0, even, 4):
            a += x[k] * vector[np.uint32(part[k])]
            b += x[k + 1] * vector[np.uint32(part[k + 1])]
            c += x[k + 2] * vector[np.uint32(part[k + 2])]
            d += x[k + 3] * vector[np.uint32(part[k + 3])]
        for k in range(even, count):
            a += x[k] * vector[np.uint32(part[k])]
    return (a + b) + (c + d)


@kernel
def add_segment(
    values: FloatArray, rows: RowArray, first: int, last: int, factor: float, vector: FloatArray
) -> None:
    """Add x * factor to the vector at every entry's row."""
    part = rows[first:last]
    if values.shape[0] == 0:
        for row in part:
            vector[np.uint32(row)] += factor
    else:
        x = values[first:last]
        for k in range(part.shape[0]):
            vector[np.uint32(part[k])] += x[k] * factor


@kernel
def _project_inplace(
    entries: Entries, start: int, stop: int, basis: FloatArray, out: FloatArray
) -> None:
    """Some steps, one by one: a step's rows stay in the cache while features pass over them."""
    values, rows, segments = entries
    n_columns = basis.shape[1]
    ones = values.shape[0] == 0
    for t in range(start, stop):
        for i in range(segments.shape[0]):
            own, first, last = basis[i], segments[i, t], segments[i, t + 1]
            even = last - (last - first) % 2
            for k in range(first, even, 2):  # two rows for every look at the basis
                one, two = out[np.uint32(rows[k])], out[np.uint32(rows[k + 1])]
                a, b = (1.0, 1.0) if ones else (values[k], values[k + 1])
                for r in range(n_columns):
                    one[r] += a * own[r]
                    two[r] += b * own[r]
            for k in range(even, last):
                one, a = out[np.uint32(rows[k])], 1.0 if ones else values[k]
                for r in range(n_columns):
                    one[r] += a * own[r]


@kernel
def shift_values_inplace(
    values: FloatArray, segments: IntArray, full: IntArray, shift: FloatArray
) -> None:
    """Take `shift` off the entries of some columns; what rounding leaves of a constant is 0."""
    for i in full:
        first, last = segments[i, 0], segments[i, segments.shape[1] - 1]
        largest = 0.0
        for k in range(first, last):
            values[k] -= shift[i]
            largest = max(largest, abs(values[k]))
        if largest <= ROUNDING * abs(shift[i]):
            values[first:last] = 0.0


@kernel
def _single_value(values: FloatArray, segments: IntArray) -> FloatArray:
    """|c| of a column whose nonzero entries are all c; 0 for other columns."""
    n_features = segments.shape[0]
    out = np.zeros(n_features)
    for i in range(n_features):
        first, last = segments[i, 0], segments[i, segments.shape[1] - 1]
        if first == last:
            continue
        if values.shape[0] == 0:
            out[i] = 1.0
            continue
        out[i] = abs(values[first])
        for k in range(first, last):
            if values[k] != values[first]:
                out[i] = 0.0
                break
    return out


@kernel
def _by_step(rows: FloatArray, step_offsets: IntArray) -> FloatArray:
    out = np.zeros(step_offsets.shape[0] - 1)
    for t in range(out.shape[0]):
        for n in range(step_offsets[t], step_offsets[t + 1]):
            out[t] += rows[n]
    return out


@kernel
def _eta(
    values: FloatArray, rows: RowArray, segments: IntArray, beta: FloatArray, n_rows: int
) -> FloatArray:
    eta = np.zeros(n_rows)
    for i in range(beta.shape[0]):
        for t in range(beta.shape[1]):
            coefficient = beta[i, t]
            if coefficient != 0.0:
                first, last = segments[i, t], segments[i, t + 1]
                add_segment(values, rows, first, last, coefficient, eta)
    return eta


@kernel
def _sums_inplace(
    entries: Entries, start: int, stop: int, weights: FloatArray, out: FloatArray
) -> None:
    """Sums of x * weights of some features, step by step."""
    values, rows, segments = entries
    for i in range(start, stop):
        for t in range(segments.shape[1] - 1):
            out[i, t] = dot_segment(values, rows, segments[i, t], segments[i, t + 1], weights)


@kernel
def _weigh(
    entries: Entries,
    features: IntArray,
    curvature: FloatArray,
    squares: FloatArray,
    sums: FloatArray,
) -> None:
    """Sums of curvature * x^2 and curvature * x of some features, x not centred."""
    values, rows, segments = entries
    for i in features:
        for t in range(segments.shape[1] - 1):
            if values.shape[0] == 0:
                total = dot_segment(values, rows, segments[i, t], segments[i, t + 1], curvature)
                squares[i, t], sums[i, t] = total, total
                continue
            square = total = 0.0
            for k in range(segments[i, t], segments[i, t + 1]):
                part = values[k] * curvature[rows[k]]
                total += part
                square += values[k] * part
            squares[i, t], sums[i, t] = square, total


@kernel
def _add_moments(
    entries: Entries,
    features: IntArray,
    center: FloatArray,
    change: tuple[FloatArray, FloatArray],
    moments: FloatArray,
) -> None:
    """What x adds to eta's mean, and x^2 - 2 center x to its variance."""
    values, rows, segments = entries
    beta, variance = change
    ones = values.shape[0] == 0
    for i in features:
        for t in range(segments.shape[1] - 1):
            b, v = beta[i, t], variance[i, t]
            if b == 0.0 and v == 0.0:
                continue
            twice = 2.0 * center[i, t]
            for k in range(segments[i, t], segments[i, t + 1]):
                x = 1.0 if ones else values[k]
                moments[0, rows[k]] += x * b
                moments[1, rows[k]] += x * (x - twice) * v
