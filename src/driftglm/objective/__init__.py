"""Where family, prior and design meet: the numbers that solvers raise."""

from driftglm.objective.bound import Bound, Posterior
from driftglm.objective.mode import FLOOR, ZERO, Objective
from driftglm.objective.problem import (
    Background,
    BackgroundState,
    Levels,
    Noise,
    Problem,
    State,
)

__all__ = [
    "FLOOR",
    "ZERO",
    "Background",
    "BackgroundState",
    "Bound",
    "Levels",
    "Noise",
    "Objective",
    "Posterior",
    "Problem",
    "State",
]
