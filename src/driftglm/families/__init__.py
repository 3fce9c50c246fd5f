"""Distributions of y given the linear predictor."""

from driftglm.families.base import Family
from driftglm.families.gaussian import Gaussian

__all__ = ["Family", "Gaussian"]
