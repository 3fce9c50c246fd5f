"""scikit-learn style estimators."""

from driftglm.estimators.classification import DriftClassifier
from driftglm.estimators.counts import DriftPoissonRegressor
from driftglm.estimators.general import DriftGLM
from driftglm.estimators.regression import DriftRegressor
from driftglm.estimators.text import DriftTextModel

__all__ = [
    "DriftClassifier",
    "DriftGLM",
    "DriftPoissonRegressor",
    "DriftRegressor",
    "DriftTextModel",
]
