"""Rows of the page from a fitted regression, classification or count model."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftglm.report.paths import PathRows, by_rank, reach_of

KINDS = ["zero", "static", "drifting", "sign-flip"]
NUMBERS = {
    "inclusion": "inclusion_probability",
    "first": "coef_first",
    "last": "coef_last",
    "next": "coef_next",
    "lower": "lower",
    "upper": "upper",
    "change": "change",
    "autocorrelation": "autocorrelation",
}


def feature_rows(model: Any, feature_names: Any = None) -> PathRows:
    """One row a feature, or a class and feature, in the order of the model's summary."""
    path = np.asarray(model.coef_path_, dtype=np.float64)
    grouped = path.ndim > 2  # noqa: PLR2004
    if not grouped:
        path = path[:, None]
    n_groups, n_features = path.shape[1:]
    names: list[str] = model._names(feature_names)  # noqa: SLF001 (as its summary does)
    # Positions instead of names tell features of the same name apart.
    table = model.summary(feature_names=[str(i) for i in range(n_features)])
    feature = table["feature"].astype(int).to_numpy()
    group = np.repeat(np.arange(n_groups), n_features)
    order = by_rank(np.tile(np.arange(n_features), n_groups), group)
    feature, group = feature[order], group[order]
    reach = reach_of(model)
    if reach is not None and not grouped:
        reach = reach[:, None]
    code = {kind: i for i, kind in enumerate(KINDS)}
    columns = {key: table[name].to_numpy(dtype=np.float64)[order] for key, name in NUMBERS.items()}
    if reach is None:
        del columns["lower"], columns["upper"]
    return PathRows(
        noun="feature",
        group_noun="class" if grouped else None,
        groups=[str(label) for label in model.classes_] if grouped else [""],
        names=names,
        name=feature,
        group=group,
        kind=np.array([code[kind] for kind in table["kind"]])[order],
        kinds=KINDS,
        columns=columns,
        path=path[:, group, feature].T,
        reach=None if reach is None else reach[:, group, feature].T,
        steps=[str(step) for step in model.timesteps_],
    )
