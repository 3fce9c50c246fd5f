"""What runs on a worker: partitions of X in columns, and what is asked of them.

A worker holds the partitions it has loaded and, during a pass over the features, the score of
their rows. Both can be lost at any time: a worker that is asked for what it does not have answers
LOST or UNTOLD, and is told again. So what a worker knows is a function of what the client has told
it, and no more.

Dask may do a task a second time, and late: it does so with finished ones whose result died with
a worker, in the middle of what came after. Partitions therefore carry the number of times they
were loaded (their generation) and whether their columns are shifted. A load of an earlier
generation comes too late and changes nothing; jobs are for the partition they name. One thread at
a time works for a fit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray, MatrixLike
from driftglm.data.matrices import dense, refuse_broken
from driftglm.design import ArrayScores, ColumnDesign
from driftglm.distributed.cells import CellPart, LocalCells, sums_over_cells
from driftglm.distributed.gram import block_gram
from driftglm.distributed.indicators import only_ones
from driftglm.distributed.messages import Change, Spec, Start, Summary, Told, Wanted
from driftglm.distributed.pass_kernels import gradient_inplace, move_inplace
from driftglm.distributed.storage import SHARE, Columns, FileColumns, MemoryColumns
from driftglm.distributed.votes import told
from driftglm.distributed.wire import listen

LOST, UNTOLD = "lost", "untold"
"""Answers of a worker without the partition, and of one without what it was told about it."""


class Untold(Exception):  # noqa: N818 (not an error: the client tells again)
    """The worker has the partition, but not what it was told earlier."""


@dataclass
class PassState:
    """A pass under way: the score at the number of changes `done` since its start.

    Effects of groups are those of the start: the client, who has all rows of a group, makes up.
    """

    number: int
    score: FloatArray
    curvature: FloatArray | None
    moments: FloatArray | None
    cells: LocalCells | None = None
    done: int = 0

    def apply(self, columns: Columns, change: Change) -> None:
        """Bring score and moments up to date with a change."""
        entries, features = columns.entries(change.features)
        curvature = np.empty(0) if self.curvature is None else self.curvature
        move_inplace(entries, features, change.beta, curvature, self.score)
        if self.moments is not None:
            _add_moments_inplace(columns.take(change.features), change, self.moments)
        self.done += 1


def _add_moments_inplace(part: ColumnDesign, change: Change, moments: FloatArray) -> None:
    """Add to (2, n_rows) moments of eta what the features of `part` contribute."""
    variance, center = change.more
    every, centered = np.arange(part.n_features), dataclasses.replace(part, center=center)
    centered.add_moments_inplace(every, change.beta, variance, moments)


@dataclass
class Partition:
    """Rows of X in columns, sorted by step; `generation` counts how often they were loaded."""

    columns: Columns
    step_offsets: IntArray
    generation: int
    shifted: bool = False
    run: PassState | None = None
    scores: tuple[int, FloatArray | Path] | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.step_offsets[-1])

    @property
    def _features(self) -> Iterator[tuple[IntArray, ColumnDesign]]:
        for features in self.columns.pieces():
            yield features, self.columns.take(features)

    # Jobs: each returns arrays over this partition's steps or rows.

    def eta(self, features: IntArray, beta: FloatArray) -> FloatArray:
        """Sum of x * beta of every row."""
        return self.columns.take(features).eta(beta)

    def gradient(self, score: FloatArray) -> FloatArray:
        """Sum of x * score of all features."""
        return np.concatenate([part.gradient(score) for _, part in self._features])

    def weigh(self, curvature: FloatArray) -> FloatArray:
        """(2, n_features, n_steps) sums of curvature * x^2 and curvature * x."""
        found = []
        for _, part in self._features:
            out = np.empty((2, part.n_features, part.n_timesteps))
            part.weigh_inplace(curvature, np.arange(part.n_features), *out)
            found.append(out)
        return np.concatenate(found, axis=1)

    def told(self, what: str, weights: FloatArray, value: FloatArray | None = None) -> FloatArray:
        """A method of `ColumnDesign` whose answers have an axis of features after the first."""
        return told(self._features, what, weights, value)

    def moments(self, change: Change) -> FloatArray:
        """(2, n_rows) what some features add to mean and variance of eta."""
        out = np.zeros((2, self.n_rows))
        _add_moments_inplace(self.columns.take(change.features), change, out)
        return out

    def ranges(self) -> FloatArray:
        """(2, n_features) least and largest entry, infinite where there is none."""
        return np.concatenate([_ranges(part) for _, part in self._features], axis=1)

    def residual(self, shift: FloatArray) -> FloatArray:
        """(n_features,) largest entry once a number is taken off those of every column."""
        largest = np.zeros(shift.size)
        for i, entries in self._entries(shift != 0):
            largest[i] = np.abs(entries - shift[i]).max(initial=0.0)
        return largest

    def take_off(self, shift: FloatArray, constant: IntArray) -> None:
        """Take a number off the entries of every column, once.

        `constant` are columns of which rounding errors alone would be left: they become zero.
        """
        if self.shifted:
            return
        if shift.any():
            self.columns.store_ones()
        zero = np.isin(np.arange(shift.size), constant)
        for i, entries in self._entries((shift != 0) | zero, write=True):
            entries[:] = 0.0 if zero[i] else entries - shift[i]
        self.shifted = True

    def _entries(
        self, chosen: BoolArray | None = None, *, write: bool = False
    ) -> Iterator[tuple[int, FloatArray]]:
        """Number and entries of some columns, or of all; `write`: they are changed in place."""
        for piece in self.columns.pieces():
            features = piece if chosen is None else piece[chosen[piece]]
            part = self.columns.take(features)
            for k, i in enumerate(features):
                first, last = part.segments[k, 0], part.segments[k, -1]
                ones = part.values.size < part.rows.size
                yield int(i), np.ones(last - first) if ones else part.values[first:last]
            if write:
                self.columns.replace(features, part.values)

    def update(
        self,
        number: int,
        start: Start | None,
        first: int,
        changes: list[Change],
        features: IntArray | None,
        gram: bool,
    ) -> FloatArray | Told:
        """A block's gradient after some changes; with its Gram matrix what else is wanted once.

        No features: the end of the pass, of which the rows are wanted.
        """
        if start is not None:
            score, curvature, moments, cells = start
            room = np.zeros((2, self.n_rows)) if moments else None
            self.run = PassState(number, score.copy(), curvature, room, cells)
        run = self.run
        if run is None or run.number != number or run.done != first:
            raise Untold
        for change in changes:
            run.apply(self.columns, change)
        if features is None:
            self.run = None
            return run.score if run.moments is None else run.moments
        gradient = np.empty((features.size, self.step_offsets.size - 1))
        gradient_inplace(*self.columns.entries(features), run.score, gradient)
        if not gram:
            return gradient
        part = self.columns.take(features)
        weights = np.ones(self.n_rows) if run.curvature is None else run.curvature
        sums = None if run.cells is None else sums_over_cells(part, run.curvature, run.cells)
        found = np.stack([gradient, part.sums(weights)])
        return found, block_gram(part, run.curvature), sums

    def cell_sums(
        self, number: int, start: tuple[FloatArray, LocalCells] | None, features: IntArray
    ) -> CellPart:
        """Sums of weight * x over cells; `start` are weights and cells of the rows, told once."""
        if start is not None:
            weights, cells = start
            self.run = PassState(number, np.empty(0), weights, None, cells)
        run = self.run
        if run is None or run.number != number or run.cells is None:
            raise Untold
        return sums_over_cells(self.columns.take(features), run.curvature, run.cells)

    def ask_scores(
        self,
        number: int,
        made: tuple[FloatArray, FloatArray] | None,
        what: str,
        argument: FloatArray,
        file: Path,
    ) -> FloatArray:
        """One of the methods of `Scores`; `made` is basis and what is taken off at each step."""
        if made is not None:
            self._project(number, *made, file)
        if self.scores is None or self.scores[0] != number:
            raise Untold
        values = self.scores[1]
        if isinstance(values, Path):
            values = np.fromfile(values).reshape(self.n_rows, -1)
        return np.asarray(getattr(ArrayScores(values, self.step_offsets), what)(argument))

    def _project(self, number: int, basis: FloatArray, taken: FloatArray, file: Path) -> None:
        out = np.zeros((self.n_rows, basis.shape[1]))
        for features, part in self._features:
            out += part.project(basis[features])
        out -= np.repeat(taken, np.diff(self.step_offsets), axis=0)
        self.scores = number, out
        if isinstance(self.columns, FileColumns):  # else there is memory for them
            file.parent.mkdir(parents=True, exist_ok=True)
            out.tofile(file)
            self.scores = number, file


@dataclass
class Store:
    """The partitions of one fit on this worker."""

    folder: Path
    limit: float
    partitions: dict[int, Partition] = field(default_factory=dict)
    closed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, number: int, generation: int, design: ColumnDesign, spec: Spec) -> None:
        """Keep a partition in memory if there is room for it, else in files."""
        old = self.partitions.get(number)
        if self.closed or (old is not None and old.generation >= generation):
            return  # too late: the fit has ended, or a later load was faster
        if old is not None:
            self.partitions.pop(number).columns.drop()
        stored = [each.columns for each in self.partitions.values()]
        held = sum(each.nbytes for each in stored if isinstance(each, MemoryColumns))
        in_memory = MemoryColumns(design)
        columns: Columns = in_memory
        if held + in_memory.nbytes > self.limit:
            columns = FileColumns(design, self.folder / str(number))
        partition = Partition(columns, design.step_offsets, generation)
        if spec.shift is not None and spec.constant is not None:
            partition.take_off(spec.shift, spec.constant)
        self.partitions[number] = partition


_STORES: dict[str, Store] = {}
_FORGOTTEN: set[str] = set()
"""Fits that have ended: what comes for them comes too late."""
_LOCK = threading.Lock()


def load(
    block: MatrixLike, fit_id: str, version: tuple[int, int], spec: Spec, wanted: Wanted | None
) -> tuple[str, Summary | None]:
    """Make a block of rows a partition of this worker; returns its address and a Summary.

    `version` is the number of the partition and its generation.
    """
    from sklearn.utils import check_array

    refuse_broken(block, "X")
    X: Any = check_array(
        block,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_min_samples=0,
        ensure_min_features=0,
        estimator=spec.owner,
        input_name="X",
    )
    chosen = X if spec.chosen is None else X[spec.chosen]
    ordinary = chosen if spec.ordinary is None else chosen[:, spec.ordinary]
    design, _ = ColumnDesign.from_matrix(ordinary, spec.codes, spec.n_steps, compact=True)
    counts = np.diff(design.segments, axis=1)
    store = _store(fit_id)
    if store is not None:
        with store.lock:
            store.add(*version, design, spec)
    if wanted is None:
        return str(_worker().address), None
    low, high = _ends(chosen, design, spec) if chosen.shape[0] else (None, None)
    columns, totals = dense(chosen[:, wanted.columns]), np.asarray(chosen.sum(axis=0)).ravel()
    found = Summary(low, high, counts, ordinary[wanted.rows], columns, totals)
    return str(_worker().address), found


def _ranges(part: ColumnDesign) -> FloatArray:
    """(2, n_features) least and largest entry, infinite where there is none."""
    ones = np.ones(part.n_features)
    low, high = (ones, ones) if only_ones(part) else part.entry_ranges()
    none = part.segments[:, 0] == part.segments[:, -1]
    return np.stack([np.where(none, np.inf, low), np.where(none, -np.inf, high)])


def _ends(chosen: Any, design: ColumnDesign, spec: Spec) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of every column, zeros included."""
    if spec.ordinary is not None:
        low, high = (dense(each).ravel() for each in (chosen.min(axis=0), chosen.max(axis=0)))
        return low, high
    (low, high), count = _ranges(design), design.segments[:, -1] - design.segments[:, 0]
    some = count < design.n_rows
    return np.where(some, np.minimum(low, 0.0), low), np.where(some, np.maximum(high, 0.0), high)


Job = tuple[tuple[int, int, bool], str, tuple[Any, ...]]
"""Partition, its generation and whether it is shifted; what to do, arguments."""


def serve(fit_id: str, jobs: list[Job]) -> list[Any]:
    """Do jobs on some partitions, one after the other."""
    store = _STORES.get(fit_id)
    if store is None:
        return [LOST] * len(jobs)
    with store.lock:
        return [_answer(store, job) for job in jobs]


def serve_as_task(fit_id: str, jobs: list[Job]) -> tuple[str, list[Any]]:
    """The same on whatever worker this is, whose address is returned too."""
    return str(_worker().address), serve(fit_id, jobs)


def _answer(store: Store, job: Job) -> Any:
    (number, generation, shifted), what, arguments = job
    partition = store.partitions.get(number)
    if partition is None or partition.generation != generation:
        return LOST
    if partition.shifted != shifted and what != "take_off":
        return LOST  # a late job, of before or after the shift
    file = (store.folder / f"{number}-scores",) if what == "ask_scores" else ()
    try:
        return getattr(partition, what)(*arguments, *file)
    except Untold:
        return UNTOLD


def forget(fit_id: str) -> None:
    """Free what a fit holds on this worker."""
    with _LOCK:
        _FORGOTTEN.add(fit_id)
        store = _STORES.pop(fit_id, None)
    if store is None:
        return
    with store.lock:
        store.closed = True
        for partition in store.partitions.values():
            partition.columns.drop()
        with contextlib.suppress(OSError):
            for path in store.folder.glob("*-scores"):
                path.unlink()
            store.folder.rmdir()


def _store(fit_id: str) -> Store | None:
    with _LOCK:
        if fit_id in _FORGOTTEN:
            return None
        worker = _worker()
        listen(worker, serve)  # each of several workers of this process
        if fit_id not in _STORES:
            limit = getattr(worker.memory_manager, "memory_limit", None)
            folder = Path(worker.local_directory) / f"driftglm-{fit_id}"
            psutil: Any = import_module("psutil")  # distributed needs it too
            used = psutil.Process().memory_info().rss
            _STORES[fit_id] = Store(folder, SHARE * limit - used if limit else np.inf)
        return _STORES[fit_id]


def _worker() -> Any:
    from distributed import get_worker

    return get_worker()
