"""The estimator of a family: a named one where there is one, else the general one."""

from __future__ import annotations

from typing import Any

from driftglm.estimators.base import DriftEstimator
from driftglm.estimators.classification import DriftClassifier
from driftglm.estimators.counts import DriftPoissonRegressor
from driftglm.estimators.general import DriftGLM
from driftglm.estimators.regression import DriftRegressor

SPECIAL: dict[str, type[DriftEstimator]] = {
    "gaussian": DriftRegressor,
    "binomial": DriftClassifier,
    "multinomial": DriftClassifier,
    "poisson": DriftPoissonRegressor,
}


def estimator_for(family: str, **params: Any) -> Any:
    """An estimator of a registered family, not yet fitted."""
    return SPECIAL[family](**params) if family in SPECIAL else DriftGLM(family=family, **params)
