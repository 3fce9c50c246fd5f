"""Algorithms that maximise an Objective."""

from driftglm.solvers.base import Progress, Solver, SolverResult, StopReason
from driftglm.solvers.block import BlockSolver
from driftglm.solvers.cavi import CAVISolver
from driftglm.solvers.lbfgs import LBFGSSolver

__all__ = [
    "BlockSolver",
    "CAVISolver",
    "LBFGSSolver",
    "Progress",
    "Solver",
    "SolverResult",
    "StopReason",
]
