"""Distributions of y given the linear predictor."""

from driftglm.exceptions import DataError
from driftglm.families.base import Family
from driftglm.families.beta_binomial import BetaBinomial
from driftglm.families.binomial import Binomial
from driftglm.families.gamma import Gamma
from driftglm.families.gaussian import Gaussian
from driftglm.families.multinomial import SoftmaxClass
from driftglm.families.negative_binomial import NegativeBinomial
from driftglm.families.poisson import Poisson
from driftglm.families.student import Student
from driftglm.registry import FAMILIES, find, resolve

__all__ = [
    "BetaBinomial",
    "Binomial",
    "Family",
    "Gamma",
    "Gaussian",
    "NegativeBinomial",
    "Poisson",
    "SoftmaxClass",
    "Student",
    "family_named",
    "is_uncoupled",
    "uncoupled_families",
    "uncoupled_family",
]


def family_named(name: str) -> Family:
    """The registered family of a name."""
    made: Family = find(FAMILIES, name, "family")()
    return made


def is_uncoupled(name: str) -> bool:
    """Whether a registered family has one eta a row: what baselines and simulations take."""
    return name in FAMILIES and not resolve(FAMILIES[name]).coupled


def uncoupled_families() -> list[str]:
    """The names of all of them."""
    return [name for name in FAMILIES if is_uncoupled(name)]


def uncoupled_family(name: str) -> Family:
    """One of them."""
    if not is_uncoupled(name):
        known = ", ".join(repr(each) for each in uncoupled_families())
        raise DataError(f"family={name!r}; choose one of {known}.")
    return family_named(name)
