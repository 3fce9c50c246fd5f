"""Scores of predicted distributions: which there are, and how a model is scored on a fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from driftglm._typing import FloatArray, IntArray, MatrixLike
from driftglm.baselines.with_errors import class_distribution
from driftglm.evaluation.contestants import (
    Data,
    is_mode,
    is_text,
    predicted,
    take,
)
from driftglm.exceptions import DataError
from driftglm.fitting.reading import class_numbers
from driftglm.predictive import (
    Distribution,
    brier,
    crps,
    interval_score,
    log_score,
    quantile_score,
    ranked_probability,
)

WIDTHS = (0.5, 0.8, 0.9)
"""Levels of the intervals whose widths a comparison stores."""
UNABLE = DataError, NotImplementedError
"""What a model or a score raises about a distribution that is not there."""
ScoreFunction = Callable[[Distribution, np.ndarray], FloatArray]
Scored = tuple[dict[str, Any], dict[str, FloatArray]]


@dataclass(frozen=True)
class Score:
    """A loss of predicted distributions; a table shows its mean.

    Parameters
    ----------
    name
        As the user names it.
    label
        As a table's heading names it.
    loss
        (distribution, y) -> one loss per row, lower is better.
    """

    name: str
    label: str
    loss: ScoreFunction


SCORES = {
    score.name: score
    for score in (
        Score("crps", "mean CRPS", crps),
        Score("log-score", "mean log score", log_score),
        Score("brier", "mean Brier score", brier),
        Score("ranked-probability", "mean ranked probability score", ranked_probability),
        Score("interval-score", "mean score of 90 % intervals", interval_score),
        Score("quantile", "mean quantile score", quantile_score),
    )
}
"""By the name users type."""


def points_only(final: BaseEstimator) -> str:
    """Why an unfitted model will have no distributions; "" if it may have."""
    if is_text(final):
        return "documents are compared by metric='nll'"
    if hasattr(final, "predict_distribution"):
        if not is_mode(final):
            return ""
        return f"a fit with prior={final.prior!r} is a posterior mode and has no distributions"
    if is_classifier(final) and hasattr(final, "predict_proba"):
        return ""
    return (
        f"{type(final).__name__} predicts points; driftglm.baselines.WithNormalErrors puts a "
        "distribution around them"
    )


def scored(score: Score, final: BaseEstimator, X_new: Any, data: Data, test: IntArray) -> Scored:
    """Prediction, loss, PIT and widths of the test rows; or why there are none, under "left_out".

    `final` is fitted, and `X_new` are the test rows as it takes them.
    """
    found = {"prediction": predicted(final, X_new, data, test)}
    y = data.counts(test)[:, 0] if data.of_trials else data.target(test)
    try:
        forecast = distribution(final, X_new, data, test)
        if is_classifier(final):
            y = class_numbers(y, final.classes_)
        found["loss"] = np.asarray(score.loss(forecast, y), dtype=np.float64)
    except UNABLE as error:
        return {"left_out": str(error)}, {}
    # The same every time, and not the same in every step.
    found["pit"] = forecast.pit(y, random_state=int(test[0]))
    if not is_classifier(final):  # codes of classes have no distance
        found["width"] = np.column_stack([np.diff(forecast.interval(w))[:, 0] for w in WIDTHS])
    return {}, found


def distribution(final: BaseEstimator, X: MatrixLike, data: Data, rows: IntArray) -> Distribution:
    """What a fitted model says about some rows; of classifiers, at least their probabilities."""
    if hasattr(final, "predict_distribution"):
        # `predict` has an exposure only where the family takes one.
        extras = data.extras(rows, final, "predict")
        if data.of_trials:
            extras["trials"] = data.counts(rows).sum(axis=1)
        made: Distribution = final.predict_distribution(X, **extras)
        return made
    return class_distribution(final.predict_proba(X, **data.extras(rows, final, "predict_proba")))


def loss_of_classes(
    score: Score, data: Data, rows: IntArray, probability: FloatArray
) -> FloatArray:
    """Score of probabilities (n, K) of all classes of the comparison."""
    codes = class_numbers(np.asarray(take(data.y, rows)), np.unique(data.y))
    return score.loss(class_distribution(probability), codes)
