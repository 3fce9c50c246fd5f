"""The five baselines: ridge and lasso on the last step or on all steps, and ridge over time.

`WithNormalErrors` puts a normal distribution around the points that they, or others, predict.
"""

from driftglm.baselines.lasso import LassoAll, LassoOne
from driftglm.baselines.ridge import RidgeAll, RidgeOne
from driftglm.baselines.ridge_ts import RidgeTS
from driftglm.baselines.with_errors import WithNormalErrors

__all__ = ["LassoAll", "LassoOne", "RidgeAll", "RidgeOne", "RidgeTS", "WithNormalErrors"]
