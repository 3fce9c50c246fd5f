"""Distributions of y given the linear predictor."""

from driftglm.families.base import Family
from driftglm.families.binomial import Binomial
from driftglm.families.gaussian import Gaussian
from driftglm.families.multinomial import SoftmaxClass
from driftglm.families.poisson import Poisson
from driftglm.registry import FAMILIES, find

__all__ = ["Binomial", "Family", "Gaussian", "Poisson", "SoftmaxClass", "family_named"]


def family_named(name: str) -> Family:
    """The registered family of a name."""
    made: Family = find(FAMILIES, name, "family")()
    return made
