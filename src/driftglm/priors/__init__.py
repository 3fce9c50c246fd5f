"""Priors over coefficient paths; each can be used alone."""

from driftglm.priors.base import PathPrior, PathStats, Penalty
from driftglm.priors.exact import Exact
from driftglm.priors.fixed import Fixed
from driftglm.priors.learned import Learned
from driftglm.priors.variational import Variational

__all__ = ["Exact", "Fixed", "Learned", "PathPrior", "PathStats", "Penalty", "Variational"]
