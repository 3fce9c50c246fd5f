"""Data drawn from the model itself, with the truth: for tests, examples and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.families import uncoupled_family
from driftglm.families.base import CERTAIN
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
        Noise variance or dispersion, for families that have one.
    mean, mean_next
        E[y] of every row: the mean, the probability of 1, or the rate.

    Examples
    --------
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_timesteps=3, rows_per_step=10, n_features=2)
    >>> panel.X.shape, panel.X_next.shape, panel.coef_path.shape
    ((30, 2), (10, 2), (4, 2))
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
    intercept: float = 1.0,
    noise_variance: float = 0.25,
    family: str = "gaussian",
    random_state: int | np.random.Generator = 0,
) -> Panel:
    """Draw a panel whose active paths follow stationary chains.

    Every active feature draws an alpha from the exponential distribution of the given `rate` on
    (-C, 0], where -C is the least alpha of a stationary chain, a scale (log-normal around `scale`),
    and a path from the stationary chain of that autocorrelation. The intercept is a constant plus
    an AR(1) of standard deviation `intercept` / 2. Columns of X are standard normal. `family` is
    the distribution of y given the linear predictor: "gaussian" with `noise_variance` about it,
    "binomial" 0 or 1 with it as logit, "poisson" counts with it as log rate, or another registered
    family with one linear predictor a row, whose noise or dispersion, if it has one, is
    `noise_variance`.

    Examples
    --------
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=5, n_active=2)
    >>> panel.X.shape, panel.coef_path.shape
    ((1600, 5), (9, 5))
    """
    distribution = uncoupled_family(family)
    rng = np.random.default_rng(random_state)
    n_all = n_timesteps + 1
    coef_path = np.zeros((n_all, n_features))
    for i in rng.choice(n_features, min(n_active, n_features), replace=False):
        alpha = -ALPHA_BOUND + _truncated_exponential(rate, rng)
        rho = -2 * alpha / (1 + np.sqrt(1 - 4 * alpha**2))
        coef_path[:, i] = scale * np.exp(0.5 * rng.normal()) * _chain(n_all, rho, rng)
    intercept_path = intercept * (1 + 0.5 * _chain(n_all, 0.8, rng))
    time = np.repeat(np.arange(n_all), rows_per_step)
    X = rng.normal(size=(time.size, n_features))
    eta = np.einsum("ni,ni->n", X, coef_path[time]) + intercept_path[time]
    mean, y = distribution.mean(eta, CERTAIN), distribution.draw(eta, noise_variance, rng)
    past = time < n_timesteps
    truth = coef_path, intercept_path, noise_variance, mean[past], mean[~past]
    return Panel(X[past], y[past], time[past], X[~past], y[~past], *truth)


@dataclass(frozen=True)
class Text:
    """Documents of steps 0..T-1 for training, those of step T to test on, and the truth.

    Parameters
    ----------
    counts, effects, time
        Training documents: word counts (n, V), effects (n, F), steps (n,).
    counts_next, effects_next
        Documents of the step after the last.
    coef_path
        (T + 1, F, V) the truth, zero where nothing was planted.
    background
        (T + 1, V) log shares of a document without effects.
    planted
        (F, V) whether a path is not zero.

    Examples
    --------
    >>> from driftglm.simulate import simulate_text
    >>> text = simulate_text(n_words=20, n_effects=2)
    >>> text.counts.shape[1], text.effects.shape[1], text.planted.shape
    (20, 2, (2, 20))
    """

    counts: csr_array
    effects: FloatArray
    time: IntArray
    counts_next: csr_array
    effects_next: FloatArray
    coef_path: FloatArray
    background: FloatArray
    planted: BoolArray


def simulate_text(  # noqa: PLR0913
    *,
    n_timesteps: int = 6,
    docs_per_step: int = 40,
    tokens_per_doc: int = 400,
    n_words: int = 200,
    n_effects: int = 4,
    words_per_effect: int = 10,
    scale: float = 1.0,
    drift: float = 0.3,
    correlation: float = 0.9,
    random_state: int | np.random.Generator = 0,
) -> Text:
    """Draw documents from the text model: a drifting background and sparse drifting effects.

    Every document has each effect with probability 1/2 (0 or 1). An effect changes the log rate of
    `words_per_effect` words by a path: a constant of size `scale` and random sign, plus a
    stationary chain of standard deviation `drift` and the given `correlation`. The background has
    Zipf's shares and moves a little from step to step.

    Examples
    --------
    >>> from driftglm.simulate import simulate_text
    >>> text = simulate_text(n_words=50, n_effects=3)
    >>> text.counts.shape, text.effects.shape, text.coef_path.shape
    ((240, 50), (240, 3), (7, 3, 50))
    """
    rng = np.random.default_rng(random_state)
    n_all = n_timesteps + 1
    background = np.tile(-np.log(np.arange(n_words) + 5.0), (n_all, 1))
    background += np.cumsum(0.05 * rng.normal(size=background.shape), axis=0)
    background -= np.log(np.exp(background).sum(axis=1, keepdims=True))
    coef_path = np.zeros((n_all, n_effects, n_words))
    for i in range(n_effects):
        for w in rng.choice(n_words, min(words_per_effect, n_words), replace=False):
            constant = scale * rng.choice([-1.0, 1.0])
            coef_path[:, i, w] = constant + drift * _chain(n_all, correlation, rng)
    time = np.repeat(np.arange(n_all), docs_per_step)
    effects = (rng.random((time.size, n_effects)) < 0.5).astype(np.float64)  # noqa: PLR2004
    eta = background[time] + np.einsum("ni,niw->nw", effects, coef_path[time])
    drawn = rng.multinomial(tokens_per_doc, softmax(eta, axis=1))
    counts = csr_array(drawn.astype(np.float64))
    past, later = np.flatnonzero(time < n_timesteps), np.flatnonzero(time == n_timesteps)
    truth = coef_path, background, np.asarray(coef_path.any(axis=0))
    return Text(counts[past], effects[past], time[past], counts[later], effects[later], *truth)


def _truncated_exponential(rate: float, rng: np.random.Generator) -> float:
    """A draw from the exponential distribution on (0, C], by inversion; rate 0 is uniform."""
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
