"""Where solvers store how far they are, so that an interrupted fit can be continued.

A snapshot is made of plain values, arrays and the few classes a state consists of; with it goes
everything a solver's loop needs, so that a continued run gives the numbers of one in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Protocol

import numpy as np

from driftglm.exceptions import DataError
from driftglm.objective import GroupState, NoisePath, Posterior, SharedState, State
from driftglm.priors.mixture import Components
from driftglm.priors.seasons import SeasonalComponents
from driftglm.solvers.coupling import Coupling

Snapshot = dict[str, Any]
STATES = State, Posterior, SharedState, GroupState, NoisePath, Components, SeasonalComponents
KINDS: dict[str, Any] = {kind.__name__: kind for kind in STATES}
KIND, ARRAY, ITEMS = "kind", "array", "items"


class Journal(Protocol):
    """Stores the last snapshot of one solver."""

    def read(self) -> Snapshot | None:
        """The snapshot to continue from, if there is one."""

    def due(self) -> bool:
        """Whether a snapshot would be stored now; for those that take long to make."""

    def write(self, snapshot: Snapshot, *, last: bool = False) -> None:
        """Store a snapshot; all but the last may be skipped where they come too often."""


class NoJournal:
    """For fits that will not be continued."""

    def read(self) -> Snapshot | None:
        """Nothing."""
        return None

    def due(self) -> bool:
        """Never."""
        return False

    def write(self, snapshot: Snapshot, *, last: bool = False) -> None:
        """Nothing."""


def shared_arrays(coupling: Coupling) -> list[np.ndarray]:
    """Copies of what couples the responses."""
    return [array.copy() for array in coupling.arrays()]


def share_again(coupling: Coupling, arrays: Sequence[np.ndarray]) -> None:
    """Put the copies back."""
    for array, saved in zip(coupling.arrays(), arrays, strict=True):
        array[:] = saved


def encode(value: object, arrays: dict[str, np.ndarray]) -> Any:
    """A snapshot as JSON, its arrays put into `arrays`."""
    if isinstance(value, np.ndarray):
        name = f"a{len(arrays)}"
        arrays[name] = value
        return {KIND: ARRAY, ARRAY: name}
    if isinstance(value, State | SharedState | NoisePath | Components):
        found = {f.name: encode(getattr(value, f.name), arrays) for f in fields(value)}
        return {KIND: type(value).__name__, ITEMS: found}
    if isinstance(value, dict):
        return {KIND: "dict", ITEMS: {k: encode(v, arrays) for k, v in value.items()}}
    if isinstance(value, list | tuple):
        return [encode(each, arrays) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def decode(value: object, arrays: dict[str, np.ndarray]) -> Any:
    """What `encode` was given; tuples come back as lists."""
    if isinstance(value, list):
        return [decode(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    kind = value.get(KIND)
    if kind == ARRAY:
        return arrays[value[ARRAY]].copy()
    items = {name: decode(each, arrays) for name, each in value[ITEMS].items()}
    if kind == "dict":
        return items
    if kind not in KINDS:
        raise DataError(f"a checkpoint holds a {kind!r:.40}, which is none of its parts.")
    return KINDS[kind](**items)
