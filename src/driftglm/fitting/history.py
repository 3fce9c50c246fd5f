"""Which forecasters to trust: weights from how well each predicted earlier steps.

    w maximises  m sum_s u_s mean over rows n of step s of log sum_k w_k p_k(y_n | before s)
                 + sum_k a_k log w_k,

over the last eight steps that were predicted. u_s is .9^(S - s), less where a fit had few steps to
go by. m is how many independent rows a step is worth: rows of a step share its luck, and what they
say together is said once. It follows from how much the mean scores of steps vary, compared with the
scores of rows. a_k is a weak prior. What is mixed is densities; a forecast then mixes on the scale
of eta (see `averaged.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray

DISCOUNT, LEARNING = 0.9, 2.0
"""What an origin counts compared with the next one; and the power of the share of steps it had:
a fit to half of the steps says little of one to all of them."""
GUESSED_ROWS, N_GUESSED = 20.0, 1.0
"""Independent rows that a step is guessed to be worth, and the origins this guess is worth."""
CLIP = 10.0
"""Log densities of a row that differ by more are taken to differ by this."""
MOST_ORIGINS = 8
MOST_ROWS = 2000
"""Rows of a step that stand for all of them."""
LEAST_DENSITY, MOST_SURPRISED = -1e4, 50.0
"""Logarithms that are taken for no density at all, and for the largest surprise: one row does not
rule a forecaster out for ever."""
N_EXPECTED, MOST_SPREAD = 1.0, 4.0
"""Steps that the guess is worth that forecasts are as wide as they should be, and the largest
factor that one step may ask for."""
LEAST_SPREAD = 0.7
"""Calm steps say little of wild ones: forecasts are never narrowed by more than that."""
N_STEPS, STILL = 300, 1e-10
"""EM steps for the weights, at most, and the change of a weight below which they end."""
PRIOR_ROWS = {"drifting": 1.5, "held": 0.8, "static": 0.1, "pooled": 0.1}
"""The forecasters, and the rows that the prior of the weights is worth to each: coefficients that
move on as they did, those of the last step held, constant ones under intercepts that move, and one
set of everything for all steps. The first has found out from all rows what moves and what does
not; the others are there for where it should not have believed them."""
SEASONAL_ROWS = {"seasonal": 0.1, "seasonal-static": 0.1}
"""The forecasters there are more where steps come in cycles: coefficients that drift and have
seasons, and constant ones under an intercept that moves and has a season."""
NAMES = tuple(PRIOR_ROWS)


@dataclass(frozen=True)
class StepScores:
    """What forecasters said of one step before they saw it.

    Parameters
    ----------
    code, n_before, n_rows
        The step, the number of steps with rows before it, and of its rows (by weight).
    log_density
        (n, K) of rows that stand for those of the step; minus infinity: not asked.
    weight
        (n,) of these rows, adding up to 1.
    mean
        (K,) mean over all rows.
    spread
        Mean squared deviation of the rows from what their average said, in units of what it
        expected; NaN where that was not looked at.
    """

    code: int
    n_before: int
    n_rows: float
    log_density: FloatArray
    weight: FloatArray
    mean: FloatArray
    spread: float = np.nan

    @classmethod
    def of(
        cls,
        code: int,
        n_before: int,
        log_density: FloatArray,
        weight: FloatArray,
        spread: float = np.nan,
    ) -> StepScores:
        """From all rows of a step, thinned out where there are many.

        Rows are chosen by their place in the order of densities, so that the order in which they
        were given does not matter.
        """
        share = weight / weight.sum()
        n_rows = max(float(weight.sum()), 1.0)
        asked = np.isfinite(log_density).any(axis=0)
        safe = np.maximum(log_density, LEAST_DENSITY)
        mean = np.where(asked, share @ safe, -np.inf)
        if share.size > MOST_ROWS:
            order = np.lexsort(log_density.T)
            reached = np.cumsum(share[order])
            places = np.searchsorted(reached, (np.arange(MOST_ROWS) + 0.5) / MOST_ROWS)
            chosen = order[np.minimum(places, share.size - 1)]
            log_density, share = log_density[chosen], np.full(MOST_ROWS, 1.0 / MOST_ROWS)
        return cls(code, n_before, n_rows, np.ascontiguousarray(log_density), share, mean, spread)


@dataclass(frozen=True)
class History:
    """How much every forecaster was and is trusted.

    Parameters
    ----------
    names, prior
        K forecasters, and the rows that the prior of the weights is worth to each.
    scores
        Of the last steps that were predicted, earliest first.
    weights
        (S + 1, K): those that each of these steps was predicted with, and those of now.
    """

    names: tuple[str, ...]
    prior: FloatArray
    scores: tuple[StepScores, ...]
    weights: FloatArray

    @classmethod
    def start(cls, prior: Mapping[str, float]) -> History:
        """Nothing was predicted yet: weights are those of the prior, rows by name."""
        rows = np.array(list(prior.values()))
        return cls(tuple(prior), rows, (), rows[None] / rows.sum())

    def then(self, scores: StepScores) -> History:
        """With one more step that was predicted."""
        known = (*self.scores, scores)[-MOST_ORIGINS:]
        weights = np.vstack([self.weights, best_weights(known, self.prior)])[-len(known) - 1 :]
        return History(self.names, self.prior, known, weights)

    @property
    def current(self) -> FloatArray:
        """(K,) the weights of now."""
        return np.asarray(self.weights[-1])

    def weight(self, name: str) -> float:
        """That of one forecaster now."""
        return float(self.current[self.names.index(name)])

    @property
    def spread(self) -> float:
        """How much wider or narrower forecasts should be than their parts say, as a variance.

        An average is closer to what happens than its parts are, which the parts cannot know; or
        steps were wilder than any of them expected. So the deviations of the last steps count,
        beside a guess of one.
        """
        found = np.array([each.spread for each in self.scores])
        n_rows = np.array([each.n_rows for each in self.scores])
        # Few rows say little of their spread: less than a guess that is worth a whole step.
        counts = DISCOUNT ** np.arange(found.size)[::-1] * np.minimum(n_rows / GUESSED_ROWS, 1.0)
        known = np.isfinite(found)
        told = float(np.sum(counts[known] * np.clip(found[known], 1 / MOST_SPREAD, MOST_SPREAD)))
        found_spread = (N_EXPECTED + told) / (N_EXPECTED + float(counts[known].sum()))
        return max(found_spread, LEAST_SPREAD)

    @property
    def codes(self) -> IntArray:
        """(S,) the steps that were predicted."""
        return np.array([each.code for each in self.scores], dtype=np.int64)


def best_weights(scores: tuple[StepScores, ...], prior: FloatArray) -> FloatArray:
    """(K,) by EM; forecasters that the last step has no density of have none."""
    possible = np.isfinite(scores[-1].mean)
    if not possible.any():
        return np.asarray(prior / prior.sum())
    prior = prior[possible]
    densities = [each.log_density[:, possible] for each in scores]
    ages, now = np.arange(len(scores))[::-1], scores[-1].n_before + 1
    counts = [
        DISCOUNT**age * (each.n_before / now) ** LEARNING
        for age, each in zip(ages, scores, strict=True)
    ]
    worth = independent_rows(scores, densities)
    pairs = zip(counts, scores, strict=True)
    share = worth * np.concatenate([u * each.weight for u, each in pairs])
    rows = np.concatenate([_relative(each) for each in densities])
    weights = prior / prior.sum()
    for _ in range(N_STEPS):
        joint = rows * weights
        new = np.einsum("n,nk->k", share / joint.sum(axis=1), joint) + prior
        new /= new.sum()
        moved = float(np.abs(new - weights).max())
        weights = new
        if moved < STILL:
            break
    out = np.zeros(possible.size)
    out[possible] = weights
    return out


def independent_rows(scores: tuple[StepScores, ...], densities: list[FloatArray]) -> float:
    """How many independent rows would have mean scores that vary as much as those of steps do.

    Scores are those of forecasters compared with each other. Between one, and the number of rows.
    """
    apart = [_apart(each) for each in densities]
    means = np.array([each.weight @ d for each, d in zip(scores, apart, strict=True)])
    pairs = zip(scores, apart, means, strict=True)
    within = float(np.mean([each.weight @ (d - mean) ** 2 for each, d, mean in pairs]))
    if within == 0.0:
        return 1.0  # forecasters that agree
    between, n_free = 0.0, len(scores) - 1
    if n_free:
        between = float(means.var(axis=0, ddof=1).mean())
    expected = (N_GUESSED * within / GUESSED_ROWS + n_free * between) / (N_GUESSED + n_free)
    most = 1.0 / float(np.mean([1.0 / each.n_rows for each in scores]))
    return float(np.clip(within / expected, 1.0, most))


def _apart(log_density: FloatArray) -> FloatArray:
    """Log densities of a row, compared with their mean."""
    safe = np.maximum(log_density, LEAST_DENSITY)
    return np.asarray(np.clip(safe - safe.mean(axis=1, keepdims=True), -CLIP, CLIP))


def _relative(log_density: FloatArray) -> FloatArray:
    """Densities over the largest of their row, none of them zero."""
    safe = np.maximum(log_density, LEAST_DENSITY)
    distance = safe - safe.max(axis=1, keepdims=True)
    return np.asarray(np.exp(np.maximum(distance, -MOST_SURPRISED)))
