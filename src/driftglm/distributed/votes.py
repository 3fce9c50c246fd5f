"""Columns about a number of their own, and their usual values, where rows are on workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.distributed.storage import with_values


def told(
    parts: Iterable[tuple[IntArray, ColumnDesign]],
    what: str,
    weights: FloatArray,
    value: FloatArray | None,
) -> FloatArray:
    """On a worker: a method of all features, which may take a number for each."""
    found = []
    for features, part in parts:
        some = with_values(part) if what == "weighed_about" else part
        given = [] if value is None else [value[features]]
        found.append(getattr(some, what)(*given, weights))
    return np.concatenate(found, axis=1)


def counted(votes: Sequence[FloatArray]) -> FloatArray:
    """Votes of several partitions, put together as if one had come after the other."""
    leader, lead, total = votes[0]
    for other, its_lead, its_total in votes[1:]:
        same, more = other == leader, its_lead > lead
        leader = np.where(more, other, leader)
        lead = np.where(same, lead + its_lead, np.abs(lead - its_lead))
        total = total + its_total
    return np.stack([leader, lead, total])
