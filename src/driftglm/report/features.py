"""Rows of the page from a fitted regression, classification or count model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.estimators.base import DriftEstimator
from driftglm.fitting.fits import Fit, PosteriorFit
from driftglm.report.paths import PathRows, by_rank, paths_of

KINDS = ["zero", "static", "drifting", "sign-flip"]
COEFFICIENTS = ("first", "last", "next")
NUMBERS = {"inclusion": "inclusion_probability"} | {name: f"coef_{name}" for name in COEFFICIENTS}
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
    path, reach = paths_of(model, group, feature)
    columns = {key: table[name].to_numpy(dtype=np.float64)[order] for key, name in NUMBERS.items()}
    if reach is None:
        del columns["lower"], columns["upper"]
    fits = model._fits  # noqa: SLF001
    columns["unit"] = np.array([_units(fit) for fit in fits])[group, feature]
    names = model._names(feature_names)  # noqa: SLF001 (as its summary does)
    return PathRows(
        noun="feature",
        group_noun="class" if groups else None,
        groups=[str(label) for label in model.classes_] if groups else [""],
        names=names,
        name=feature,
        group=group,
        kind=np.array([KINDS.index(kind) for kind in table["kind"]])[order],
        kinds=KINDS,
        columns=columns,
        path=path,
        reach=reach,
        steps=[str(step) for step in model.timesteps_],
        members={"drifting": ("drifting", "sign-flip")},
        unit_noun=STANDARD_DEVIATION if _knows_deviations(fits[0]) else ROOT_MEAN_SQUARE,
        references=[None if references is None else references.get(name) for name in names],
    )


def _knows_deviations(fit: Fit) -> bool:
    return isinstance(fit, PosteriorFit) and fit.columns.has_intercept


def _units(fit: Fit) -> FloatArray:
    """(p,) what coefficients are multiplied by to be compared: a size of every column.

    The curvature of a path is the sum of squares of its column about its centre, that of the
    intercept the number of rows, both weighted by what a row tells: their ratio is a variance. A
    mode has no such curvatures, but its importance is the root mean square of x * beta.
    """
    if isinstance(fit, PosteriorFit) and fit.columns.has_intercept:
        squares, n = fit.h.sum(axis=1), fit.intercepts.h.sum(axis=1)
        variances = fit.columns.per_feature(fit.unit**2 * squares / n[0], n / n[0])
        return np.asarray(np.sqrt(variances))
    size = np.sqrt(np.mean(fit.coef_path() ** 2, axis=0))
    return np.where(size > 0, fit.importance / np.where(size > 0, size, 1.0), 1.0)
