"""The table of features: what matters, whether it drifts, and where it stands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from driftglm._typing import BoolArray
from driftglm.estimators.levels import LEVEL, normal_quantile
from driftglm.estimators.statements import Thresholds, judged
from driftglm.fitting.fits import Fit, Step
from driftglm.fitting.identity import ColumnNotes
from driftglm.fitting.sampled import SampledFit


def summarise(
    fit: Fit,
    step: Step,
    names: Sequence[str],
    notes: ColumnNotes,
    thresholds: Thresholds,
    again: BoolArray | None = None,
) -> pd.DataFrame:
    """One row a feature, most important first; `step` is the one to predict next.

    Columns that cannot be told from something else come after all others. `again`: see `judged`.
    """
    path, found = fit.coef_path(), judged(fit, thresholds, notes, again)
    std = np.sqrt(step.total_variance) if fit.posterior else np.nan  # which a mode has not
    reach = normal_quantile(LEVEL) * std
    table = pd.DataFrame(
        {
            "feature": names,
            "inclusion_probability": found.inclusion,
            "drift_probability": found.drift,
            "kind": found.kind,
            "coef_first": path[0],
            "coef_last": path[-1],
            "coef_next": step.coef,
            "lower": step.coef - reach,
            "upper": step.coef + reach,
            "change": found.changes.estimate,
            "change_lower": found.changes.lower,
            "change_upper": found.changes.upper,
            "autocorrelation": fit.autocorrelation(),
            "reference": "",
            "note": [
                notes.said(i, names, float(found.effect[i]) if kind == "shared" else None)
                for i, kind in enumerate(found.kind)
            ],
        }
    )
    if isinstance(fit, SampledFit):
        table["r_hat"], table["effective_draws"] = fit.compared()
    order = np.lexsort((-fit.importance, notes.any))
    return table.iloc[order].reset_index(drop=True)
