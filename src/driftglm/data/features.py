"""Which columns a user means: names, positions or masks become one boolean mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from driftglm._typing import BoolArray
from driftglm.exceptions import DataError

Names: TypeAlias = Sequence[str] | None
"""Names of the columns of X, where it has any."""
SHOWN = 5


def listed(items: Sequence[object]) -> str:
    """The first few of some items, as they stand in messages."""
    return ", ".join(str(each) for each in items[:SHOWN]) + ", ..." * (len(items) > SHOWN)


def feature_mask(chosen: object, n_features: int, names: Names, argument: str) -> BoolArray:
    """Mask of the chosen features; `argument` is the parameter to name in an error.

    `chosen` may be None, one name or position, a sequence of them, or a boolean mask.
    """
    mask = np.zeros(n_features, dtype=np.bool_)
    if chosen is None:
        return mask
    items = np.asarray(chosen, dtype=object).ravel()
    if items.size and all(isinstance(item, bool | np.bool_) for item in items):
        if items.size != n_features:
            raise DataError(
                f"{argument} is a mask of length {items.size} but X has {n_features} columns; "
                "pass one boolean per column, or the names or positions of the columns meant."
            )
        return items.astype(np.bool_)
    for item in items:
        mask[_position(item, n_features, names, argument)] = True
    return mask


def _position(item: object, n_features: int, names: Names, argument: str) -> int:
    if isinstance(item, str):
        if names is None:
            raise DataError(
                f"{argument} names the column {item!r} but X came without column names; "
                "pass a DataFrame, or the column's position."
            )
        found = np.flatnonzero(np.asarray(names, dtype=object) == item)
        if found.size == 0:
            raise DataError(
                f"{argument} names the column {item!r}, which X does not have; "
                f"its columns are {listed([repr(name) for name in names])}."
            )
        return int(found[0])
    if isinstance(item, int | np.integer) and not isinstance(item, bool):
        if not -n_features <= item < n_features:
            raise DataError(
                f"{argument} names column {item} but X has {n_features} columns; "
                f"positions run from 0 to {n_features - 1}."
            )
        return int(item)
    raise DataError(
        f"{argument} contains {item!r} of type {type(item).__name__}; "
        "pass column names, positions or one boolean per column."
    )
