"""Fits whose rows are on Dask workers: read and checked there, the rest as for any other rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import assert_all_finite, column_or_1d

from driftglm._typing import FloatArray, IntArray
from driftglm.data.checks import check_weights, log_exposure
from driftglm.data.features import feature_mask
from driftglm.data.timesteps import TimeAxis, fit_axis
from driftglm.design import Design
from driftglm.design.directions import chosen_rows, directions_of
from driftglm.distributed.client import Client, client_for, engine_errors
from driftglm.distributed.design import WorkerDesign
from driftglm.distributed.engine import Engine, announce
from driftglm.distributed.shards import read_block
from driftglm.distributed.sources import Blocks, blocks_of, folder_of, is_remote, to_vector
from driftglm.distributed.worker import Spec, Summary, Wanted
from driftglm.estimators.checkpoint import resuming_advice
from driftglm.estimators.rows import COLUMNS_PER_DIRECTION, Rows, check_ranges
from driftglm.estimators.starts import Init
from driftglm.exceptions import DataError
from driftglm.priors import Learned

if TYPE_CHECKING:
    from driftglm.estimators.base import DriftEstimator

LARGE_MESSAGE = "distributed.admin.large-graph-warning-threshold"


@dataclass(frozen=True)
class WorkerRows(Rows):
    """Rows whose X is on workers; `X` is None.

    Parameters
    ----------
    raw, order
        The ordinary columns as they are, and the order of the design's rows.
    always_in_columns
        (n_rows, n_always_in) columns that are levels.
    totals
        (n_features,) sums of all columns.
    sample
        Rows of the ordinary columns from which directions are found, and which rows they are.
    """

    raw: WorkerDesign = field(kw_only=True)
    order: IntArray = field(kw_only=True)
    always_in_columns: FloatArray = field(kw_only=True)
    sample: tuple[Any, IntArray] = field(kw_only=True)
    totals: FloatArray = field(kw_only=True)

    def column_sums(self) -> FloatArray:
        """(n_features,) sums of the columns."""
        return self.totals

    def _always_in_columns(self) -> FloatArray:
        return self.always_in_columns.copy()

    def design(self) -> tuple[Design, IntArray]:
        """The ordinary columns as they are, and the order of the design's rows."""
        return self.raw, self.order

    def _leading(self, design: Design, unit: FloatArray, count: int) -> FloatArray:
        X, chosen = self.sample
        rows = self.codes[chosen], self.weights[chosen]
        return directions_of(X, *rows, design.mean, unit, count)

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
class Given:
    """What a user gave to `fit`, beside X."""

    y: Any
    time: Any = None
    sample_weight: Any = None
    exposure: Any = None

    def here(self) -> Given:
        """The same with vectors of Dask brought into this process."""
        return Given(*(to_vector(each) for each in vars(self).values()))


@dataclass(frozen=True)
class Workers:
    """How a user wants a fit to be done."""

    n_workers: int | None = None
    checkpoint: Any = None

    def wanted(self, X: Any) -> bool:
        """Whether a fit to X is one on workers."""
        return self.n_workers is not None or is_remote(X)


IN_THIS_PROCESS = Workers()
"""No workers asked for, no file to go on from."""


@contextmanager
def rows_on_workers(
    model: DriftEstimator, X: Any, given: Given, workers: Workers
) -> Iterator[tuple[WorkerRows, TimeAxis]]:
    """Rows for a fit, and the axis of their steps; workers hold X as long as the context lasts."""
    _refuse(model)
    shards = folder_of(X)
    if shards is not None:
        shards.manifest()  # a folder that is not there is found before a cluster is asked for
    advice = resuming_advice(workers.checkpoint)
    with client_for(workers.n_workers) as client, engine_errors(client, advice):
        yield from _opened(model, X, given, client)


def _opened(
    model: DriftEstimator, X: Any, given: Given, client: Client
) -> Iterator[tuple[WorkerRows, TimeAxis]]:
    dask: Any = import_module("dask")
    blocks, given = _read(X, given, client)
    y, weights, (axis, codes), exposures = _vectors(model, blocks, given)
    model.n_features_in_ = blocks.n_columns
    model.__dict__.pop("feature_names_in_", None)
    always_in = feature_mask(model.always_in, blocks.n_columns, None, "always_in")
    static = feature_mask(model.static, blocks.n_columns, None, "static")
    kept = weights > 0
    with dask.config.set({LARGE_MESSAGE: "1 TiB"}):
        engine, wanted, chosen = _engine(model, blocks, (codes, kept, always_in), client)
        try:
            if model.verbose:
                announce(client, engine.count)
            summaries = engine.open(wanted)
            _check(summaries, model)
            order = np.argsort(codes[kept], kind="stable").astype(np.int64)
            steps = np.searchsorted(codes[kept][order], np.arange(axis.n_timesteps + 1))
            counts = engine.total([each.counts for each in summaries], axis.n_timesteps)
            yield (
                WorkerRows(
                    X=None,
                    y=y[kept],
                    codes=codes[kept],
                    weights=weights[kept],
                    family=model._family(),  # noqa: SLF001
                    exposure=exposures[kept],
                    n_timesteps=axis.n_timesteps,
                    always_in=always_in,
                    static=static,
                    intercept=model.fit_intercept,
                    raw=WorkerDesign.of(engine, counts.astype(np.int64), steps.astype(np.int64)),
                    order=order,
                    totals=np.sum([each.totals for each in summaries], axis=0),
                    always_in_columns=np.concatenate([each.columns for each in summaries]),
                    sample=(_sample(summaries, wanted, chosen), chosen),
                ),
                axis,
            )
        finally:
            engine.close()


def _refuse(model: DriftEstimator) -> None:
    if model.keep_data:
        raise DataError(
            "keep_data=True keeps all rows in the model and these are on workers; leave it False, "
            "and fit again when there are new rows."
        )
    if model.extrapolate == "validate":
        raise DataError(
            "extrapolate='validate' fits again to some of the rows, which workers do not offer; "
            "choose 'forecast' or 'hold'."
        )


def _read(X: Any, given: Given, client: Client) -> tuple[Blocks, Given]:
    """Parts of X; vectors that are named columns of shards, or of Dask, brought here."""
    shards = folder_of(X)
    if shards is None:
        return blocks_of(X, client), given.here()
    dask: Any = import_module("dask")
    manifest = shards.manifest()
    named = {k: v for k, v in vars(given).items() if isinstance(v, str)}
    if given.time is None and manifest["time"]:
        named["time"] = manifest["time"]
    for argument, name in named.items():
        shards.check(manifest, name, argument)
    names = list(manifest["columns"])
    features = shards.features(manifest, named.values())
    keys, n_block = [f"c{names.index(name)}" for name in features], int(manifest["n_block"])
    n_block = 0 if shards.columns is not None else n_block
    read = dask.delayed(read_block, pure=True)
    parts = [read(shards.folder, part, keys, n_block) for part in manifest["parts"]]
    sizes = np.array([part["rows"] for part in manifest["parts"]], dtype=np.int64)
    vectors = {k: shards.vector(manifest, v) for k, v in named.items()}
    return Blocks(parts, sizes, len(keys) + n_block), Given(**{**vars(given), **vectors}).here()


def _vectors(model: DriftEstimator, blocks: Blocks, given: Given) -> Any:
    """y, weights, axis and codes, log exposures: checked as for rows in this process."""
    n_rows = blocks.n_rows
    if n_rows < 2 or blocks.n_columns < 1:  # noqa: PLR2004
        raise DataError(
            f"X has {n_rows} rows and {blocks.n_columns} columns; a fit needs 2 rows and 1 column "
            "at least."
        )
    y = column_or_1d(given.y, warn=True)
    if y.size != n_rows:
        raise DataError(f"y has {y.size} values but X has {n_rows} rows; pass one value per row.")
    if y.dtype.kind == "O" and model._numeric_target:  # noqa: SLF001
        y = y.astype(np.float64)
    assert_all_finite(y, estimator_name=type(model).__name__, input_name="y")
    weights = check_weights(model._class_weights(y, given.sample_weight), n_rows)  # noqa: SLF001
    axis, codes = fit_axis(given.time, n_rows, model.freq)
    model._set_target(y)  # noqa: SLF001
    y = model._read_target(y)  # noqa: SLF001
    return y, weights, (axis, codes), log_exposure(given.exposure, n_rows)


def _engine(
    model: DriftEstimator, blocks: Blocks, columns: tuple[Any, Any, Any], client: Client
) -> tuple[Engine, list[Wanted], IntArray]:
    """Partitions, what to ask of each when it is read, and the rows directions come from."""
    codes, kept, always_in = columns
    ordinary = np.flatnonzero(~always_in) if always_in.any() else None
    place = np.empty(int(kept.sum()), dtype=np.int64)
    place[np.argsort(codes[kept], kind="stable")] = np.arange(place.size)
    prior, chosen = model._prior(), np.empty(0, dtype=np.int64)  # noqa: SLF001
    enough = (~always_in).sum() >= COLUMNS_PER_DIRECTION
    if isinstance(prior, Learned) and prior.n_directions and enough:
        chosen = chosen_rows(codes[kept])
    before = np.concatenate([[0], np.cumsum(kept)])  # rows that are kept, up to each row
    specs, where, seen, wanted = [], [], [], []
    for first, last in pairwise(blocks.bounds):
        own = kept[first:last]
        steps, local = np.unique(codes[first:last][own], return_inverse=True)
        some = None if own.all() else np.flatnonzero(own)
        start, end = before[first], before[last]
        specs.append(Spec(local.astype(np.int64), steps.size, some, ordinary, type(model).__name__))
        where.append(np.sort(place[start:end]))
        seen.append(steps)
        inside = chosen[(chosen >= start) & (chosen < end)] - start
        wanted.append(Wanted(np.sort(inside), np.flatnonzero(always_in)))
    return Engine(client, blocks.parts, specs, where, seen), wanted, chosen


def _check(summaries: list[Summary], model: DriftEstimator) -> None:
    low = np.min([each.low for each in summaries if each.low is not None], axis=0)
    high = np.max([each.high for each in summaries if each.high is not None], axis=0)
    check_ranges(low, high, None, intercept=model.fit_intercept)


def _sample(summaries: list[Summary], wanted: list[Wanted], chosen: IntArray) -> Any:
    """The chosen rows, in the order of `chosen`."""
    parts = [each.rows for each, want in zip(summaries, wanted, strict=True) if want.rows.size]
    if not parts:
        return None
    some_sparse = any(sp.issparse(part) for part in parts)
    together: Any = sp.vstack(parts).tocsr() if some_sparse else np.concatenate(parts)
    # Parts come in the order of rows.
    return together[np.argsort(np.argsort(chosen, kind="stable"), kind="stable")]
