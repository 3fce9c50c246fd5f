"""Generalized linear models whose coefficients drift over time."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftglm import baselines, datasets, evaluation, plots, predictive, priors, simulate, text
    from driftglm.estimators import (
        DriftClassifier,
        DriftGLM,
        DriftPoissonRegressor,
        DriftRegressor,
        DriftTextModel,
    )
    from driftglm.solvers.sampling import Sampling

    __version__: str

__all__ = [
    "DriftClassifier",
    "DriftGLM",
    "DriftPoissonRegressor",
    "DriftRegressor",
    "DriftTextModel",
    "Sampling",
    "__version__",
    "baselines",
    "datasets",
    "evaluation",
    "experiments",
    "load",
    "plots",
    "predictive",
    "priors",
    "report",
    "simulate",
    "text",
]


# Modules are imported when a name of theirs is first used (PEP 562). `load`, reports and
# experiments are not imported for type checkers above: modules that read `__version__` must not
# import them.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'driftglm' has no attribute {name!r}")
    if name == "__version__":  # its module takes longer to load than all else here
        return import_module("importlib.metadata").version("driftglm")
    if name == "load":
        return import_module("driftglm.persistence").load
    if name == "Sampling":
        return import_module("driftglm.solvers.sampling").Sampling
    if name.startswith("Drift"):
        return getattr(import_module("driftglm.estimators"), name)
    return import_module(f"driftglm.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)
