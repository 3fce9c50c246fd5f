"""Rows next to each other that are alike."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from driftglm.diagnostics.finding import Finding, severity
from driftglm.diagnostics.inputs import Residuals

FEWEST_PAIRS = 20
MINOR, MAJOR = 0.05, 0.2
"""Correlations; below the first, standard errors are too small by less than 5 %."""

ADVICE = (
    "rows next to each other are dependent, so there is less information than rows: sum them up to "
    "the unit that is independent (a day, a firm), or add columns of what neighbours share"
)


def neighbours(given: Residuals) -> Finding | None:
    """Correlation of rows next to each other in their step, in the order of the user.

    Normal scores less the mean of their step. If the order of the rows in a step means nothing,
    two of its n rows have correlation -1 / (n - 1) exactly, whatever an intercept has taken off;
    that is added back. One-sided: only positive dependence makes a fit too sure of itself.
    """
    several = given.within(3)
    n_pairs = int((several.counts - 1)[several.counts > 0].sum())
    if n_pairs < FEWEST_PAIRS:
        return None
    centered = several.scores - several.means(several.scores)[several.steps]
    variance = np.nan_to_num(several.means(centered**2))
    order = np.argsort(several.steps, kind="stable")
    step, ordered = several.steps[order], centered[order]
    same = step[1:] == step[:-1]
    products = float((ordered[1:] * ordered[:-1])[same].sum() + variance.sum())
    spread = float(np.sqrt((several.counts * variance**2).sum()))
    total = float((several.counts * variance).sum())
    correlation = products / total if total > 0 else 0.0
    return Finding(
        check="neighbours",
        finding=(
            f"rows next to each other in a step have residuals of correlation {correlation:.2f} "
            f"({n_pairs:,} pairs)"
        ),
        advice=ADVICE,
        statistic=correlation,
        p_value=float(norm.sf(products / spread)) if spread > 0 else 1.0,
        severity=severity(correlation, MINOR, MAJOR),
    )
