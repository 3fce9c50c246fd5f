"""A noise variance that moves: its bound, its forecast, and what a fit makes of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import norm

import driftglm
from driftglm import DriftGLM, DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError
from driftglm.fitting.outcome import NoiseDistribution
from driftglm.objective.noise import Noise, NoisePath, noise_components
from driftglm.priors.log_variance import expected_value, update_component_inplace


def squares(rng, n_steps=12, n_rows=40, spread=0.8):
    """Sums of squares of steps whose log variance scatters, one of them empty."""
    rows = np.full(n_steps, float(n_rows))
    rows[3] = 0.0
    deviance = rows * np.exp(spread * rng.normal(size=n_steps))
    return deviance, rows


def covariance(dynamic, rho, n):
    """That of the AR(1) deviations about a flat part of huge variance."""
    lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return 1e7 + dynamic * rho**lag


@pytest.mark.parametrize(("dynamic", "rho"), [(0.3, 0.8), (1.0, 0.0)])
def test_a_component_ends_at_the_best_normal_distribution(dynamic, rho, rng):
    """Against a direct maximiser over means and a diagonal shift, by dense matrices."""
    deviance, rows = squares(rng)
    n = rows.size
    paths = [np.zeros((1, n)) for _ in range(4)]
    divergence = np.full(1, np.inf)
    for _ in range(20):
        update_component_inplace((deviance, rows), (dynamic, rho), (*paths, divergence), 0)
    mean, variance, h, _ = (each[0] for each in paths)
    precision = np.linalg.inv(covariance(dynamic, rho, n))

    def loss(z):
        with_variance = 0.5 * np.sum(rows * z + deviance * np.exp(0.5 * variance - z))
        return with_variance + 0.5 * z @ precision @ z

    assert_allclose(minimize(loss, mean + 0.1, tol=1e-10).x, mean, atol=1e-4)
    assert_allclose(np.diag(np.linalg.inv(precision + np.diag(h))), variance, rtol=1e-4)
    assert_allclose(h, 0.5 * deviance * np.exp(0.5 * variance - mean), rtol=1e-5)


def test_the_expected_likelihood_is_that_of_draws(rng):
    deviance, rows = squares(rng, n_steps=4)
    mean, variance = rng.normal(size=4), rng.uniform(0.05, 0.3, 4)
    z = mean + np.sqrt(variance) * rng.normal(size=(400_000, 4))
    drawn = -0.5 * (rows * z + deviance * np.exp(-z)).sum(axis=1)
    found = expected_value((deviance, rows), mean, variance)
    assert_allclose(found, drawn.mean(), atol=5 * drawn.std() / np.sqrt(len(z)))


def test_no_update_lowers_the_bound_and_freedom_raises_it(rng):
    noise = Noise(given=None, reference=1.0, drifts=True)
    deviance, rows = squares(rng)
    more = noise.prior_deviance(rows)
    given = deviance + more[0], rows + more[1]
    path = noise.start_path(rows)
    values = []
    for k in range(8):
        path.flat = k < 4
        path = noise.moved(path, deviance, rows)
        values.append(path.value(*given))
    assert (np.diff(values) >= -1e-9 * abs(values[-1])).all()
    assert values[4] > values[3] + 10
    assert_allclose(path.phi.sum(), 1.0)
    assert np.ptp(path.expected_log) > 1.0


def test_the_prior_of_the_components_adds_up():
    dynamic, rho, log_weights = noise_components(9)
    assert_allclose(np.exp(log_weights).sum(), 1.0)
    assert dynamic[0] == 0.0
    assert rho.max() >= 0.99
    assert noise_components(1)[0].size == 1


def test_a_forecast_of_the_noise_forgets_what_it_knows(rng):
    noise = Noise(given=None, reference=1.0, drifts=True)
    deviance, rows = squares(rng, n_rows=200)
    path = noise.start_path(rows)
    path.flat = False
    path = noise.moved(noise.moved(path, deviance, rows), deviance, rows)
    widths = []
    for ahead in (1, 3, 30):
        weights, mean, variance = path.ahead(ahead)
        assert_allclose(weights.sum(), 1.0)
        middle = weights @ mean
        widths.append(weights @ (variance + (mean - middle) ** 2))
    assert widths[0] < widths[1] < widths[2]


def test_quantiles_of_the_noise_are_those_of_its_mixture():
    found = NoiseDistribution(np.array([0.3, 0.7]), np.array([-1.0, 0.5]), np.array([0.04, 1.0]))
    levels = np.array([0.05, 0.5, 0.95])
    at = np.log(found.quantile(levels))
    below = 0.3 * norm.cdf(at, -1.0, 0.2) + 0.7 * norm.cdf(at, 0.5, 1.0)
    assert_allclose(below, levels, rtol=1e-9)


# ------------------------------------------------------------------------------- whole fits


def wild_panel(seed=0, n_steps=16, n_rows=60):
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(n_steps), n_rows)
    X = rng.normal(size=(time.size, 3))
    scale = np.where(np.arange(n_steps) % 8 < 4, 0.4, 1.6)
    return X, X[:, 0] + scale[time] * rng.normal(size=time.size), time, scale


def test_the_path_of_the_noise_follows_the_noise_and_constant_noise_does_not():
    X, y, time, scale = wild_panel()
    model = DriftRegressor().fit(X, y, time=time)
    assert np.corrcoef(np.log(model.noise_variance_path_), np.log(scale))[0, 1] > 0.97
    low, high = model.noise_interval(0.99)
    assert ((low < scale**2) & (scale**2 < high)).all()
    assert ((low < model.noise_variance_path_) & (model.noise_variance_path_ < high)).all()
    constant = DriftRegressor(noise="constant").fit(X, y, time=time)
    assert np.ptp(constant.noise_variance_path_) == 0.0
    assert np.ptp(constant.noise_interval(), axis=0).max() == 0.0
    assert model.objective_history_[-1] > constant.objective_history_[-1] + 50
    assert (model.coef_path_[:, 0] - 1).std() < (constant.coef_path_[:, 0] - 1).std()


def test_forecasts_know_how_noisy_the_last_steps_were():
    X, y, time, _ = wild_panel(n_steps=17)  # the last step is the first calm one
    models = [DriftRegressor().fit(X[time < t], y[time < t], time=time[time < t]) for t in (12, 16)]
    widths = [np.ptp(model.predict_interval(X[:5]), axis=1).mean() for model in models]
    assert widths[1] > 1.5 * widths[0]


def test_few_steps_have_one_noise_unless_asked():
    X, y, time, _ = wild_panel(n_steps=3)
    assert np.ptp(DriftRegressor().fit(X, y, time=time).noise_variance_path_) == 0.0
    assert np.ptp(DriftRegressor(noise="drift").fit(X, y, time=time).noise_variance_path_) > 0.0


@pytest.mark.parametrize("n_rows", [1, 2])
def test_one_row_a_step_and_empty_steps_stay_finite(n_rows, rng):
    time = np.repeat(np.r_[0:10, 14:30], n_rows)
    X = rng.normal(size=(time.size, 3))
    y = X[:, 0] + np.where(time > 20, 2.0, 0.2) * rng.normal(size=time.size)
    model = DriftRegressor().fit(X, y, time=time)
    path = model.noise_variance_path_
    assert path.shape == (30,)
    assert np.isfinite(path).all()
    assert path[25] > 3 * path[5]
    low, high = model.noise_interval()
    assert np.log(high / low)[12] > np.log(high / low)[5]


def test_a_target_that_is_fitted_exactly_keeps_a_noise(rng):
    time = np.repeat(np.arange(6), 20)
    X = rng.normal(size=(120, 2))
    model = DriftRegressor().fit(X, X[:, 0], time=time)
    assert (model.noise_variance_path_ > 1e-6).all()
    assert_allclose(model.predict(X, time=time), X[:, 0], atol=0.05)


def test_units_of_y_scale_the_noise():
    X, y, time, _ = wild_panel()
    one = DriftRegressor().fit(X, y, time=time)
    other = DriftRegressor().fit(X, 1000 * y, time=time)
    assert_allclose(other.noise_variance_path_, 1e6 * one.noise_variance_path_, rtol=1e-4)


def test_files_and_updates_know_the_path_of_the_noise(tmp_path):
    X, y, time, _ = wild_panel()
    early = time < 12
    model = DriftRegressor(keep_data=True).fit(X[early], y[early], time=time[early])
    model.update(X[~early], y[~early], time=time[~early])
    whole = DriftRegressor().fit(X, y, time=time)
    assert_allclose(model.noise_variance_path_, whole.noise_variance_path_, rtol=0.02)
    model.save(tmp_path / "model.drift")
    again = driftglm.load(tmp_path / "model.drift")
    assert_allclose(again.noise_variance_path_, model.noise_variance_path_, rtol=0)
    assert_allclose(again.predict_interval(X[:9]), model.predict_interval(X[:9]), rtol=0)


def test_noise_that_drifts_needs_a_posterior_and_a_family_with_noise():
    X, y, time, _ = wild_panel(n_steps=4)
    with pytest.raises(DataError, match=r"noise='drift'.*prior='learned'"):
        DriftRegressor(noise="drift", prior="exact").fit(X, y, time=time)
    with pytest.raises(DataError, match=r"noise='drift'.*'poisson'"):
        DriftGLM(family="poisson", noise="drift").fit(X, np.abs(y).round(), time=time)
    assert np.isfinite(DriftPoissonRegressor().fit(X, np.abs(y).round(), time=time).coef_).all()


def test_a_path_without_a_posterior_is_where_it_was_put():
    path = NoisePath.at(np.log([1.0, 2.0, 4.0]), flat=True)
    assert_allclose(path.effective, [1.0, 2.0, 4.0])
