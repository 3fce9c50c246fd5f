"""The table of features: what matters, whether it drifts, and where it stands."""

from __future__ import annotations

from numbers import Real

import numpy as np
import pandas as pd
from scipy.stats import norm

from driftglm.exceptions import DataError
from driftglm.fitting.fits import Fit, Step

INCLUDED = 0.5
LEVEL = 0.9


def normal_quantile(level: float) -> float:
    """Half-width of a central interval in standard deviations."""
    if not (isinstance(level, Real) and 0 < level < 1):
        raise DataError(f"level={level!r}; pass a probability between 0 and 1, e.g. 0.9.")
    return float(norm.ppf(0.5 + 0.5 * level))


def kinds(fit: Fit) -> np.ndarray:
    """zero, static, sign-flip or drifting, for every feature."""
    path = fit.coef_path()
    reach = normal_quantile(LEVEL) * (fit.std_path() if fit.posterior else 0.0)
    flips = ((path - reach > 0).any(axis=0)) & ((path + reach < 0).any(axis=0))
    static = fit.static_probability() >= INCLUDED
    moving = np.where(flips, "sign-flip", "drifting")
    kind = np.where(static | (fit.n_timesteps == 1), "static", moving)
    return np.where(fit.inclusion() < INCLUDED, "zero", kind)


def summarise(fit: Fit, step: Step, names: list[str]) -> pd.DataFrame:
    """One row a feature, most important first; `step` is the one to predict next."""
    path = fit.coef_path()
    std = np.sqrt(step.total_variance) if fit.posterior else np.nan  # which a mode has not
    reach = normal_quantile(LEVEL) * std
    table = pd.DataFrame(
        {
            "feature": names,
            "inclusion_probability": fit.inclusion(),
            "kind": kinds(fit),
            "coef_first": path[0],
            "coef_last": path[-1],
            "coef_next": step.coef,
            "lower": step.coef - reach,
            "upper": step.coef + reach,
            "change": path[-1] - path[0],
            "autocorrelation": fit.autocorrelation(),
        }
    )
    order = np.argsort(-fit.importance, kind="stable")
    return table.iloc[order].reset_index(drop=True)
