"""Beta-binomial forecasts: successes in trials whose probability is uncertain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.predictive._checks import POSITIVE, PROBABILITY, Range
from driftglm.predictive._counts import log_negative_binomial
from driftglm.predictive._tables import cdf_at, cumulative, quantile_of, ranked
from driftglm.predictive.base import Discrete

MOST_TRIALS = 1_000_000
_CELLS = 2_000_000


@dataclass(frozen=True, eq=False)
class BetaBinomial(Discrete):
    """Successes in trials with a probability drawn from a beta distribution.

    Parameters
    ----------
    trials
        Whole numbers, up to a million.
    probability
        Mean of the probability of success; `mean` is that of the successes.
    precision
        Sum of the two parameters of the beta distribution. The larger, the closer to binomial.

    Notes
    -----
    `log_prob` takes the same time for any number of trials. `cdf`, `quantile` and `crps` sum over
    all successes that are possible: some tens of nanoseconds for each trial of each row.

    Examples
    --------
    >>> from driftglm.predictive import BetaBinomial
    >>> forecast = BetaBinomial(trials=10, probability=[0.2, 0.5], precision=20.0)
    >>> forecast.mean.tolist(), forecast.quantile(0.5).tolist()
    ([2.0, 5.0], [2.0, 5.0])
    """

    ranges: ClassVar[dict[str, Range]] = {
        "trials": Range("whole numbers from 0 to 1000000", 0.0, MOST_TRIALS, whole=True),
        "probability": PROBABILITY,
        "precision": POSITIVE,
    }
    trials: FloatArray
    probability: FloatArray
    precision: FloatArray

    @property
    def mean(self) -> FloatArray:
        """Expected successes."""
        return self.trials * self.probability

    @property
    def variance(self) -> FloatArray:
        """That of a binomial, times (precision + trials) / (precision + 1)."""
        excess = (self.precision + self.trials) / (self.precision + 1.0)
        return self.mean * (1.0 - self.probability) * np.where(self.trials > 0, excess, 1.0)

    def _shapes(self) -> tuple[FloatArray, FloatArray]:
        return self.precision * self.probability, self.precision * (1.0 - self.probability)

    def _tables(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """Rows with about as many trials, and their probabilities of 0, 1, ... successes."""
        order = np.argsort(self.trials, kind="stable")
        start = 0
        while start < self.n_rows:
            stop = self.n_rows
            while (stop - start) * (self.trials[order[stop - 1]] + 1) > _CELLS and stop > start + 1:
                stop = start + (stop - start + 1) // 2
            yield order[start:stop], self._table(order[start:stop])
            start = stop

    def _table(self, rows: IntArray) -> FloatArray:
        first, second = (shape[rows, None] for shape in self._shapes())
        n, p = self.trials[rows, None], self.probability[rows, None]
        k = np.arange(n.max())
        # Ratios of neighbours; rows that are certain, or have fewer trials, are put right below.
        rest = np.maximum(n - k, 0.0)
        below = (k + 1.0) * np.maximum(rest - 1.0 + second, np.finfo(float).tiny)
        ratios = np.log(rest) + np.log(k + first) - np.log(below)
        heights = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(ratios, axis=1)], axis=1)
        table = np.exp(heights - heights.max(axis=1, keepdims=True))
        table /= table.sum(axis=1, keepdims=True)
        return np.asarray(np.where(p == 1.0, np.arange(n.max() + 1) == n, table))

    def _cdf(self, y: FloatArray) -> FloatArray:
        out = np.empty(y.shape)
        for rows, table in self._tables():
            out[..., rows] = cdf_at(cumulative(table), y[..., rows])
        return out

    def _log_prob(self, y: FloatArray) -> FloatArray:
        possible = (y >= 0) & (y == np.floor(y)) & (y <= self.trials)
        hits = np.where(possible, y, 0.0)
        first, second = self._shapes()
        odds = self.trials / self.precision
        # A beta-binomial is one negative binomial given its sum with another of the same odds.
        found = (
            log_negative_binomial(hits, first, odds)
            + log_negative_binomial(self.trials - hits, second, odds)
            - log_negative_binomial(self.trials, self.precision, odds)
        )
        return np.where(possible, found, -np.inf)

    def _quantile(self, levels: FloatArray) -> FloatArray:
        out = np.empty((len(levels), self.n_rows))
        for rows, table in self._tables():
            out[:, rows] = quantile_of(cumulative(table), levels)
        return out

    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        sure = (self.probability == 0) | (self.probability == 1)
        first, second = (np.where(sure, 1.0, shape) for shape in self._shapes())
        chances = np.where(sure, self.probability, rng.beta(first, second, (n_draws, self.n_rows)))
        return rng.binomial(self.trials.astype(np.int64), chances).astype(np.float64)

    def _crps(self, y: FloatArray) -> FloatArray:
        out = np.empty(y.shape)
        for rows, table in self._tables():
            out[..., rows] = ranked(table, cumulative(table), y[..., rows])
        return out
