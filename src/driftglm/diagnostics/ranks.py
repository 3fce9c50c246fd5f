"""Ranks in place of numbers, so that a few wild rows cannot fake a pattern."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, norm, rankdata

from driftglm._typing import FloatArray, IntArray


def normal_scores(values: FloatArray) -> FloatArray:
    """Normal quantiles of the ranks (Blom's); ties share one."""
    if not values.size:
        return values
    return np.asarray(norm.ppf((rankdata(values) - 0.375) / (values.size + 0.25)))


def half_normal_scores(values: FloatArray) -> FloatArray:
    """Quantiles of |N(0, 1)| of the ranks, as Fligner and Killeen use them; ties share one."""
    if not values.size:
        return values
    return np.asarray(norm.ppf(0.5 + rankdata(values) / (2 * (values.size + 1))))


def step_deviations(scores: FloatArray, steps: IntArray, counts: IntArray) -> FloatArray:
    """(T,) by how many standard errors the mean score of a step is off; 0 for empty steps.

    The standard error is that of a draw without replacement. Constant scores are off by nothing.
    """
    n = scores.size
    sums = np.bincount(steps, weights=scores - scores.mean(), minlength=counts.size)
    # Of n rows in a step all n may be in it: then nothing is left to vary.
    spread = scores.var(ddof=1) * counts * (1 - counts / n)
    off = np.zeros(counts.size)
    known = spread > np.finfo(np.float64).eps * n
    off[known] = sums[known] / np.sqrt(spread[known])
    return off


def differ(scores: FloatArray, steps: IntArray, counts: IntArray) -> float:
    """P-value of equal mean scores in all steps (the chi-squared test of Kruskal and Wallis)."""
    here = int((counts > 0).sum())
    if here < 2 or np.ptp(scores) == 0:  # noqa: PLR2004
        return 1.0
    off = step_deviations(scores, steps, counts)
    return float(chi2.sf((off**2 * (1 - counts / scores.size)).sum(), here - 1))
