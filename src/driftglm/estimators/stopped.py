"""What a fit says of a solver that ended before its tolerance was reached."""

from __future__ import annotations

from driftglm.fitting.outcome import Outcome
from driftglm.solvers import StopReason


def stopped_early(outcome: Outcome, tol: float) -> str:
    """What was found, and what to do about it."""
    ended = f"stopped after {outcome.n_iter} iterations ({outcome.reason.value})"
    if outcome.optimality > tol:
        cure = (
            f"with optimality {outcome.optimality:.2g} > tol={tol:g}; raise max_iter or tol. With "
            "the paper's priors a feature close to the threshold of being included is often why."
        )
    elif outcome.reason is StopReason.MAX_ITER:
        cure = (
            "with the objective at rest and fitted values that still move; raise max_iter or tol. "
            "Weights or columns of very different sizes are often why."
        )
    else:
        cure = (
            "because no step raised the objective any more, although fitted values had not "
            "settled; weights or counts at the edge of what numbers can hold are often why."
        )
    return f"{ended} {cure}"


def text_cure(reason: str) -> str:
    """What to do about a text model that stopped early."""
    if reason == StopReason.MOVING.value:
        return (
            "the bound stands still and log probabilities may yet move in their third digit. Pass "
            "a smaller tol to go on, or take them as they are."
        )
    return "raise max_iter or tol."
