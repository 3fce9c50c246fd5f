"""R-hat and effective draws against what is known of autoregressions, and against ArviZ."""

import warnings

import numpy as np
import pytest

from driftglm.diagnostics.chains import effective_draws, r_hat


def chains(phi, n=4000, n_chains=3, seed=0):
    rng = np.random.default_rng(seed)
    out = np.zeros((n_chains, n))
    for t in range(1, n):
        out[:, t] = phi * out[:, t - 1] + rng.standard_normal(n_chains)
    return out


def test_effective_draws_of_an_autoregression():
    for phi in (0.0, 0.5, 0.9):
        draws = chains(phi)
        expected = draws.size * (1 - phi) / (1 + phi)
        assert 0.8 < effective_draws(draws)[0] / expected < 1.25


def test_chains_that_disagree_in_place_or_in_spread_are_found():
    draws = chains(0.3)
    assert r_hat(draws) < 1.01
    assert r_hat(draws + np.array([[0.0], [0.0], [2.0]])) > 1.1
    assert r_hat(draws * np.array([[1.0], [1.0], [4.0]])) > 1.1


def test_corners():
    assert np.isnan(r_hat(np.zeros((2, 3))))
    assert np.isnan(effective_draws(np.zeros((2, 3)))[0])
    assert r_hat(np.zeros((2, 10))) == 1.0


def test_figures_are_those_of_arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
        for phi in (0.0, 0.6, 0.95):
            draws = chains(phi, n=501, seed=3)
            draws[0] += 0.3
            assert r_hat(draws) == pytest.approx(float(arviz.rhat(draws)), rel=1e-6)
            bulk, tail = effective_draws(draws)
            assert bulk == pytest.approx(float(arviz.ess(draws)), rel=0.02)
            assert tail == pytest.approx(float(arviz.ess(draws, method="tail")), rel=0.03)
