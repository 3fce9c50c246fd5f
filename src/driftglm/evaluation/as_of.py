"""Coefficient paths as they would have been known at each step, beside the smoothed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from driftglm._typing import FloatArray, IntArray, MatrixLike, VectorLike
from driftglm.data.timesteps import Labels, fit_axis
from driftglm.evaluation.contestants import goes_on, take
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

    Examples
    --------
    >>> from driftglm import DriftRegressor
    >>> from driftglm.evaluation import as_of_paths
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=2, n_timesteps=4, rows_per_step=30)
    >>> paths = as_of_paths(DriftRegressor(prior="fixed"), panel.X, panel.y, panel.time, first=2)
    >>> paths.as_of.shape, bool((paths.as_of[-1] == paths.smoothed[-1]).all())
    ((4, 2), True)
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
    model: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    time: ArrayLike,
    *,
    first: int = 1,
    warm_start: bool = True,
    sample_weight: VectorLike = None,
    exposure: VectorLike = None,
) -> AsOfPaths:
    """Coefficients as known at each step, next to the path of a fit to everything.

    ``coef_path_[t]`` of a fitted model has seen the steps after t. It is the best answer to "what
    was the effect at t?", but shows no forecaster at t, nor a signal that led an event. The path
    of models fitted again at every step does, and it is rougher and later.

    Parameters
    ----------
    model : a drift model (anything with `coef_path_` and `intercept_path_` after fit), unfitted or
        not; it is cloned
    X, y, time : all rows
    first : number of steps with rows before the first fit; raise it if early fits have too few rows
    warm_start : with the learned prior, go on from the fit of the step before by ``update``. That
        fit saw earlier rows only, but the search starts elsewhere than a fit from scratch would
        and may end at a slightly different optimum. False: always from scratch
    sample_weight, exposure : as in the model's fit

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm import DriftRegressor
    >>> rng = np.random.default_rng(0)
    >>> year = np.repeat(np.arange(2001, 2007), 40)
    >>> X = rng.normal(size=(240, 3))
    >>> y = (year > 2003) * X[:, 0] + 0.1 * rng.normal(size=240)
    >>> paths = as_of_paths(DriftRegressor(fit_intercept=False), X, y, year, first=2)
    >>> paths.as_of.shape, bool(np.isnan(paths.as_of[0]).all())
    ((6, 3), True)
    """
    if isinstance(model, Pipeline):
        raise DataError(
            "model is a Pipeline, whose features may differ from step to step; "
            "transform X first and pass the last step."
        )
    model = clone(model)
    if hasattr(model, "extrapolate"):
        # No step after the last is asked for, and averaging would fit every prefix many times.
        model.set_params(extrapolate="forecast")
    axis, codes = fit_axis(time, _num_samples(X), getattr(model, "freq", None))
    extras = {"time": time, "sample_weight": sample_weight, "exposure": exposure}
    rows = _Rows(X.tocsr() if hasattr(X, "tocsr") else X, y, extras)
    fitted = rows.give(clone(model).fit, np.arange(codes.size))
    smoothed = np.asarray(fitted.coef_path_, dtype=np.float64)
    as_of, intercepts = np.full_like(smoothed, np.nan), np.full_like(fitted.intercept_path_, np.nan)
    for code, current in _refits(model, rows, codes, first, warm_start=warm_start):
        # Until rows come in again, what is known stays what it was.
        as_of[code:], intercepts[code:] = current.coef_path_[-1], current.intercept_path_[-1]
    names = feature_names_of(fitted, smoothed.shape[-1])
    return AsOfPaths(axis.labels, as_of, smoothed, intercepts, fitted.intercept_path_, names)


@dataclass(frozen=True)
class _Rows:
    """All rows, of which some are given to a method."""

    X: object
    y: object
    extras: dict[str, VectorLike]

    def give(self, method: Callable[..., Any], rows: IntArray) -> Any:
        extras = {n: take(values, rows) for n, values in self.extras.items() if values is not None}
        return method(take(self.X, rows), take(self.y, rows), **extras)


def _refits(
    model: BaseEstimator, rows: _Rows, codes: IntArray, first: int, *, warm_start: bool
) -> Iterator[tuple[int, BaseEstimator]]:
    """The model as of every step with rows, from the `first` of them on."""
    # Only the learned prior goes on from a fit; with the others `update` is a new search.
    warm = warm_start and goes_on(model)
    current = None
    for code in np.unique(codes)[max(first - 1, 0) :]:
        if current is not None and warm:
            rows.give(current.update, np.flatnonzero(codes == code))
        else:
            current = clone(model)
            if warm:
                current.set_params(keep_data=True)
            rows.give(current.fit, np.flatnonzero(codes <= code))
        yield code, current
