"""The rate of a prior by empirical Bayes: fits and estimates in turn, whatever is fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from driftglm.priors import PathPrior, PathStats

N_RATE_ROUNDS = 5
"""Rounds of fits between which the rate of a prior is estimated, at most."""
STEADY = 1e-3
"""Rates that move by less, relative to their size, have settled."""

AnyPrior = TypeVar("AnyPrior", bound=PathPrior)


@dataclass(frozen=True)
class RateRounds:
    """How far the rounds have come: plain numbers, which a journal can keep.

    Parameters
    ----------
    wanted
        Whether there is a rate to estimate; asked of the prior before the first estimate, which
        has none left to make.
    number
        Estimates made so far; the first fit comes before any.
    rate, before
        The rate last estimated and the one in use before it.
    """

    wanted: bool
    number: int = 0
    rate: float | None = None
    before: float | None = None

    @property
    def go_on(self) -> bool:
        """Whether the fit that has just ended is to be followed by another."""
        return self.wanted and self.number < N_RATE_ROUNDS and not self.settled

    @property
    def settled(self) -> bool:
        """Whether the rate has stopped moving from round to round."""
        if self.rate is None or self.before is None:
            return False
        return abs(self.rate - self.before) <= STEADY * max(1.0, abs(self.before))

    def following(
        self, prior: AnyPrior, sample: tuple[PathStats, int, int]
    ) -> tuple[AnyPrior, RateRounds]:
        """The prior with the rate that suits the paths just found, and the round it is for."""
        new = prior.with_estimated_rate(sample)
        return new, RateRounds(self.wanted, self.number + 1, new.rate_used, prior.rate_used)
