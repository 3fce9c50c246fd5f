"""From rows to the dual of ridge over time, and from its solution back to paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from driftglm._typing import BoolArray, FloatArray
from driftglm.baselines.chain_kernel import (
    ChainKernel,
    InterceptDynamics,
    centred_products,
    chain_covariance,
)
from driftglm.baselines.rows import Rows


@dataclass(frozen=True)
class SplitColumns:
    """Penalised columns, and dense intercept columns with the intercept's ones first."""

    X: Any
    intercepts: FloatArray
    always_in: BoolArray
    intercept: bool

    @classmethod
    def of(cls, X: Any, always_in: BoolArray, *, intercept: bool) -> SplitColumns:
        """Split the columns of a dense or sparse matrix."""
        chosen = X[:, np.flatnonzero(always_in)]
        dense = chosen.toarray() if hasattr(chosen, "toarray") else np.asarray(chosen)
        intercepts = np.hstack([np.ones((X.shape[0], int(intercept))), dense])
        penalised = X[:, np.flatnonzero(~always_in)] if always_in.any() else X
        return cls(penalised, intercepts, always_in, intercept)

    def means(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What to take off both kinds of columns: their means if there is an intercept."""
        if not self.intercept:
            return np.zeros(self.X.shape[1]), np.zeros(self.intercepts.shape[1])
        total = float(weights.sum())
        intercept_mean = np.asarray(weights @ self.intercepts) / total
        intercept_mean[0] = 0.0  # the intercept's own column stays a column of ones
        return np.asarray(weights @ self.X) / total, intercept_mean


@dataclass(frozen=True)
class GaussianChain:
    """Ridge over time on some rows, for any strength and autocorrelation."""

    columns: SplitColumns
    rows: Rows
    dynamics: InterceptDynamics
    noise: float

    @cached_property
    def _means(self) -> tuple[FloatArray, FloatArray]:
        return self.columns.means(self.rows.weights)

    @cached_property
    def _kernel(self) -> ChainKernel:
        mean, intercept_mean = self._means
        return ChainKernel(
            products=centred_products(self.columns.X, self.columns.X, mean),
            intercepts=self.columns.intercepts - intercept_mean,
            y=self.rows.y,
            weights=self.rows.weights,
            codes=self.rows.codes,
            dynamics=self.dynamics,
            noise=self.noise,
        )

    def predictor(self, new: SplitColumns) -> Callable[[dict[str, float]], FloatArray]:
        """A function of the parameters: linear predictors of new rows, the last step held."""
        mean, intercept_mean = self._means
        kernel, codes = self._kernel, self.rows.codes
        cross = centred_products(new.X, self.columns.X, mean)
        n_timesteps = int(codes.max()) + 1

        def eta(params: dict[str, float]) -> FloatArray:
            chain = chain_covariance(**params, n_timesteps=n_timesteps)
            solution = kernel.solve(chain)
            intercepts = kernel.intercept_paths(solution, n_timesteps)[-1]
            paths = cross @ (chain[-1, codes] * solution.dual)
            return np.asarray(paths + (new.intercepts - intercept_mean) @ intercepts)

        return eta

    def paths(self, params: dict[str, float], n_timesteps: int) -> tuple[FloatArray, FloatArray]:
        """coef_path (T, p) in the order of the columns, and intercept_path (T,) at x = 0."""
        mean, intercept_mean = self._means
        chain = chain_covariance(**params, n_timesteps=n_timesteps)
        solution = self._kernel.solve(chain)
        # Row t: how much each training row says about the coefficients of step t.
        shares = chain[:, self.rows.codes] * solution.dual
        columns = self.columns
        beta = np.asarray(columns.X.T @ shares.T).T - shares.sum(axis=1)[:, None] * mean
        intercepts = self._kernel.intercept_paths(solution, n_timesteps)
        first = int(columns.intercept)
        coef = np.empty((n_timesteps, columns.always_in.size))
        coef[:, ~columns.always_in] = beta
        coef[:, columns.always_in] = intercepts[:, first:]
        if not columns.intercept:
            return coef, np.zeros(n_timesteps)
        return coef, intercepts[:, 0] - beta @ mean - intercepts[:, first:] @ intercept_mean[first:]
