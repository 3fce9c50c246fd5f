"""Forecasters: which step answers for which, and the noise after the last."""

from types import SimpleNamespace as Record

import numpy as np

from driftglm.fitting.outcome import Forecaster, Outcome
from driftglm.solvers import StopReason


class Told:
    """A fit of three steps that tells what it was asked."""

    n_timesteps, posterior = 3, True

    def at(self, code):
        return "at", code

    def held(self, n_steps):
        return "held", n_steps


def test_later_steps_are_forecast_or_held_and_earlier_ones_neither():
    found = Forecaster("one", (Told(),), np.ones(3))
    assert found.steps(2, hold=True) == [("at", 2)]
    assert found.steps(4, hold=False) == [("at", 4)]
    assert found.steps(4, hold=True) == [("held", 2)]
    assert found.steps(4, hold=True, drift=False) == [("at", 2)]


def test_the_noise_of_the_last_step_goes_on():
    found = Forecaster("one", (Told(),), np.array([1.0, 2.0, 3.0]))
    assert found.noise_at(np.array([0, 2, 9])).tolist() == [1.0, 3.0, 3.0]
    assert found.noise_at(7).tolist() == [3.0]


def test_only_a_reached_tolerance_is_convergence():
    for reason in StopReason:
        ended = Outcome((Record(),), np.zeros(4), 0.0, reason)
        assert ended.converged == (reason is StopReason.CONVERGED)
        assert ended.n_iter == 4
