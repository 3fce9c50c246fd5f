"""Whether one model's losses are lower than another's by more than chance.

Rows of one step share what happened in it, so their losses are dependent. Wilcoxon's test counts
every row as evidence of its own and is too sure of itself; the other two count steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from scipy import stats

from driftglm._typing import FloatArray, IntArray
from driftglm.exceptions import DataError

Method = Literal["wilcoxon", "diebold-mariano", "bootstrap"]
FEWEST = {"diebold-mariano": 2, "bootstrap": 4}
"""Test steps below which a test says nothing."""
N_RESAMPLES = 9999
INTERVAL = 0.9
Found = dict[str, Any]


def find_test(method: str) -> Callable[[FloatArray, FloatArray, IntArray], Found]:
    """The test of a name: (differences, weights, steps) of rows -> a line of a table."""
    if method not in _TESTS:
        known = ", ".join(repr(name) for name in _TESTS)
        raise DataError(f"method={method!r}; {known} are allowed.")
    return _TESTS[method]


def usual_test(weights: FloatArray, n_steps: int) -> Method:
    """The test of sentences about a comparison: of rows, or of steps where rows weigh unequally.

    Signed ranks count a row of weight 1 as much as one of weight 1,000, whatever the mean says.
    """
    uneven = weights.size > 0 and bool(np.ptp(weights) > 0)
    return "bootstrap" if uneven and n_steps >= FEWEST["bootstrap"] else "wilcoxon"


def wilcoxon(difference: FloatArray, weights: FloatArray, steps: IntArray) -> Found:
    """Signed ranks of the rows' differences; zero differences are dropped, as Wilcoxon did."""
    del steps
    found: Found = {"mean_difference": weighted_mean(difference, weights)}
    n_different = int(np.count_nonzero(difference))
    if n_different == 0:
        return found | {"n_different": 0, "statistic": 0.0, "p_value": 1.0}
    test = stats.wilcoxon(difference, zero_method="wilcox")
    numbers = {"statistic": float(test.statistic), "p_value": float(test.pvalue)}
    return found | {"n_different": n_different} | numbers


def diebold_mariano(difference: FloatArray, weights: FloatArray, steps: IntArray) -> Found:
    """Diebold and Mariano's test on the means of steps, one step ahead.

    The correction of Harvey, Leybourne and Newbold for few steps makes it, at this horizon,
    Student's test of one sample.
    """
    means, _ = step_means(difference, weights, steps)
    n_steps = means.size
    found: Found = {"mean_difference": float(means.mean()), "n_steps": n_steps}
    if n_steps < FEWEST["diebold-mariano"]:
        return found | {"statistic": np.nan, "p_value": np.nan, "note": _too_few(n_steps, 2)}
    error = float(means.std(ddof=1)) / np.sqrt(n_steps)
    statistic = _ratio(means.mean(), error)
    p_value = 2.0 * float(stats.t.sf(abs(statistic), n_steps - 1))
    return found | {"statistic": statistic, "p_value": p_value, "note": ""}


def bootstrap(difference: FloatArray, weights: FloatArray, steps: IntArray) -> Found:
    """Whole steps are drawn with replacement, and the mean over all rows is studentised.

    Without that, intervals from few steps are too narrow.
    """
    means, totals = step_means(difference, weights, steps)
    n_steps = means.size
    found: Found = {"mean_difference": weighted_mean(means, totals), "n_steps": n_steps}
    names = ["statistic", "lower", "upper", "p_value"]
    if n_steps < FEWEST["bootstrap"]:
        nothing = dict.fromkeys(names, np.nan)
        return found | nothing | {"note": _too_few(n_steps, FEWEST["bootstrap"])}
    mean, error = (part[0] for part in _studentised(np.ones((1, n_steps)), means, totals))
    rng = np.random.default_rng(0)  # the same answer every time
    counts = rng.multinomial(n_steps, np.full(n_steps, 1.0 / n_steps), size=N_RESAMPLES)
    drawn, errors = _studentised(counts.astype(np.float64), means, totals)
    away = np.abs(drawn - mean)
    # Resamples of a single step have no error; they count as far away.
    distance = np.divide(away, errors, out=np.full_like(away, np.inf), where=errors > 0)
    statistic = _ratio(mean, error)
    p_value = (1.0 + np.count_nonzero(distance >= abs(statistic))) / (1.0 + N_RESAMPLES)
    reach = float(np.quantile(distance, INTERVAL, method="higher")) * error if error > 0 else 0.0
    values = [statistic, mean - reach, mean + reach, p_value if statistic else 1.0]
    return found | dict(zip(names, map(float, values), strict=True)) | {"note": ""}


def step_means(
    values: FloatArray, weights: FloatArray, steps: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Weighted mean and total weight of every step that has any."""
    totals = np.asarray(np.bincount(steps, weights), dtype=np.float64)
    there = totals > 0
    return np.bincount(steps, weights * values)[there] / totals[there], totals[there]


def holm(p_values: FloatArray) -> FloatArray:
    """Holm's step-down correction: the k-th smallest of m times m - k + 1, never falling.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).round(6).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(p_values.size, 0, -1)
    stepped = np.maximum.accumulate(p_values[order] * factors)
    out = np.empty_like(stepped)
    out[order] = np.minimum(stepped, 1.0)
    return out


def _studentised(
    counts: FloatArray, means: FloatArray, totals: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Mean over all rows, and its standard error, of steps that are there `counts` (B, S) times."""
    rows = counts * totals
    total = rows.sum(axis=1)
    mean = rows @ means / total
    apart = totals * (means - mean[:, None])
    n_steps = means.size
    squares = (counts * apart**2).sum(axis=1) * n_steps / (n_steps - 1)
    return mean, np.sqrt(squares) / total


def _ratio(mean: float, error: float) -> float:
    """A mean in standard errors; no difference at all is 0."""
    if error > 0:
        return float(mean / error)
    return 0.0 if mean == 0 else float(np.copysign(np.inf, mean))


def weighted_mean(values: FloatArray, weights: FloatArray) -> float:
    """Weighted mean; NaN where nothing has weight."""
    total = float(weights.sum())
    return float(weights @ values) / total if total > 0 else float("nan")


def _too_few(n_steps: int, least: int) -> str:
    return f"{n_steps} test step{'s' * (n_steps != 1)}; at least {least} are needed"


_TESTS: dict[str, Callable[[FloatArray, FloatArray, IntArray], Found]] = {
    "wilcoxon": wilcoxon,
    "diebold-mariano": diebold_mariano,
    "bootstrap": bootstrap,
}
