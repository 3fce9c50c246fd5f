"""Validated rows of a baseline, and which of them are used to fit and to tune."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.exceptions import DataError

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
        kept = np.flatnonzero(keep)
        return replace(
            self,
            X=self.X[kept],
            y=self.y[kept],
            weights=self.weights[kept],
            offset=self.offset[kept],
            codes=self.codes[kept],
        )

    def last_step(self) -> Rows:
        """The rows of the last step that has any."""
        return self.take(self.codes == self.codes.max())

    def window(self, n_steps: int | None) -> Rows:
        """The rows of the last `n_steps` steps of the axis, empty ones counted."""
        if n_steps is None:
            return self
        return self.take(self.codes > self.codes.max() - n_steps)

    def held_out(self) -> tuple[Rows, Rows]:
        """Earlier rows and the last step's; within a single step, every fifth row is held out."""
        last = self.codes == self.codes.max()
        if last.all():
            every = min(EVERY, last.size)
            last = np.arange(last.size) % every == every - 1
        return self.take(~last), self.take(last)


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """One finite weight of 0 or more per row, not all of them 0."""
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        return np.full(n_rows, _positive("sample_weight", np.asarray([sample_weight]), 1)[0])
    weights = _positive("sample_weight", sample_weight, n_rows, zero_allowed=True)
    if not weights.any():
        raise DataError("every sample weight is zero; at least one row must count.")
    return weights


def check_exposure(exposure: Any, family: str, n_rows: int) -> FloatArray:
    """Offset log(exposure), 0 without one; only counts have an exposure."""
    if exposure is None:
        return np.zeros(n_rows)
    if family != "poisson":
        raise DataError(
            f"exposure was given with family={family!r}; only counts have one. "
            "Leave it out, or use family='poisson'."
        )
    if isinstance(exposure, Real):
        exposure = np.full(n_rows, float(exposure))
    return np.asarray(np.log(_positive("exposure", exposure, n_rows)))


def _positive(name: str, values: Any, n_rows: int, *, zero_allowed: bool = False) -> FloatArray:
    """One number per row, all finite and positive (or zero)."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} cannot be read as numbers ({error}); pass one per row.") from error
    if numbers.shape != (n_rows,):
        raise DataError(
            f"{name} has shape {numbers.shape} but X has {n_rows} rows; pass one number per row "
            f"(1-d; {name}.shape == (n_samples,))."
        )
    bad = ~np.isfinite(numbers) | (numbers < 0) | ((numbers == 0) & (not zero_allowed))
    if bad.any():
        row = int(np.argmax(bad))
        least = "0 or more" if zero_allowed else "positive"
        raise DataError(f"{name} is {numbers[row]:g} at row {row}; it must be finite and {least}.")
    return numbers
