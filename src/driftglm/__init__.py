"""Generalized linear models whose coefficients drift over time."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftglm import baselines, datasets, evaluation, plots, priors, simulate, text
    from driftglm.estimators import (
        DriftClassifier,
        DriftGLM,
        DriftPoissonRegressor,
        DriftRegressor,
        DriftTextModel,
    )

__version__ = _version("driftglm")

# Public name -> module that defines it, imported on first use (PEP 562). `load`, reports and
# experiments are not imported for type checkers above: they are of layers that those which read
# `__version__` must not reach.
_HOMES = {
    "DriftClassifier": "driftglm.estimators",
    "DriftGLM": "driftglm.estimators",
    "DriftPoissonRegressor": "driftglm.estimators",
    "DriftRegressor": "driftglm.estimators",
    "DriftTextModel": "driftglm.estimators",
    "load": "driftglm.persistence",
}
_SUBMODULES = {
    "baselines",
    "datasets",
    "evaluation",
    "experiments",
    "plots",
    "priors",
    "report",
    "simulate",
    "text",
}

__all__ = [
    "DriftClassifier",
    "DriftGLM",
    "DriftPoissonRegressor",
    "DriftRegressor",
    "DriftTextModel",
    "__version__",
    "baselines",
    "datasets",
    "evaluation",
    "experiments",
    "load",
    "plots",
    "priors",
    "report",
    "simulate",
    "text",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _SUBMODULES:
        return import_module(f"driftglm.{name}")
    raise AttributeError(f"module 'driftglm' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
