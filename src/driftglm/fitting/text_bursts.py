"""Words come in bursts: how much less a document says than so many independent tokens.

The counts of a document d of N_d tokens, in a context whose words have the shares p_w, vary as

    Var(c_dw) = N_d p_w (1 - p_w) (1 + (N_d - 1) rho) phi_w,

the Dirichlet-multinomial's variance, with rho the correlation of two tokens of one document, times
what word w has beyond it. Both are estimated from documents that share a context, before their
counts are added up: with S_nw the count of a context of D_n documents and N_n tokens,

    E[sum_d (c_dw - N_d S_nw / N_n)^2 / N_d]
        = p_w (1 - p_w) phi_w sum_d (1 - N_d / N_n) (1 + (N_d - 1) rho).

The counts of a context are then divided by its design effect and by phi_w, and the background of a
word by phi_w, which weights a Poisson regression of the word by 1 / phi_w: log-likelihoods
count a burst once, and the shares that a fit without effects predicts are the same as before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from driftglm._typing import FloatArray, IntArray
from driftglm.solvers.text_problem import WordCounts

CLEAR = 3.0
"""Standard errors from which on documents vary more than independent tokens would."""
MOST = 1.0 - 1e-9
"""Largest correlation: a document says as much as one token."""


def sums_at(where: IntArray, values: FloatArray, count: int) -> FloatArray:
    """(count,) sums of the values at every place."""
    return np.bincount(where, values, count).astype(np.float64)


@dataclass(frozen=True)
class Lengths:
    """Documents of every context.

    Parameters
    ----------
    count, tokens, squared, inverse
        (n_contexts,) how many have tokens, and sums of N_d, of N_d^2 and of 1 / N_d.
    """

    count: FloatArray
    tokens: FloatArray
    squared: FloatArray
    inverse: FloatArray

    @classmethod
    def of(cls, tokens: FloatArray, member: IntArray, n_contexts: int) -> Lengths:
        """From tokens and context (-1: of none) of every document."""
        inside = member >= 0
        where, length = member[inside], tokens[inside]
        powers = np.ones_like(length), length, length**2, 1.0 / length
        return cls(*(sums_at(where, power, n_contexts) for power in powers))

    def take(self, chosen: IntArray) -> Lengths:
        """Those of some contexts."""
        return Lengths(*(each[chosen] for each in vars(self).values()))

    @property
    def excess(self) -> FloatArray:
        """(n_contexts,) m: counts of a context vary 1 + m rho times as much as without bursts."""
        return np.maximum(self.squared / self.tokens - 1.0, 0.0)

    def weights(self) -> FloatArray:
        """(6, n_contexts) what `word_moments` weights contexts by; zero where there is nothing."""
        count, tokens = self.count, self.tokens
        several = (count > 1) & (tokens > 1)
        rest = np.where(several, tokens - 1.0, 1.0)
        free = np.where(several, count - 1.0, 0.0)
        more = tokens - count - self.squared / tokens + 1.0
        rare = tokens * self.inverse - count**2
        return np.array(
            [
                np.where(several, 1.0, 0.0),
                np.where(several, 1.0 / tokens, 0.0),
                free / rest,
                np.where(several, np.maximum(more, 0.0), 0.0) / rest,
                2.0 * free / tokens**2,
                np.where(several, np.maximum(rare, 0.0), 0.0) / tokens**2,
            ]
        )


def word_moments(
    counts: WordCounts, squares: WordCounts, lengths: Lengths
) -> tuple[FloatArray, FloatArray]:
    """(3, v) and (3, v): of every word, what documents vary by, and how exactly that is known.

    First the sum of squares, and what it would be without bursts and for each unit of rho; then the
    powers of rho in the variance of the sum of squares (Haldane's, of Pearson's statistic at given
    totals). `squares` are sums of c_dw^2 / N_d.
    """
    starts, contexts, s = counts
    word = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    weights = lengths.weights()
    inverse, free, more, pairs, rare = weights[1:, contexts]
    share = s - s**2 / lengths.tokens[contexts]
    noise = np.maximum(pairs * (s**2 - s), 0.0) + rare * s
    excess = lengths.excess[contexts]

    def by_word(values: FloatArray) -> FloatArray:
        return sums_at(word, values, starts.size - 1)

    each = np.repeat(np.arange(starts.size - 1), np.diff(squares[0]))
    within = sums_at(each, squares[2] * weights[0][squares[1]], starts.size - 1)
    spread = within - by_word(inverse * s**2)
    sums = spread, by_word(free * share), by_word(more * share)
    noises = by_word(noise), by_word(noise * excess), by_word(noise * excess**2)
    return np.array(sums), np.array(noises)


def discounted(counts: WordCounts, contexts: FloatArray, words: FloatArray) -> WordCounts:
    """Counts times what a token of their context counts for, over the factor of their word."""
    starts, where, values = counts
    factors = np.repeat(1.0 / words, np.diff(starts))
    return starts, where, values * contexts[where] * factors


@dataclass(frozen=True)
class Bursts:
    """How bursty documents are.

    Parameters
    ----------
    correlation
        rho, of two tokens of one document.
    words
        (V,) phi, 1 or more: how much more a word varies than that.
    """

    correlation: float
    words: FloatArray

    def contexts(self, lengths: Lengths) -> FloatArray:
        """(n_contexts,) what a token of every context counts for."""
        return np.asarray(1.0 / (1.0 + lengths.excess * self.correlation))


def estimate_bursts(moments: tuple[FloatArray, FloatArray]) -> Bursts | None:
    """Bursts from the moments of all words; None where documents do not clearly vary more."""
    (spread, alone, more), noises = moments
    excess, slope = float(spread.sum() - alone.sum()), float(more.sum())
    if slope <= 0 or excess <= CLEAR * np.sqrt(noises[0].sum()):
        return None
    rho = min(excess / slope, MOST)
    expected = alone + rho * more
    known = expected > 0
    ratio = np.where(known, spread / np.where(known, expected, 1.0), 1.0)
    powers = np.array([1.0, 2.0 * rho, rho**2])
    error = np.where(known, powers @ noises / np.where(known, expected, 1.0) ** 2, 0.0)
    variance = _between(ratio[known] - 1.0, error[known])
    total = variance + error
    reliable = np.where(total > 0, variance / np.where(total > 0, total, 1.0), 0.0)
    return Bursts(rho, np.maximum(1.0 + reliable * (ratio - 1.0), 1.0))


def _between(deviation: FloatArray, error: FloatArray) -> float:
    """Variance of words' own excess beyond chance (Paule and Mandel's estimate, mean zero)."""
    told = error > 0
    squared, error = deviation[told] ** 2, error[told]

    def beyond(variance: float) -> float:
        return float(np.sum(squared / (variance + error))) - squared.size

    if not squared.size or beyond(0.0) <= 0:
        return 0.0
    return float(brentq(beyond, 0.0, float(squared.sum())))
