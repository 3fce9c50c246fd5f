"""Draws of the linear predictor of new rows: all rows of a draw have the same coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray, Matrix
from driftglm.data.matrices import dense, squares
from driftglm.fitting.averaged import Averaged
from driftglm.fitting.coefficients import Step
from driftglm.fitting.outcome import Forecaster
from driftglm.fitting.sampled import SampledFit

HALF = 0.5


@dataclass(frozen=True)
class Chosen:
    """Which draws of the posterior make which draws of y: the same for all classes.

    Parameters
    ----------
    draws
        (n,) positions among the draws of all chains.
    forecasters
        (n,) the forecaster of steps after the last, in the order of `names`.
    hold
        Whether coefficients of the last step are held after it.
    """

    draws: IntArray
    forecasters: IntArray
    names: tuple[str, ...]
    hold: bool

    @classmethod
    def of(
        cls, forecaster: Forecaster, n_draws: int, rng: np.random.Generator, *, hold: bool
    ) -> Chosen:
        """At random; forecasters by their weights."""
        count = _sampled(forecaster, 0).draws.count
        draws = rng.choice(count, n_draws, replace=n_draws > count)
        names, weights = ["held" if hold else "drifting"], np.ones(1)
        if isinstance(forecaster, Averaged):
            names, weights = [part.name for part in forecaster.parts], forecaster.weights
        return cls(draws, rng.choice(len(names), n_draws, p=weights), tuple(names), hold)


def _sampled(forecaster: Forecaster, response: int) -> SampledFit:
    fit = forecaster.fits[response]
    assert isinstance(fit, SampledFit)  # noqa: S101 (asked for where it is)
    return fit


def eta_draws(
    forecaster: Forecaster,
    new: tuple[Matrix, IntArray | int],
    chosen: Chosen,
    rng: np.random.Generator,
    response: int = 0,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n_draws, n_rows) eta and noise of rows at their steps; (n_draws,) the family's parameter.

    Draws of a fit that was sampled. After the last step a draw is one of a forecaster; those that
    were not sampled are normal.
    """
    fit, (X, codes) = _sampled(forecaster, response), new
    steps = np.broadcast_to(np.asarray(codes), X.shape[0])
    eta, noise = np.empty((2, chosen.draws.size, X.shape[0]))
    for code in np.unique(steps):
        rows = np.flatnonzero(steps == code)
        part, after = X[rows], int(code) >= fit.n_timesteps
        own = sampled_eta(fit, part, int(code), rng)[chosen.draws]
        levels = fit.draws.noise_at(int(code), rng)[chosen.draws, None]
        own_noise = np.repeat(levels, rows.size, axis=1)
        for k, name in enumerate(chosen.names if after else ()):
            these = np.flatnonzero(chosen.forecasters == k)
            if name == "drifting" or not these.size:
                continue
            step, level = _other(forecaster, k, int(code), response, hold=chosen.hold)
            own[these] = step_draws(step, part, these.size, rng)
            own_noise[these] = level
        wider = float(np.max(forecaster.spread_at(int(code))))
        middle = own.mean(axis=0)
        eta[:, rows] = middle + np.sqrt(wider) * (own - middle)
        noise[:, rows] = own_noise * (wider if fit.draws.noise.ndim else 1.0)
    return eta, noise, fit.draws.flat(fit.draws.shape)[chosen.draws]


def drawn_classes(eta: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(n_draws, n_rows) numbers of classes, from eta (n_draws, n_rows, n_classes)."""
    total = np.cumsum(np.exp(eta - eta.max(axis=2, keepdims=True)), axis=2)
    place = rng.random(total.shape[:2]) * total[:, :, -1]
    return np.asarray((place[:, :, None] > total[:, :, :-1]).sum(axis=2), dtype=np.float64)


def effect_draws(
    forecaster: Forecaster,
    group: IntArray,
    codes: IntArray | int,
    n_draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """(n_responses, n_draws, n_rows) effects: rows of a group share theirs in a step.

    A row of a group that was not seen (a negative number) has an effect of its own. Effects vary
    independently of the coefficients here: what is known about both together is not kept.
    """
    mean, variance = forecaster.group_moments(group, codes)
    steps = np.broadcast_to(np.asarray(codes), group.shape)
    unseen = np.where(group < 0, np.arange(group.size), -1)
    _, place = np.unique(np.column_stack([group, steps, unseen]), axis=0, return_inverse=True)
    place = place.ravel()
    shape = mean.shape[1], n_draws, int(place.max(initial=-1)) + 1
    normal = rng.standard_normal(shape)[:, :, place]
    return np.asarray(mean.T[:, None] + np.sqrt(variance.T)[:, None] * normal)


def _other(
    forecaster: Forecaster, k: int, code: int, response: int, *, hold: bool
) -> tuple[Step, float]:
    """Coefficients and median noise of a forecaster that was not sampled."""
    if isinstance(forecaster, Averaged):
        part = forecaster.parts[k]
        return part.steps(code)[response], float(part.noise(code).quantile(np.array([HALF]))[0])
    step = forecaster.steps(code, hold=hold)[response]
    return step, float(forecaster.noise_at(code)[0])


def sampled_eta(fit: SampledFit, X: Matrix, code: int, rng: np.random.Generator) -> FloatArray:
    """(draws, n_rows) of all draws of a fit."""
    kept = fit.kept()
    mean, variance, center = fit.others_at(code)
    spread = (
        np.asarray(squares(X) @ variance).ravel() - 2 * np.asarray(X @ (center * variance)).ravel()
    )
    spread = np.maximum(spread + center**2 @ variance, 0.0)
    middle = np.asarray(X @ mean).ravel() - center @ mean
    return fit.eta_draws(np.asarray(dense(X[:, kept])), (middle, spread), code, rng)


def step_draws(step: Step, X: Matrix, n: int, rng: np.random.Generator) -> FloatArray:
    """(n, n_rows) of coefficients that are normal."""
    own = np.sqrt(step.coef_variance)[:, None] * rng.standard_normal((step.coef.size, n))
    shared = rng.standard_normal((step.joint.shape[1], n))
    moved = np.asarray(X @ (own + step.joint @ shared)) - step.center @ own - step.offset @ shared
    level = np.sqrt(step.intercept_variance) * rng.standard_normal(n)
    return np.asarray((moved + step.mean_of(X)[:, None] + level).T)
