"""scikit-learn style estimators."""

from driftglm.estimators.classification import DriftClassifier
from driftglm.estimators.counts import DriftPoissonRegressor
from driftglm.estimators.regression import DriftRegressor

__all__ = ["DriftClassifier", "DriftPoissonRegressor", "DriftRegressor"]
