"""Losses of single predictions, and which of them suits which models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy
from sklearn.base import is_classifier

from driftglm._typing import FloatArray
from driftglm.evaluation.contestants import is_text
from driftglm.exceptions import DataError

SMALLEST = float(np.finfo(np.float64).eps)
"""Probabilities are kept this far from 0 and 1, as scikit-learn's log loss does."""
LossFunction = Callable[[Any, FloatArray], FloatArray]


@dataclass(frozen=True)
class Metric:
    """The loss of one prediction; a table shows its mean.

    Parameters
    ----------
    name
        As the user names it.
    label
        As a table's heading names it.
    loss
        (y, predictions) -> one loss per row, lower is better.
    """

    name: str
    label: str
    loss: LossFunction

    def __call__(self, y: Any, prediction: FloatArray, model: str) -> FloatArray:
        """Losses of one model's predictions, which must all be finite."""
        losses = np.asarray(self.loss(y, prediction), dtype=np.float64)
        if losses.shape != (len(y),):
            raise DataError(
                f"metric {self.name!r} gave shape {losses.shape} for {len(y)} rows; "
                "it must give one loss per row."
            )
        bad = ~np.isfinite(losses)
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"model {model!r} predicts {prediction[row]:g} where y is {y[row]}, which has no "
                f"finite loss under metric {self.name!r}. Choose another metric, e.g. metric='mse'."
            )
        return losses


def squared_error(y: Any, prediction: FloatArray) -> FloatArray:
    """(y - prediction)^2."""
    return np.asarray((np.asarray(y, dtype=np.float64) - prediction) ** 2)


def log_loss(y: Any, prediction: FloatArray) -> FloatArray:
    """Minus the log of the probability given to what happened; `prediction` is that."""
    del y
    return np.asarray(-np.log(np.clip(prediction, SMALLEST, 1.0)))


def poisson_deviance(y: Any, prediction: FloatArray) -> FloatArray:
    """2 (y log(y / mu) - y + mu); infinite where a mean is not positive."""
    counts = np.asarray(y, dtype=np.float64)
    positive = prediction > 0
    mean = np.where(positive, prediction, 1.0)
    deviance = 2 * (xlogy(counts, counts / mean) - counts + mean)
    return np.where(positive, np.maximum(deviance, 0.0), np.inf)


def negative_log_likelihood(y: Any, prediction: FloatArray) -> FloatArray:
    """Minus the log-likelihood of a document; `prediction` is that."""
    del y
    return np.asarray(-prediction)


METRICS = {
    "mse": Metric("mse", "mean squared error", squared_error),
    "log_loss": Metric("log_loss", "log loss", log_loss),
    "poisson": Metric("poisson", "mean Poisson deviance", poisson_deviance),
    "nll": Metric("nll", "mean negative log-likelihood", negative_log_likelihood),
}


def find_metric(metric: str | LossFunction, finals: dict[str, Any]) -> Metric:
    """The metric asked for, or the one that suits all contestants (their last steps)."""
    if callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__)
        return Metric(name, name.replace("_", " "), metric)
    if metric == "auto":
        return METRICS[_auto(finals)]
    if metric not in METRICS:
        known = ", ".join(repr(name) for name in METRICS)
        raise DataError(
            f"metric={metric!r}; 'auto', {known} or a function (y, prediction) -> losses."
        )
    texts = [name for name, final in finals.items() if is_text(final)]
    if (metric == "nll") != bool(texts) or 0 < len(texts) < len(finals):
        raise DataError(
            f"metric={metric!r} does not suit all models ({', '.join(texts) or 'none'} are of "
            "text); compare text models by 'nll' and the others by the others."
        )
    needs_classes = [name for name, final in finals.items() if is_classifier(final)]
    if (metric == "log_loss") != bool(needs_classes) or 0 < len(needs_classes) < len(finals):
        raise DataError(
            f"metric={metric!r} does not suit all models ({', '.join(needs_classes) or 'none'} "
            "predict classes); compare classifiers by 'log_loss' and regressors by the others."
        )
    return METRICS[metric]


def _auto(finals: dict[str, Any]) -> str:
    classifiers = [name for name, final in finals.items() if is_classifier(final)]
    if classifiers and len(classifiers) < len(finals):
        others = [name for name in finals if name not in classifiers]
        raise DataError(
            f"{classifiers[0]!r} predicts classes and {others[0]!r} does not; "
            "they have no loss in common. Compare one kind at a time."
        )
    if classifiers:
        return "log_loss"
    texts = [name for name, final in finals.items() if is_text(final)]
    if texts and len(texts) < len(finals):
        others = [name for name in finals if name not in texts]
        raise DataError(
            f"{texts[0]!r} is a model of text and {others[0]!r} is not; "
            "they have no loss in common. Compare one kind at a time."
        )
    if texts:
        return "nll"
    return "poisson" if any(map(_is_poisson, finals.values())) else "mse"


def _is_poisson(model: Any) -> bool:
    """Whether a model is one of counts, by its own parameters or by its name."""
    names = ("family", "loss", "criterion", "objective")
    stated = {str(getattr(model, name, None)) for name in names}
    return bool(stated & {"poisson", "count:poisson"}) or "Poisson" in type(model).__name__
