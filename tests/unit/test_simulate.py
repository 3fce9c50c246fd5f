"""Simulated panels: shapes, reproducibility, and distributions read off large samples."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from driftglm.priors.chain import ALPHA_BOUND
from driftglm.simulate import _chain, _truncated_exponential, simulate_panel


def test_shapes_and_steps():
    panel = simulate_panel(n_timesteps=3, rows_per_step=4, n_features=5, n_active=2)
    assert panel.X.shape == (12, 5)
    assert panel.X_next.shape == (4, 5)
    assert panel.y.shape == (12,)
    assert panel.y_next.shape == (4,)
    assert_array_equal(panel.time, np.repeat([0, 1, 2], 4))
    assert panel.coef_path.shape == (4, 5)
    assert panel.intercept_path.shape == (4,)


def test_the_same_seed_gives_the_same_panel_and_another_seed_another():
    panels = [simulate_panel(n_features=3, random_state=seed) for seed in (1, 1, 2)]
    assert_array_equal(panels[0].X, panels[1].X)
    assert_array_equal(panels[0].y, panels[1].y)
    assert not np.array_equal(panels[0].y, panels[2].y)


def test_a_generator_moves_on():
    rng = np.random.default_rng(3)
    first, second = (simulate_panel(n_features=3, random_state=rng) for _ in range(2))
    assert not np.array_equal(first.X, second.X)


@pytest.mark.parametrize(("n_active", "expected"), [(0, 0), (4, 4), (99, 10)])
def test_just_the_active_features_have_a_path(n_active, expected):
    panel = simulate_panel(n_features=10, n_active=n_active)
    active = panel.coef_path.any(axis=0)
    assert active.sum() == expected
    assert (panel.coef_path[:, active] != 0).all()


def test_residuals_about_the_truth_have_the_stated_variance():
    panel = simulate_panel(rows_per_step=2000, n_features=4, n_active=2, noise_variance=0.7)
    fitted = (panel.X * panel.coef_path[panel.time]).sum(axis=1) + panel.intercept_path[panel.time]
    n = panel.y.size
    # The relative standard error of a variance is sqrt(2 / n) = 0.011; four of them.
    assert_allclose((panel.y - fitted).var(), 0.7, rtol=4 * np.sqrt(2 / n))
    ahead = panel.X_next @ panel.coef_path[-1] + panel.intercept_path[-1]
    assert_allclose((panel.y_next - ahead).var(), 0.7, rtol=4 * np.sqrt(2 / 2000))


@pytest.mark.parametrize("rate", [-8.0, 0.0, 1e-9, 1.0, 20.0])
def test_draws_follow_the_truncated_exponential(rate, rng):
    draws = np.array([_truncated_exponential(rate, rng) for _ in range(2000)])
    assert (draws >= 0).all()
    assert (draws <= ALPHA_BOUND).all()

    def cdf(x):
        if abs(rate) < 1e-6:
            return x / ALPHA_BOUND
        return np.expm1(-rate * x) / np.expm1(-rate * ALPHA_BOUND)

    assert stats.kstest(draws, cdf).pvalue > 1e-3


@pytest.mark.parametrize("rho", [0.0, 0.7])
def test_chains_are_stationary_with_unit_variance(rho, rng):
    chains = np.array([_chain(4, rho, rng) for _ in range(20_000)])
    steps = np.arange(4)
    # Standard errors are below 0.01.
    assert_allclose(np.cov(chains.T), rho ** np.abs(steps[:, None] - steps), atol=0.04)
