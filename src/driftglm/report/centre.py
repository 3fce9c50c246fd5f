"""A model where its columns are at their centre: the intercept, and the forecast from there on."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import pandas as pd

from driftglm._typing import FloatArray
from driftglm.data.timesteps import Labels
from driftglm.estimators.base import DriftEstimator
from driftglm.estimators.levels import LEVEL, normal_quantile
from driftglm.report.encode import floats

MOST_CLASSES = 8
"""As many lines as the page has colours."""
N_AHEAD = 8
LEVELS = (0.9, 0.8, 0.5)
_SCALES = {"identity": "y", "log": "the logarithm of the mean of y", "logit": "log-odds"}


def intercept(model: DriftEstimator) -> dict[str, Any] | None:
    """Paths of the intercept at the columns' centre, one a class; None without an intercept.

    `intercept_path_` is at x = 0, which may lie far outside the data; at the centre the intercept
    is what the model says of a mean row, and the fit knows how uncertain it is.
    """
    fits = model._fits[:MOST_CLASSES]  # noqa: SLF001
    columns = fits[0].columns
    if not columns.has_intercept:
        return None
    ahead = model._next_steps()[:MOST_CLASSES]  # noqa: SLF001
    means, variances = [], []
    for fit, step in zip(fits, ahead, strict=True):
        row = fit.columns.center[-1:]
        means.append([*(fit.columns.target_center + fit.intercepts.mean[0]), *step.mean_of(row)])
        variances.append([*fit.intercepts.variance[0], *step.variance_of(row)])
    reach = normal_quantile(LEVEL) * np.sqrt(variances)
    family = model.family_
    names = [str(label) for label in model.classes_] if family.coupled else []
    return {
        "names": names[:MOST_CLASSES],
        "leftOut": max(0, len(names) - MOST_CLASSES),
        "scale": _SCALES.get(family.link, "the linear predictor"),
        "path": floats(means),
        "reach": floats(reach) if fits[0].posterior else None,
        "centre": _described(columns.center, "each step"),
    }


def _described(center: FloatArray, step: str) -> str:
    """What the centre of the columns is."""
    if np.ptp(center, axis=0).any():
        return f"their centre in {step}: between their mean there and that of all training rows"
    return "their centre, the mean of all training rows"


def fan(model: DriftEstimator) -> dict[str, Any] | None:
    """Predictions of one row at all training steps, and of some steps after the last with bands.

    The row has every column at its centre in the last step. None without an intercept, since the
    centre is zero then, and where there is no later step.
    """
    columns = model._fits[0].columns  # noqa: SLF001
    n_steps = len(model.timesteps_)
    labels = _labels_ahead(model)
    if not columns.has_intercept or n_steps == 1 or labels is None:
        return None
    n_ahead = len(labels) - n_steps
    row = columns.center[-1]
    X = np.tile(row, (len(labels), 1))
    with warnings.catch_warnings():
        # Columns are in the order of training.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        line = _predictions(model, X, labels)
        bands = _bands(model, X[n_steps:], labels[n_steps:])
    return {
        "steps": [str(label) for label in labels],
        "nAhead": n_ahead,
        "levels": [round(100 * level) for level in LEVELS],
        "what": _what(model),
        "line": floats(line),
        "lower": None if bands is None else floats(bands[..., 0]),
        "upper": None if bands is None else floats(bands[..., 1]),
        "row": _described(columns.center, "the last step")
        + (", its exposure 1" if model.family_.takes_exposure else ""),
    }


def _labels_ahead(model: DriftEstimator) -> Labels | pd.Categorical | None:
    """Labels of the training steps and of those after them; None if there are none after."""
    axis = model._axis  # noqa: SLF001
    n_ahead = N_AHEAD
    if axis.kind == "category":
        n_ahead = min(n_ahead, len(axis.categories) - axis.start - axis.n_timesteps)
    if axis.is_single or n_ahead == 0:
        return None
    labels = dataclasses.replace(axis, n_timesteps=axis.n_timesteps + n_ahead).labels
    if axis.kind == "category":
        return pd.Categorical(labels, categories=list(axis.categories), ordered=True)
    return labels


def _has_classes(model: DriftEstimator) -> bool:
    return model.family_.target == "classes"


def _what(model: DriftEstimator) -> str | None:
    """What is predicted; None: the probability of the class that the reader chooses."""
    if not _has_classes(model):
        return "y"
    return None if model.family_.coupled else f"probability of {model.classes_[1]}"


def _predictions(model: DriftEstimator, X: FloatArray, time: Any) -> FloatArray:
    """(series, steps): means, the probability of the second class, or of every class."""
    if not _has_classes(model):
        return np.asarray(model._mean(X, time))[None]  # noqa: SLF001
    moments = model._eta_moments(X, time)  # noqa: SLF001
    shares = model.family_.probabilities(*moments)
    return shares.T if model.family_.coupled else shares[:, 1][None]


def _bands(model: DriftEstimator, X: FloatArray, time: Any) -> FloatArray | None:
    """(series, levels, steps, 2); None for a mode, which does not know how uncertain it is."""
    if not model._forecaster.posterior:  # noqa: SLF001
        return None
    each = [model.predict_interval(X, time, level) for level in LEVELS]
    # (levels, steps, [classes,] 2)
    found = np.asarray(each, dtype=np.float64)
    return found[None] if not model.family_.coupled else np.moveaxis(found, 2, 0)
