"""What may be given for X where its rows are not in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from driftglm._typing import IntArray
from driftglm.distributed.client import Client
from driftglm.distributed.shards import Shards, read_features
from driftglm.distributed.worker import shape_of
from driftglm.exceptions import DataError

BLOCK_BYTES = 64 * 2**20
"""Size of the partitions an array in this process is cut into."""
N_EACH = 2
"""Partitions a worker gets of such an array, at least."""


@dataclass(frozen=True)
class Blocks:
    """Rows in parts: each an array, or a `Delayed` or `Future` of one, with its number of rows."""

    parts: list[Any]
    sizes: IntArray
    n_columns: int

    @property
    def n_rows(self) -> int:
        """Rows of all parts."""
        return int(self.sizes.sum())

    @property
    def bounds(self) -> IntArray:
        """(n_parts + 1,) first row of every part, and the end."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)


def is_remote(X: Any) -> bool:
    """Whether X is something for workers: of Dask, or a folder of shards. Imports nothing."""
    if isinstance(X, str | os.PathLike):
        return True
    if isinstance(X, Shards) or _is_dask(X):
        return True
    return isinstance(X, list | tuple) and len(X) > 0 and _is_dask(X[0])


def blocks_of(X: Any, client: Client) -> Blocks:
    """The parts of X and their sizes; sizes nobody knows are asked for."""
    if isinstance(X, list | tuple) and len(X) > 0 and _is_dask(X[0]):
        return _measured(list(X), client)
    if _is_dask(X) and hasattr(type(X), "ndim"):  # unlike a Delayed, which has any attribute
        return _of_collection(X, client)
    if _is_dask(X):
        return _measured([X], client)
    return _of_array(X, client)


def to_vector(values: Any) -> Any:
    """A vector of Dask as one in this process; others as they are."""
    if isinstance(values, list | tuple) and len(values) > 0 and _is_dask(values[0]):
        return np.concatenate([np.atleast_1d(_gathered(part)) for part in values])
    return _gathered(values) if _is_dask(values) else values


def _gathered(part: Any) -> Any:
    """What a collection, a Delayed or a Future of Dask stands for."""
    return part.compute() if hasattr(part, "__dask_graph__") else part.result()


def _is_dask(X: Any) -> bool:
    names = [base.__module__.split(".")[0] for base in type(X).__mro__]
    return "dask" in names or "distributed" in names or "dask_expr" in names


def _of_collection(X: Any, client: Client) -> Blocks:
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
    futures = [
        client.submit(
            shape_of, client.compute(p) if hasattr(p, "__dask_graph__") else p, pure=False
        )
        for p in parts
    ]
    shapes = client.gather(futures)
    widths = {width for _, width in shapes}
    if -1 in widths:
        k = next(k for k, shape in enumerate(shapes) if shape[1] == -1)
        raise DataError(f"partition {k} of X has 1 dimension, it must have 2: rows and columns.")
    if len(widths) > 1:
        k = next(k for k, shape in enumerate(shapes) if shape[1] != shapes[0][1])
        raise DataError(
            f"partition {k} has {shapes[k][1]} columns but partition 0 has {shapes[0][1]}; all "
            "partitions of X must have the same columns."
        )
    return Blocks(parts, np.array([rows for rows, _ in shapes], dtype=np.int64), widths.pop())


def _of_array(X: Any, client: Client) -> Blocks:
    """Slices of an array in this process."""
    sparse = sp.issparse(X)
    X = X.tocsr() if sparse else X
    n_rows, n_columns = shape_of(X)
    if n_columns < 0:
        raise DataError("X has 1 dimension, it must have 2: rows and columns.")
    n_workers = len(client.scheduler_info(n_workers=-1)["workers"])
    size = X.data.nbytes if sparse else 8 * n_rows * n_columns
    count = max(1, min(n_rows, max(N_EACH * n_workers, -(-size // BLOCK_BYTES))))
    bounds = np.linspace(0, n_rows, count + 1).astype(np.int64)
    rows: Any = X.iloc if hasattr(X, "iloc") else X
    parts: Sequence[Any] = [rows[a:b] for a, b in pairwise(bounds)]
    return Blocks(list(parts), np.diff(bounds), n_columns)


def shard_blocks(shards: Shards, given: dict[str, Any]) -> tuple[Blocks, dict[str, Any]]:
    """The parts of a folder of shards, and the arguments of `fit` that name its columns, read.

    `given` are the arguments beside X, by name; what is no name stays as it is. The time is the
    column the shards were written with, if none is given.
    """
    dask: Any = import_module("dask")
    manifest = shards.manifest()
    if given.get("time") is None and manifest.time:
        given = given | {"time": manifest.time}
    named = {argument: name for argument, name in given.items() if isinstance(name, str)}
    vectors = {
        argument: shards.vector(manifest, name, argument) for argument, name in named.items()
    }
    names = shards.features(manifest, named.values())
    width = 0 if shards.columns is not None else len(manifest.block_names)
    read = dask.delayed(read_features, pure=True)
    few = replace(manifest, parts=())  # what a task is sent
    parts = [read(shards.folder, part, few, names, block=width > 0) for part in manifest.parts]
    sizes = np.array([part.rows for part in manifest.parts], dtype=np.int64)
    return Blocks(parts, sizes, len(names) + width), given | vectors


def folder_of(X: Any) -> Shards | None:
    """The shards X names, if it names any."""
    if isinstance(X, Shards):
        return X
    return Shards(Path(X)) if isinstance(X, str | os.PathLike) else None
