"""One model in a comparison: fit it, hand it time where it takes it, predict."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from driftglm._typing import FloatArray, IntArray
from driftglm._warnings import warn
from driftglm.data.timesteps import TimeAxis
from driftglm.exceptions import DataError, DataWarning
from driftglm.families import family_named
from driftglm.fitting.identity import unsaid
from driftglm.priors import Learned
from driftglm.registry import FAMILIES, PRIORS, resolve


@dataclass(frozen=True)
class Data:
    """All rows of a comparison."""

    X: Any
    y: Any
    time: Any
    axis: TimeAxis
    codes: IntArray
    sample_weight: FloatArray | None
    exposure: FloatArray | None
    of_trials: bool = False
    """Whether y has two columns, successes and failures."""
    groups: np.ndarray | None = None
    """Ids of what rows have in common."""
    names: tuple[str, ...] | None = None
    """Names of the columns of X, where X does not have them."""

    def counts(self, rows: IntArray) -> FloatArray:
        """Successes and failures of some rows."""
        return np.asarray(take(self.y, rows), dtype=np.float64)

    def weights(self, rows: IntArray) -> FloatArray:
        """Weights of some rows, ones if there are none."""
        return np.ones(rows.size) if self.sample_weight is None else self.sample_weight[rows]

    def target(self, rows: IntArray) -> Any:
        """y of some rows; of documents, whose y are their effects, the number of tokens."""
        if self.of_trials:  # shares, as predictions are
            both = self.counts(rows)
            return both[:, 0] / np.maximum(both.sum(axis=1), 1.0)
        y = take(self.y, rows)
        if np.ndim(y) < 2 and not hasattr(y, "tocsr"):  # noqa: PLR2004
            return np.asarray(y)
        counts: Any = take(self.X, rows)
        if not hasattr(counts, "sum"):  # texts that a pipeline counts
            return np.full(rows.size, np.nan)
        return np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()

    def labels(self, rows: IntArray, model: BaseEstimator) -> Any:
        """Time of some rows, such that a model with freq=None has the same steps as the splits."""
        if getattr(model, "freq", None) is None:
            if self.axis.kind == "period":
                return self.axis.labels[self.codes[rows]]
            if self.axis.kind == "integer" and self.axis.freq != 1:
                return self.codes[rows]
        return take(self.time, rows)

    def extras(self, rows: IntArray, model: BaseEstimator, method: str) -> dict[str, Any]:
        """What else a method of a model accepts about these rows."""
        accepted = inspect.signature(getattr(model, method)).parameters
        weights = self.sample_weight if method in {"fit", "update"} else None
        numbers = {"sample_weight": weights, "exposure": self.exposure}
        found = {n: v[rows] for n, v in numbers.items() if v is not None and n in accepted}
        if self.groups is not None and "groups" in accepted and takes_groups(model):
            found["groups"] = self.groups[rows]
        return found | ({"time": self.labels(rows, model)} if "time" in accepted else {})


def take(values: object, rows: IntArray) -> Any:
    """Some rows of an array, sparse matrix, frame, Series, Categorical or list."""
    return values[rows] if isinstance(values, pd.Categorical) else _safe_indexing(values, rows)


def split_pipeline(model: BaseEstimator) -> tuple[BaseEstimator | None, BaseEstimator, str]:
    """Transformers (None if there are none), the last step, and the prefix of its parameters."""
    if not isinstance(model, Pipeline):
        return None, model, ""
    name, final = model.steps[-1]
    return (model[:-1] if len(model.steps) > 1 else None), final, f"{name}__"


def is_text(final: BaseEstimator) -> bool:
    """Whether a model takes counts and effects and is judged by the likelihood of documents."""
    return hasattr(final, "document_log_likelihood")


def takes_trials(final: BaseEstimator) -> bool:
    """Whether a model takes successes and failures."""
    name = getattr(final, "family", None)
    return isinstance(name, str) and name in FAMILIES and family_named(name).takes_trials


def takes_groups(final: BaseEstimator) -> bool:
    """Whether a model can be told which rows belong together: drift models with a posterior."""
    return "groups" in inspect.signature(final.fit).parameters and not is_mode(final)


def is_mode(final: BaseEstimator) -> bool:
    """Whether a fit of a drift model will be a posterior mode, without uncertainty."""
    prior = getattr(final, "prior", None)
    kind = resolve(PRIORS[prior]) if isinstance(prior, str) and prior in PRIORS else prior
    return not getattr(kind, "posterior", True)


def prepared(model: BaseEstimator, params: Mapping[str, object]) -> Any:
    """A fresh, unfitted copy with parameters set."""
    return clone(model).set_params(**{name: clone(v, safe=False) for name, v in params.items()})


def fitted(model: Any, data: Data, train: IntArray, test: IntArray) -> tuple[Any, Any]:
    """The last step of a model, fitted, and the test rows as it takes them.

    What is fitted, transformers too, sees `train` alone.
    """
    transform, final, _ = split_pipeline(model)
    X, X_new = _transformed(transform, data, train, test)
    names = _names(transform, data)
    if names is None or not hasattr(final, "columns_said"):
        final.fit(X, take(data.y, train), **data.extras(train, final, "fit"))
        return final, X_new
    with unsaid():  # it may not know what its columns are called
        final.fit(X, take(data.y, train), **data.extras(train, final, "fit"))
    known = names if len(names) == final.n_features_in_ else None  # one of them may be the time
    if (said := final.columns_said(known)) is not None:
        warn(said, DataWarning)
    return final, X_new


def goes_on(model: object) -> bool:
    """Whether `update` goes on from a fit: with other priors it is a new search."""
    prior = getattr(model, "prior", None)
    return hasattr(model, "update") and (isinstance(prior, Learned) or prior == "learned")


def fitted_in_turn(model: Any, data: Data, trains: Sequence[IntArray]) -> Iterator[Any]:
    """The model fitted to the first rows, then updated with what each of the next adds.

    Where an update is refused, as of rows of a new class, the model is fitted anew.
    """
    final, seen = model.set_params(keep_data=True), trains[0][:0]
    for train in trains:
        added = train[~np.isin(train, seen)]
        if added.size:
            final = _after(final, data, train, added) if seen.size else _anew(final, data, train)
        seen = train
        yield final


def _after(final: Any, data: Data, train: IntArray, added: IntArray) -> Any:
    extras = data.extras(added, final, "update")
    try:
        with unsaid():  # of columns: the first fit has said it
            return final.update(take(data.X, added), take(data.y, added), **extras)
    except DataError:
        return _anew(final, data, train)


def _anew(final: Any, data: Data, train: IntArray) -> Any:
    return fitted(clone(final), data, train, train[:0])[0]


def _names(transform: Any, data: Data) -> list[str] | None:
    """Of the columns that the last step of a model takes; None if they are not known here."""
    if transform is None:
        return None if data.names is None else list(data.names)
    try:
        return [str(name) for name in transform.get_feature_names_out()]
    except (AttributeError, ValueError):  # a transformer that has none, or not for such input
        return None


def predicted(final: Any, X_new: Any, data: Data, test: IntArray) -> FloatArray:
    """Means, or probabilities (n, K) of the classes of `y` for a classifier.

    For a text model the log-likelihood of every document.
    """
    if is_text(final):
        extras = data.extras(test, final, "document_log_likelihood")
        found = final.document_log_likelihood(X_new, take(data.y, test), **extras)
        return np.asarray(found, dtype=np.float64)
    if not is_classifier(final):
        mean = final.predict(X_new, **data.extras(test, final, "predict"))
        return np.asarray(mean, dtype=np.float64).reshape(test.size)
    known = final.predict_proba(X_new, **data.extras(test, final, "predict_proba"))
    return _aligned(np.asarray(known, dtype=np.float64), final.classes_, np.unique(data.y))


def chain_predictions(
    model: BaseEstimator, data: Data, train: IntArray, test: IntArray
) -> Iterator[Iterator[tuple[dict[str, Any], FloatArray]]]:
    """Candidates of a baseline that shares work between strengths, in chains.

    The model is not copied: it knows its number of columns once there are candidates.
    """
    transform, final, prefix = split_pipeline(model)
    X, X_new = _transformed(transform, data, train, test)
    extras = data.extras(train, final, "fit")
    if "exposure" in extras:
        extras["exposure_new"] = data.extras(test, final, "predict")["exposure"]
    if is_text(final):
        extras["y_new"] = take(data.y, test)
    classes = np.unique(data.y) if is_classifier(final) else None

    def full(mean: FloatArray) -> FloatArray:
        """Probabilities of all classes from that of the second."""
        if classes is None:
            return mean
        return _aligned(np.column_stack([1 - mean, mean]), final.classes_, classes)

    for chain in final.tuning_chains(X, take(data.y, train), X_new, **extras):
        yield (
            ({f"{prefix}{name}": value for name, value in params.items()}, full(mean))
            for params, mean in chain
        )


def tunes_in_chains(model: BaseEstimator) -> bool:
    """Whether a model offers chains and has a parameter left to choose."""
    final = split_pipeline(model)[1]
    return hasattr(final, "tuning_chains") and None in final.tunable_params().values()


def _transformed(
    transform: BaseEstimator | None, data: Data, train: IntArray, test: IntArray
) -> tuple[Any, Any]:
    X, X_new = take(data.X, train), take(data.X, test)
    if transform is None:
        return X, X_new
    return transform.fit_transform(X, take(data.y, train)), transform.transform(X_new)


def _aligned(probability: FloatArray, known: np.ndarray, classes: np.ndarray) -> FloatArray:
    """Columns of all classes of the comparison; 0 for those not seen in training."""
    out = np.zeros((probability.shape[0], len(classes)))
    out[:, np.searchsorted(classes, known)] = probability
    return out


def check_models(models: object) -> dict[str, BaseEstimator]:
    """Contestants by name; DataError unless each can be cloned, fitted and asked."""
    if not isinstance(models, dict) or not models:
        raise DataError(f"models is {models!r}; pass a dict of at least one name and estimator.")
    for name, model in models.items():
        if isinstance(model, type):
            raise DataError(f"model {name!r} is the class {model.__name__}; pass an object of it.")
        final = split_pipeline(model)[1]
        kinds = {"document_log_likelihood": is_text, "predict_proba": is_classifier}
        needed = next((method for method, is_kind in kinds.items() if is_kind(final)), "predict")
        lacking = [part for part in ("fit", needed) if not hasattr(final, part)]
        if lacking:
            raise DataError(
                f"model {name!r} ({type(final).__name__}) has no {lacking[0]}; pass a "
                "scikit-learn estimator or a Pipeline that ends in one."
            )
    return {str(name): model for name, model in models.items()}
