"""A family as the baselines see it: the loss of a row as a function of a certain eta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray
from driftglm.estimators.parameters import Registered
from driftglm.exceptions import DataError
from driftglm.families import Family, family_named, is_uncoupled, uncoupled_families
from driftglm.families.base import CERTAIN
from driftglm.registry import FAMILIES

LEAST_CURVATURE = 1e-10
"""A row that is predicted for certain still has a (tiny) weight in a reweighted least squares."""
TEXT = "text"
"""Word counts, which have effects in place of a target and are no family of rows."""


@dataclass(frozen=True)
class FamilyLoss:
    """The loss of a row given eta (offset included) at unit noise, constants left out."""

    family: Family

    @classmethod
    def named(cls, name: str) -> FamilyLoss:
        """Of a registered family."""
        return cls(family_named(name))

    def check(self, y: FloatArray) -> None:
        """Raise a DataError if y cannot come from the family."""
        try:
            self.family.check_target(y)
        except DataError as error:
            raise DataError(f"family={self.family.name!r}: {error}") from error

    def value(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Loss of every row."""
        return self.family.loss(y, eta)

    def slope(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """First derivative with respect to eta."""
        return self.family.loss_derivatives(y, eta)[0]

    def curvature(self, y: FloatArray, eta: FloatArray) -> FloatArray:
        """Second derivative, held above zero."""
        return np.maximum(self.family.loss_derivatives(y, eta)[1], LEAST_CURVATURE)

    def working(self, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Target and weights of the squares that touch the losses at eta."""
        slope, second = self.family.loss_derivatives(y, eta)
        curvature = np.maximum(second, LEAST_CURVATURE)
        return eta - slope / curvature, curvature

    def mean(self, eta: FloatArray) -> FloatArray:
        """E[y | eta]."""
        return self.family.mean(eta, CERTAIN)


class BaselineFamily(Registered):
    """Names of what a baseline may be fitted to, looked up when a parameter is checked."""

    def __init__(self) -> None:
        super().__init__(FAMILIES)

    def is_satisfied_by(self, val: object) -> bool:
        """Whether it is a family with one eta a row, or text."""
        return isinstance(val, str) and (val == TEXT or is_uncoupled(val))

    def __str__(self) -> str:
        return f"a str among {{{', '.join(map(repr, [*uncoupled_families(), TEXT]))}}}"


def has_classes(family: str) -> bool:
    """Whether y is classes."""
    return family != TEXT and family_named(family).target == "classes"
