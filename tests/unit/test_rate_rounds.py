"""How often the rate of a prior is estimated."""

from dataclasses import dataclass

import numpy as np
import pytest

from driftglm.priors import Exact, Fixed, PathStats
from driftglm.priors.base import PathPrior
from driftglm.solvers.rate_rounds import N_RATE_ROUNDS, RateRounds

SAMPLE = PathStats(np.ones(1), np.zeros(1), np.ones(1)), 4, 1


@dataclass(frozen=True)
class Told(PathPrior):
    """A prior whose estimates are told beforehand."""

    estimates: tuple[float, ...]
    rate: float = 1.0

    sparse = False
    estimates_rate = True

    @property
    def rate_used(self):
        return self.rate

    def evaluate(self, stats, n_timesteps, n_tied=1):
        raise NotImplementedError

    def with_estimated_rate(self, *samples):
        assert samples == (SAMPLE,)
        return Told(self.estimates[1:], self.estimates[0])


def all_rounds(prior):
    """The rates of the fits after the first."""
    rounds, rates = RateRounds(prior.estimates_rate), []
    while rounds.go_on:
        prior, rounds = rounds.following(prior, SAMPLE)
        rates.append(prior.rate_used)
        rounds = RateRounds(**vars(rounds))  # as a journal brings it back
    return rates


@pytest.mark.parametrize("prior", [Fixed(), Exact(rate=2.0)])
def test_a_rate_that_is_given_needs_one_fit(prior):
    assert all_rounds(prior) == []


def test_rounds_end_with_the_fit_whose_rate_has_settled():
    assert all_rounds(Told((3.0, 3.002, 9.0))) == [3.0, 3.002]
    assert all_rounds(Told((1.0005, 9.0))) == [1.0005]
    # Small rates settle in absolute terms.
    assert all_rounds(Told((1e-5, 5e-4, 9.0))) == [1e-5, 5e-4]


def test_a_rate_that_does_not_settle_is_given_up():
    assert len(all_rounds(Told((2.0, 1.0) * N_RATE_ROUNDS))) == N_RATE_ROUNDS


def test_a_prior_keeps_its_rate_once_it_is_estimated():
    prior = Exact(rate="estimate")
    new, rounds = RateRounds(prior.estimates_rate).following(prior, SAMPLE)
    assert (rounds.wanted, rounds.number, rounds.before) == (True, 1, 1.0)
    assert rounds.rate == new.rate_used
    assert not new.estimates_rate
    assert prior.with_rate(rounds.rate) == new
