"""What may be given for X where its rows are not in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from driftglm._typing import IntArray, MatrixLike
from driftglm.distributed.client import Client
from driftglm.distributed.shards import Shards, read_features
from driftglm.exceptions import DataError

Remote = Any
"""An array, frame, Delayed or Future of Dask, which need not be installed."""
BLOCK_BYTES = 64 * 2**20
"""Size of the partitions an array in this process is cut into."""
N_EACH = 2
"""Partitions a worker gets of such an array, at least."""


@dataclass(frozen=True)
class Blocks:
    """Rows in parts: each an array, or a `Delayed` or `Future` of one, with its number of rows.

    `names` are those of the columns, if all have one.
    """

    parts: list[Any]
    sizes: IntArray
    n_columns: int
    names: tuple[str, ...] | None = None

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return int(self.sizes.sum())

    @property
    def bounds(self) -> IntArray:
        """(n_parts + 1,) first row of every part, and the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)


def is_remote(X: object) -> bool:
    """Whether X is something for workers: of Dask, or a folder of shards. Imports nothing."""
    return isinstance(X, str | os.PathLike | Shards) or _is_dask(X) or _is_listed(X)


def blocks_of(X: MatrixLike, client: Client) -> Blocks:
    """The parts of X and their sizes; sizes nobody knows are asked for."""
    if _is_listed(X):
        return _measured(list(X), client)
    if not _is_dask(X):
        return _of_array(X, client)
    # A class is asked: a Delayed itself has any attribute.
    return _of_collection(X, client) if is_collection(X) else _measured([X], client)


def is_rows(X: object) -> bool:
    """Whether rows are Dask's: an array or frame, Delayed or Futures, or a list of the latter."""
    return _is_dask(X) or _is_listed(X)


def is_collection(X: object) -> bool:
    """Whether it is an array or a frame of Dask."""
    return _is_dask(X) and hasattr(type(X), "ndim")


def to_vector(values: object) -> Any:
    """A vector of Dask as one in this process; others as they are."""
    if _is_listed(values):
        return np.concatenate([np.atleast_1d(_gathered(part)) for part in values])
    return _gathered(values) if _is_dask(values) else values


def _gathered(part: Remote) -> Any:
    """What a collection, a Delayed or a Future of Dask stands for."""
    return part.compute() if hasattr(part, "__dask_graph__") else part.result()


def _is_dask(X: object) -> TypeGuard[Remote]:
    names = {base.__module__.split(".")[0] for base in type(X).__mro__}
    return not names.isdisjoint({"dask", "distributed", "dask_expr"})


def _is_listed(X: object) -> TypeGuard[Sequence[Remote]]:
    """Whether it is a list of something of Dask."""
    return isinstance(X, list | tuple) and len(X) > 0 and _is_dask(X[0])


def _of_collection(X: Remote, client: Client) -> Blocks:
    if X.ndim != 2:  # noqa: PLR2004
        raise DataError(f"X has {X.ndim} dimension(s), it must have 2: rows and columns.")
    chunks = getattr(X, "chunks", None)
    if chunks is None:  # a frame
        return _measured(list(X.to_delayed()), client)
    if len(chunks[1]) > 1:
        X = X.rechunk({1: -1})
    parts = list(X.to_delayed().ravel())
    sizes = np.array(X.chunks[0], dtype=np.float64)
    if np.isnan(sizes).any() or np.isnan(X.shape[1]):
        return _measured(parts, client)
    return Blocks(parts, sizes.astype(np.int64), int(X.shape[1]))


def _measured(parts: list[Any], client: Client) -> Blocks:
    started = [client.compute(p) if hasattr(p, "__dask_graph__") else p for p in parts]
    asked = [client.submit(_shape_and_names, part, pure=False) for part in started]
    shapes, names = zip(*client.gather(asked), strict=True)
    first = shapes[0][1]
    for k, (_, width) in enumerate(shapes):
        if width < 0:
            raise DataError(
                f"partition {k} of X has 1 dimension, it must have 2: rows and columns."
            )
        if width != first:
            raise DataError(
                f"partition {k} has {width} columns but partition 0 has {first}; all "
                "partitions of X must have the same columns."
            )
        if names[k] != names[0]:
            raise DataError(
                f"the columns of partition {k} are not named as those of partition 0; all "
                "partitions of X must have the same columns, in the same order."
            )
    sizes = np.array([rows for rows, _ in shapes], dtype=np.int64)
    return Blocks(parts, sizes, first, names[0])


def _of_array(given: MatrixLike, client: Client) -> Blocks:
    """Slices of an array in this process."""
    X: Any = given
    sparse = sp.issparse(X)
    X = X.tocsr() if sparse else X
    n_rows, n_columns = shape_of(X)
    if n_columns < 0:
        raise DataError("X has 1 dimension, it must have 2: rows and columns.")
    n_workers = len(client.scheduler_info(n_workers=-1)["workers"])
    size = X.data.nbytes if sparse else 8 * n_rows * n_columns
    count = max(1, min(n_rows, max(N_EACH * n_workers, -(-size // BLOCK_BYTES))))
    bounds = np.linspace(0, n_rows, count + 1).astype(np.int64)
    rows = X.iloc if hasattr(X, "iloc") else X
    parts = [rows[a:b] for a, b in pairwise(bounds)]
    return Blocks(parts, np.diff(bounds), n_columns, _names(X))


def shard_blocks(shards: Shards, given: dict[str, object]) -> tuple[Blocks, dict[str, Any]]:
    """The parts of a folder of shards, and the arguments of `fit` that name its columns, read.

    `given` are the arguments beside X, by name; what is no name stays as it is. The time is the
    column the shards were written with, if none is given.
    """
    dask: Any = import_module("dask")
    manifest = shards.manifest()
    if given.get("time") is None and manifest.time:
        given = given | {"time": manifest.time}
    named = {argument: name for argument, name in given.items() if isinstance(name, str)}
    vectors = {key: shards.vector(manifest, name, key) for key, name in named.items()}
    names = shards.features(manifest, named.values())
    width = 0 if shards.columns is not None else len(manifest.block_names)
    read = dask.delayed(read_features, pure=True)
    few = replace(manifest, parts=())  # what a task is sent
    parts = [read(shards.folder, part, few, names, block=width > 0) for part in manifest.parts]
    sizes = np.array([part.rows for part in manifest.parts], dtype=np.int64)
    return Blocks(parts, sizes, len(names) + width), given | vectors


def folder_of(X: object) -> Shards | None:
    """The shards X names, if it names any."""
    if isinstance(X, Shards):
        return X
    return Shards(Path(X)) if isinstance(X, str | os.PathLike) else None


def _shape_and_names(block: Any) -> tuple[tuple[int, int], tuple[str, ...] | None]:
    return shape_of(block), _names(block)


def _names(block: Any) -> tuple[str, ...] | None:
    """Names of the columns of a frame if all are texts, as scikit-learn has it."""
    names = list(getattr(block, "columns", []))
    return tuple(names) if names and all(isinstance(name, str) for name in names) else None


def shape_of(block: MatrixLike) -> tuple[int, int]:
    """Rows and columns of a block; -1 columns of a vector."""
    shape = block.shape if hasattr(block, "shape") else np.shape(block)
    return int(shape[0]), int(shape[1]) if len(shape) > 1 else -1
