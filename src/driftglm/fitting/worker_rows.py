"""Rows whose X is on Dask workers: read and checked there, the rest as for any other rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite, column_or_1d

from driftglm._typing import BoolArray, FloatArray, IntArray, MatrixLike
from driftglm.data.timesteps import TimeAxis
from driftglm.design import Design, RowSample
from driftglm.design.directions import COLUMNS_PER_DIRECTION, chosen_rows
from driftglm.distributed import sources
from driftglm.distributed.client import Client, client_for, engine_errors
from driftglm.distributed.design import WorkerDesign
from driftglm.distributed.engine import Engine, announce
from driftglm.distributed.messages import Spec, Summary, Wanted
from driftglm.distributed.sources import Blocks
from driftglm.exceptions import DataError
from driftglm.fitting.checkpoint import FilePath, resuming_advice
from driftglm.fitting.coefficients import Step
from driftglm.fitting.column_checks import check_ranges
from driftglm.fitting.reading import Given, Reading, Vectors, read_vectors
from driftglm.fitting.rows import Rows
from driftglm.fitting.starts import Init

LARGE_MESSAGE = "distributed.admin.large-graph-warning-threshold"


@dataclass(frozen=True)
class WorkerRows(Rows):
    """Rows whose X is on workers; `X` itself is None.

    Parameters
    ----------
    raw, order
        The ordinary columns as they are, and the order of the design's rows.
    always_in_columns
        (n_rows, n_always_in) columns that are intercepts.
    totals
        (n_features,) sums of all columns.
    gathered
        Rows of the ordinary columns from which the shared directions are found.
    blocks
        What the workers read X from, so that a part of the rows can be opened as well.
    """

    raw: WorkerDesign = field(kw_only=True)
    order: IntArray = field(kw_only=True)
    always_in_columns: FloatArray = field(kw_only=True)
    gathered: RowSample = field(kw_only=True)
    totals: FloatArray = field(kw_only=True)
    blocks: OpenBlocks = field(kw_only=True)

    def before(self, step: int) -> WorkerRows:
        """A source of the rows before a step, cut on the workers: X is gathered nowhere."""
        used_rows = self.blocks.used_rows & (self.blocks.vectors.codes < step)
        if not used_rows.any():
            raise DataError(f"there is no row before step {step}; a fit needs some.")
        return open_rows(replace(self.blocks, used_rows=used_rows))

    def take(self, keep: BoolArray) -> Rows:
        """Not offered: workers cut their rows by step alone."""
        del keep
        raise DataError("rows on workers can be cut before a step only.")

    def shared(self) -> WorkerRows:
        """These rows: the workers have laid their columns out already."""
        return self

    def merged(self) -> WorkerRows:
        """These rows: nobody has seen them all."""
        return self

    def pooled(self) -> WorkerRows:
        """The same rows in one step, opened anew; whoever asks for it closes it."""
        vectors = self.blocks.vectors
        codes, axis = np.zeros_like(vectors.codes), TimeAxis.single()
        return open_rows(replace(self.blocks, vectors=replace(vectors, codes=codes, axis=axis)))

    def step_moments(self, code: int, steps: Sequence[Step]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of eta for the rows of a step, (n, R): products on the workers."""
        means, variances = zip(*(self._moments(code, step) for step in steps), strict=True)
        return np.column_stack(means), np.column_stack(variances)

    def _moments(self, code: int, step: Step) -> tuple[FloatArray, FloatArray]:
        """The same for one set of coefficients.

        Paths that are zero in all other steps make all other rows' products zero.
        """
        ordinary, raw = ~self.always_in, self.raw
        now = slice(raw.step_offsets[code], raw.step_offsets[code + 1])
        own = self.always_in_columns[self.order[now]]

        def in_step(column: FloatArray) -> FloatArray:
            path = np.zeros((raw.n_features, self.n_timesteps))
            path[:, code] = column[ordinary]
            return path

        v, always = step.coef_variance, self.always_in
        taken = np.zeros(always.size)  # off the values that the workers hold, by a fit
        if (shift := raw.engine.specs[0].shift) is not None:
            taken[ordinary] = shift
        center = step.center - taken
        moments = np.zeros((2, raw.n_rows))
        every = np.arange(raw.n_features)
        raw.add_moments_inplace(every, in_step(step.coef), in_step(v), moments)
        mean = moments[0, now] + own @ step.coef[always] + step.intercept + taken @ step.coef
        cross = raw.eta(in_step(center * v))[now] + own @ (center * v)[always]
        square = moments[1, now] + own**2 @ v[always]
        variance = np.maximum(square - 2.0 * cross + center**2 @ v, 0.0) + step.intercept_variance
        if step.joint.shape[1]:
            scores = raw.scores(np.ascontiguousarray(step.joint[ordinary]))
            along = np.column_stack([scores.times(one)[now] for one in np.eye(scores.count)])
            shared = along + own @ step.joint[always] - (step.offset - taken @ step.joint)
            variance += np.einsum("nr,nr->n", shared, shared)
        return mean, variance

    @property
    def names(self) -> np.ndarray | None:
        """Those of the columns, if X is a frame."""
        found = self.blocks.blocks.names
        return None if found is None else np.array(found, dtype=object)

    def close(self) -> None:
        """Let the workers free what they hold for this source."""
        self.raw.engine.close()

    def column_sums(self) -> FloatArray:
        """(n_features,) sums of the columns."""
        return self.totals

    def _always_in_columns(self) -> FloatArray:
        return self.always_in_columns.copy()

    def design(self) -> tuple[Design, IntArray]:
        """The ordinary columns as they are, and the order of the design's rows."""
        return self.raw, self.order

    def sample(self) -> RowSample:
        """What the shared directions are found from."""
        return self.gathered

    @property
    def default_start(self) -> Init:
        """No other start can be had without all rows in one place."""
        return "zero"

    def start_paths(self, kind: Init) -> FloatArray:
        """Zero: the other starts are fits of scikit-learn to all rows."""
        if kind not in {"zero", "auto"}:
            raise DataError(
                f"init={kind!r} needs all rows in one place and they are on workers; use "
                "init='zero' (or 'auto') and n_starts=1."
            )
        return np.zeros((self.raw.n_features, self.n_timesteps))


@dataclass(frozen=True)
class Workers:
    """How a user wants a fit to be done."""

    n_workers: int | None = None
    checkpoint: FilePath | None = None

    def wanted(self, X: MatrixLike) -> bool:
        """Whether a fit to X is one on workers."""
        # What is surely here need not be looked at by those who know Dask.
        here = isinstance(X, np.ndarray) or sp.issparse(X)
        return self.n_workers is not None or (not here and sources.is_remote(X))


IN_THIS_PROCESS = Workers()
"""No workers asked for, no file to go on from."""


@dataclass(frozen=True)
class OpenBlocks:
    """What it takes to make a source of some rows of X: nothing of X itself."""

    client: Client
    blocks: Blocks
    vectors: Vectors
    reading: Reading
    used_rows: BoolArray

    @property
    def whole(self) -> bool:
        """Whether nothing is cut off."""
        return np.array_equal(self.used_rows, self.vectors.has_weight)


@contextmanager
def rows_on_workers(
    X: MatrixLike, given: Given, reading: Reading, workers: Workers
) -> Iterator[tuple[WorkerRows, Vectors]]:
    """Rows for a fit, and what was read with them; workers hold X as long as the context lasts."""
    shards = sources.folder_of(X)
    if shards is not None:
        shards.manifest()  # a folder that is not there is found before a cluster is asked for
    advice = resuming_advice(workers.checkpoint)
    dask: Any = import_module("dask")
    with client_for(workers.n_workers) as client, engine_errors(client, advice):
        blocks, given = _read(X, given, client)
        vectors = read_vectors(reading, _checked(given, blocks, reading), blocks.n_rows)
        with dask.config.set({LARGE_MESSAGE: "1 TiB"}):
            rows = open_rows(OpenBlocks(client, blocks, vectors, reading, vectors.has_weight))
            try:
                if reading.verbose:
                    announce(client, rows.raw.engine.count)
                yield rows, vectors
            finally:
                rows.close()


def open_rows(opened: OpenBlocks) -> WorkerRows:
    """Have the workers load the rows that are used."""
    reading, blocks = opened.reading, opened.blocks
    always_in = reading.mask("always_in", blocks.n_columns, blocks.names)
    used = opened.vectors.take(opened.used_rows)
    n_steps = used.axis.n_timesteps if opened.whole else int(used.codes.max()) + 1
    engine, wanted, chosen = _engine(opened, always_in)
    try:
        summaries = engine.open(wanted)
        low = np.min([each.low for each in summaries if each.low is not None], axis=0)
        high = np.max([each.high for each in summaries if each.high is not None], axis=0)
        if opened.whole:
            check_ranges(low, high, blocks.names, intercept=reading.intercept)
        order = np.argsort(used.codes, kind="stable").astype(np.int64)
        steps = np.searchsorted(used.codes[order], np.arange(n_steps + 1))
        sample = _sample(summaries, wanted, chosen)
        counts = engine.total([each.counts for each in summaries], n_steps)
        return WorkerRows(
            X=None,
            **used.for_rows(),
            n_timesteps=n_steps,
            always_in=always_in,
            static=reading.mask("static", blocks.n_columns, blocks.names),
            kinds=reading.kinds(blocks.n_columns, blocks.names),
            intercept=reading.intercept,
            raw=WorkerDesign.of(engine, counts.astype(np.int64), steps.astype(np.int64)),
            order=order,
            ranges=(low, high),
            totals=np.sum([each.totals for each in summaries], axis=0),
            always_in_columns=np.concatenate([each.columns for each in summaries]),
            gathered=RowSample(sample, used.codes[chosen], used.weights[chosen], chosen=True),
            blocks=opened,
        )
    except BaseException:
        engine.close()
        raise


def _read(X: MatrixLike, given: Given, client: Client) -> tuple[Blocks, Given]:
    """Parts of X; vectors that are named columns of shards, or of Dask, brought here."""
    shards, vectors = sources.folder_of(X), vars(given)
    if shards is None:
        blocks = sources.blocks_of(X, client)
    else:
        blocks, vectors = sources.shard_blocks(shards, vectors)
    return blocks, Given(**{name: sources.to_vector(each) for name, each in vectors.items()})


def _checked(given: Given, blocks: Blocks, reading: Reading) -> Given:
    """With a y that scikit-learn would have accepted beside X."""
    n_rows = blocks.n_rows
    if n_rows < 2 or blocks.n_columns < 1:  # noqa: PLR2004
        raise DataError(
            f"X has {n_rows} rows and {blocks.n_columns} columns; a fit needs 2 rows and 1 column "
            "at least."
        )
    two = reading.family.takes_trials and np.ndim(given.y) > 1
    y = np.asarray(given.y) if two else column_or_1d(given.y, warn=True)
    if len(y) != n_rows:
        raise DataError(f"y has {len(y)} values but X has {n_rows} rows; pass one value per row.")
    if y.dtype.kind == "O" and reading.family.target == "numbers":
        y = y.astype(np.float64)
    assert_all_finite(y, estimator_name=reading.owner, input_name="y")
    return replace(given, y=y)


def _engine(opened: OpenBlocks, always_in: BoolArray) -> tuple[Engine, list[Wanted], IntArray]:
    """Partitions, what to ask of each when it is read, and the rows directions come from."""
    codes, used_rows, blocks = opened.vectors.codes, opened.used_rows, opened.blocks
    owner = opened.reading.owner
    ordinary = np.flatnonzero(~always_in) if always_in.any() else None
    # Where each used row stands once they are sorted by step.
    position = np.empty(int(used_rows.sum()), dtype=np.int64)
    position[np.argsort(codes[used_rows], kind="stable")] = np.arange(position.size)
    chosen = np.empty(0, dtype=np.int64)
    enough = (~always_in).sum() >= COLUMNS_PER_DIRECTION
    if opened.reading.n_directions and enough:
        chosen = chosen_rows(codes[used_rows])
    before = np.concatenate([[0], np.cumsum(used_rows)])  # used rows before each row
    specs, where, seen, wanted, parts = [], [], [], [], []
    for part, (first, last) in zip(blocks.parts, pairwise(blocks.bounds), strict=True):
        used = used_rows[first:last]
        if not used.any() and not opened.whole:
            continue  # all of its rows are cut off
        parts.append(part)
        steps, local = np.unique(codes[first:last][used], return_inverse=True)
        some = None if used.all() else np.flatnonzero(used)
        start, end = before[first], before[last]
        specs.append(Spec(local.astype(np.int64), steps.size, some, ordinary, owner))
        where.append(np.sort(position[start:end]))
        seen.append(steps)
        inside = chosen[(chosen >= start) & (chosen < end)] - start
        wanted.append(Wanted(np.sort(inside), np.flatnonzero(always_in)))
    return Engine(opened.client, parts, specs, where, seen), wanted, chosen


def _sample(summaries: list[Summary], wanted: list[Wanted], chosen: IntArray) -> Any:
    """The chosen rows, in the order of `chosen`."""
    parts = [each.rows for each, want in zip(summaries, wanted, strict=True) if want.rows.size]
    if not parts:
        return None
    some_sparse = any(sp.issparse(part) for part in parts)
    together: Any = sp.vstack(parts).tocsr() if some_sparse else np.concatenate(parts)
    # Parts come in the order of rows.
    return together[np.argsort(np.argsort(chosen, kind="stable"), kind="stable")]
