"""Where a fit with a spike at zero begins: lasso-one as in the paper, lasso-all, ridge-all, zero.

The mode found depends on the start, so a start must not depend on the unit of a column (columns
are divided by their root mean square, about the mean if there is an intercept, so that their
origin does not matter either) nor on chance (the strength is chosen by the error on a
held-out step from a fixed grid, never on random folds). The "-all" starts hold out the first and
the last step in turn, so that reversing time does not change them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning

from driftglm._typing import FloatArray, IntArray
from driftglm.data.matrices import divided, nearer, squares

Init = Literal["auto", "lasso-one", "lasso-all", "ridge-all", "zero"]
Maker = Literal["lasso", "ridge"]

LASSO_GRID = np.geomspace(1.0, 1e-3, 16)
"""Strengths relative to the one that sets every coefficient to zero."""
RIDGE_GRID = np.geomspace(1e-2, 1e2, 9)
"""Strengths per feature, for columns of unit mean square and a target of unit variance."""
N_WORSE = 3


def step_means(column: FloatArray, codes: IntArray, weights: FloatArray) -> FloatArray:
    """The weighted mean of a row's step, for every row."""
    total, sums = np.bincount(codes, weights), np.bincount(codes, weights * column)
    return np.asarray((sums / np.where(total > 0, total, 1.0))[codes])


@dataclass(frozen=True)
class StartData:
    """What a starting fit needs: plain rows, the intercepts already taken out of the target.

    `target` has the mean of each step and the always-in features removed: an intercept path follows
    the steps' means anyway.
    """

    X: Any
    target: FloatArray
    codes: IntArray
    weights: FloatArray
    center: bool

    def of_steps(self, keep: np.ndarray) -> StartData:
        """The rows of some steps."""
        rows = np.flatnonzero(keep[self.codes])
        part = self.X[rows], self.target[rows], self.codes[rows], self.weights[rows]
        return StartData(*part, self.center)


def start_paths(kind: Init, data: StartData, n_timesteps: int) -> FloatArray:
    """Starting paths (n_features, n_timesteps), constant over time."""
    n_features = data.X.shape[1]
    if kind in {"zero", "auto"} or n_features == 0 or not np.any(data.target):
        return np.zeros((n_features, n_timesteps))
    if data.center:
        data = replace(data, X=nearer(data.X)[0])
    scale = _root_mean_square(data.X, data.weights, about_mean=data.center)
    scale[scale == 0] = 1.0
    data = replace(data, X=divided(data.X, scale))
    seen = np.unique(data.codes)
    maker: Maker = "ridge" if kind == "ridge-all" else "lasso"
    folds = [(seen[seen != out], out) for out in (seen[0], seen[-1])]
    if kind == "lasso-one":
        folds = [(seen[-2:-1], seen[-1])]
    strength = _strength(maker, data, folds) if seen.size > 1 else None
    if kind == "lasso-one":
        data = data.of_steps(np.arange(n_timesteps) == seen[-1])
    coef = next(_fit(maker, data, [strength]))
    return np.tile((coef / scale)[:, None], (1, n_timesteps))


def _root_mean_square(X: Any, weights: FloatArray, *, about_mean: bool) -> FloatArray:
    """Of every column, 0 where it is constant up to rounding."""
    total = weights.sum()
    mean = np.asarray(weights @ X).ravel() / total if about_mean else np.zeros(X.shape[1])
    if hasattr(X, "multiply"):
        raw = np.asarray(weights @ squares(X)).ravel() / total
        square, rounding = raw - mean**2, 1e-13 * raw
    else:
        square, rounding = weights @ (X - mean) ** 2 / total, 1e-24 * mean**2
    return np.sqrt(np.where(square > rounding, square, 0.0))


def _strength(maker: Maker, data: StartData, folds: list[tuple[IntArray, int]]) -> float:
    """The relative strength of least error on steps that are held out of the fit."""
    grid = LASSO_GRID if maker == "lasso" else RIDGE_GRID
    steps = np.arange(int(data.codes.max()) + 1)
    totals = np.zeros(grid.size)
    for train, test in folds:
        used, held_out = data.of_steps(np.isin(steps, train)), data.of_steps(steps == test)
        totals += _errors(maker, used, held_out, grid)
    return float(grid[int(np.argmin(totals))])


def _errors(maker: Maker, train: StartData, test: StartData, grid: FloatArray) -> FloatArray:
    """Held-out error per strength; infinite past the point where it keeps rising."""
    errors = np.full(grid.size, np.inf)
    for k, coef in enumerate(_fit(maker, train, grid)):
        residual = test.target - test.X @ coef
        if test.center:
            residual = residual - np.average(residual, weights=test.weights)
        errors[k] = np.average(residual**2, weights=test.weights)
        # Weak penalties are slow to fit: stop once the best is clearly behind.
        if maker == "lasso" and k - int(np.argmin(errors)) >= N_WORSE:
            break
    return errors


def _fit(maker: Maker, data: StartData, grid: Iterable[float | None]) -> Iterator[FloatArray]:
    """Coefficients along a grid of relative strengths, each fit started from the one before."""
    from sklearn.linear_model import Lasso, Ridge  # a third of a second; most fits start at zero

    n_features = data.X.shape[1]
    deviation = float(np.sqrt(np.average(data.target**2, weights=data.weights)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SklearnConvergenceWarning)
        if maker == "ridge":
            for relative in grid:
                alpha = n_features * (relative or 1.0)
                model = Ridge(alpha=alpha, fit_intercept=data.center, tol=1e-6)
                yield model.fit(data.X, data.target, sample_weight=data.weights).coef_
            return
        weighted = data.weights * data.target
        largest = float(np.max(np.abs(data.X.T @ weighted), initial=0.0) / data.weights.sum())
        # Donoho and Johnstone's universal threshold where no step can be held out.
        universal = deviation * np.sqrt(2 * np.log(max(n_features, 2)) / data.weights.sum())
        model = Lasso(fit_intercept=data.center, warm_start=True, tol=1e-3, max_iter=200)
        for relative in grid:
            strength = universal if relative is None else relative * largest
            model.set_params(alpha=max(strength, 1e-12 * max(deviation, 1e-300)))
            yield model.fit(data.X, data.target, sample_weight=data.weights).coef_.copy()
