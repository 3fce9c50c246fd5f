"""Rows of the page from a fitted text model: the words every effect makes frequent or rare."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from driftglm._typing import FloatArray, IntArray
from driftglm.estimators import DriftTextModel
from driftglm.estimators.statements import INCLUDED
from driftglm.report.paths import PathRows, by_rank, paths_of

KINDS = ["zero", "up", "down", "sign-flip"]


def word_rows(model: DriftTextModel) -> PathRows:
    """One row an effect and word whose coefficient is not zero throughout.

    Within an effect, words in the model come first, then the others, each by the root mean
    square of their coefficients over the steps.
    """
    path = np.asarray(model.coef_path_, dtype=np.float64)
    inclusion = np.asarray(model.inclusion_probability_)
    group, word, n_zero = _order(path, inclusion)
    names = getattr(model, "feature_names_in_", [f"x{i}" for i in range(path.shape[1])])
    rows, limits = paths_of(model, group, word)
    included = inclusion[group, word]
    share = softmax(np.asarray(model.base_background_)[-1])
    columns = {
        "inclusion": included,
        "share": share[word],
        "first": rows[:, 0],
        "last": rows[:, -1],
        "change": rows[:, -1] - rows[:, 0],
    }
    if limits is not None:
        columns |= {"lower": limits[0, :, -1], "upper": limits[1, :, -1]}
    return PathRows(
        noun="word",
        group_noun="effect",
        groups=[str(name) for name in names],
        names=[str(each) for each in model.vocabulary_],
        name=word,
        group=group,
        kind=np.where(included < INCLUDED, 0, _direction(rows, limits)),
        kinds=KINDS,
        columns=columns,
        path=rows,
        limits=limits,
        steps=[str(step) for step in model.timesteps_],
        unlisted=n_zero,
    )


def _order(path: FloatArray, inclusion: FloatArray) -> tuple[IntArray, IntArray, int]:
    """Effect and word of every row, best of all effects first, and how many rows are zero."""
    size = np.sqrt(np.mean(path**2, axis=0))
    order = np.lexsort((-size, inclusion < INCLUDED), axis=1)
    rank = np.tile(np.arange(size.shape[1]), size.shape[0])
    group = np.repeat(np.arange(size.shape[0]), size.shape[1])
    placed = by_rank(rank, group)
    group, word = group[placed], order.ravel()[placed]
    present = size[group, word] > 0
    return group[present], word[present], int(present.size - present.sum())


def _direction(rows: FloatArray, limits: FloatArray | None) -> IntArray:
    """1 up, 2 down, 3 both ways at different steps as far as 90 % intervals tell."""
    low, high = (rows, rows) if limits is None else limits
    flips = (low > 0).any(axis=1) & (high < 0).any(axis=1)
    return np.where(flips, 3, np.where(rows.sum(axis=1) >= 0, 1, 2))
