"""What produced a page, as short text."""

import numpy as np
import pytest

from driftglm import DriftPoissonRegressor, DriftRegressor
from driftglm.report.encode import significant
from driftglm.report.facts import facts
from driftglm.simulate import simulate_panel


def rows(n_steps=4, n=30):
    panel = simulate_panel(n_timesteps=n_steps, rows_per_step=n, n_features=4, n_active=2)
    return panel.X, panel.y, panel.time + 2001


@pytest.fixture(scope="module")
def model():
    X, y, time = rows()
    return DriftRegressor().fit(X, y, time=time)


def test_settings_of_any_kind_become_short_text(model):
    settings = {"array": np.zeros(5000), "long": "x" * 10_000, "object": object, 3: None}
    found = facts(model, None, settings)
    shown = dict(found[0]["rows"])
    assert shown["array"] == "ndarray of 5,000"
    assert len(shown["long"]) == 300
    assert shown["3"] == "None"
    fitted = dict(next(part for part in found if part["title"] == "Fit")["rows"])
    assert fitted["timesteps"] == "4, 2001 to 2004"
    assert fitted["converged"] == "yes"


def test_the_scatter_of_a_model_is_shown_under_its_own_name():
    X, y, time = rows()
    counts = np.random.default_rng(1).negative_binomial(2, 0.2, size=y.size)
    of_counts = DriftPoissonRegressor().fit(X, counts, time=time)
    assert of_counts.dispersion_ > 2
    found = facts(of_counts, None, None)
    shown = dict(found[0]["rows"])
    assert shown["dispersion (variance over mean)"] == significant(of_counts.dispersion_, 4)
    assert "noise variance" not in shown
    of_numbers = DriftRegressor().fit(X, y, time=time)
    found = facts(of_numbers, None, None)
    shown = dict(found[0]["rows"])
    assert shown["noise variance"] == significant(of_numbers.noise_variance_, 4)
    assert not any("dispersion" in name for name in shown)
