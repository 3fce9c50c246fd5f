"""The linear predictor of new rows: its mean and variance, with the coefficients of each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np

from driftglm._typing import FloatArray, IntArray, Matrix
from driftglm.data.matrices import squares
from driftglm.families import Family
from driftglm.fitting.fits import Step
from driftglm.fitting.outcome import Forecaster
from driftglm.predictive import Distribution, Mixture


def eta_means(
    forecaster: Forecaster, X: Matrix, codes: IntArray | int, *, hold: bool
) -> FloatArray:
    """(n_rows, n_responses) mean of eta; `codes` are the rows' steps, or the step of all."""
    eta = np.empty((X.shape[0], len(forecaster.fits)))
    for rows, part, steps in _by_step(forecaster, X, codes, hold=hold):
        for k, step in enumerate(steps):
            eta[rows, k] = step.mean_of(part)
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
            mean[rows, k], variance[rows, k] = step.mean_of(part), step.variance_of(part, squared)
    return mean, variance


def law_of(
    family: Family,
    forecaster: Forecaster,
    codes: IntArray | int,
    mean: FloatArray,
    variance: FloatArray,
) -> Distribution:
    """What y may be: eta of so much mean and variance, and all the noise that there may be."""
    nodes, weights = forecaster.noise_nodes(codes)
    if family.noise_drifts:  # elsewhere noise is no variance of its own
        wider = np.atleast_1d(forecaster.spread_at(codes))
        nodes, variance = nodes * wider[:, None], variance * wider
    shape = cast("float", forecaster.shape_at(codes))  # or one a row, which forecasts take as well
    parts = [family.at(at, shape).predictive(mean, variance, at) for at in nodes.T]
    return parts[0] if len(parts) == 1 else Mixture(tuple(parts), weights)


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
