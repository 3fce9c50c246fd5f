"""Whether chains of draws agree: rank-normalised R-hat and effective draws (Vehtari et al. 2021).

Chains are split in halves. Draws are replaced by normal quantiles of their ranks, so that nothing
depends on tails or on the scale; R-hat is the larger of that of the draws and of their distances
from the median. Effective draws are those of the bulk, and of the 5 % and 95 % quantiles.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from driftglm._typing import FloatArray

LEAST = 4
"""Draws a chain below which nothing is said."""


def _split(draws: FloatArray) -> FloatArray:
    """(2 C, S / 2) halves of every chain."""
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, -half:]])


def _normal_scores(draws: FloatArray) -> FloatArray:
    ranks = rankdata(draws, method="average").reshape(draws.shape)
    return np.asarray(ndtri((ranks - 0.375) / (draws.size + 0.25)))


def _ratio(draws: FloatArray) -> float:
    """R-hat of chains as they are."""
    n = draws.shape[1]
    within = float(draws.var(axis=1, ddof=1).mean())
    between = n * float(draws.mean(axis=1).var(ddof=1))
    if within == 0.0:
        return 1.0 if between == 0.0 else float("inf")
    return float(np.sqrt(((n - 1) / n * within + between / n) / within))


def r_hat(draws: FloatArray) -> float:
    """Of draws (C, S); NaN of too few, 1 where all are the same."""
    if draws.shape[1] < LEAST:
        return float("nan")
    halves = _split(draws)
    folded = np.abs(halves - np.median(halves))
    return max(_ratio(_normal_scores(halves)), _ratio(_normal_scores(folded)))


def _autocovariance(chain: FloatArray) -> FloatArray:
    n = chain.size
    size = next_fast_len(2 * n)
    spectrum = rfft(chain - chain.mean(), size)
    return np.asarray(irfft(spectrum * np.conj(spectrum), size)[:n]) / n


def _effective(draws: FloatArray) -> float:
    """Effective draws of chains as they are, by Geyer's initial monotone sequence."""
    n_chains, n = draws.shape
    covariance = np.array([_autocovariance(chain) for chain in draws])
    within = float(covariance[:, 0].mean()) * n / (n - 1)
    total = within * (n - 1) / n
    if n_chains > 1:
        total += float(draws.mean(axis=1).var(ddof=1))
    if total == 0.0:
        return float(draws.size)
    rho = 1.0 - (within - covariance.mean(axis=0) * n / (n - 1)) / total
    rho[0] = 1.0
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    positive = np.flatnonzero(pairs <= 0)
    end = int(positive[0]) if positive.size else pairs.size
    kept = np.minimum.accumulate(pairs[:end])
    time = -1.0 + 2.0 * float(kept.sum())
    if end < pairs.size:
        time += max(float(rho[2 * end]), 0.0)
    time = max(time, 1.0 / np.log10(draws.size))
    return float(draws.size / time)


def effective_draws(draws: FloatArray) -> tuple[float, float]:
    """Effective draws (C, S) of the bulk and of the tails."""
    if draws.shape[1] < LEAST:
        return float("nan"), float("nan")
    halves = _split(draws)
    bulk = _effective(_normal_scores(halves))
    ends = np.quantile(halves, [0.05, 0.95])
    tails = [_effective((halves <= end).astype(np.float64)) for end in ends]
    return bulk, min(tails)
