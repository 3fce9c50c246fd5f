"""Validated rows of a baseline, and which of them are used to fit and to tune."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray, VectorLike
from driftglm.data.checks import log_exposure
from driftglm.exceptions import DataError
from driftglm.families import family_named, uncoupled_families

EVERY = 5
"""Without a step to hold out, every fifth row is."""


@dataclass(frozen=True)
class Rows:
    """Rows in the user's units; `codes` are steps of the time axis, `y` is encoded."""

    X: Any
    y: FloatArray
    weights: FloatArray
    offset: FloatArray
    codes: IntArray

    def take(self, keep: BoolArray) -> Rows:
        """Some of the rows, in their order."""
        chosen = np.flatnonzero(keep)
        return Rows(*(part[chosen] for part in vars(self).values()))

    def window(self, n_steps: int | None) -> Rows:
        """The rows of `n_steps` steps up to the last that has any, empty ones between counted."""
        return self.take(self.codes > self.codes.max() - n_steps) if n_steps else self

    def held_out(self) -> tuple[Rows, Rows]:
        """Earlier rows and the last step's; within a single step, every fifth row is held out."""
        last = to_hold_out(self.codes)
        return self.take(~last), self.take(last)


def to_hold_out(codes: IntArray) -> BoolArray:
    """Mask of the last step's rows; within a single step, of every fifth row."""
    last: BoolArray = codes == codes.max()
    every = min(EVERY, last.size)
    return np.arange(last.size) % every == every - 1 if last.all() else last


def check_exposure(exposure: VectorLike, family: str, n_rows: int) -> FloatArray:
    """Offset log(exposure), 0 without one; not every family takes one."""
    if exposure is not None and not family_named(family).takes_exposure:
        takers = [name for name in uncoupled_families() if family_named(name).takes_exposure]
        raise DataError(
            f"exposure was given with family={family!r}, which takes none. Leave it out, or choose "
            f"a family that does: {', '.join(map(repr, takers))}."
        )
    return log_exposure(exposure, n_rows)
