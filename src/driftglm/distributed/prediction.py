"""Predictions for rows of Dask, block by block where the blocks are: a number or two a row back."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

from driftglm._typing import MatrixLike
from driftglm.distributed.sources import is_collection, shape_of, to_vector


def by_block(model: Any, method: str, X: MatrixLike, *vectors: Any, **options: Any) -> Any:
    """What a method of a fitted model says of all rows; `vectors` have one value a row, or None.

    The active client's workers are asked if there is one, else threads of this process.
    """
    dask: Any = import_module("dask")
    parts = _parts(X)
    sizes = [rows for rows, _ in dask.compute([dask.delayed(shape_of)(part) for part in parts])[0]]
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    known, rows = dask.delayed(model, traverse=False), [to_vector(each) for each in vectors]
    asked = [
        dask.delayed(_say)(known, method, part, [_slice(each, a, b) for each in rows], options)
        for part, (a, b) in zip(parts, pairwise(bounds), strict=True)
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


def _say(model: Any, method: str, block: Any, rows: list[Any], options: dict[str, Any]) -> Any:
    return getattr(model, method)(block, *rows, **options)


def _slice(values: Any, first: int, last: int) -> Any:
    """Some rows of a vector of any kind; None stays None."""
    if values is None:
        return None
    return values.iloc[first:last] if hasattr(values, "iloc") else values[first:last]
