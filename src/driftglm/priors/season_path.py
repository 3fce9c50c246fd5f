"""The posterior of a path that drifts and has a season, under one pair of Gaussian laws.

    beta_t = drift_t + season_t,  likelihood proportional to exp(b'beta - beta'H beta / 2),

H = diag(h). The drift is a Markov chain over the steps (or zero throughout). The season is a chain
as well, run through the steps of one phase after the other: step t belongs to phase t mod cycle,
and season_t = rho season_{t - cycle} + shock, the first of every phase drawn afresh. rho = 1 is a
season that repeats itself exactly. The two are never separated and never updated one at a time: the
same column twice is perfectly collinear, and whichever came first would take all.

A Kalman filter with the drift and every phase as its state: O(T cycle^2), and O(T cycle) where
there is no drift. Two series are filtered side by side, b and h: the second gives what a constant
beside the two needs (see `gaussian_path`). The smoother is de Jong's, which keeps a vector a step.
"""

from __future__ import annotations

import numpy as np

from driftglm._jit import kernel
from driftglm._typing import FloatArray
from driftglm.priors.gaussian_path import HUGE

Drift = tuple[FloatArray, FloatArray]
"""carry and shock of the drift, (T,) each; zeros: there is none."""
Season = tuple[float, float, int]
"""Variance, correlation from one cycle to the next, and steps a cycle."""


@kernel
def _scale_inplace(square: FloatArray, i: int, factor: float) -> None:
    """Row and column i times a factor."""
    for j in range(square.shape[0]):
        square[i, j] *= factor
        square[j, i] *= factor


@kernel
def _take_inplace(square: FloatArray, i: int, vector: FloatArray) -> None:
    """A vector off row and column i."""
    for j in range(square.shape[0]):
        square[i, j] -= vector[j]
        square[j, i] -= vector[j]


@kernel
def _move_inplace(
    t: int, drift: Drift, season: Season, covariance: FloatArray, mean: FloatArray
) -> float:
    """The state moves on to step t; returns what the phase of t keeps of its last value."""
    variance, rho, cycle = season
    carry, phase = drift[0][t], 1 + t % cycle
    keeps = rho if t >= cycle else 0.0
    _scale_inplace(covariance, 0, carry)
    _scale_inplace(covariance, phase, keeps)
    covariance[0, 0] += drift[1][t]
    covariance[phase, phase] += variance * (1.0 - keeps) * (1.0 + keeps)
    for s in range(2):
        mean[s, 0] *= carry
        mean[s, phase] *= keeps
    return keeps


@kernel
def _observe_inplace(
    data: FloatArray, reach: FloatArray, gain: float, covariance: FloatArray, mean: FloatArray
) -> None:
    """What a step says about the state: `reach` is its covariance with the path."""
    n_states = reach.shape[0]
    for i in range(n_states):
        if reach[i] == 0.0:  # phases that were not seen yet, and all others if there is no drift
            continue
        mean[0, i] += reach[i] * data[0]
        mean[1, i] += reach[i] * data[1]
        taken = reach[i] * gain
        for j in range(n_states):
            covariance[i, j] -= taken * reach[j]


@kernel
def _dot(x: FloatArray, y: FloatArray) -> float:
    """The sum of products, by four sums at once: an addition waits for the one before it."""
    a = b = c = d = 0.0
    even = x.shape[0] - x.shape[0] % 4
    for k in range(0, even, 4):
        a += x[k] * y[k]
        b += x[k + 1] * y[k + 1]
        c += x[k + 2] * y[k + 2]
        d += x[k + 3] * y[k + 3]
    for k in range(even, x.shape[0]):
        a += x[k] * y[k]
    return a + b + (c + d)


@kernel
def _quadratic(square: FloatArray, x: FloatArray) -> float:
    """x'A x."""
    found = 0.0
    for i in range(x.shape[0]):
        if x[i] != 0.0:
            found += x[i] * _dot(square[i], x)
    return found


@kernel
def season_evidence(
    h: FloatArray, b: FloatArray, drift: Drift, season: Season
) -> tuple[float, float, float, float]:
    """b'V b, log|I + M H|, c = h'w and w'b, M the covariance of both parts and w = 1 - V h.

    As `gaussian_path.filter_evidence` for one chain, by a forward pass alone.
    """
    cycle = season[2]
    covariance, mean = np.zeros((1 + cycle, 1 + cycle)), np.zeros((2, 1 + cycle))
    reach, data = np.empty(1 + cycle), np.empty(2)
    quadratic = logdet = c = wb = 0.0
    product = 1.0
    for t in range(h.shape[0]):
        _move_inplace(t, drift, season, covariance, mean)
        if h[t] == 0.0:
            # b is 0 too wherever h is: nothing was seen.
            continue
        phase = 1 + t % cycle
        for i in range(1 + cycle):
            reach[i] = covariance[0, i] + covariance[phase, i]
        predicted = max(reach[0] + reach[phase], 0.0)
        m, u = mean[0, 0] + mean[0, phase], mean[1, 0] + mean[1, phase]
        excess = 1.0 + predicted * h[t]
        product *= excess
        if product > HUGE:
            logdet += np.log(product)
            product = 1.0
        data[0], data[1] = (b[t] - h[t] * m) / excess, h[t] * (1.0 - u) / excess
        quadratic += (predicted * b[t] * b[t] + 2.0 * b[t] * m - h[t] * m * m) / excess
        c += data[1] * (1.0 - u)
        wb += data[0] * (1.0 - u)
        _observe_inplace(data, reach, h[t] / excess, covariance, mean)
    return quadratic, logdet + np.log(product), c, wb


@kernel
def smooth_season_inplace(
    h: FloatArray, b: FloatArray, drift: Drift, season: Season, out: FloatArray
) -> None:
    """Posterior of the path and of its season, into `out` (6, T).

    Rows: of the path V b, V h and the variance, and the same three of the season alone; these are
    left out where `out` has three rows.
    """
    n_steps, n_states = h.shape[0], 1 + season[2]
    covariance, mean = np.zeros((n_states, n_states)), np.zeros((2, n_states))
    reaches, keeps = np.empty((2, n_steps, n_states)), np.empty(n_steps)
    data, gain = np.zeros((n_steps, 2)), np.zeros(n_steps)
    for t in range(n_steps):
        keeps[t] = _move_inplace(t, drift, season, covariance, mean)
        phase = 1 + t % season[2]
        for i in range(n_states):
            reaches[1, t, i] = covariance[phase, i]
            reaches[0, t, i] = covariance[0, i] + covariance[phase, i]
        out[2, t] = max(reaches[0, t, 0] + reaches[0, t, phase], 0.0)
        for s in range(2):
            out[s, t] = mean[s, 0] + mean[s, phase]
        if out.shape[0] > 3:  # noqa: PLR2004
            out[3, t], out[4, t] = mean[0, phase], mean[1, phase]
            out[5, t] = reaches[1, t, phase]
        excess = 1.0 + out[2, t] * h[t]
        gain[t] = h[t] / excess
        data[t, 0] = (b[t] - h[t] * out[0, t]) / excess
        data[t, 1] = h[t] * (1.0 - out[1, t]) / excess
        _observe_inplace(data[t], reaches[0, t], gain[t], covariance, mean)
    _smooth_back_inplace((data, gain, reaches, keeps), drift[0], season[2], out)


@kernel
def _smooth_back_inplace(
    seen: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    carry: FloatArray,
    cycle: int,
    out: FloatArray,
) -> None:
    """From what was expected of a step before it to what is known of it in the end.

    `later` (2, n_states) and `precision` (n_states, n_states) are what all steps from t on say
    about the state at t, beyond what was expected of it.
    """
    data, gain, reaches, keeps = seen
    n_states = reaches.shape[2]
    later, precision = np.zeros((2, n_states)), np.zeros((n_states, n_states))
    along = np.empty(n_states)
    for t in range(data.shape[0] - 1, -1, -1):
        phase, reach = 1 + t % cycle, reaches[0, t]
        for s in range(2):
            new = data[t, s] - gain[t] * _dot(later[s], reach)
            later[s, 0] += new
            later[s, phase] += new
        for i in range(n_states):
            along[i] = gain[t] * _dot(precision[i], reach)
        both = gain[t] + gain[t] * _dot(along, reach)
        _take_inplace(precision, 0, along)
        _take_inplace(precision, phase, along)
        precision[0, 0] += both
        precision[0, phase] += both
        precision[phase, 0] += both
        precision[phase, phase] += both
        for part in range(out.shape[0] // 3):
            way = reaches[part, t]
            for s in range(2):
                out[3 * part + s, t] += _dot(way, later[s])
            taken = _quadratic(precision, way)
            out[3 * part + 2, t] = max(out[3 * part + 2, t] - taken, 0.0)
        for s in range(2):
            later[s, 0] *= carry[t]
            later[s, phase] *= keeps[t]
        _scale_inplace(precision, 0, carry[t])
        _scale_inplace(precision, phase, keeps[t])
