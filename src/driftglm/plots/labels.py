"""Names of features, and labels that would cover each other moved apart."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError

Features = ArrayLike | None
"""Names, positions or a mask of features; None: all, or those that matter most."""
Names = Iterable[object] | None
"""Names instead of those a model was fitted with."""


def feature_names_of(model: object, n_features: int, given: Names = None) -> list[str]:
    """Names as given, else those the model was fitted with, else x0, x1, ..."""
    if given is None:
        given = getattr(model, "feature_names_in_", None)
    names = [f"x{i}" for i in range(n_features)] if given is None else [str(n) for n in given]
    if len(names) != n_features:
        raise DataError(
            f"feature_names has {len(names)} names but the model has {n_features} features; pass "
            "one name per column of X."
        )
    return names


def apart(wanted: FloatArray, room: float) -> FloatArray:
    """Places as near to those wanted as can be, no two closer than `room`.

    The least-squares answer: with the room between neighbours taken off, places must only not
    fall, and blocks that would are averaged (isotonic regression).

    Examples
    --------
    >>> apart(np.array([1.0, 0.0, 1.0]), 0.5).tolist()
    [0.75, 0.0, 1.25]
    """
    values = np.asarray(wanted, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    shifts = room * np.arange(values.size)
    blocks: list[list[float]] = []
    for value in values[order] - shifts:
        blocks.append([value, 1.0])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            mean, count = blocks.pop()
            total = blocks[-1][1] + count
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + mean * count) / total, total]
    base = np.concatenate([np.full(int(n), mean) for mean, n in blocks] or [np.zeros(0)])
    out = np.empty_like(values)
    out[order] = base + shifts
    return out
