"""Draws of the noise: one variance, or the logarithm of one that moves from step to step.

A noise that moves has the law of `objective.noise`: one of 49 components, each flat or flat with
AR(1) deviations. Component and path are proposed together from the normal distributions that the
variational update finds for the same sums of squares, from the same start every time, so that the
proposal does not depend on where the chain is. Then the path goes along an ellipse about that
normal distribution (Murray, Adams and MacKay 2010), which never stands still, and the component
is drawn given the path.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammainc, gammaincinv

from driftglm._typing import FloatArray
from driftglm.objective.noise import Noise, NoisePath, noise_components
from driftglm.priors import mixture
from driftglm.priors.averaging import AveragedPath
from driftglm.priors.mixture import Components
from driftglm.priors.path_draws import draw_path_inplace

N_FORCED = 20
"""First draws, in which the proposal is always taken: a start far off could not leave by itself."""
LEAST = 1e-12
"""No component is proposed with a smaller probability."""
N_ANGLES = 60


def draw_constant(noise: Noise, deviance: float, n_rows: float, rng: np.random.Generator) -> float:
    """One variance: its inverse has a gamma distribution, cut off where the variance is least."""
    if noise.given is not None:
        return noise.given
    shape = 0.5 * (n_rows + noise.degrees)
    rate = 0.5 * (deviance + noise.degrees * noise.reference)
    below = float(gammainc(shape, rate / noise.floor))
    place = rng.random() * below
    inverse = float(gammaincinv(shape, place)) / rate if below > 0 else 0.0
    if not inverse > 0:
        return noise.floor
    return max(1.0 / inverse, noise.floor)


@dataclass
class MovingNoise:
    """The logarithm of a noise that moves, `log` (T,), its flat part and its component."""

    noise: Noise
    start: NoisePath
    log: FloatArray
    component: int = 0
    level: float = 0.0
    n_drawn: int = 0
    _law: AveragedPath = field(init=False)

    def __post_init__(self) -> None:
        dynamic, rho, weights = noise_components(self.log.size)
        flat = np.full(dynamic.size, np.inf)
        components = Components(flat, dynamic, rho, "stationary", self.log.size)
        self._law = AveragedPath(components, weights)

    @classmethod
    def at(cls, noise: Noise, start: NoisePath, variance: FloatArray) -> MovingNoise:
        """One that begins constant, at the mean of some log variances."""
        level = float(np.log(variance).mean())
        return cls(noise, start, np.full(variance.size, level), 0, level)

    def draw(self, deviance: FloatArray, n_rows: FloatArray, rng: np.random.Generator) -> None:
        """The next state, given sums of squares and rows of every step."""
        more = self.noise.prior_deviance(n_rows)
        squares = deviance + more[0], n_rows + more[1]
        normal = self.start.moved(*squares)
        self._shift(squares, rng)
        self._propose(normal, squares, rng)
        self._turn(normal, squares, rng)
        self._redraw_component(rng)
        self.n_drawn += 1

    def _shift(self, squares: tuple[FloatArray, FloatArray], rng: np.random.Generator) -> None:
        """All steps by as much: the flat part's prior has no say, and the draw is exact."""
        shape = 0.5 * float(squares[1].sum())
        rate = 0.5 * float(squares[0] @ np.exp(-self.log))
        self.log = self.log - np.log(rng.standard_gamma(shape) / rate)

    def _normal(
        self, normal: NoisePath, k: int, rng: np.random.Generator
    ) -> tuple[FloatArray, float]:
        """A draw of component k of the normal posterior, and the component's log evidence."""
        count = self._law.log_weights.size
        evidence, parts = np.empty(count), np.empty((3, count))
        likelihood, tables = (normal.h[k], normal.b[k]), self._law.tables
        mixture.log_evidences_inplace(*likelihood, tables, evidence, parts)
        out = np.empty(self.log.size)
        draw_path_inplace(k, likelihood, tables, parts, rng, out)
        return out, float(evidence[k])

    @staticmethod
    def _beyond(
        normal: NoisePath, k: int, squares: tuple[FloatArray, FloatArray], log: FloatArray
    ) -> float:
        """Log-likelihood of a path less that of the normal model."""
        deviance, rows = squares
        exact = -0.5 * float(np.sum(rows * log + deviance * np.exp(-log)))
        return exact - float(normal.b[k] @ log - 0.5 * normal.h[k] @ log**2)

    def _propose(
        self, normal: NoisePath, squares: tuple[FloatArray, FloatArray], rng: np.random.Generator
    ) -> None:
        """Another component with another path, or the present ones."""
        phi = np.maximum(normal.phi, LEAST)
        phi /= phi.sum()
        k = int(rng.choice(phi.size, p=phi))
        log, evidence = self._normal(normal, k, rng)
        _, now = self._normal(normal, self.component, rng)
        weights = self._law.log_weights

        def worth(k: int, log: FloatArray, evidence: float) -> float:
            beyond = self._beyond(normal, k, squares, log)
            return float(weights[k] + beyond + evidence - np.log(phi[k]))

        gain = worth(k, log, evidence) - worth(self.component, self.log, now)
        if np.log(rng.random()) < gain or self.n_drawn < N_FORCED:
            self.component, self.log = k, log

    def _turn(
        self, normal: NoisePath, squares: tuple[FloatArray, FloatArray], rng: np.random.Generator
    ) -> None:
        """Along an ellipse through the path, about the normal distribution of its component."""
        k, mean = self.component, normal.mean[self.component]
        other = self._normal(normal, k, rng)[0] - mean
        least = self._beyond(normal, k, squares, self.log) + np.log(rng.random())
        angle = float(rng.uniform(0.0, 2.0 * np.pi))
        low, high = angle - 2.0 * np.pi, angle
        own = self.log - mean
        for _ in range(N_ANGLES):
            log = mean + own * np.cos(angle) + other * np.sin(angle)
            if self._beyond(normal, k, squares, log) > least:
                self.log = log
                return
            low, high = (low, angle) if angle > 0 else (angle, high)
            angle = float(rng.uniform(low, high))

    def _redraw_component(self, rng: np.random.Generator) -> None:
        """The component of a path that moves, and its flat part."""
        if self.component == 0:
            self.level = float(self.log[0])
            return
        dynamic, rho = self._law.components.dynamic[1:], self._law.components.rho[1:]
        z, steady = self.log, 1.0 - rho
        innovation = dynamic * (1.0 - rho) * (1.0 + rho)
        moves = z[1:] - rho[:, None] * z[:-1]
        precision = 1.0 / dynamic + (z.size - 1) * steady**2 / innovation
        linear = z[0] / dynamic + steady / innovation * moves.sum(axis=1)
        squares = z[0] ** 2 / dynamic + (moves**2).sum(axis=1) / innovation
        logdet = np.log(dynamic) + (z.size - 1) * np.log(innovation) + np.log(precision)
        density = -0.5 * (logdet + squares - linear**2 / precision)
        phi = np.exp(density - density.max())
        k = int(rng.choice(phi.size, p=phi / phi.sum()))
        self.component = k + 1
        self.level = float(linear[k] / precision[k] + rng.standard_normal() / np.sqrt(precision[k]))
