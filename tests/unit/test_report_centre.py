"""The intercept and the next steps on a page are those of the model, where its columns are."""

import base64

import numpy as np
import pandas as pd
import pytest

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.report.centre import LEVELS, N_AHEAD, fan, intercept

T, N = 5, 60


def decode(text, *shape):
    return np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(shape)


def rows():
    """A panel whose columns are far from zero, and whose mean rises by 1 a step."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(2001, 2001 + T), N)
    X = rng.normal(size=(time.size, 3)) + np.array([0.0, 500.0, -20.0])
    y = time - 2001 + 2 * (X[:, 1] - 500) + 0.5 * rng.normal(size=time.size)
    return X, y, time


@pytest.fixture(scope="module")
def model():
    X, y, time = rows()
    return DriftRegressor().fit(X, y, time=time)


def test_the_intercept_is_that_of_a_mean_row_not_that_at_zero(model):
    _, y, time = rows()
    found = intercept(model)
    path, reach = decode(found["path"], 1, T + 1)[0], decode(found["reach"], 1, T + 1)[0]
    means = [y[time == step].mean() for step in np.unique(time)]
    np.testing.assert_allclose(path[:T], means, atol=0.3)
    assert np.abs(model.intercept_path_ - means).min() > 500
    assert (reach > 0).all()
    assert reach[T] > reach[T - 1]
    assert found["scale"] == "y"


def test_the_next_intercept_is_that_of_the_next_prediction(model):
    row = model._fits[0].columns.center[-1]
    found = decode(intercept(model)["path"], T + 1)
    assert found[T] == pytest.approx(model.predict(row[None])[0], rel=1e-5)


def test_every_class_has_an_intercept_and_a_mode_has_no_band():
    X, y, time = rows()
    labels = np.array(["<b>", "b", "c"])[np.digitize(y, [0, 3])]
    found = intercept(DriftClassifier(prior="exact", tol=0.1).fit(X, labels, time=time))
    assert found["names"] == ["<b>", "b", "c"]
    assert decode(found["path"], 3, T + 1).shape == (3, T + 1)
    assert found["reach"] is None


def test_without_an_intercept_there_is_neither():
    X, y, time = rows()
    model = DriftRegressor(fit_intercept=False).fit(X[:, :1], y, time=time)
    assert intercept(model) is None
    assert fan(model) is None


def test_the_fan_is_the_model_s_forecast_of_its_mean_row(model):
    found = fan(model)
    assert found["steps"] == [str(year) for year in range(2001, 2001 + T + N_AHEAD)]
    row = np.tile(model._fits[0].columns.center[-1], (N_AHEAD, 1))
    ahead = np.arange(2001 + T, 2001 + T + N_AHEAD)
    line = decode(found["line"], T + N_AHEAD)
    np.testing.assert_allclose(line[T:], model.predict(row, time=ahead), rtol=1e-5)
    np.testing.assert_allclose(line[:T], np.arange(T) + line[0], atol=0.5)
    lower, upper = (
        decode(found[key], len(LEVELS), N_AHEAD).astype(float) for key in ("lower", "upper")
    )
    forecast = model.predict_distribution(row, time=ahead)
    for j, level in enumerate(LEVELS):
        np.testing.assert_allclose(lower[j], forecast.interval(level)[:, 0], rtol=1e-5)
    width = upper - lower
    assert (np.diff(width, axis=0) < 0).all()  # the widest band first
    assert (np.diff(width, axis=1) > 0).all()  # and wider from step to step


def test_probabilities_have_bands_of_their_own():
    X, y, time = rows()
    model = DriftClassifier(tol=0.1).fit(X, np.where(y > 2, "up", "down"), time=time)
    found = fan(model)
    assert found["what"] == "probability of up"
    line, lower = decode(found["line"], T + N_AHEAD), decode(found["lower"], 3, N_AHEAD)
    assert ((line > 0) & (line < 1)).all()
    assert line[T - 1] > line[0]  # y rises, and with it the probability of "up"
    assert (lower[0] < line[T:]).all()


def test_every_class_has_a_fan_and_their_probabilities_sum_to_one():
    X, y, time = rows()
    # Without the column that explains y, so that no class is certain.
    model = DriftClassifier(tol=0.1).fit(X[:, ::2], np.digitize(y, [0, 3]), time=time)
    found = fan(model)
    assert found["what"] is None
    line, upper = decode(found["line"], 3, T + N_AHEAD), decode(found["upper"], 3, 3, N_AHEAD)
    np.testing.assert_allclose(line.sum(axis=0), 1.0, rtol=1e-5)
    row = np.tile(model._fits[0].columns.center[-1], (2, 1))
    ends = model.predict_interval(row, np.array([2006, 2007]), LEVELS[0])
    np.testing.assert_allclose(upper[:, 0, :2], ends[:, :, 1].T, rtol=1e-5)


def test_periods_go_on_and_ordered_categories_end_with_the_last():
    X, y, time = rows()
    counts = np.random.default_rng(0).poisson(np.exp(0.2 * (time - 2001)))
    quarters = pd.PeriodIndex.from_ordinals(time - 2001 + 200, freq="Q")
    found = fan(DriftPoissonRegressor(freq="Q", tol=0.1).fit(X, counts, time=quarters))
    assert found["steps"][-1] == "2023Q1"
    assert "its exposure 1" in found["row"]
    names = ["a", "b", "c", "d", "e", "f"]
    waves = pd.Categorical.from_codes(time - 2001, names, ordered=True)
    found = fan(DriftRegressor(tol=0.1).fit(X, y, time=waves))
    assert (found["steps"], found["nAhead"]) == (names, 1)
    waves = waves.remove_unused_categories()
    assert fan(DriftRegressor(tol=0.1).fit(X, y, time=waves)) is None


def test_a_mode_has_a_line_without_bands_and_one_step_no_fan():
    X, y, time = rows()
    found = fan(DriftRegressor(prior="exact", tol=0.1).fit(X, y, time=time))
    assert found["lower"] is None
    assert decode(found["line"], T + N_AHEAD).size == T + N_AHEAD
    assert fan(DriftRegressor(tol=0.1).fit(X, y)) is None


def test_names_of_the_columns_do_not_matter():
    X, y, time = rows()
    model = DriftRegressor(tol=0.1).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y, time=time)
    assert fan(model)["nAhead"] == N_AHEAD
