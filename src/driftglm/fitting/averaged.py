"""Forecasters mixed on the scale of eta, after the last step; before it the first alone.

Coefficients are weighted means of those of the parts, so that they stay those that predict. Of any
row, eta has the mean and the variance of the mixture: within the parts and between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.fitting.coefficients import mixed
from driftglm.fitting.fits import Step
from driftglm.fitting.history import History
from driftglm.fitting.outcome import Forecaster, NoiseDistribution

FIT_OF = {
    "drifting": "drifting",
    "held": "drifting",
    "static": "static",
    "pooled": "pooled",
    "seasonal": "seasonal",
    "seasonal-static": "seasonal-static",
}
"""The fit that a forecaster is read from."""
RARE = 1e-6


def steps_of(parts: Sequence[Part], code: int) -> list[list[Step]]:
    """Coefficients of a step after the last, by part and response; what two share is made once."""
    ahead: dict[str, list[Step]] = {}
    for part in parts:
        if part.name == "held" and "drifting" in ahead:
            fits, n_ahead = part.forecaster.fits, code - part.forecaster.n_timesteps + 1
            known = zip(fits, ahead["drifting"], strict=True)
            ahead[part.name] = [fit.held(n_ahead, step) for fit, step in known]
        else:
            ahead[part.name] = part.steps(code)
    return list(ahead.values())


@dataclass(frozen=True)
class Part:
    """One forecaster of a mixture: a fit, how it goes on, and its weight."""

    name: str
    forecaster: Forecaster
    weight: float

    def steps(self, code: int) -> list[Step]:
        """Coefficients of a step after the last."""
        if self.name == "pooled":
            return self.forecaster.steps(0, hold=False)
        return self.forecaster.steps(code, hold=self.name == "held")

    def noise(self, code: int) -> NoiseDistribution:
        """What the noise of a step after the last may be."""
        return self.forecaster.noise_distribution(0 if self.name == "pooled" else code)


@dataclass(frozen=True)
class Averaged(Forecaster):
    """A mixture that answers as one forecaster; the fields are those of the drifting one."""

    parts: tuple[Part, ...] = ()
    spread: float = 1.0

    @classmethod
    def of(cls, forecasters: tuple[Forecaster, ...], history: History) -> Averaged:
        """The forecasters with the weights of now."""
        known = {each.name: each for each in forecasters}
        weighed = [
            (name, known[FIT_OF[name]], history.weight(name))
            for name in history.names
            if FIT_OF[name] in known and history.weight(name) > RARE
        ]
        total = sum(weight for *_, weight in weighed)
        parts = tuple(Part(name, fit, weight / total) for name, fit, weight in weighed)
        return cls(**vars(forecasters[0]), parts=parts, spread=history.spread)

    @property
    def weights(self) -> FloatArray:
        """(K,) of the parts."""
        return np.array([part.weight for part in self.parts])

    def steps(self, code: int, *, hold: bool, drift: bool = True) -> list[Step]:
        """Coefficients of a step for every response; after the last those of the mixture."""
        if code < self.n_timesteps:
            return super().steps(code, hold=hold, drift=drift)
        found = steps_of(self.parts, code)
        return [mixed(steps, self.weights) for steps in zip(*found, strict=True)]

    def group_moments(
        self, group: IntArray, codes: IntArray | int
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the effects of rows' groups; after the last step, of the mixture."""
        own, after = super().group_moments(group, codes), np.asarray(codes) >= self.n_timesteps
        if not after.any():
            return own
        found = [part.forecaster.group_moments(group, codes) for part in self.parts]
        pairs = list(zip(self.weights, found, strict=True))
        mean = np.sum([w * m for w, (m, _) in pairs], axis=0)
        variance = np.sum([w * (v + (m - mean) ** 2) for w, (m, v) in pairs], axis=0)
        later = np.broadcast_to(np.atleast_1d(after)[:, None], mean.shape)
        return np.where(later, mean, own[0]), np.where(later, variance, own[1])

    def noise_distribution(self, code: int) -> NoiseDistribution:
        """What the noise of a step may be; after the last, under any of the parts."""
        if code < self.n_timesteps:
            return super().noise_distribution(code)
        found = [part.noise(code) for part in self.parts]
        weights = [part.weight * each.weights for part, each in zip(self.parts, found, strict=True)]
        means, variances = [each.mean for each in found], [each.variance for each in found]
        together = (np.concatenate(each) for each in (weights, means, variances))
        return NoiseDistribution(*together)

    def spread_at(self, codes: IntArray | int) -> float | FloatArray:
        """What variances of forecasts are multiplied by: after the last step, what was learned."""
        return np.where(np.asarray(codes) >= self.n_timesteps, self.spread, 1.0)

    def shape_at(self, codes: IntArray | int) -> float | FloatArray:
        """The family's own parameter: after the last step the geometric mean of the parts."""
        logs = np.log([part.forecaster.shape for part in self.parts])
        later, after = float(np.exp(self.weights @ logs)), np.asarray(codes) >= self.n_timesteps
        if after.all() or later == self.shape:
            return later
        return np.where(after, later, self.shape) if after.any() else self.shape

    @property
    def _noise_is_known(self) -> bool:
        return False
