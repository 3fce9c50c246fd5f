"""Predictions for rows of Dask, block by block where the blocks are: a number or two a row back."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from driftglm._typing import MatrixLike
from driftglm.distributed.sources import is_collection, shape_of, to_vector
from driftglm.exceptions import DataError


def by_block(model: Any, method: str, X: MatrixLike, *vectors: Any, **options: Any) -> Any:
    """What a method of a fitted model says of all rows; `vectors` have one value a row, or None.

    The active client's workers are asked if there is one, else threads of this process.
    """
    dask: Any = import_module("dask")
    parts = _parts(X)
    sizes = [rows for rows, _ in dask.compute([dask.delayed(shape_of)(part) for part in parts])[0]]
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    known, rows = dask.delayed(model, traverse=False), [to_vector(each) for each in vectors]
    _check_lengths(rows, int(bounds[-1]))
    asked = [
        dask.delayed(_say)(known, method, part, [_slice(each, a, b) for each in rows], options)
        for part, (a, b) in zip(parts, pairwise(bounds), strict=True)
        if b > a or not bounds[-1]  # partitions may be empty, but not all of them
    ]
    found = dask.compute(asked)[0]
    if isinstance(found[0], tuple):
        return tuple(np.concatenate(each) for each in zip(*found, strict=True))
    return np.concatenate(found)


def _parts(X: Any) -> list[Any]:
    if not is_collection(X):
        return list(X) if isinstance(X, list | tuple) else [X]
    chunks = getattr(X, "chunks", None)
    X = X.rechunk({1: -1}) if chunks is not None and len(chunks[1]) > 1 else X
    return list(np.ravel(np.asarray(X.to_delayed(), dtype=object)))


def _check_lengths(vectors: list[Any], n_rows: int) -> None:
    """Raise DataError unless vectors have a value a row: a block would see its own rows alone."""
    for values in vectors:
        if np.ndim(values) and len(values) != n_rows:
            raise DataError(
                f"X has {n_rows} rows, but {len(values)} values were passed for them; pass one per "
                "row. Select the same rows of X and of what goes with it."
            )


def _say(model: Any, method: str, block: Any, rows: list[Any], options: dict[str, Any]) -> Any:
    return getattr(model, method)(block, *rows, **options)


def _slice(values: Any, first: int, last: int) -> Any:
    """Some rows of a vector of any kind; None, and one number for all rows, stay as they are."""
    if np.ndim(values) == 0:
        return values
    return values.iloc[first:last] if hasattr(values, "iloc") else values[first:last]
