"""Gaussian ridge over time in its dual form.

Under the Fixed prior the linear predictors are jointly normal: rows n and m have covariance
(x_n' x_m) (A^-1)[t_n, t_m] / strength in units of the noise. One matrix of inner products
therefore serves a whole grid, a candidate costs one Cholesky factorisation, and the solution is
exact, where a search over all paths takes a thousand passes at the strengths that matter and does
not arrive at all at the weak ones.

The intercepts (intercept and always-in columns) are flat and free, plus stationary AR(1) deviations.
`driftglm.DriftRegressor` estimates the dynamics of the deviations together with everything else; here
it is taken from a fit of the intercepts alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg

from driftglm._typing import FloatArray, IntArray
from driftglm.baselines.gram import row_products
from driftglm.priors.chain import alpha_of_rho


@dataclass(frozen=True)
class InterceptDynamics:
    """Variance and lag-1 correlation of the AR(1) deviations of every intercept."""

    variance: FloatArray
    correlation: FloatArray

    @classmethod
    def of_paths(cls, paths: FloatArray) -> InterceptDynamics:
        """Moments of fitted intercept paths (T, n_intercepts)."""
        deviations = paths - paths.mean(axis=0)
        variance = np.mean(deviations**2, axis=0)
        lagged = np.sum(deviations[1:] * deviations[:-1], axis=0)
        total = np.sum(deviations**2, axis=0)
        correlation = lagged / np.where(total > 0, total, 1.0)
        return cls(variance, np.clip(correlation, 0.0, 0.95))


@dataclass(frozen=True)
class ChainSolution:
    """Weights of the rows in every path, and the flat part of the intercepts."""

    dual: FloatArray
    flat: FloatArray


@dataclass(frozen=True)
class ChainKernel:
    """Training rows brought to inner products.

    Parameters
    ----------
    products
        (n, n) inner products of the penalised columns, centred if need be.
    intercepts
        (n, L): the intercept's ones and the always-in columns, centred if need be.
    codes
        Step of every row.
    """

    products: FloatArray
    intercepts: FloatArray
    y: FloatArray
    weights: FloatArray
    codes: IntArray
    dynamics: InterceptDynamics
    noise: float

    def solve(self, chain: FloatArray) -> ChainSolution:
        """The mode; `chain` is the covariance of a path, (T, T), in units of the noise."""
        covariance = self.products * chain[np.ix_(self.codes, self.codes)]
        covariance += self._intercept_covariance
        covariance[np.diag_indices_from(covariance)] += 1.0 / self.weights
        factor = scipy.linalg.cho_factor(covariance, overwrite_a=True, check_finite=False)
        flat = self._flat(factor)
        return ChainSolution(scipy.linalg.cho_solve(factor, self.y - self.intercepts @ flat), flat)

    def intercept_paths(self, solution: ChainSolution, n_timesteps: int) -> FloatArray:
        """(T, L): flat part and deviations."""
        apart = np.abs(np.arange(n_timesteps)[:, None] - self.codes)
        paths = np.tile(solution.flat, (n_timesteps, 1))
        for j in range(self.intercepts.shape[1]):
            paths[:, j] += self._decay(j, apart) @ (self.intercepts[:, j] * solution.dual)
        return paths

    @cached_property
    def _intercept_covariance(self) -> FloatArray:
        """Covariance of the intercept deviations between rows, in units of the noise."""
        total = np.zeros((self.y.size, self.y.size))
        apart = np.abs(self.codes[:, None] - self.codes)
        for j, column in enumerate(self.intercepts.T):
            if self.dynamics.variance[j] > 0:
                total += self._decay(j, apart) * np.outer(column, column)
        return total

    def _decay(self, j: int, apart: IntArray) -> FloatArray:
        """Covariance of an intercept's deviations so many steps apart."""
        decay = self.dynamics.correlation[j] ** np.arange(int(apart.max()) + 1)
        return np.asarray(self.dynamics.variance[j] / self.noise * decay[apart])

    def _flat(self, factor: Any) -> FloatArray:
        """Generalized least squares for the flat part of the intercepts."""
        if self.intercepts.shape[1] == 0:
            return np.zeros(0)
        solved = scipy.linalg.cho_solve(factor, self.intercepts)
        return np.asarray(
            scipy.linalg.lstsq(self.intercepts.T @ solved, solved.T @ self.y, cond=1e-12)[0]
        )


def chain_covariance(strength: float, autocorrelation: float, n_timesteps: int) -> FloatArray:
    """A^-1 / strength; A has ones on its diagonal and alpha = -rho / (1 + rho^2) beside it."""
    beside = np.full(n_timesteps - 1, alpha_of_rho(autocorrelation))
    precision = np.eye(n_timesteps) + np.diag(beside, 1) + np.diag(beside, -1)
    return np.asarray(np.linalg.inv(precision) / strength, dtype=np.float64)


def centred_products(X: Any, other: Any, mean: FloatArray) -> FloatArray:
    """Inner products between the rows of two matrices, both about the same mean."""
    along, other_along = np.asarray(X @ mean), np.asarray(other @ mean)
    products = row_products(X, other)
    products += float(mean @ mean) - along[:, None] - other_along[None, :]
    return products
