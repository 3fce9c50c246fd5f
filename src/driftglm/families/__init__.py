"""Distributions of y given the linear predictor."""

from driftglm.families.base import Family
from driftglm.families.binomial import Binomial
from driftglm.families.gaussian import Gaussian
from driftglm.families.multinomial import SoftmaxClass
from driftglm.families.poisson import Poisson

__all__ = ["Binomial", "Family", "Gaussian", "Poisson", "SoftmaxClass"]
