"""Intervals of a covariate within groups are those of the exact posterior of its path."""

import numpy as np
import pytest
from exact_paths import STRONG, Laws, exact_panel, of_rows, read, simulated
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from driftglm import DriftRegressor

N_PATHS = 3000


def panel(seed, n_groups=150, n_steps=6):
    """Rows by group and step; effects of groups and noise of variance one."""
    rng = np.random.default_rng(seed)
    group, step = np.repeat(np.arange(n_groups), n_steps), np.tile(np.arange(n_steps), n_groups)
    X = rng.normal(size=(group.size, 5))
    X[:, 0] = rng.normal(size=n_groups)[group]
    y = 0.7 * X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n_groups)[group]
    return X, y + rng.normal(size=group.size), step, group


def test_what_rows_say_about_a_path_is_that_of_dense_least_squares():
    X, y, step, group = panel(0, 20, 4)
    by_step = np.eye(4)[step]
    columns = np.column_stack([X[:, [1]] * by_step, by_step, np.delete(X, 1, axis=1)])
    covariance = np.eye(y.size) + (group[:, None] == group)
    solved = np.linalg.solve(covariance, columns)
    everything = np.linalg.inv(columns.T @ solved)
    information, linear = of_rows(X, y, step, group, 1)
    assert_allclose(np.linalg.inv(information), everything[:4, :4], rtol=1e-8, atol=1e-10)
    estimate = (everything @ (solved.T @ y))[:4]
    assert_allclose(np.linalg.solve(information, linear), estimate, atol=1e-8)


def test_probabilities_of_laws_are_those_of_normal_densities():
    laws = Laws.of(2.0, 400, 4)
    information = np.diag([30.0, 50.0, 20.0, 40.0])
    estimate = np.array([0.4, 0.9, 0.2, 0.6])
    phi, means, spread = laws.posterior(information, (information @ estimate)[None])
    error = np.linalg.inv(information)
    density = [multivariate_normal(cov=each + error).logpdf(estimate) for each in laws.covariance]
    wanted = laws.chance * np.exp(np.array(density) - max(density))
    assert_allclose(phi[0], wanted / wanted.sum(), rtol=1e-8, atol=1e-12)
    k = int(np.argmax(laws.kind == "drifting"))
    gain = laws.covariance[k] @ np.linalg.inv(laws.covariance[k] + error)
    assert_allclose(means[0, k], gain @ estimate, rtol=1e-8)
    left = laws.covariance[k] - gain @ laws.covariance[k]
    assert_allclose(spread[k] ** 2, np.diag(left), rtol=1e-6)


def test_fits_have_the_widths_of_the_exact_posterior():
    """The variational mixture, the grid and the common error of effects add nothing to them."""
    ratio, drift = [], []
    for seed in range(20):
        X, y, step, group = panel(100 + seed)
        exact = exact_panel(X, y, step, group, 0.5)
        model = DriftRegressor(extrapolate="forecast").fit(X, y, time=step, groups=group)
        information, _ = of_rows(X, y, step, group, 1)
        width = model.coef_std_path_[:, 1].mean() * np.sqrt(information.sum())
        ratio.append(width / exact["width"])
        drift.append(model.drift_probability_[1] - exact["drift"])
    assert abs(np.mean(ratio) - 1.0) < 0.05
    assert np.mean(np.abs(np.array(ratio) - 1.0) < 0.1) >= 0.8
    assert abs(np.mean(drift)) < 0.12


def test_exact_intervals_are_calibrated_but_not_for_constants_alone():
    rng = np.random.default_rng(1)
    laws, information = Laws.of(2.7, 900, 6), 129.0 * np.eye(6)
    truth, kind = laws.drawn(N_PATHS, rng)
    linear = 129.0 * truth + np.sqrt(129.0) * rng.normal(size=truth.shape)
    held = read(laws, information, linear, truth, rng)["quantiles"]
    strong = np.abs(linear.sum(axis=1)) > STRONG * np.sqrt(6 * 129.0)
    assert abs(held.mean() - 0.9) < 0.02
    assert abs(held[strong].mean() - 0.9) < 0.03
    by_kind = {k: held[strong & (kind == k)].mean() for k in ("constant", "drifting")}
    assert by_kind["constant"] > 0.915
    assert by_kind["drifting"] < 0.885


@pytest.fixture(scope="module")
def by_prior():
    return simulated(N_PATHS, seed=2).set_index(["prior", "path"])


def test_constants_are_held_too_often_by_the_exact_posterior(by_prior):
    found = by_prior.loc[("the library's prior", "constant .5")]
    assert found["quantiles"] > 0.92
    assert found["deviations"] > 0.93


def test_a_prior_against_drift_loses_slow_walks(by_prior):
    held = by_prior["quantiles"]
    for moves in (0.05, 0.1, 0.2):
        now, against = (
            held[(name, f"walk from .5 in moves of {moves}")]
            for name in ("the library's prior", "one of thirty drifting")
        )
        assert 0.77 < now < 0.87
        assert against < now - 0.05
