"""Priors over coefficient paths; each can be used alone."""

from driftglm.priors.base import PathPrior, PathStats, Penalty, Prior
from driftglm.priors.exact import Exact
from driftglm.priors.fixed import Fixed
from driftglm.priors.learned import Learned
from driftglm.priors.variational import Variational
from driftglm.registry import PRIORS, find

__all__ = [
    "Exact",
    "Fixed",
    "Learned",
    "PathPrior",
    "PathStats",
    "Penalty",
    "Prior",
    "Variational",
    "prior_named",
]


def prior_named(name: str) -> Prior:
    """The registered prior of a name, with its defaults.

    Examples
    --------
    >>> from driftglm.priors import prior_named
    >>> prior_named("fixed").autocorrelation
    0.9
    """
    made: Prior = find(PRIORS, name, "prior")()
    return made
