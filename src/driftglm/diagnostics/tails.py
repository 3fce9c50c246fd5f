"""More far-off rows than the model allows."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2, norm

from driftglm._typing import FloatArray
from driftglm.diagnostics.finding import Finding, severity
from driftglm.diagnostics.inputs import Residuals

FEWEST = 4
"""Rows a step must have for a kurtosis."""
FEWEST_ROWS = 20
MINOR, MAJOR = 0.5, 2.0
"""Excess kurtosis: Student errors with 16 and with 7 degrees of freedom."""
MINOR_SPREAD, MAJOR_SPREAD = 1.1, 1.5
"""Variance of the residuals of counts, where 1 is right."""
SKEWED = 0.2
"""Lopsidedness of the 90 % range from which the far-off rows are said to be on one side."""

SYMMETRIC = (
    "a few rows are far off: look at those with the largest residuals for mistakes, or let errors "
    "have tails (DriftRegressor(errors='student')); until then wide intervals leave out more rows "
    "than they say"
)
LOPSIDED = (
    "the far-off rows are on one side: transform y (its logarithm or its root, say), or use the "
    "Poisson family for counts"
)


def tails(given: Residuals) -> Finding | None:
    """Heavy tails of a continuous y; counts and classes that vary too much."""
    return heavy_tails(given) if given.continuous else overdispersion(given)


def heavy_tails(given: Residuals) -> Finding | None:
    """Kurtosis inside steps, each measured in its own standard deviation, pooled.

    The first three moments of the kurtosis of n normal rows are known exactly, and so are those of
    a mean over steps; Anscombe and Glynn's transform makes it normal. With one step this is
    `scipy.stats.kurtosistest`. A variance that moves over steps leaves it alone.
    """
    several = given.within(FEWEST)
    if several.residual.size < FEWEST_ROWS:
        return None
    there = several.counts > 0
    n = several.counts[there].astype(np.float64)
    centered = several.residual - several.means(several.residual)[several.steps]
    second = several.means(centered**2)[there]
    fourth = several.means(centered**4)[there]
    flat = second <= np.finfo(np.float64).tiny
    kurtosis = np.where(flat, 3.0, fourth / np.where(flat, 1.0, second**2))
    excess, p_value = _pooled(kurtosis, n)
    # Quantiles, as a third moment of heavy tails is mostly its largest row.
    low, middle, high = np.quantile(centered, [0.05, 0.5, 0.95])
    skew = float((high + low - 2 * middle) / (high - low)) if high > low else 0.0
    return Finding(
        check="tails",
        finding=(
            f"residuals inside steps have an excess kurtosis of {excess:.1f} (normal: 0), as "
            f"Student errors with {_freedom(excess)} degrees of freedom; their 90 % range is "
            f"lopsided by {100 * skew:.0f} %"
        ),
        advice=SYMMETRIC if abs(skew) < SKEWED else LOPSIDED,
        statistic=excess,
        p_value=p_value,
        severity=severity(excess, MINOR, MAJOR),
    )


def overdispersion(given: Residuals) -> Finding | None:
    """Variance of residuals inside steps above 1, which a right model of counts leaves."""
    several = given.within(2)
    free = several.residual.size - int((several.counts > 0).sum())
    if free < FEWEST_ROWS:
        return None
    centered = several.residual - several.means(several.residual)[several.steps]
    total = float((centered**2).sum())
    variance = total / free
    return Finding(
        check="tails",
        finding=f"residuals inside steps have variance {variance:.2f}, where 1 is right",
        advice=(
            "y varies more than its family allows: look for columns that are missing or an "
            "exposure that was not passed; for counts try family='negative-binomial', for "
            "successes out of trials 'beta-binomial'; until then take intervals for too narrow"
        ),
        statistic=variance,
        p_value=float(chi2.sf(total, free)),
        severity=severity(variance, MINOR_SPREAD, MAJOR_SPREAD),
    )


def _pooled(kurtosis: FloatArray, n: FloatArray) -> tuple[float, float]:
    """Mean excess kurtosis over steps, weighted by rows, and its one-sided p-value."""
    share = n / n.sum()
    expected = 3 * (n - 1) / (n + 1)
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    skew = 6 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9))
    skew *= np.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    excess = float((share * (kurtosis - expected)).sum())
    spread = float((share**2 * variance).sum())
    lean = float((share**3 * variance**1.5 * skew).sum()) / spread**1.5
    lean = max(lean, 1e-6)  # steps of four rows lean a little to the left
    a = 6 + 8 / lean * (2 / lean + np.sqrt(1 + 4 / lean**2))
    ratio = (1 - 2 / a) / (1 + excess / np.sqrt(spread) * np.sqrt(2 / (a - 4)))
    normal = (1 - 2 / (9 * a) - np.cbrt(ratio)) / np.sqrt(2 / (9 * a))
    # Far below what is expected the transform breaks down, and nothing is heavy there.
    return excess, float(norm.sf(normal)) if ratio > 0 else 1.0


def _freedom(excess: float) -> str:
    """Degrees of freedom of a Student distribution of this kurtosis."""
    return f"about {4 + 6 / excess:.0f}" if excess > 0 else "many"
