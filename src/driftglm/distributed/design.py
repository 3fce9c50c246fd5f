"""A design whose rows are on workers: the same questions, answered through an Engine.

It is a `ColumnDesign` without entries: `segments` count those of all partitions, and what needs
the entries themselves is asked of the workers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.design import ColumnDesign, UpdateBlock
from driftglm.design.base import (
    NO_EFFECTS,
    Cells,
    Columns,
    Effects,
    Pair,
    RowArray,
    RowState,
)
from driftglm.design.cell_kernels import lost_information_inplace
from driftglm.design.columns import ROUNDING, without_rounding
from driftglm.design.some_columns import ColumnsElsewhere, SomeColumns
from driftglm.distributed.cells import CellMap, CellSums, CellWork
from driftglm.distributed.engine import Engine
from driftglm.distributed.memory import Memory, Products
from driftglm.distributed.messages import Change, Told
from driftglm.distributed.pass_kernels import centered_gram
from driftglm.distributed.votes import counted

N_WEIGHED = 3
"""Squares and sums of all features that are remembered, by curvature."""
LARGEST_GRAM = 4 * 2**20
"""Bytes of a block's Gram matrices: what the client works on at once."""
LARGEST_ANSWERS = 4 * 2**20
"""Bytes of the Gram matrices of all partitions together; messages hold them several times over."""
MOST_FIXED, MOST_MOVING = 256, 64
"""Features of a block, at most. Where curvatures never change Gram matrices are made once, and a
large block saves rounds; else they are made anew in every pass, at m products an entry."""


@dataclass(frozen=True)
class WorkerDesign(ColumnDesign):
    """A `ColumnDesign` on workers; `shifted` says which values it is about."""

    engine: Engine
    memory: Memory = field(default_factory=Memory, repr=False)
    shifted: bool = False
    brings_squares: ClassVar[bool] = True
    at_hand: ClassVar[bool] = False

    @classmethod
    def of(cls, engine: Engine, counts: IntArray, steps: IntArray) -> WorkerDesign:
        """From the number of entries per feature and step and the bounds of the steps."""
        n_features, n_steps = counts.shape
        ends = np.cumsum(counts.ravel()).reshape(counts.shape)
        first = np.concatenate([[0], ends[:-1, -1]])[:n_features]
        segments = np.concatenate([first.reshape(n_features, 1), ends], axis=1).astype(np.int64)
        nothing = np.empty(0), np.empty(0, dtype=np.int32)
        center, shift = np.zeros((n_features, n_steps)), np.zeros(n_features)
        return cls(*nothing, segments, steps, center, shift, engine)

    def eta(self, beta: FloatArray) -> FloatArray:
        """Linear predictor of every row."""
        used = np.flatnonzero(beta.any(axis=1))
        if not used.size:
            return np.zeros(self.n_rows)
        part = beta[used]
        answers = self.engine.ask("eta", lambda n: (used, part[:, self.engine.seen[n]]))
        eta = self.engine.rows(answers, self.n_rows)
        return eta - self.to_rows(np.einsum("it,it->t", self.center, beta))

    def add_moments_inplace(
        self, features: IntArray, beta: FloatArray, variance: FloatArray, moments: FloatArray
    ) -> None:
        """Add to (2, n_rows) means and variances of eta what some features contribute."""
        moved = beta[features].any(axis=1) | variance[features].any(axis=1)
        if not moved.any():
            return
        used = np.sort(features[moved])
        change = Change(used, beta[used], (variance[used], self.center[used]))
        known, self.memory.moments = self.memory.moments, None
        # A pass has just asked for the moments of all it changed.
        if known is not None and known[0].same(change):
            moments += known[1]
            return
        answers = self.engine.ask("moments", lambda n: (change.at(self.engine.seen[n]),))
        moments += self.engine.rows(answers, self.n_rows)

    def gradient(self, score: FloatArray) -> FloatArray:
        """Sum of x * score per feature and step."""
        answers = self.engine.ask("gradient", lambda n: (score[self.engine.where[n]],))
        raw = self.engine.total(answers, self.n_timesteps)
        return np.asarray(raw - self.center * self.by_step(score))

    def some_columns(self, features: IntArray) -> SomeColumns:
        """Some of the columns, multiplied where they are."""
        return ColumnsElsewhere(self, features)

    def sums(self, curvature: FloatArray) -> FloatArray:
        """Sum of curvature * x per feature and step, x not centred."""
        return self._weighed(curvature)[1].copy()

    def _weigh_raw_inplace(
        self, curvature: FloatArray, features: IntArray, squares: FloatArray, sums: FloatArray
    ) -> None:
        known = self._weighed(curvature)
        squares[features], sums[features] = known[0][features], known[1][features]

    def _weighed(self, curvature: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Raw squares and sums of all features."""
        memory = self.memory.weighed
        key = bytes([self.shifted]) + _digest(curvature)
        if key not in memory:
            answers = self.engine.ask("weigh", lambda n: (curvature[self.engine.where[n]],))
            squares, sums = self.engine.total(answers, self.n_timesteps)
            memory[key] = squares, sums
            # Those before the shift cannot be asked for again once the workers have made it.
            recent = [each for each in memory if each[0] == self.shifted]
            if len(recent) > N_WEIGHED:
                del memory[recent[0]]
        memory.move_to_end(key)
        return memory[key]

    def usual(self, weights: FloatArray) -> tuple[FloatArray, BoolArray]:
        """The usual value of every column; known after the shift too, which hides it."""
        known, key = self.memory.usual, _digest(weights)
        return known.setdefault(key, known[key] if key in known else super().usual(weights))

    def votes(self, weights: FloatArray) -> FloatArray:
        """(3, n_features), see `counted`."""
        return counted(self._told("votes", weights))

    def equal_to(self, value: FloatArray, weights: FloatArray) -> FloatArray:
        """(2, n_features, n_timesteps) entries equal to a value a column, and their weight."""
        return self.engine.total(self._told("equal_to", weights, value), self.n_timesteps)

    def weighed_about(self, about: FloatArray, weights: FloatArray) -> FloatArray:
        """(2, n_features, n_timesteps) sums of squares and of entries, about a number each."""
        taken = self.engine.specs[0].shift
        left = about if taken is None or self.shifted else about - taken
        return self.engine.total(self._told("weighed_about", weights, left), self.n_timesteps)

    def _told(self, what: str, weights: FloatArray, *value: FloatArray) -> list[FloatArray]:
        return self.engine.ask("told", lambda n: (what, weights[self.engine.where[n]], *value))

    def single_values(self) -> FloatArray:
        """(n_features,) |c| of columns whose entries are all c; 0 for other columns."""
        low, high = self.entry_ranges()
        return np.where(low == high, np.abs(low), 0.0)

    def entry_ranges(self) -> tuple[FloatArray, FloatArray]:
        """(n_features,) least and largest entry of every column."""
        answers = self.engine.ask("ranges", lambda _: ())
        low = np.min([each[0] for each in answers], axis=0)
        return low, np.max([each[1] for each in answers], axis=0)

    def centered(
        self, weights: FloatArray, per_step_share: FloatArray | None = None
    ) -> WorkerDesign:
        """The same design with every column's weighted mean taken off."""
        found = cast("WorkerDesign", super().centered(weights, per_step_share))
        return replace(found, shifted=bool(found.shift.any()))

    def _shifted(self, full: IntArray, shift: FloatArray) -> FloatArray:
        """The workers take the shift off their values, once."""
        if self.engine.specs[0].shift is None and shift.any():
            largest = np.max(self.engine.ask("residual", lambda _: (shift,)), axis=0)
            constant = largest[full] <= ROUNDING * np.abs(shift[full])
            self.engine.take_off(shift, full[constant & (shift[full] != 0)])
        return self.values

    def scores(self, basis: FloatArray) -> WorkerScores:
        """Every centred row along the columns of `basis`."""
        self.memory.scores += 1
        taken = np.einsum("it,ir->tr", self.center, basis)
        return WorkerScores(self, np.ascontiguousarray(basis), taken, self.memory.scores)

    def update_blocks(
        self,
        order: IntArray,
        rows: RowState,
        weighed: tuple[FloatArray, FloatArray],
        paths: tuple[FloatArray, FloatArray],
        *,
        fixed: bool,
        effects: Effects = NO_EFFECTS,
    ) -> Iterator[UpdateBlock]:
        """Blocks of the features in `order`; between them the score is brought up to date."""
        del weighed
        if not order.size:
            return
        self.memory.passes += 1
        self.memory.moments = None
        cells = None
        if effects[0].size:
            cells = CellWork.of(self._cells(effects[0], effects[1].size), effects, *rows[:2])
        run = _Pass(self, rows, paths, fixed, self.memory.passes, cells)
        answers = 4 * sum(each.size for each in self.engine.seen)  # a Gram matrix is symmetric
        fit = int(np.sqrt(min(LARGEST_GRAM / (8 * self.n_timesteps), LARGEST_ANSWERS / answers)))
        size = max(1, min(fit, MOST_FIXED if fixed else MOST_MOVING))
        for start in range(0, order.size, size):
            yield from run.block(order[start : start + size])
        run.finish()

    def _cells(self, cell: IntArray | RowArray, n_cells: int) -> CellMap:
        """Where the rows of cells are; found once for the rows of a fit."""
        if self.memory.cells is None or self.memory.cells.cell is not cell:
            where = self.engine.where
            self.memory.cells = CellMap.of(cell, n_cells, self.step_offsets, where)
        return self.memory.cells

    def lost_information(self, features: IntArray, weights: FloatArray, cells: Cells) -> Pair:
        """What columns lose where rows share unknown effects: by step, and about a constant.

        Groups are spread over partitions: sums over cells are added up before they are squared.
        """
        out = np.zeros((self.n_features, self.n_timesteps)), np.zeros(self.n_features)
        engine, where = self.engine, self._cells(cells[0], cells[1].size)
        self.memory.passes += 1
        number, every = self.memory.passes, np.arange(cells[1].size, dtype=np.int32)
        for start in range(0, features.size, MOST_FIXED):
            some = features[start : start + MOST_FIXED]

            def told(n: int, *, begins: bool, some: IntArray = some) -> tuple[Any, ...]:
                known = (weights[engine.where[n]], where.parts[n][0]) if begins else None
                return number, known, some

            answers = engine.ask(
                "cell_sums",
                lambda n: told(n, begins=start == 0),  # noqa: B023 (asked at once)
                lambda n: told(n, begins=True),
            )
            sums = where.total(answers, self.n_timesteps)
            ends = np.cumsum(sums.counts.ravel()).reshape(sums.counts.shape)
            first = np.concatenate([[0], ends[:-1, -1]])
            segments = np.concatenate([first[:, None], ends], axis=1)
            entries = sums.numbers, sums.cells.astype(np.int32), segments
            about = every, *cells[1:]
            found = np.empty(ends.shape), np.empty(some.size)
            given = self.center[some], np.ones(every.size), about, np.arange(some.size)
            lost_information_inplace(entries, *given, found)
            out[0][some], out[1][some] = found
        return out


@dataclass(frozen=True)
class WorkerScores:
    """`Scores` on workers, which make them of X, `basis` (n_features, R) and what is taken off."""

    design: WorkerDesign
    basis: FloatArray
    taken: FloatArray
    number: int

    @property
    def count(self) -> int:
        """R."""
        return int(self.basis.shape[1])

    def dot(self, rows: FloatArray) -> FloatArray:
        """(R,) sum over rows of number * z."""
        return np.asarray(sum(self._ask("dot", by_row=rows)))

    def gram(self, weights: FloatArray) -> FloatArray:
        """(R, R) sum over rows of weight * z z'."""
        return np.asarray(sum(self._ask("gram", by_row=weights)))

    def step_grams(self, weights: FloatArray) -> FloatArray:
        """(T, R, R) the same for the rows of every step."""
        answers = self._ask("step_grams", by_row=weights)
        by_step = [np.moveaxis(answer, 0, -1) for answer in answers]
        return np.moveaxis(self.design.engine.total(by_step, self.design.n_timesteps), -1, 0)

    def times(self, coefs: FloatArray) -> FloatArray:
        """(n_rows,) z'coefs of every row."""
        return self.design.engine.rows(self._ask("times", coefs), self.design.n_rows)

    def variances(self, covariance: FloatArray) -> FloatArray:
        """(n_rows,) z' covariance z of every row."""
        answers = self._ask("variances", covariance)
        return self.design.engine.rows(answers, self.design.n_rows)

    def _ask(
        self, what: str, whole: FloatArray | None = None, *, by_row: FloatArray | None = None
    ) -> list[FloatArray]:
        """A method of `Scores`, whose argument has one value a row or is the same for all."""
        engine = self.design.engine

        def told(n: int, made: tuple[FloatArray, FloatArray] | None = None) -> tuple[Any, ...]:
            return self.number, made, what, whole if by_row is None else by_row[engine.where[n]]

        return engine.ask(
            "ask_scores", told, lambda n: told(n, (self.basis, self.taken[engine.seen[n]]))
        )


@dataclass
class _Pass:
    """One pass over the features: blocks, what was done to each, and the end."""

    design: WorkerDesign
    rows: RowState
    paths: tuple[FloatArray, FloatArray]
    fixed: bool
    number: int
    cells: CellWork | None = None
    changes: list[Change] = field(default_factory=list)

    @cached_property
    def _key(self) -> bytes:
        design = self.design
        kind = bytes([design.shifted, self.cells is not None])
        return kind + _digest(self.rows[1]) + _digest(design.center)

    def block(self, features: IntArray) -> Iterator[UpdateBlock]:
        """Update some features: their gradient and Gram matrix, and then what became of them."""
        (beta, variance), steps = self.paths, self.rows[2]
        center = self.design.center[features]
        gradient, (gram, squares, sums, over_cells) = self._ask_block(features)
        rest = steps[1] - steps[0] * steps[2]
        gradient -= steps[0] * sums + center * rest
        before = beta[features], variance[features]
        block = _update(features, gradient, gram, squares)
        if over_cells is not None:
            block = self._with_cells(block, over_cells, gram)
        yield block
        if self.cells is not None:
            self.cells.score = block.rows[0][gradient.size :]
        moved, wider = beta[features] - before[0], variance[features] - before[1]
        steps[0] -= np.einsum("it,it->t", center, moved)
        steps[1] -= np.einsum("it,it->t", sums, moved)
        # A fit whose curvature is fixed asks for no variances.
        self.changes.append(Change(features, moved, () if self.fixed else (wider, center)).used())

    def finish(self) -> None:
        """Bring the client's rows up to date with all changes."""
        design = self.design
        found = design.engine.rows(self._ask(None, gram=False), design.n_rows)
        if self.fixed:
            self.rows[0][:] = found
            if self.cells is not None:
                moved, curvature = self.cells.moved[self.cells.where.cell], self.rows[1]
                self.rows[0][:] -= moved * curvature if curvature.size else moved
            return
        flat = [(each.features, each.beta, *each.more) for each in self.changes]
        features, beta, *more = (np.concatenate(each) for each in zip(*flat, strict=True))
        order = np.argsort(features)
        change = Change(features[order], beta[order], tuple(part[order] for part in more))
        design.memory.moments = change, found

    def _with_cells(self, block: UpdateBlock, sums: CellSums, gram: FloatArray) -> UpdateBlock:
        """A block whose last virtual rows are cells: what a change does to them follows."""
        cells, steps = cast("CellWork", self.cells), self.rows[2]
        center = block.take(self.design.center)
        gradient = block.rows[0] - cells.gradient(sums, center).reshape(-1)
        none = np.zeros_like(center)
        moves: Columns = *sums.behind(gram), np.ascontiguousarray(center), none
        pending = np.stack([steps[0], *np.zeros((2, steps.shape[1]))])
        state: RowState = np.concatenate([gradient, cells.score]), np.empty(0), pending
        known = cells.where.codes, cells.curvature
        return replace(block, columns=(block.columns[0], moves), rows=state, cells=known)

    def _ask_block(self, features: IntArray) -> tuple[FloatArray, Products]:
        """Gradient (m, T) of the columns as they are, and what is known of their pairs."""
        design, memory = self.design, self.design.memory
        key = self._key + features.tobytes()
        known = memory.grams.get(key)
        answers = self._ask(features, gram=known is None)
        if known is not None:
            memory.grams.move_to_end(key)
            return design.engine.total(answers, design.n_timesteps), known
        gradient, sums = design.engine.total([each[0] for each in answers], design.n_timesteps)
        products = self._products(features, sums, answers)
        if self.fixed:
            memory.keep_gram(key, products)
        return gradient, products

    def _products(self, features: IntArray, sums: FloatArray, answers: Sequence[Told]) -> Products:
        design, m, center = self.design, features.size, self.design.center[features]
        lower = np.zeros((design.n_timesteps, m * (m + 1) // 2))
        for seen, (_, packed, _) in zip(design.engine.seen, answers, strict=True):
            lower[seen] += packed.triangles(m)
        cells = None
        if self.cells is not None:
            parts = [part for *_, part in answers if part is not None]
            cells = self.cells.where.total(parts, design.n_timesteps)
        gram = centered_gram(lower, center, sums, self.rows[2][2])
        squares = np.einsum("iti->it", gram).copy()
        if center.any():
            squares = without_rounding(squares, lower[:, np.arange(m) * np.arange(3, m + 3) // 2].T)
        return Products(gram, squares, sums, cells)

    def _ask(self, features: IntArray | None, *, gram: bool) -> list[Any]:
        engine, (score, curvature, _) = self.design.engine, self.rows

        def told(n: int, first: int, *, begins: bool) -> tuple[Any, ...]:
            """What a partition must know that has done the changes before the `first`."""
            where, start = engine.where[n], None
            if begins:
                weights = curvature[where] if curvature.size else None
                cells = None if self.cells is None else self.cells.where.parts[n][0]
                start = score[where], weights, not self.fixed, cells
            changes = [change.at(engine.seen[n]) for change in self.changes[first:]]
            return self.number, start, first, changes, features, gram

        count = len(self.changes)
        return engine.ask(
            "update",
            lambda n: told(n, max(0, count - 1), begins=count == 0),
            lambda n: told(n, 0, begins=True),
        )


def _update(
    features: IntArray, gradient: FloatArray, gram: FloatArray, squares: FloatArray
) -> UpdateBlock:
    """Virtual rows, one for every feature and step, whose score is the block's gradient."""
    m, n_steps = gradient.shape
    nothing = np.zeros((m, n_steps))
    alone = np.arange(m * n_steps, dtype=np.int32)
    segments = n_steps * np.arange(m)[:, None] + np.arange(n_steps + 1)
    reads: Columns = np.ones(m * n_steps), alone, segments, nothing, nothing
    others = (n_steps * np.arange(m)[None, :] + np.arange(n_steps)[:, None]).astype(np.int32)
    rows = np.broadcast_to(others, (m, n_steps, m)).reshape(-1)
    moves: Columns = gram.reshape(-1), np.ascontiguousarray(rows), segments * m, nothing, nothing
    state: RowState = gradient.reshape(-1).copy(), np.empty(0), np.zeros((3, n_steps))
    return UpdateBlock(np.arange(m), (reads, moves), state, squares, features)


def _digest(array: FloatArray) -> bytes:
    return hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).digest()
