"""Coefficient paths as they would have been known at each step, beside the smoothed ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from driftglm._typing import FloatArray, IntArray
from driftglm.data.timesteps import Labels, fit_axis
from driftglm.evaluation.contestants import take
from driftglm.exceptions import DataError
from driftglm.plots.labels import feature_names_of


@dataclass(frozen=True)
class AsOfPaths:
    """Two answers to "what was the coefficient at step t?".

    Parameters
    ----------
    timesteps
        (T,) labels.
    as_of
        (T, p): the last coefficients of a model fitted to the rows up to t. NaN before the first
        step that could be fitted.
    smoothed
        (T, p): the path of one model fitted to all rows, the future of t included.
    as_of_intercept, smoothed_intercept
        (T,) the same of the intercept.
    feature_names
        (p,)
    """

    timesteps: Labels
    as_of: FloatArray
    smoothed: FloatArray
    as_of_intercept: FloatArray
    smoothed_intercept: FloatArray
    feature_names: list[str]

    def to_frame(self) -> pd.DataFrame:
        """One line a step and feature: step, feature, as_of, smoothed."""
        n_steps, n_features = self.as_of.shape
        return pd.DataFrame(
            {
                "step": pd.Series(self.timesteps).repeat(n_features).reset_index(drop=True),
                "feature": np.tile(np.asarray(self.feature_names, dtype=object), n_steps),
                "as_of": self.as_of.ravel(),
                "smoothed": self.smoothed.ravel(),
            }
        )


def as_of_paths(
    model: Any,
    X: Any,
    y: Any,
    time: Any,
    *,
    first: int = 1,
    warm_start: bool = True,
    sample_weight: Any = None,
    exposure: Any = None,
) -> AsOfPaths:
    """Coefficients as known at each step, next to the path of a fit to everything.

    A known trap: ``coef_path_[t]`` of a fitted model has seen the steps after t. It is the best
    answer to "what was the effect at t?", but whoever uses it to show what a forecaster could
    have done at t, or plots it as a signal that led an event, looks into the future. The honest
    path is that of models fitted again at every step, and it is rougher and later.

    Parameters
    ----------
    model
        A drift model (anything with `coef_path_` and `intercept_path_` after fit), unfitted or
        not; it is cloned.
    X, y, time
        All rows.
    first
        Number of steps with rows before the first fit; raise it if early fits have too few rows.
    warm_start
        With the learned prior, go on from the fit of the step before by ``update``. That fit saw
        earlier rows only, so nothing leaks; but the search starts elsewhere than a fit from
        scratch would, and may end at a slightly different optimum. False: always from scratch.
    sample_weight, exposure
        As in the model's fit.

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm import DriftRegressor
    >>> rng = np.random.default_rng(0)
    >>> year = np.repeat(np.arange(2001, 2007), 40)
    >>> X = rng.normal(size=(240, 3))
    >>> y = (year > 2003) * X[:, 0] + 0.1 * rng.normal(size=240)
    >>> paths = as_of_paths(DriftRegressor(fit_intercept=False), X, y, year, first=2)
    >>> paths.as_of.shape
    (6, 3)
    >>> bool(np.isnan(paths.as_of[0]).all())
    True
    """
    if isinstance(model, Pipeline):
        raise DataError(
            "model is a Pipeline, whose features may differ from step to step; "
            "transform X first and pass the last step."
        )
    axis, codes = fit_axis(time, _num_samples(X), getattr(model, "freq", None))
    X = X.tocsr() if hasattr(X, "tocsr") else X
    data = {"X": X, "y": y, "time": time, "sample_weight": sample_weight, "exposure": exposure}
    given = {name: values for name, values in data.items() if values is not None}
    fitted = _fit(clone(model), given, np.arange(codes.size))
    smoothed = np.asarray(fitted.coef_path_, dtype=np.float64)
    as_of, intercepts = (
        np.full_like(smoothed, np.nan),
        np.full(fitted.intercept_path_.shape, np.nan),
    )
    warm = warm_start and _can_continue(model)
    current: Any = None
    for n_seen, code in enumerate(np.unique(codes), start=1):
        if n_seen < first:
            continue
        if current is None or not warm:
            current = clone(model)
            if warm:
                current.set_params(keep_data=True)
            _fit(current, given, np.flatnonzero(codes <= code))
        else:
            _update(current, given, np.flatnonzero(codes == code))
        # Until rows come in again, what is known stays what it was.
        as_of[code:], intercepts[code:] = current.coef_path_[-1], current.intercept_path_[-1]
    shown = feature_names_of(fitted, smoothed.shape[-1])
    return AsOfPaths(
        axis.labels, as_of, smoothed, intercepts, np.asarray(fitted.intercept_path_), shown
    )


def _can_continue(model: Any) -> bool:
    """Only the learned prior goes on from a fit; with the others `update` is a new search."""
    learned = type(getattr(model, "prior", None)).__name__ == "Learned"
    is_learned = learned or getattr(model, "prior", None) == "learned"
    return is_learned and hasattr(model, "update")


def _fit(model: Any, data: dict[str, Any], rows: IntArray) -> Any:
    X, y = (take(data[name], rows) for name in ("X", "y"))
    extras = {n: take(v, rows) for n, v in data.items() if n not in {"X", "y"}}
    return model.fit(X, y, **extras)


def _update(model: Any, data: dict[str, Any], rows: IntArray) -> None:
    X, y = (take(data[name], rows) for name in ("X", "y"))
    model.update(X, y, **{n: take(v, rows) for n, v in data.items() if n not in {"X", "y"}})
