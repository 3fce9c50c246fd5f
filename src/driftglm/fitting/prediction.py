"""The linear predictor of new rows: its mean and variance, with the coefficients of each step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from driftglm._typing import FloatArray, IntArray, Matrix
from driftglm.data.matrices import squares
from driftglm.fitting.fits import Step
from driftglm.fitting.outcome import Forecaster


def eta_means(
    forecaster: Forecaster, X: Matrix, codes: IntArray | int, *, hold: bool
) -> FloatArray:
    """(n_rows, n_responses) mean of eta; `codes` are the rows' steps, or the step of all."""
    eta = np.empty((X.shape[0], len(forecaster.fits)))
    for rows, part, steps in _by_step(forecaster, X, codes, hold=hold):
        for k, step in enumerate(steps):
            eta[rows, k] = np.asarray(part @ step.coef).ravel() + step.intercept
    return eta


def eta_moments(
    forecaster: Forecaster, X: Matrix, codes: IntArray | int, *, hold: bool, drift: bool = True
) -> tuple[FloatArray, FloatArray]:
    """(n_rows, n_responses) mean and variance of eta; a mode is certain."""
    if not forecaster.posterior:
        mean = eta_means(forecaster, X, codes, hold=hold)
        return mean, np.zeros_like(mean)
    mean, variance = np.empty((2, X.shape[0], len(forecaster.fits)))
    for rows, part, steps in _by_step(forecaster, X, codes, hold=hold, drift=drift):
        squared = squares(part)
        for k, step in enumerate(steps):
            mean[rows, k] = np.asarray(part @ step.coef).ravel() + step.intercept
            # sum_i (x_i - c_i)^2 var_i without forming x - c
            center, v = step.center, step.coef_variance
            independent = np.asarray(squared @ v - 2 * (part @ (center * v)) + center**2 @ v)
            variance[rows, k] = np.maximum(independent.ravel(), 0) + step.intercept_variance
            if step.joint.shape[1]:
                shared = np.asarray(part @ step.joint) - center @ step.joint
                variance[rows, k] += np.einsum("nr,nr->n", shared, shared)
    return mean, variance


def _by_step(
    forecaster: Forecaster, X: Matrix, codes: IntArray | int, *, hold: bool, drift: bool = True
) -> Iterator[tuple[IntArray | slice, Matrix, list[Step]]]:
    """Rows of every step that occurs, their X, and its coefficients."""
    if isinstance(codes, int):
        yield slice(None), X, forecaster.steps(codes, hold=hold, drift=drift)
        return
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        yield rows, X[rows], forecaster.steps(int(code), hold=hold, drift=drift)
