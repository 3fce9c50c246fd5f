"""The learned prior on panels of `simulate_panel`: forecasts, selection, intervals.

Limits come from least squares on the same rows, given what the learned prior is not: which
features matter, or that nothing drifts. The four reference worlds are in test_worlds.py.
"""

import numpy as np
import pytest

from driftglm import DriftRegressor
from driftglm.simulate import simulate_panel


def least_squares(X, y):
    """Coefficients with an intercept, last."""
    return np.linalg.lstsq(np.column_stack([X, np.ones(y.size)]), y, rcond=None)[0]


@pytest.fixture(scope="module")
def panels():
    """Panels drawn from the model, each with its fit."""
    out = []
    for seed in range(6):
        panel = simulate_panel(
            n_timesteps=8, rows_per_step=100, n_features=50, n_active=6, random_state=seed
        )
        out.append((panel, DriftRegressor().fit(panel.X, panel.y, time=panel.time)))
    return out


def test_features_are_found_and_few_others(panels):
    found = wrong = active = 0
    for panel, model in panels:
        truth = panel.coef_path.any(axis=0)
        chosen = model.inclusion_probability_ > 0.5
        found += (chosen & truth).sum()
        wrong += (chosen & ~truth).sum()
        active += truth.sum()
    assert found >= 0.85 * active
    assert wrong <= 0.05 * found


def test_paths_are_closer_to_the_truth_than_least_squares(panels):
    """Pooled: blind to drift. Step by step, the true features known: what luck could do."""
    learned, pooled, stepwise = 0.0, 0.0, 0.0
    for panel, model in panels:
        truth = panel.coef_path[:-1]
        learned += ((model.coef_path_ - truth) ** 2).sum()
        pooled += ((least_squares(panel.X, panel.y)[:-1] - truth) ** 2).sum()
        active = np.flatnonzero(truth.any(axis=0))
        for step in range(8):
            rows = panel.time == step
            known = least_squares(panel.X[rows][:, active], panel.y[rows])[:-1]
            stepwise += ((known - truth[step, active]) ** 2).sum()
    assert learned < 0.5 * pooled
    assert learned < 1.25 * stepwise


def test_forecasts_beat_least_squares_on_the_next_step(panels):
    learned, held, pooled = 0.0, 0.0, 0.0
    for panel, model in panels:
        learned += np.mean((panel.y_next - model.predict(panel.X_next)) ** 2)
        last = np.full(panel.y_next.size, panel.time.max())
        held += np.mean((panel.y_next - model.predict(panel.X_next, time=last)) ** 2)
        coef = least_squares(panel.X, panel.y)
        pooled += np.mean((panel.y_next - panel.X_next @ coef[:-1] - coef[-1]) ** 2)
    assert learned < 0.95 * pooled
    # The truth reverts to its mean: so should forecasts.
    assert learned < held


def test_noise_intercept_and_autocorrelation_are_recovered(panels):
    ratios = [model.noise_variance_ / panel.noise_variance for panel, model in panels]
    # 800 rows less what the coefficients use up: a standard error of 5 % each
    assert abs(np.mean(ratios) - 1.0) < 0.06
    error = [model.intercept_path_ - panel.intercept_path[:-1] for panel, model in panels]
    assert np.sqrt(np.mean(np.square(error))) < 0.08  # one step's mean alone: .05 and more
    for _, model in panels:
        included = model.inclusion_probability_ > 0.5
        rho = model.autocorrelation_[included]
        assert ((rho > 0.2) & (rho <= 1.0)).all()


def test_intervals_of_the_next_step_cover_nine_in_ten(panels):
    covered = []
    for panel, model in panels:
        lower, upper = model.predict_interval(panel.X_next).T
        covered.append(np.mean((lower <= panel.y_next) & (panel.y_next <= upper)))
    assert 0.84 <= np.mean(covered) <= 0.96


def test_constant_coefficients_are_as_good_as_known_to_be_constant():
    """In a world without drift, learning that there is none costs next to nothing."""
    learned, known, n_static = 0.0, 0.0, 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        time = np.repeat(np.arange(8), 60)
        X = rng.normal(size=(time.size, 40))
        truth = np.zeros(40)
        truth[:5] = [0.8, -0.6, 0.5, 0.4, -0.3]
        y = X @ truth + 0.5 * rng.normal(size=time.size)
        model = DriftRegressor().fit(X, y, time=time)
        learned += ((model.coef_path_ - truth) ** 2).mean(axis=0).sum()
        known += ((least_squares(X[:, :5], y)[:-1] - truth[:5]) ** 2).sum()
        kinds = model.summary().set_index("feature")["kind"]
        n_static += int((kinds[[f"x{i}" for i in range(5)]] == "static").sum())
    assert learned < 2.0 * known
    assert n_static >= 0.9 * 24 * 5  # a slight drift cannot be ruled out for every one
