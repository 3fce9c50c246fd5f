"""Choosing among candidates that come in chains, from a strong penalty to a weak one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from driftglm._typing import FloatArray
from driftglm._warnings import warn
from driftglm.exceptions import DataError, DataWarning

FLAT = 1e-3
"""Relative fall of the error towards an end of a grid that is no reason to go beyond it."""

Params = dict[str, float]
"""Parameters of a candidate by name."""
Chain = Iterator[tuple[Params, FloatArray]]
"""Candidates from a strong penalty to a weak one, each with what it predicts for new rows: linear
predictors or means, of documents their log-likelihoods."""
Errors = Iterable[tuple[Params, float]]
"""A chain of candidates, each with its error."""


@dataclass(frozen=True)
class Patience:
    """When a chain is left: candidates behind its best, and by how much the last one is worse.

    An error may rise over several candidates before it falls, so that patience is for fits whose
    time matters: the weakest penalties are the slowest, and the least likely to be chosen.
    """

    n_behind: int
    clearly: float
    at_most: int

    def is_over(self, errors: list[float]) -> bool:
        """Whether the last of some candidates is clearly behind the best."""
        least = min(errors)
        behind = len(errors) - 1 - errors.index(least)
        clearly = errors[-1] > least + self.clearly * abs(least)
        return (behind >= self.n_behind and clearly) or behind >= self.at_most


SHORT = Patience(3, 0.02, 8)
"""For fits that take minutes."""
LONG = Patience(4, 0.02, 10)
"""For fits to many columns, whose weak penalties fit noise: 36 candidates span five powers of ten
or ten. To few columns all are fitted: there an error that rises over six may still fall."""


@dataclass(frozen=True)
class Choice:
    """The candidate of least error.

    `at_edge` says that it is the first or the last of its chain while errors still fell clearly
    towards it, so that a candidate beyond the grid would likely have been better.
    """

    params: Params
    error: float
    n_tried: int
    at_edge: bool


def choose(
    chains: Iterable[Errors], *, patience: Callable[[], Patience | None] = lambda: None
) -> Choice:
    """Least error over all chains. Ties go to the earlier candidate, the stronger penalty.

    With `patience`, a chain is left once it is clearly behind its own best. It is asked for when
    there are candidates: a model knows the size of its data no earlier.
    """
    best: Choice | None = None
    n_tried = 0
    for chain in chains:
        params, errors, ended = _follow(chain, patience)
        n_tried += len(errors)
        at = int(np.argmin(errors)) if errors else -1
        if at >= 0 and (best is None or errors[at] < best.error):
            best = Choice(params[at], errors[at], 0, _at_edge(errors, at, ended=ended))
    if best is None or not np.isfinite(best.error):
        raise DataError(
            "no candidate strength had a finite error on the step tuned on; check y and X there, "
            "or pass strength."
        )
    return replace(best, n_tried=n_tried)


def _follow(
    chain: Errors, patience: Callable[[], Patience | None]
) -> tuple[list[Params], list[float], bool]:
    """Candidates and errors up to where the chain was left, and whether it ran to its end."""
    params: list[Params] = []
    errors: list[float] = []
    for candidate, error in chain:
        params.append(candidate)
        errors.append(error if np.isfinite(error) else np.inf)
        rule = patience()
        if rule is not None and rule.is_over(errors):
            return params, errors, False
    return params, errors, True


def _at_edge(errors: list[float], at: int, *, ended: bool) -> bool:
    """Whether the least error lies at an end of a chain that still falls there."""
    last = len(errors) - 1
    if last == 0 or at not in {0, last} or (at == last and not ended):
        return False
    neighbour = errors[1] if at == 0 else errors[last - 1]
    return neighbour - errors[at] > FLAT * abs(errors[at])


def warn_at_edge(name: str, params: Params) -> None:
    """Say that the grid was too narrow."""
    chosen = ", ".join(f"{key}={value:.4g}" for key, value in params.items())
    warn(
        f"{name} chose {chosen}, an end of its default grid, where the error still falls; "
        "the data may hardly need a penalty, or nothing but one. Pass values of your own.",
        DataWarning,
    )
