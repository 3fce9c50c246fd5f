"""Losses of single predictions, and which of them suits which models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, is_classifier

from driftglm._typing import FloatArray
from driftglm.evaluation.contestants import is_text
from driftglm.evaluation.scores import SCORES, Score
from driftglm.exceptions import DataError
from driftglm.families import Poisson, family_named
from driftglm.registry import FAMILIES

SMALLEST = float(np.finfo(np.float64).eps)
"""Probabilities are clipped this far from 0 and 1, as scikit-learn's log loss does."""
ANY_MEAN = "mse"
"""What means are compared by if no model asks for another metric."""
KINDS: tuple[tuple[str, Callable[[BaseEstimator], bool], str], ...] = (
    ("nll", is_text, "words"),
    ("log_loss", is_classifier, "classes"),
)
"""Metrics that only some models have, which models those are, and what they predict."""
LossFunction = Callable[[np.ndarray, FloatArray], FloatArray]


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

    def __call__(self, y: np.ndarray, prediction: FloatArray, model: str) -> FloatArray:
        """Losses of one model's predictions, which must all be finite."""
        losses = np.asarray(self.loss(y, prediction), dtype=np.float64)
        if losses.shape != (len(y),):
            raise DataError(
                f"metric {self.name!r} gave shape {losses.shape} for {len(y)} rows; "
                "it must give one loss per row."
            )
        return finite(losses, y, prediction, f"metric {self.name!r}", model)


def finite(
    losses: FloatArray, y: np.ndarray, prediction: FloatArray, metric: str, model: str
) -> FloatArray:
    """The losses; DataError about the first that is not finite."""
    bad = ~np.isfinite(losses)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"model {model!r} predicts {prediction[row]:g} where y is {y[row]}, which has no "
            f"finite loss under {metric}. Choose another metric, e.g. metric='mse'."
        )
    return losses


def log_loss(y: np.ndarray, prediction: FloatArray) -> FloatArray:
    """Minus the log of the probability given to what happened; `prediction` is that."""
    del y
    return np.asarray(-np.log(np.clip(prediction, SMALLEST, 1.0)))


def negative_log_likelihood(y: np.ndarray, prediction: FloatArray) -> FloatArray:
    """Minus the log-likelihood of a document; `prediction` is that."""
    del y
    return np.asarray(-prediction)


@dataclass(frozen=True)
class MeanLoss:
    """What the family of a name judges a predicted mean by."""

    family: str

    def __call__(self, y: np.ndarray, prediction: FloatArray) -> FloatArray:
        """Losses of predicted means."""
        target = np.asarray(y, dtype=np.float64)
        return family_named(self.family).prediction_loss(target, prediction)


def metrics() -> dict[str, Metric]:
    """By name: those of the families registered by now, and that of texts."""
    found: dict[str, Metric] = {}
    for name in FAMILIES:
        family = family_named(name)
        if family.target == "classes":
            found.setdefault("log_loss", Metric("log_loss", "log loss", log_loss))
        else:
            made = Metric(family.metric, family.metric_label, MeanLoss(name))
            found.setdefault(family.metric, made)
    return found | {"nll": Metric("nll", "mean negative log-likelihood", negative_log_likelihood)}


def _unambiguous(metric: str) -> Metric:
    """A metric by name; DataError if two families call two losses by it."""
    owners = [name for name in FAMILIES if family_named(name).metric == metric]
    ways = {type(family_named(name)).prediction_loss: name for name in owners}
    if len(ways) > 1 and metric != "log_loss":
        one, other, *_ = ways.values()
        raise DataError(
            f"families {one!r} and {other!r} both call their loss {metric!r} and mean different "
            "things; give one of them another name (Family.metric), or pass a function."
        )
    return metrics()[metric]


def find_metric(metric: str | LossFunction, finals: dict[str, BaseEstimator]) -> Metric | Score:
    """The metric asked for, or the one that suits all contestants (their last steps)."""
    if callable(metric):
        name = getattr(metric, "__name__", type(metric).__name__)
        return Metric(name, name.replace("_", " "), metric)
    if metric == "auto":
        return _unambiguous(_auto(finals))
    if metric in SCORES:
        _check_distances(metric, finals)
        return SCORES[metric]
    if metric not in metrics():
        known = ", ".join(repr(name) for name in (*metrics(), *SCORES))
        raise DataError(
            f"metric={metric!r}; 'auto', {known} or a function (y, prediction) -> losses."
        )
    for own, is_kind, what in KINDS:
        members = [name for name, final in finals.items() if is_kind(final)]
        if (metric == own) != bool(members) or 0 < len(members) < len(finals):
            raise DataError(
                f"metric={metric!r} does not suit all models ({', '.join(members) or 'none'} "
                f"predict {what}); compare those by {own!r} and the others by the others."
            )
    return _unambiguous(metric)


def _check_distances(metric: str, finals: dict[str, BaseEstimator]) -> None:
    """Refuse scores that would take the sorted labels of classes for numbers."""
    classes = [name for name, final in finals.items() if is_classifier(final)]
    if classes and metric in {"crps", "interval-score", "quantile"}:
        raise DataError(
            f"metric={metric!r} measures distances and {classes[0]!r} predicts classes, which "
            "have none; use 'log-score' or 'brier', or 'ranked-probability' if the sorted "
            "labels are in an order that means something."
        )


def _auto(finals: dict[str, BaseEstimator]) -> str:
    for own, is_kind, what in KINDS:
        members = [name for name, final in finals.items() if is_kind(final)]
        others = [name for name in finals if name not in members]
        if members and others:
            raise DataError(
                f"{members[0]!r} predicts {what} and {others[0]!r} does not; "
                "they have no loss in common. Compare one kind at a time."
            )
        if members:
            return own
    return _of_means(finals)


def _of_means(finals: dict[str, BaseEstimator]) -> str:
    """The metric of the models that have one of their own, else squared errors.

    Those mean something whatever is predicted, so that a model of them may be judged by others.
    """
    own = {name: _own_metric(final) for name, final in finals.items()}
    wanted = {metric: name for name, metric in own.items() if metric not in {None, ANY_MEAN}}
    if len(wanted) > 1:
        (one, first), (other, second), *_ = wanted.items()
        raise DataError(
            f"{first!r} is to be compared by {one!r} and {second!r} by {other!r}; pass the metric "
            f"to compare all by, e.g. metric={one!r}."
        )
    return str(next(iter(wanted), ANY_MEAN))


def _own_metric(model: BaseEstimator) -> str | None:
    """That of the family a model names, or of the counts that it is for by the look of it."""
    named = (getattr(model, attribute, None) for attribute in ("family", "family_name"))
    known = [name for name in named if isinstance(name, str) and name in FAMILIES]
    if known:
        return family_named(known[0]).metric
    return Poisson.metric if _is_of_counts(model) else None


def _is_of_counts(model: BaseEstimator) -> bool:
    """Whether another library's model is one of counts, by its parameters or by its name."""
    stated = {str(getattr(model, name, None)) for name in ("loss", "criterion", "objective")}
    return bool(stated & {"poisson", "count:poisson"}) or "Poisson" in type(model).__name__
