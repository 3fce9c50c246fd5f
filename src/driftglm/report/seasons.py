"""Seasons as rows of their own, after those of the coefficients they are part of."""

from __future__ import annotations

import dataclasses

import numpy as np

from driftglm._typing import FloatArray
from driftglm.estimators.base import DriftEstimator
from driftglm.estimators.levels import LEVEL, normal_quantile
from driftglm.estimators.seasons import LIKELY
from driftglm.fitting.seasons import Seasons
from driftglm.report.paths import PathRows

KIND, INTERCEPT = "seasonal", "intercept"


def with_seasons(rows: PathRows, model: DriftEstimator) -> PathRows:
    """The rows of a model, and one for every season that is more likely there than not."""
    if model.seasonality_ is None:
        return rows
    found = [
        (_name(rows, i), group, i, season)
        for group, season in enumerate(model._seasons(n_more=1))  # noqa: SLF001
        for i in _likely(season)
    ]
    if not found:
        return rows
    paths = np.array([_column(season, i)[0] for *_, i, season in found])
    reach = normal_quantile(LEVEL) * np.array([_column(season, i)[1] for *_, i, season in found])
    chance = np.array([_chance(season, i) for *_, i, season in found])
    unknown = np.full(len(found), np.nan)
    numbers = {
        "inclusion": chance,
        "first": paths[:, 0],
        "last": paths[:, -2],
        "next": paths[:, -1],
        "lower": (paths - reach)[:, -1],
        "upper": (paths + reach)[:, -1],
        "change": np.ptp(paths[:, :-1], axis=1),
        "unit": np.array([_unit(rows, i, group) for _, group, i, _ in found]),
    }
    columns = {
        key: np.concatenate([values, numbers.get(key, unknown)])
        for key, values in rows.columns.items()
    }
    names = list(dict.fromkeys(name for name, *_ in found))
    place = [len(rows.names) + names.index(name) for name, *_ in found]
    own = np.stack([paths - reach, paths + reach])[:, :, :-1]
    limits = None if rows.limits is None else np.concatenate([rows.limits, own], axis=1)
    return dataclasses.replace(
        rows,
        names=[*rows.names, *names],
        name=np.concatenate([rows.name, place]),
        group=np.concatenate([rows.group, [group for _, group, *_ in found]]),
        kind=np.concatenate([rows.kind, np.full(len(found), len(rows.kinds))]),
        kinds=[*rows.kinds, KIND],
        columns=columns,
        path=np.vstack([rows.path, paths[:, :-1]]),
        limits=limits,
        references=[*rows.references, *(None for _ in names)],
    )


def _likely(season: Seasons) -> list[int]:
    """Columns with a season; -1 is the intercept."""
    first = [-1] if season.intercept_probability >= LIKELY else []
    return [*first, *np.flatnonzero(season.probability >= LIKELY).tolist()]


def _name(rows: PathRows, i: int) -> str:
    return f"{INTERCEPT if i < 0 else rows.names[i]} (season)"


def _column(season: Seasons, i: int) -> tuple[FloatArray, FloatArray]:
    """Path and deviation of a column, or of the intercept."""
    if i < 0:
        return season.intercept, season.intercept_deviation
    return season.mean[:, i], season.deviation[:, i]


def _chance(season: Seasons, i: int) -> float:
    return season.intercept_probability if i < 0 else float(season.probability[i])


def _unit(rows: PathRows, i: int, group: int) -> float:
    """What the column's coefficients are multiplied by to be compared."""
    if i < 0:
        return 1.0
    return float(rows.columns["unit"][(rows.name == i) & (rows.group == group)][0])
