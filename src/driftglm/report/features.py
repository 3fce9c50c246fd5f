"""Rows of the page from a fitted regression, classification or count model."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from driftglm._typing import IntArray
from driftglm.estimators.base import DriftEstimator
from driftglm.report.paths import PathRows, by_rank, paths_of

KINDS = ["zero", "static", "drifting", "sign-flip"]
COEFFICIENTS = ("first", "last", "next")
NUMBERS = {"inclusion": "inclusion_probability"} | {name: f"coef_{name}" for name in COEFFICIENTS}
NUMBERS |= {name: name for name in ("lower", "upper", "change", "autocorrelation")}


def feature_rows(model: DriftEstimator, feature_names: Iterable[object] | None = None) -> PathRows:
    """One row a feature, or a class and feature, in the order of the model's summary."""
    *groups, n_features = model.coef_path_.shape[1:]
    n_groups = groups[0] if groups else 1
    # Positions instead of names tell features of the same name apart.
    table = model.summary(feature_names=[str(i) for i in range(n_features)])
    feature: IntArray = table["feature"].to_numpy(dtype=np.int64)
    group = np.repeat(np.arange(n_groups), n_features)
    order = by_rank(np.tile(np.arange(n_features), n_groups), group)
    feature, group = feature[order], group[order]
    path, reach = paths_of(model, group, feature)
    columns = {key: table[name].to_numpy(dtype=np.float64)[order] for key, name in NUMBERS.items()}
    if reach is None:
        del columns["lower"], columns["upper"]
    return PathRows(
        noun="feature",
        group_noun="class" if groups else None,
        groups=[str(label) for label in model.classes_] if groups else [""],
        names=model._names(feature_names),  # noqa: SLF001 (as its summary does)
        name=feature,
        group=group,
        kind=np.array([KINDS.index(kind) for kind in table["kind"]])[order],
        kinds=KINDS,
        columns=columns,
        path=path,
        reach=reach,
        steps=[str(step) for step in model.timesteps_],
    )
