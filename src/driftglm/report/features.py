"""Rows of the page from a fitted regression, classification or count model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.estimators.base import DriftEstimator
from driftglm.estimators.statements import KINDS, OUTSIDE, TOGETHER
from driftglm.report.paths import PathRows, by_rank, paths_of

COEFFICIENTS = ("first", "last", "next")
NUMBERS = {"inclusion": "inclusion_probability", "drift": "drift_probability"}
NUMBERS |= {name: f"coef_{name}" for name in COEFFICIENTS}
NUMBERS |= {name: name for name in ("lower", "upper", "change", "autocorrelation")}
STANDARD_DEVIATION, ROOT_MEAN_SQUARE = "standard deviation", "root mean square"


def feature_rows(
    model: DriftEstimator,
    feature_names: Iterable[object] | None = None,
    references: Mapping[str, str] | None = None,
) -> PathRows:
    """One row a feature, or a class and feature, in the order of the model's summary."""
    *groups, n_features = model.coef_path_.shape[1:]
    n_groups = groups[0] if groups else 1
    # Positions instead of names tell features of the same name apart.
    table = model.summary(feature_names=[str(i) for i in range(n_features)])
    feature: IntArray = table["feature"].to_numpy(dtype=np.int64)
    group = np.repeat(np.arange(n_groups), n_features)
    order = by_rank(np.tile(np.arange(n_features), n_groups), group)
    feature, group = feature[order], group[order]
    path, limits = paths_of(model, group, feature)
    columns = {key: table[name].to_numpy(dtype=np.float64)[order] for key, name in NUMBERS.items()}
    if limits is None:
        del columns["lower"], columns["upper"]
    fits = model._fits  # noqa: SLF001
    spread = np.array([fit.sizes.spread for fit in fits])[group, feature]
    columns["unit"] = np.where(spread > 0, spread, 1.0)
    names = model._names(feature_names)  # noqa: SLF001 (as its summary does)
    kind = table["kind"].to_numpy()[order]
    effect = np.atleast_2d(model.effect_probability_)[group, feature]
    notes = _notes(model, feature, names, np.where(kind == "shared", effect, np.nan))
    return PathRows(
        noun="feature",
        group_noun="class" if groups else None,
        groups=[str(label) for label in model.classes_] if groups else [""],
        names=names,
        name=feature,
        group=group,
        kind=np.array([KINDS.index(each) for each in kind]),
        kinds=list(KINDS),
        columns=columns,
        path=path,
        limits=limits,
        steps=[str(step) for step in model.timesteps_],
        members=TOGETHER,
        outside=OUTSIDE,
        notes=notes,
        unit_noun=STANDARD_DEVIATION if fits[0].columns.has_intercept else ROOT_MEAN_SQUARE,
        references=[None if references is None else references.get(name) for name in names],
    )


def _notes(
    model: DriftEstimator, feature: IntArray, names: list[str], effect: FloatArray
) -> list[str]:
    """What speaks against the column of every row; `effect` is not NaN for shared ones."""
    said = model._notes.said  # noqa: SLF001
    pairs = zip(feature.tolist(), effect.tolist(), strict=True)
    return [said(i, names, None if np.isnan(p) else p) for i, p in pairs]
