"""scikit-learn style estimators."""

from driftglm.estimators.regression import DriftRegressor

__all__ = ["DriftRegressor"]
