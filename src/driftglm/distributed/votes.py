"""The usual value of a column whose rows are on several workers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign


def vote(
    parts: Iterable[tuple[IntArray, ColumnDesign]], weights: FloatArray, value: FloatArray | None
) -> FloatArray:
    """On a worker: `ColumnDesign.votes` of all features, or `equal_to` of a value for each."""
    if value is None:
        return np.concatenate([part.votes(weights) for _, part in parts], axis=1)
    found = [part.equal_to(value[features], weights) for features, part in parts]
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
