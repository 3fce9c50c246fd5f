"""Labels that would cover each other are moved apart."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def apart(wanted: NDArray[Any], room: float) -> NDArray[Any]:
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
