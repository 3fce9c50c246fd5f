"""Data drawn from the model itself, with the truth: for tests, examples and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.exceptions import DataError
from driftglm.priors.chain import ALPHA_BOUND


@dataclass(frozen=True)
class Panel:
    """Rows of steps 0..T-1 for training, those of step T to test on, and the truth.

    Parameters
    ----------
    X, y, time
        Training rows.
    X_next, y_next
        Rows of the step after the last.
    coef_path, intercept_path
        The truth, (T + 1, p) and (T + 1,).
    noise_variance
        Variance of y about its mean (Gaussian panels).
    mean, mean_next
        E[y] of every row: the mean, the probability of 1, or the rate.
    """

    X: FloatArray
    y: FloatArray
    time: IntArray
    X_next: FloatArray
    y_next: FloatArray
    coef_path: FloatArray
    intercept_path: FloatArray
    noise_variance: float
    mean: FloatArray
    mean_next: FloatArray


def simulate_panel(  # noqa: PLR0913
    *,
    n_timesteps: int = 8,
    rows_per_step: int = 200,
    n_features: int = 100,
    n_active: int = 8,
    rate: float = 20.0,
    scale: float = 0.25,
    level: float = 1.0,
    noise_variance: float = 0.25,
    family: Literal["gaussian", "binomial", "poisson"] = "gaussian",
    random_state: int | np.random.Generator = 0,
) -> Panel:
    """Draw a panel whose active paths follow stationary chains.

    Every active feature draws its own alpha from the exponential law of the given `rate` on
    (-C, 0], its own scale (log-normal around `scale`), and a path from the stationary chain of
    that autocorrelation. The intercept is a flat level plus an AR(1) of standard deviation
    `level` / 2. Columns of X are standard normal. `family` is the law of y given the linear
    predictor: with `noise_variance` about it, 0 or 1 with it as logit, counts with it as log rate.

    Examples
    --------
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=5, n_active=2)
    >>> panel.X.shape, panel.coef_path.shape
    ((1600, 5), (9, 5))
    """
    rng = np.random.default_rng(random_state)
    n_all = n_timesteps + 1
    coef_path = np.zeros((n_all, n_features))
    for i in rng.choice(n_features, min(n_active, n_features), replace=False):
        alpha = -ALPHA_BOUND + _truncated_exponential(rate, rng)
        rho = -2 * alpha / (1 + np.sqrt(1 - 4 * alpha**2))
        coef_path[:, i] = scale * np.exp(0.5 * rng.normal()) * _chain(n_all, rho, rng)
    intercept_path = level * (1 + 0.5 * _chain(n_all, 0.8, rng))
    time = np.repeat(np.arange(n_all), rows_per_step)
    X = rng.normal(size=(time.size, n_features))
    eta = np.einsum("ni,ni->n", X, coef_path[time]) + intercept_path[time]
    if family == "gaussian":
        mean, y = eta, eta + np.sqrt(noise_variance) * rng.normal(size=time.size)
    elif family == "binomial":
        mean = 1.0 / (1.0 + np.exp(-eta))
        y = (rng.random(time.size) < mean).astype(np.float64)
    elif family == "poisson":
        mean = np.exp(eta)
        y = rng.poisson(mean).astype(np.float64)
    else:
        raise DataError(f"family={family!r}; choose 'gaussian', 'binomial' or 'poisson'.")
    past = time < n_timesteps
    return Panel(
        X=X[past],
        y=y[past],
        time=time[past],
        X_next=X[~past],
        y_next=y[~past],
        coef_path=coef_path,
        intercept_path=intercept_path,
        noise_variance=noise_variance,
        mean=mean[past],
        mean_next=mean[~past],
    )


def _truncated_exponential(rate: float, rng: np.random.Generator) -> float:
    """A draw from the exponential law on (0, C], by inversion; rate 0 is uniform."""
    u = rng.random()
    if rate == 0:
        return float(ALPHA_BOUND * u)
    return float(-np.log1p(u * np.expm1(-rate * ALPHA_BOUND)) / rate)


def _chain(n: int, rho: float, rng: np.random.Generator) -> FloatArray:
    """A stationary AR(1) of unit variance."""
    path = rng.normal(size=n)
    for t in range(1, n):
        path[t] = rho * path[t - 1] + np.sqrt(1 - rho**2) * path[t]
    return path
