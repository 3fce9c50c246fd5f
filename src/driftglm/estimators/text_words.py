"""Words of a fitted text model: tables of the strongest ones, and a figure of their paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from driftglm._typing import FloatArray
from driftglm.estimators.text_data import Words
from driftglm.exceptions import DataError


def top_words(
    words: Words, coef: FloatArray, inclusion: FloatArray, shares: FloatArray, k: int
) -> pd.DataFrame:
    """The `k` words an effect raises most and the `k` it lowers most, strongest first.

    All arguments but `k` are (V,): names, coefficients, inclusion, and share of a document whose
    effects are at their means. Words whose coefficient is zero are not listed.
    """
    if k < 1:
        raise DataError(f"k={k}; ask for one word or more.")
    order = np.argsort(-np.abs(coef), kind="stable")
    chosen = np.concatenate([order[coef[order] > 0][:k], order[coef[order] < 0][:k]])
    return pd.DataFrame(
        {
            "word": np.asarray(words, dtype=object)[chosen],
            "coef": coef[chosen],
            "inclusion_probability": inclusion[chosen],
            "share": shares[chosen],
        }
    )


def words_figure(
    title: str, labels: Sequence[Any], words: Words, paths: FloatArray, std: Any
) -> Any:
    """Paths (T, k) of some words over time, with bands of 90 % where deviations are given."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    axes = figure.subplots()
    at = np.arange(len(labels))
    for j, word in enumerate(words):
        (line,) = axes.plot(at, paths[:, j], marker="o", markersize=3, label=word)
        if std is not None:
            reach = 1.6449 * std[:, j]
            low, high = paths[:, j] - reach, paths[:, j] + reach
            axes.fill_between(at, low, high, color=line.get_color(), alpha=0.12, linewidth=0)
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.set_xticks(at, [str(label) for label in labels])
    axes.set_xlabel("timestep")
    axes.set_ylabel("coefficient (change of the log rate)")
    axes.set_title(title)
    if len(words):
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
