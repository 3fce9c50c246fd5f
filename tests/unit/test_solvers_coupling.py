"""Responses of a softmax: at the settled log-rates the Poisson objective is the multinomial one."""

from types import SimpleNamespace

import numpy as np
from numpy.testing import assert_allclose
from scipy.special import log_softmax

from driftglm.solvers.coupling import Softmax, Uncoupled


def responses(rng, n_rows=5, n_classes=3, variance=0.0):
    etas = rng.normal(size=(n_classes, n_rows))
    return [
        SimpleNamespace(eta=eta, eta_variance=np.full(n_rows, variance), log_likelihood=0.0)
        for eta in etas
    ]


def test_poisson_objectives_add_up_to_the_multinomial_one(rng):
    states = responses(rng)
    y, weights = rng.poisson(3.0, size=(3, 5)) + 1.0, rng.uniform(0.5, 2.0, size=5)
    expected = weights @ (y * log_softmax([state.eta for state in states], axis=0)).sum(axis=0)
    offsets = tuple(np.zeros(5) for _ in states)
    coupling = Softmax(offsets, y.sum(axis=0), weights)
    starts = [state.eta.copy() for state in states]
    coupling.settle(states)
    rates = np.exp([state.eta for state in states])
    assert_allclose(rates.sum(axis=0), y.sum(axis=0), rtol=1e-12)
    found = sum(
        weights @ (counts * state.eta - np.exp(state.eta))
        for counts, state in zip(y, states, strict=True)
    )
    assert_allclose(found + coupling.constant, expected, rtol=1e-12)
    for state, start, offset in zip(states, starts, offsets, strict=True):
        assert_allclose(state.eta, start + offset)
        assert state.log_likelihood is None


def test_tilts_move_only_where_the_bound_gets_tighter(rng):
    states, totals = responses(rng, variance=0.8), np.full(5, 4.0)
    tilts = tuple(np.zeros(5) for _ in states)
    coupling = Softmax(tuple(np.zeros(5) for _ in states), totals, np.ones(5), tilts)
    etas = np.array([state.eta for state in states])

    def bound():
        rates = etas + (0.5 - np.array(tilts)) * 0.8
        return np.log(np.exp(rates).sum(axis=0)) + 0.5 * (np.array(tilts) ** 2).sum(axis=0) * 0.8

    before = bound()
    coupling.settle(states)
    assert (bound() <= before).all()
    assert (bound() < before).any()


def test_a_single_response_has_nothing_to_settle():
    assert Uncoupled().constant == 0.0
    assert Uncoupled().arrays() == ()
