"""Where family, prior and design meet: the numbers that solvers raise."""

from driftglm.objective.bound import Bound, Posterior
from driftglm.objective.mode import FLOOR, ZERO, Objective
from driftglm.objective.problem import (
    Intercepts,
    Noise,
    Problem,
    SharedDirections,
    SharedState,
    State,
)

__all__ = [
    "FLOOR",
    "ZERO",
    "Bound",
    "Intercepts",
    "Noise",
    "Objective",
    "Posterior",
    "Problem",
    "SharedDirections",
    "SharedState",
    "State",
]
