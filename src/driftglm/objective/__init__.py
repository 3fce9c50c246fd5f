"""Where family, prior and design meet: the numbers that solvers raise."""

from driftglm.objective.bound import Bound, Posterior
from driftglm.objective.groups import Groups, GroupState
from driftglm.objective.mode import FLOOR, ZERO, Objective
from driftglm.objective.noise import Noise, NoisePath
from driftglm.objective.problem import (
    Intercepts,
    Problem,
    SharedDirections,
    SharedState,
    State,
)
from driftglm.objective.shape import Shape

__all__ = [
    "FLOOR",
    "ZERO",
    "Bound",
    "GroupState",
    "Groups",
    "Intercepts",
    "Noise",
    "NoisePath",
    "Objective",
    "Posterior",
    "Problem",
    "Shape",
    "SharedDirections",
    "SharedState",
    "State",
]
