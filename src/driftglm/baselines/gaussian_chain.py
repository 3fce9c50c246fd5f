"""Gaussian ridge over time in its dual form.

Under the Fixed prior the linear predictors are jointly normal: rows n and m have covariance
(x_n' x_m) (A^-1)[t_n, t_m] / strength in units of the noise. One matrix of inner products
therefore serves a whole grid, a candidate costs one Cholesky factorisation, and the solution is
exact. A search over all paths takes a thousand passes at the strengths that matter, and does not
converge at all at the weak ones.

The intercepts (intercept and always-in columns) have a flat part, which is free, and stationary
AR(1) deviations. `driftglm.DriftRegressor` estimates variance and correlation of the deviations
together with everything else; here they are taken from a fit of the intercepts alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from driftglm._typing import FloatArray, IntArray, Matrix
from driftglm.baselines.columns import SplitColumns
from driftglm.baselines.gram import row_products
from driftglm.baselines.rows import Rows
from driftglm.baselines.tuning import Params
from driftglm.priors.chain import alpha_of_rho

MOST_CORRELATED = 0.95
"""A correlation nearer to 1 cannot be told from a trend over the few steps there are."""


@dataclass(frozen=True)
class InterceptDynamics:
    """Variance and lag-1 correlation of the AR(1) deviations of every intercept."""

    variance: FloatArray
    correlation: FloatArray

    @classmethod
    def of_paths(cls, paths: FloatArray) -> InterceptDynamics:
        """Moments of fitted intercept paths (T, n_intercepts)."""
        deviations = paths - paths.mean(axis=0)
        lagged = np.sum(deviations[1:] * deviations[:-1], axis=0)
        total = np.sum(deviations**2, axis=0)
        correlation = lagged / np.where(total > 0, total, 1.0)
        variance = np.mean(deviations**2, axis=0)
        return cls(variance, np.clip(correlation, 0.0, MOST_CORRELATED))


@dataclass(frozen=True)
class GaussianChain:
    """Ridge over time on some rows, for any strength and autocorrelation."""

    columns: SplitColumns
    rows: Rows
    dynamics: InterceptDynamics
    noise: float

    def predictor(self, new: SplitColumns) -> Callable[[Params], FloatArray]:
        """A function of the parameters: linear predictors of new rows, the last step held."""
        mean, free_mean = self._means
        codes = self.rows.codes
        cross = centred_products(new.X, self.columns.X, mean)
        n_timesteps = int(codes.max()) + 1

        def eta(params: Params) -> FloatArray:
            chain = chain_covariance(**params, n_timesteps=n_timesteps)
            dual, intercepts = self._solve(chain)
            paths = cross @ (chain[-1, codes] * dual)
            return np.asarray(paths + (new.free - free_mean) @ intercepts[-1])

        return eta

    def paths(self, params: Params, n_timesteps: int) -> tuple[FloatArray, FloatArray]:
        """coef_path (T, p) in the order of the columns, and intercept_path (T,) at x = 0."""
        mean, free_mean = self._means
        chain = chain_covariance(**params, n_timesteps=n_timesteps)
        dual, intercepts = self._solve(chain)
        # Row t: how much each training row says about the coefficients of step t.
        shares = chain[:, self.rows.codes] * dual
        beta = np.asarray(self.columns.X.T @ shares.T).T - shares.sum(axis=1)[:, None] * mean
        coef = self.columns.joined(beta, intercepts)
        if not self.columns.intercept:
            return coef, np.zeros(n_timesteps)
        return coef, intercepts[:, 0] - beta @ mean - intercepts[:, 1:] @ free_mean[1:]

    def _solve(self, chain: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Weights of the rows in every path, and paths of the intercepts (T, n_intercepts).

        `chain` (T, T) is the covariance of a path in units of the noise.
        """
        codes, y, free = self.rows.codes, self.rows.y, self._free
        covariance = self._products * chain[np.ix_(codes, codes)]
        covariance += self._intercept_covariance
        covariance[np.diag_indices_from(covariance)] += 1.0 / self.rows.weights
        factor = scipy.linalg.cho_factor(covariance, overwrite_a=True, check_finite=False)
        flat = np.zeros(free.shape[1])
        if flat.size:  # generalized least squares
            solved = scipy.linalg.cho_solve(factor, free)
            flat = np.asarray(scipy.linalg.lstsq(free.T @ solved, solved.T @ y, cond=1e-12)[0])
        dual = scipy.linalg.cho_solve(factor, y - free @ flat)
        paths = np.tile(flat, (chain.shape[0], 1))
        apart = np.abs(np.arange(chain.shape[0])[:, None] - codes)
        for j, column in enumerate(free.T):
            paths[:, j] += self._decay(j, apart) @ (column * dual)
        return dual, paths

    @cached_property
    def _means(self) -> tuple[FloatArray, FloatArray]:
        return self.columns.means(self.rows.weights)

    @cached_property
    def _products(self) -> FloatArray:
        return centred_products(self.columns.X, self.columns.X, self._means[0])

    @cached_property
    def _free(self) -> FloatArray:
        """(n_rows, n_intercepts): the intercept's ones and the always-in columns, centred."""
        return self.columns.free - self._means[1]

    @cached_property
    def _intercept_covariance(self) -> FloatArray:
        """Covariance of the intercepts' deviations between rows, in units of the noise."""
        codes = self.rows.codes
        total = np.zeros((codes.size, codes.size))
        apart = np.abs(codes[:, None] - codes)
        for j, column in enumerate(self._free.T):
            if self.dynamics.variance[j] > 0:
                total += self._decay(j, apart) * np.outer(column, column)
        return total

    def _decay(self, j: int, apart: IntArray) -> FloatArray:
        """Covariance of an intercept's deviations so many steps apart."""
        decay = self.dynamics.correlation[j] ** np.arange(int(apart.max()) + 1)
        return np.asarray(self.dynamics.variance[j] / self.noise * decay[apart])


def chain_covariance(strength: float, autocorrelation: float, n_timesteps: int) -> FloatArray:
    """A^-1 / strength; A has ones on its diagonal and alpha = -rho / (1 + rho^2) beside it."""
    beside = np.full(n_timesteps - 1, alpha_of_rho(autocorrelation))
    precision = np.eye(n_timesteps) + np.diag(beside, 1) + np.diag(beside, -1)
    return np.asarray(np.linalg.inv(precision) / strength, dtype=np.float64)


def centred_products(X: Matrix, other: Matrix, mean: FloatArray) -> FloatArray:
    """Inner products between the rows of two matrices, both about the same mean."""
    along, other_along = np.asarray(X @ mean), np.asarray(other @ mean)
    products = row_products(X, other)
    products += float(mean @ mean) - along[:, None] - other_along[None, :]
    return products
