"""The gamma family: exposure, forecasts and messages."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import ks_1samp

from driftglm import DriftGLM, load
from driftglm.exceptions import DataError
from driftglm.families import Gamma
from driftglm.simulate import simulate_panel


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1.0, -1.0], r"-1.0 at row 1.*'gaussian' for numbers of both"),
        ([1.0, 0.0], r"0.0 at row 1.*no family here has both zeros.*log\(1 \+ y\), 'poisson'"),
        (["a", "b"], "labels are for family='binomial'"),
    ],
)
def test_wrong_targets_are_told_which_family_fits(y, message):
    with pytest.raises(DataError, match=message):
        DriftGLM(family="gamma").fit(np.arange(2.0)[:, None], y)


def test_amounts_and_their_dispersion_are_found(tmp_path):
    panel = simulate_panel(family="gamma", n_features=4, n_active=3, scale=0.5)
    model = DriftGLM(family="gamma").fit(panel.X, panel.y, time=panel.time)
    assert_allclose(model.noise_, 0.25, rtol=0.1)
    assert_allclose(model.coef_path_, panel.coef_path[:-1], atol=0.15)
    hours = np.linspace(0.5, 2.0, panel.y.size)
    exposed = DriftGLM(family="gamma").fit(
        panel.X, panel.y * hours, time=panel.time, exposure=hours
    )
    assert_allclose(exposed.coef_path_, model.coef_path_, atol=2e-3)
    twice = exposed.predict(panel.X_next, exposure=2.0)
    assert_allclose(twice, 2 * exposed.predict(panel.X_next), rtol=1e-12)
    model.save(tmp_path / "model.drift")
    loaded = load(tmp_path / "model.drift")
    found, again = (each.predict_distribution(panel.X, panel.time) for each in (model, loaded))
    assert (found.shape == again.shape).all()
    low, high = found.interval(0.9).T
    assert 0.88 < np.mean((low < panel.y) & (panel.y < high)) < 0.92


@pytest.mark.parametrize(("variance", "apart"), [(0.0, 0.006), (0.1, 0.03), (1.0, 0.1)])
def test_forecasts_are_close_to_those_of_draws(variance, apart, rng):
    eta = 1.0 + np.sqrt(variance) * rng.normal(size=100_000)
    y = np.exp(eta) * rng.gamma(2.0, 0.5, eta.size)
    forecast = Gamma(dispersion=0.5).predictive(np.ones(1), np.full(1, variance), np.ones(1))
    assert ks_1samp(y, lambda at: forecast.take(np.zeros(at.size, int)).cdf(at)).statistic < apart
