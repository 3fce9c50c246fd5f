"""The classes a file may hold. Nothing else can be made from one, whatever it says."""

from __future__ import annotations

from typing import Any

from driftglm import baselines, estimators, priors, text
from driftglm.data.timesteps import TimeAxis
from driftglm.estimators import fitted, text_fit
from driftglm.estimators.rows import Rows
from driftglm.evaluation import Comparison
from driftglm.families import Binomial, Gaussian, Poisson, SoftmaxClass
from driftglm.priors.mixture import Components
from driftglm.solvers.text_learned import TextPosterior
from driftglm.solvers.text_mode import TextMode
from driftglm.tables import TableEncoder, TableModel, TableSpec
from driftglm.tables.encoder import Column

ESTIMATORS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        estimators.DriftClassifier,
        estimators.DriftPoissonRegressor,
        estimators.DriftRegressor,
        estimators.DriftTextModel,
        baselines.LassoAll,
        baselines.LassoOne,
        baselines.RidgeAll,
        baselines.RidgeOne,
        baselines.RidgeTS,
        text.RankedVocabulary,
    )
}
"""Rebuilt from the constructor's parameters, then given what `fit` found."""

RECORDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        Binomial,
        Column,
        Comparison,
        Components,
        Gaussian,
        Poisson,
        Rows,
        SoftmaxClass,
        TableEncoder,
        TableModel,
        TableSpec,
        TextMode,
        TextPosterior,
        TimeAxis,
        fitted.BackgroundFit,
        fitted.Columns,
        fitted.LevelFit,
        fitted.ModeFit,
        fitted.PosteriorFit,
        priors.Exact,
        priors.Fixed,
        priors.Learned,
        priors.Variational,
        text_fit.ModeTextFit,
        text_fit.PosteriorTextFit,
    )
}
"""Dataclasses, rebuilt from their fields."""

STORABLE = {*ESTIMATORS, "Comparison", "TableModel"}
"""What a file may be a file of; the others are parts."""

MOST_STEPS = 10**6
"""A time axis makes its labels when it is made, so that a forged length could fill memory."""

# Letters stand for lengths that must agree within a record; kernels do not check them.
_PATHS = {"beta": "it", "importance": None}
SHAPES: dict[str, dict[str, str | None]] = {
    "BackgroundFit": {"mean": "i", "root": "ir"},
    "Columns": {"always_in": "p", "center": "tp"},
    "Components": {"static": "k", "dynamic": "k", "rho": "k"},
    "LevelFit": {
        "mean": "lt",
        "variance": "lt",
        "law": "lc",
        "h": "lt",
        "b": "lt",
        "scale": "l",
        "static": "l",
    },
    "ModeFit": _PATHS | {"alive": "i", "static": "i", "rho": "i"},
    "PosteriorFit": _PATHS
    | {
        "variance": "it",
        "phi": "ik",
        "log_pi": "gk",
        "kept": "k",
        "unit": "i",
        "h": "it",
        "b": "it",
    },
    "Rows": {
        "X": "np",
        "y": "n",
        "codes": "n",
        "weights": "n",
        "exposure": "n",
        "always_in": "p",
        "static": "p",
    },
    "TextPosterior": {
        "mean": "vft",
        "variance": "vft",
        "h": "vft",
        "b": "vft",
        "phi": "vfk",
        "divergence": "vf",
        "log_pi": "gk",
        "log_rate": "n",
    },
    "TextMode": {"beta": "vft", "log_rate": "n"},
}
"""By record, the axes of its fields; None: not an array of fixed axes."""


def agrees(name: str, record: Any) -> bool:
    """Whether a record fits the records it is made of."""
    if name == "PosteriorFit":
        laws = record.components.count, record.components.n_timesteps
        return _same_steps(record) and laws == (record.phi.shape[1], record.beta.shape[1])
    if name == "TextPosterior":
        laws = record.components.count, record.components.n_timesteps
        return laws == (record.phi.shape[2], record.mean.shape[2])
    if name == "Rows":
        codes = record.codes
        return not codes.size or bool(codes.min() >= 0 and codes.max() < record.n_timesteps)
    return name != "ModeFit" or _same_steps(record)


def _same_steps(fit: Any) -> bool:
    steps = fit.beta.shape[1], fit.levels.mean.shape[1], fit.columns.center.shape[0]
    return len(set(steps)) == 1 and fit.beta.shape[0] == fit.background.mean.shape[0]
