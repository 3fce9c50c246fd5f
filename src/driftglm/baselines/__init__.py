"""The five baselines: ridge and lasso on the last step or on all steps, and ridge over time."""

from driftglm.baselines.lasso import LassoAll, LassoOne
from driftglm.baselines.ridge import RidgeAll, RidgeOne
from driftglm.baselines.ridge_ts import RidgeTS

__all__ = ["LassoAll", "LassoOne", "RidgeAll", "RidgeOne", "RidgeTS"]
