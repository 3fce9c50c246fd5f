"""A file from which an interrupted fit goes on.

A fit is a sequence of solver runs, which are the same whenever the data and the parameters are. The
file holds the results of those that are done and the last snapshot of the one that is not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError, load, save
from driftglm.solvers.base import AnyState, SolverResult, StopReason
from driftglm.solvers.coupling import Coupling
from driftglm.solvers.journal import Snapshot, decode, encode, share_again, shared_arrays

FilePath: TypeAlias = str | os.PathLike[str]
Facts: TypeAlias = Mapping[str, object]
EVERY = 2.0
"""Seconds between two writes, at least."""
SHARE = 10.0
"""The time between two writes over what the last snapshot took to make and to write, at least."""
KIND = "driftglm checkpoint"
ROUNDING = 1e-9
"""Sums over the data may differ by this share of their size: other partitions round differently."""


@dataclass(frozen=True)
class Fingerprint:
    """What must be the same for a checkpoint to be used.

    `text` names estimator, parameters and shape, `sums` are sums over the data.
    """

    text: str
    sums: FloatArray

    @classmethod
    def of(cls, owner: str, params: Facts, facts: Facts, sums: Sequence[ArrayLike]) -> Fingerprint:
        """Of an estimator's parameters, but for those that change no number, and of its data."""
        found = {"estimator": owner, **facts, **params}
        chosen = [name for name in found if name not in {"verbose", "n_jobs"}]
        text = "\n".join(f"{name}={found[name]!r}" for name in chosen)
        return cls(text, np.concatenate([np.atleast_1d(each) for each in sums]))

    def check(self, path: Path, text: str, sums: FloatArray) -> None:
        """Raise if the file is about another fit."""
        if text != self.text:
            raise DataError(
                f"{path} is a checkpoint of another fit: {_difference(text, self.text)}. Name "
                "another file, or delete it to begin anew."
            )
        size = np.abs(self.sums) + np.abs(self.sums).max(initial=0.0)
        if sums.shape != self.sums.shape or (np.abs(sums - self.sums) > ROUNDING * size).any():
            raise DataError(
                f"{path} is a checkpoint of a fit to other data: their sums differ. Name another "
                "file, or delete it to begin anew."
            )


def resuming_advice(checkpoint: FilePath | None) -> str:
    """What to do when a fit was interrupted."""
    if checkpoint is None:
        return "fit again with the scheduler up"
    return f"fit again with checkpoint={str(checkpoint)!r} to go on from where it was"


@dataclass
class Checkpoint:
    """The file, and how far the fit is.

    `own_order` says whether rows are sorted in it (see `row_order.py`); None: nothing is in it yet.
    """

    path: Path
    fingerprint: Fingerprint
    stages: list[Snapshot] = field(default_factory=list)
    position: int = 0
    own_order: bool | None = None
    _last: float = -np.inf
    _cost: float = 0.0
    _began: float = np.inf

    @classmethod
    def at(cls, path: FilePath, fingerprint: Fingerprint) -> Checkpoint:
        """The one in a file, or a new one where there is no file."""
        file = Path(path)
        if not file.exists():
            if not file.parent.is_dir():
                raise DataError(
                    f"checkpoint={str(path)!r} lies in a folder that is not there; make it first."
                )
            return cls(file, fingerprint)
        facts, arrays = load(file)
        if facts.get("kind") != KIND:
            raise DamagedFileError(
                f"{file} is no checkpoint and is left alone; name another file for it."
            )
        fingerprint.check(file, str(facts["text"]), arrays["sums"])
        stages, own_order = decode(facts["stages"], arrays), bool(facts.get("own_order"))
        return cls(file, fingerprint, stages, own_order=own_order)

    def settle_order(self, *, own: bool) -> bool:
        """Whether rows are to be sorted: as they were in the file, else as the fit has them."""
        if self.own_order is None:
            self.own_order = own
        if self.own_order and not own:
            raise DataError(
                f"{self.path} was begun with all rows in one process, which sorted them; rows on "
                "workers are not sorted. Go on in one process, or delete it to begin anew."
            )
        return self.own_order

    def next_stage(self, coupling: Coupling) -> Stage:
        """The journal of the next solver run."""
        self.position += 1
        return Stage(self, self.position - 1, coupling)

    def due(self) -> bool:
        """Whether it is time for the next write."""
        self._began = time.monotonic()
        return self._began - self._last >= max(EVERY, SHARE * self._cost)

    def put(self, position: int, content: Snapshot, *, now: bool) -> None:
        """Set what is known of a run and write the file, unless it was written just before."""
        began = min(self._began, time.monotonic())
        if not now and began - self._last < EVERY:
            return
        self.stages[position:] = [content]
        arrays: dict[str, np.ndarray] = {"sums": self.fingerprint.sums}
        stages = encode(self.stages, arrays)
        facts = {"kind": KIND, "text": self.fingerprint.text, "own_order": self.own_order}
        save(self.path, facts | {"stages": stages}, arrays)
        self._last = time.monotonic()
        self._cost, self._began = self._last - began, np.inf

    def remove(self) -> None:
        """The fit is done."""
        self.path.unlink(missing_ok=True)


@dataclass(frozen=True)
class Stage:
    """One solver run of a fit: its result if it is done, else the journal of its solver."""

    file: Checkpoint
    position: int
    coupling: Coupling

    def result(self) -> SolverResult[Any] | None:
        """What the run gave, if it is done."""
        found = self._stored("reason")
        if found is None:
            return None
        ended = found["history"], found["optimality"], StopReason(found["reason"])
        return SolverResult(tuple(found["states"]), *ended)

    def read(self) -> Snapshot | None:
        """The snapshot to go on from, if there is one."""
        found = self._stored("snapshot")
        return None if found is None else cast("Snapshot", found["snapshot"])

    def due(self) -> bool:
        """Whether a snapshot would be written now."""
        return self.file.due()

    def write(self, snapshot: Snapshot, *, last: bool = False) -> None:
        """Write a snapshot, every few seconds, and the last."""
        self._put({"snapshot": snapshot}, now=last)

    def finish(self, result: SolverResult[AnyState]) -> None:
        """Write the result."""
        plain = {"states": list(result.states), "reason": result.reason.value}
        self._put({**vars(result), **plain}, now=True)

    def _stored(self, key: str) -> Snapshot | None:
        """What the file has of this run if `key` is in it; what couples the responses is set."""
        content = next(iter(self.file.stages[self.position : self.position + 1]), {})
        if key not in content:
            return None
        share_again(self.coupling, content["shared"])
        return content

    def _put(self, content: Snapshot, *, now: bool) -> None:
        self.file.put(self.position, {**content, "shared": shared_arrays(self.coupling)}, now=now)


def _difference(old: str, new: str) -> str:
    """The first line in which two fingerprints differ."""
    lines = zip(old.split("\n"), new.split("\n"), strict=False)
    differ = (f"it says {a!r:.80}, this fit has {b!r:.80}" for a, b in lines if a != b)
    return next(differ, "their parameters differ")
