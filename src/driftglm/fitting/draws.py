"""Draws from the joint posterior, as a fit keeps them, and what is read from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.objective.noise import noise_components
from driftglm.solvers.sampling import Record, Sampling


@dataclass(frozen=True)
class Draws:
    """Draws of C chains, S of each, in the units of the columns.

    Parameters
    ----------
    features
        (m,) paths kept in full.
    paths, static, component
        (C, S, m, T) paths, (C, S, m) their constant parts and components.
    intercepts
        (C, S, L, T) intercept, at the columns' centers, and always-in coefficients.
    shared
        (C, S, R) coefficients of the shared directions, and `basis` (n_paths, R) what they give
        every path.
    noise, noise_level, noise_component
        (C, S, T) noise variance or dispersion, and, where it moves, (C, S) the flat part of its
        logarithm and its component.
    shape, n_included
        (C, S) the family's own parameter, and how many paths are not zero.
    ahead
        (n_paths, 2) mean and variance of every path one step after the last.
    asked
        (2,) chains and draws that were asked for; fewer if sampling was interrupted.
    seed
        Of the random numbers.
    """

    features: IntArray
    paths: np.ndarray
    static: np.ndarray
    component: np.ndarray
    intercepts: FloatArray
    shared: FloatArray
    basis: FloatArray
    noise: FloatArray
    noise_level: FloatArray
    noise_component: FloatArray
    shape: FloatArray
    n_included: FloatArray
    ahead: FloatArray
    asked: IntArray
    seed: int

    @classmethod
    def of(
        cls, records: Sequence[Record], basis: FloatArray, sampling: Sampling, seed: int
    ) -> Draws:
        """From the records of some chains."""
        n_draws = min(record.done for record in records)
        sums = sum(record.first[:, -1] for record in records)
        squares = sum(record.second[:, -1] for record in records)
        total = sum(record.done for record in records)
        mean = np.asarray(sums) / total
        variance = np.maximum(np.asarray(squares) / total - mean**2, 0.0)

        def stacked(name: str) -> FloatArray:
            return np.array([record.others[name][:n_draws] for record in records])

        return cls(
            features=records[0].kept,
            paths=np.array([record.paths[:n_draws] for record in records]),
            static=np.array([record.static[:n_draws] for record in records]),
            component=np.array([record.component[:n_draws] for record in records]),
            intercepts=stacked("intercepts"),
            shared=stacked("shared"),
            basis=basis,
            noise=stacked("noise"),
            noise_level=stacked("noise_level"),
            noise_component=stacked("noise_component"),
            shape=stacked("shape"),
            n_included=stacked("n_included"),
            ahead=np.column_stack([mean, variance]),
            asked=np.array([sampling.chains, sampling.draws]),
            seed=seed,
        )

    @property
    def count(self) -> int:
        """Draws of all chains."""
        return int(self.paths.shape[0] * self.paths.shape[1])

    @property
    def complete(self) -> bool:
        """Whether nobody interrupted."""
        return bool(self.paths.shape[:2] == tuple(self.asked))

    def flat(self, draws: np.ndarray) -> FloatArray:
        """(C S, ...) in double precision."""
        return draws.reshape(self.count, *draws.shape[2:]).astype(np.float64)

    def after(
        self, n_steps: int, rho: FloatArray, dynamic: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(C S, m) mean and variance of the paths `n_steps` after the last, draw by draw.

        `rho` (K,) and `dynamic` (K, m) are those of the components, in the units of the columns.
        """
        static, last = self.flat(self.static), self.flat(self.paths[..., -1])
        component = self.component.reshape(self.count, -1)
        decay = rho[component] ** n_steps
        own = dynamic[component, np.arange(self.features.size)]
        return static + decay * (last - static), own * (1.0 - decay**2)

    def noise_at(self, code: int, rng: np.random.Generator) -> FloatArray:
        """(C S,) noise of a step; after the last, drawn as it goes on."""
        noise, n_ahead = self.flat(self.noise), code - self.noise.shape[-1] + 1
        if n_ahead <= 0:
            return np.asarray(noise[:, code])
        last = np.log(noise[:, -1])
        if not self.noise_component.any():
            return np.exp(last)
        dynamic, rho, _ = noise_components(noise.shape[1])
        k = self.noise_component.reshape(-1).astype(np.int64)
        level, decay = self.noise_level.reshape(-1), rho[k] ** n_ahead
        spread = np.sqrt(dynamic[k] * (1.0 - decay**2)) * rng.standard_normal(k.size)
        return np.asarray(np.exp(level + decay * (last - level) + spread))
