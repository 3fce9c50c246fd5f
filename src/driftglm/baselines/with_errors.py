"""Models of points as forecasters: a normal distribution around what they predict."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from driftglm._typing import FloatArray, IntArray, MatrixLike, VectorLike
from driftglm.baselines.rows import to_hold_out
from driftglm.data.checks import check_weights
from driftglm.data.timesteps import fit_axis
from driftglm.predictive import Bernoulli, Categorical, Distribution, Normal

SMALLEST = float(np.finfo(np.float64).eps)
N_CLASSES = 2


def class_distribution(probability: ArrayLike) -> Distribution:
    """Bernoulli or categorical forecasts of probabilities (n, K).

    They are held a rounding error away from 0, as scikit-learn's log loss does: no finite number of
    rows shows that a class is impossible.
    """
    table = np.maximum(np.asarray(probability, dtype=np.float64), SMALLEST)
    table /= table.sum(axis=1, keepdims=True)
    return Bernoulli(table[:, 1]) if table.shape[1] == N_CLASSES else Categorical(table)


def _has_probabilities(model: WithNormalErrors) -> bool:
    """For `available_if`: as the estimator inside."""
    return hasattr(model.estimator, "predict_proba")


class WithNormalErrors(MetaEstimatorMixin, BaseEstimator):
    """An estimator of points, and a normal distribution of constant variance around them.

    The variance is the mean squared error of the step ahead: the estimator is fitted without the
    last step and predicts it, and is then fitted to all rows. (Within a single step every fifth
    row is held out instead.) So it holds what the model cannot know of the next step, which errors
    of training rows do not. A classifier needs none: its distribution is that of its
    probabilities.

    Parameters
    ----------
    estimator
        A regressor or classifier of scikit-learn's kind, or a Pipeline; it is cloned. `time`,
        `sample_weight` and `exposure` reach its (last) step where that has such an argument.

    Attributes
    ----------
    estimator_ : fitted to all rows
    variance_ : variance of the errors; classifiers have none
    classes_ : of a classifier

    Examples
    --------
    >>> from driftglm.baselines import LassoAll
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=5, random_state=0)
    >>> model = WithNormalErrors(LassoAll()).fit(panel.X, panel.y, time=panel.time)
    >>> forecast = model.predict_distribution(panel.X_next)
    >>> bool((forecast.mean == model.predict(panel.X_next)).all())
    True
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: VectorLike = None,
        sample_weight: VectorLike = None,
        exposure: VectorLike = None,
    ) -> Self:
        """Fit the estimator, and before that the variance of its errors."""
        rows = X.tocsr() if hasattr(X, "tocsr") else X
        given = {"time": time, "sample_weight": sample_weight, "exposure": exposure}
        if not is_classifier(self.estimator):
            self.variance_ = self._variance(rows, y, given)
        everything = np.arange(_num_samples(rows))
        self.estimator_: Any = _fit(self.estimator, rows, y, given, everything)
        return self

    def _variance(self, X: Any, y: ArrayLike, given: dict[str, VectorLike]) -> float:
        """Mean squared error of the last step, or of every fifth row of the only one."""
        n_rows = _num_samples(X)
        final = _last(self.estimator)[0]
        codes = np.zeros(n_rows, dtype=np.int64)
        if given["time"] is not None:
            codes = fit_axis(given["time"], n_rows, getattr(final, "freq", None))[1]
        held_out = to_hold_out(codes)
        past, now = np.flatnonzero(~held_out), np.flatnonzero(held_out)
        model = _fit(self.estimator, X, y, given, past)
        known = {name: given[name] for name in ("time", "exposure")}
        ahead = model.predict(_safe_indexing(X, now), **_accepted(model, "predict", known, now))
        weights = check_weights(given["sample_weight"], n_rows)[now]
        error = np.asarray(y, dtype=np.float64)[now] - np.ravel(ahead)
        # A distribution must have some width, even around a perfect fit.
        return max(float(np.average(error**2, weights=weights)), SMALLEST)

    def predict(
        self, X: MatrixLike, *, time: VectorLike = None, exposure: VectorLike = None
    ) -> np.ndarray:
        """What the estimator predicts."""
        return np.asarray(self._ask("predict", X, time, exposure))

    @available_if(_has_probabilities)
    def predict_proba(
        self, X: MatrixLike, *, time: VectorLike = None, exposure: VectorLike = None
    ) -> FloatArray:
        """Probabilities of `classes_`."""
        return np.asarray(self._ask("predict_proba", X, time, exposure))

    def predict_distribution(
        self, X: MatrixLike, time: VectorLike = None, *, exposure: VectorLike = None
    ) -> Distribution:
        """Normal around the prediction; of a classifier, the distribution of its classes."""
        check_is_fitted(self, "estimator_")
        if is_classifier(self.estimator_):
            return class_distribution(self._ask("predict_proba", X, time, exposure))
        mean = np.ravel(self._ask("predict", X, time, exposure))
        return Normal(mean, np.sqrt(self.variance_))

    def _ask(self, method: str, X: MatrixLike, time: VectorLike, exposure: VectorLike) -> Any:
        check_is_fitted(self, "estimator_")
        given = {"time": time, "exposure": exposure}
        extras = _accepted(self.estimator_, method, given, None)
        return getattr(self.estimator_, method)(X, **extras)

    @property
    def classes_(self) -> np.ndarray:
        """The classes of a classifier."""
        return np.asarray(self.estimator_.classes_)

    def __sklearn_tags__(self) -> Any:
        """The kind of estimator that is inside."""
        tags, inside = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inside.estimator_type, inside.target_tags
        tags.classifier_tags, tags.regressor_tags = inside.classifier_tags, inside.regressor_tags
        tags.input_tags = inside.input_tags
        return tags


def _last(model: BaseEstimator) -> tuple[BaseEstimator, str]:
    """The estimator that ends a pipeline, and what its parameters of `fit` are called there."""
    if not isinstance(model, Pipeline):
        return model, ""
    name, final = model.steps[-1]
    return final, f"{name}__"


def _accepted(
    model: BaseEstimator, method: str, given: dict[str, VectorLike], rows: IntArray | None
) -> dict[str, Any]:
    """What a method takes of what was given, cut to some rows."""
    final, prefix = _last(model)
    known = inspect.signature(getattr(final, method)).parameters
    prefix = prefix if method == "fit" else ""
    return {
        f"{prefix}{name}": values if rows is None else _taken(values, rows)
        for name, values in given.items()
        if values is not None and name in known
    }


def _taken(values: VectorLike, rows: IntArray) -> Any:
    return values[rows] if isinstance(values, pd.Categorical) else _safe_indexing(values, rows)


def _fit(
    model: BaseEstimator, X: Any, y: ArrayLike, given: dict[str, VectorLike], rows: IntArray
) -> Any:
    extras = _accepted(model, "fit", given, rows)
    return clone(model).fit(_safe_indexing(X, rows), _safe_indexing(y, rows), **extras)
