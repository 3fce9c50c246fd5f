"""What a fitted estimator gives to other tools: figures, and labelled arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from driftglm import plots
from driftglm._typing import FloatArray
from driftglm.data.timesteps import Labels
from driftglm.exceptions import DriftError
from driftglm.plots.labels import Features, Names, feature_names_of

if TYPE_CHECKING:  # matplotlib is an extra
    pass


class Exports:
    """Figures and `to_xarray`, mixed into the estimators of rows."""

    coef_path_: FloatArray
    timesteps_: Labels
    classes_: np.ndarray

    def plot_paths(
        self, features: Features = None, top: int = 12, feature_names: Names = None
    ) -> Any:
        """Coefficients over time, a panel per feature, with 90 % bands, as a Figure.

        Parameters
        ----------
        features
            Names, positions or a mask of the features to show; None: the `top` most important.
        top
            How many features if none are named.
        feature_names
            Names instead of those the model was fitted with.
        """
        check_is_fitted(self, "coef_path_")
        return plots.plot_paths(self, features, top, feature_names)

    def plot_heatmap(
        self, features: Features = None, top: int = 40, feature_names: Names = None
    ) -> Any:
        """Coefficients over time as colours, one row per feature; parameters as of `plot_paths`."""
        check_is_fitted(self, "coef_path_")
        return plots.plot_heatmap(self, features, top, feature_names)

    def plot_autocorrelation(
        self, features: Features = None, top: int = 30, feature_names: Names = None
    ) -> Any:
        """Lag-1 autocorrelation of every feature's path; parameters as of `plot_paths`."""
        check_is_fitted(self, "coef_path_")
        return plots.plot_autocorrelation(self, features, top, feature_names)

    def to_xarray(self) -> Any:
        """The fit as an xarray Dataset over time and feature, and class if there are several.

        Variables: coef, coef_std (learned prior only), intercept, inclusion_probability,
        autocorrelation, coef_next and intercept_next (those `predict(X)` uses); with seasons also
        seasonal, seasonal_std, seasonal_intercept and seasonal_probability. Periods become
        the dates they start with, which every file format of xarray can hold. Needs xarray, the
        extra ``driftglm[xarray]``.
        """
        check_is_fitted(self, "coef_path_")
        several = self.coef_path_.ndim > 2  # noqa: PLR2004 (time and feature)
        inner = ("class", "feature") if several else ("feature",)
        classes = inner[:-1]
        coords: dict[str, Any] = {"feature": feature_names_of(self, self.coef_path_.shape[-1])}
        if several:
            coords["class"] = _labels(self.classes_)
        found = {
            "coef": (("time", *inner), "coef_path_"),
            "coef_std": (("time", *inner), "coef_std_path_"),
            "intercept": (("time", *classes), "intercept_path_"),
            "inclusion_probability": (inner, "inclusion_probability_"),
            "autocorrelation": (inner, "autocorrelation_"),
            "seasonal": (("time", *inner), "seasonal_path_"),
            "seasonal_std": (("time", *inner), "seasonal_std_path_"),
            "seasonal_intercept": (("time", *classes), "seasonal_intercept_path_"),
            "seasonal_probability": (inner, "seasonal_probability_"),
            "coef_next": (inner, "coef_"),
            "intercept_next": (classes, "intercept_"),
        }
        return dataset(self, found, coords)


def dataset(
    model: Any, found: dict[str, tuple[tuple[str, ...], str]], coords: dict[str, Any]
) -> Any:
    """An xarray Dataset: by name, dimensions and attribute; attributes not there are left out."""
    try:
        import xarray
    except ImportError as error:
        raise DriftError(
            "to_xarray needs xarray, which is not installed; install driftglm[xarray]."
        ) from error
    coords = {"time": _labels(model.timesteps_)} | coords
    variables = {}
    for name, (dims, attribute) in found.items():
        value = getattr(model, attribute, None)
        if value is not None:
            shape = tuple(len(coords[dim]) for dim in dims)
            variables[name] = dims, np.array(value, dtype=np.float64).reshape(shape)
    prior = model.prior if isinstance(model.prior, str) else repr(model.prior)
    attributes = {"model": type(model).__name__, "prior": prior}
    return xarray.Dataset(variables, coords, attributes)


def _labels(labels: Labels) -> pd.DatetimeIndex | np.ndarray:
    """Labels as a coordinate: numbers, dates, or texts."""
    if isinstance(labels, pd.PeriodIndex):
        return labels.to_timestamp()
    values = np.asarray(labels)
    return values.astype(str) if values.dtype == object else values
