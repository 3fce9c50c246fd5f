"""What the checks look at: one residual a row, and the step it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.diagnostics.ranks import normal_scores
from driftglm.exceptions import DataError


@dataclass(frozen=True)
class Residuals:
    """Quantile residuals of a fit, in the order the rows were given.

    Rows of weight 0 are left out. Other weights are not used: a residual is measured in its own
    standard deviation already, and is one observation whatever it weighs.

    Parameters
    ----------
    residual
        (n,) standard normal quantiles of the probability integral transform of each row under its
        leave-one-out predictive distribution (randomised where y is discrete).
    steps
        (n,) step number of each row, 0 to `n_timesteps` - 1; steps may be empty.
    n_timesteps
        Number of steps, empty ones included.
    weights
        (n,) weights of rows.
    period
        Steps of a year (12 for months, 4 for quarters) or of a week (7 for days); None: unknown.
    labels
        (T,) names of the steps.
    continuous
        Whether y is continuous, rather than a count or a class.
    influence
        (T,) how far the results move if a step is left out, in posterior standard deviations.
    intercept_path
        (T,) the fitted intercepts, in the unit of the residuals: over the standard deviation of the
        noise, or times the root of the mean information of a row about eta. A season that they
        follow leaves little in the residuals, so without them it is likely to be missed.

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.diagnostics import Residuals, diagnose
    >>> normal = np.random.default_rng(0).normal(size=600)
    >>> len(diagnose(Residuals(normal, np.repeat(np.arange(12), 50), 12)))
    0
    """

    residual: FloatArray
    steps: IntArray
    n_timesteps: int
    weights: FloatArray | None = None
    period: int | None = None
    labels: Sequence[str] = ()
    continuous: bool = True
    influence: FloatArray | None = None
    intercept_path: FloatArray | None = None

    def __post_init__(self) -> None:
        residual = _numbers(self.residual, "residual", np.size(self.residual))
        steps = np.asarray(self.steps)
        if steps.shape != residual.shape or (steps.size and steps.dtype.kind not in "iu"):
            raise DataError(
                f"steps has shape {steps.shape} and type {steps.dtype}; pass one integer for each "
                f"of the {residual.size} residuals."
            )
        if steps.size and not (steps.min() >= 0 and steps.max() < self.n_timesteps):
            raise DataError(
                f"steps run from {steps.min()} to {steps.max()}; with {self.n_timesteps} steps "
                f"they must be from 0 to {self.n_timesteps - 1}."
            )
        labels = tuple(self.labels) or tuple(str(step) for step in range(self.n_timesteps))
        if len(labels) != self.n_timesteps:
            raise DataError(f"there are {len(labels)} labels for {self.n_timesteps} steps.")
        if self.period is not None and self.period < 2:  # noqa: PLR2004
            raise DataError(f"period is {self.period}; a season has two steps or more.")
        if self.weights is not None:
            counts = _numbers(self.weights, "weights", residual.size) > 0
            residual, steps = residual[counts], steps[counts]
        for name in ("influence", "intercept_path"):
            values = getattr(self, name)
            if values is not None:
                self._set(name, _numbers(values, name, self.n_timesteps))
        self._set("residual", residual)
        self._set("steps", steps.astype(np.int64))
        self._set("labels", labels)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @cached_property
    def counts(self) -> IntArray:
        """(T,) rows of each step."""
        return np.bincount(self.steps, minlength=self.n_timesteps)

    @cached_property
    def scores(self) -> FloatArray:
        """(n,) normal scores of the residuals: nothing wild is left in them but their order."""
        return normal_scores(self.residual)

    def means(self, values: FloatArray) -> FloatArray:
        """(T,) means by step of numbers that belong to rows; NaN where a step is empty."""
        sums = np.bincount(self.steps, weights=values, minlength=self.n_timesteps)
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / self.counts)

    @cached_property
    def medians(self) -> FloatArray:
        """(T,) medians by step; NaN where a step is empty."""
        ordered = self.residual[np.lexsort((self.residual, self.steps))]
        first = np.cumsum(self.counts) - self.counts
        there = self.counts > 0
        lower, upper = (first + (self.counts - 1) // 2)[there], (first + self.counts // 2)[there]
        middle = np.full(self.n_timesteps, np.nan)
        middle[there] = (ordered[lower] + ordered[upper]) / 2
        return middle

    def within(self, smallest: int) -> Residuals:
        """Only rows of steps that have at least `smallest` rows."""
        kept = self.counts[self.steps] >= smallest
        return Residuals(
            self.residual[kept], self.steps[kept], self.n_timesteps, labels=self.labels
        )


def _numbers(values: object, name: str, size: int) -> FloatArray:
    """A vector of finite numbers, or an error that says what was found."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (size,):
        raise DataError(f"{name} has shape {array.shape}; it should be ({size},).")
    bad = ~np.isfinite(array)
    if bad.any():
        place = int(bad.argmax())
        raise DataError(
            f"{name} is {array[place]} at {place} ({int(bad.sum())} of {size} are not finite); "
            "leave such rows out or mend the fit they come from."
        )
    return array
