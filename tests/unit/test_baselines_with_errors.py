"""Points with normal errors: whose variance, what is passed on, and what classifiers do."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from driftglm.baselines import LassoAll, LassoOne, RidgeAll, WithNormalErrors
from driftglm.baselines.with_errors import class_distribution
from driftglm.predictive import Bernoulli, Categorical, Normal

TIME = np.repeat([2001, 2002, 2003], [4, 4, 2])


def panel(rng, n_steps=5, n_rows=40):
    time = np.repeat(np.arange(2000, 2000 + n_steps), n_rows)
    X = rng.normal(size=(time.size, 3))
    return X, X[:, 0] + 0.3 * (time - 2002) + 0.5 * rng.normal(size=time.size), time


def test_the_variance_is_the_error_of_the_last_step_ahead():
    y = np.array([0.0, 2, 0, 2, 0, 2, 0, 2, 4, 5])  # 1 is predicted for 4 and 5
    model = WithNormalErrors(DummyRegressor()).fit(np.zeros((10, 1)), y, time=TIME)
    assert_allclose(model.variance_, (9 + 16) / 2)
    assert_allclose(model.predict(np.zeros((2, 1))), y.mean())  # fitted to all rows
    forecast = model.predict_distribution(np.zeros((2, 1)))
    assert isinstance(forecast, Normal)
    assert_allclose(forecast.mean, y.mean())
    assert_allclose(forecast.variance, 12.5)


def test_weights_count_in_the_variance_and_one_step_holds_out_every_fifth_row():
    X, y = np.zeros((10, 1)), np.array([0.0, 2, 0, 2, 0, 2, 0, 2, 4, 5])
    weights = np.array([1.0] * 8 + [3, 1])
    model = WithNormalErrors(DummyRegressor()).fit(X, y, time=TIME, sample_weight=weights)
    assert_allclose(model.variance_, (3 * 9 + 16) / 4)
    single = WithNormalErrors(DummyRegressor()).fit(X, y)
    mean = np.delete(y, [4, 9]).mean()
    assert_allclose(single.variance_, ((0 - mean) ** 2 + (5 - mean) ** 2) / 2)


def test_a_perfect_fit_has_some_width(rng):
    X = rng.normal(size=(30, 2))
    model = WithNormalErrors(LinearRegression()).fit(X, X[:, 0])
    assert 0 < model.predict_distribution(X).std[0] < 1e-6


@pytest.mark.parametrize("kind", ["alone", "pipeline", "categories", "sparse"])
def test_time_reaches_the_estimator(rng, kind):
    X, y, time = panel(rng)
    expected = LassoOne().fit(X, y, time=time).predict(X)
    inside, given = LassoOne(), time
    if kind == "pipeline":
        inside = make_pipeline(StandardScaler(with_mean=False, with_std=False), inside)
    if kind == "categories":
        given = pd.Categorical(time.astype(str), ordered=True)
    rows = sp.coo_matrix(X) if kind == "sparse" else X
    model = WithNormalErrors(inside).fit(rows, y, time=given)
    assert_allclose(model.predict(X, time=given), expected)


def test_exposure_reaches_the_estimator(rng):
    X, _, time = panel(rng)
    exposure = rng.uniform(1, 20, size=time.size)
    y = rng.poisson(exposure * np.exp(0.3 * X[:, 0])).astype(float)
    inside = RidgeAll(1.0, family="poisson")
    model = WithNormalErrors(inside).fit(X, y, time=time, exposure=exposure)
    expected = inside.fit(X, y, time=time, exposure=exposure).predict(X, exposure=exposure)
    assert_allclose(model.predict_distribution(X, exposure=exposure).mean, expected)
    blind = WithNormalErrors(inside).fit(X, y, time=time)
    assert model.variance_ < 0.7 * blind.variance_


def test_it_is_an_estimator_of_the_kind_that_is_inside():
    model = WithNormalErrors(LassoAll())
    assert is_regressor(model)
    assert is_classifier(WithNormalErrors(LassoAll(family="binomial")))
    again = clone(model).set_params(estimator__strength=3.0)
    assert again.estimator.strength == 3.0
    assert model.estimator.strength is None
    assert not hasattr(model, "predict_proba")


def test_intervals_cover_the_next_step(rng):
    X, y, time = panel(rng, n_steps=9, n_rows=200)
    y = y - 0.3 * (time - 2002)
    known = time < 2008
    model = WithNormalErrors(LassoAll()).fit(X[known], y[known], time=time[known])
    low, high = model.predict_distribution(X[~known]).interval(0.9).T
    assert 0.82 < np.mean((low <= y[~known]) & (y[~known] <= high)) < 0.97


def test_classes_have_their_probabilities(rng):
    X, y, time = panel(rng)
    two = np.where(y > 0, "up", "down")
    model = WithNormalErrors(LassoAll(1.0, family="binomial")).fit(X, two, time=time)
    forecast = model.predict_distribution(X)
    assert isinstance(forecast, Bernoulli)
    assert_allclose(forecast.probability, model.predict_proba(X)[:, 1])
    assert model.classes_.tolist() == ["down", "up"]
    three = WithNormalErrors(LogisticRegression()).fit(X, np.digitize(y, [-1, 1]), time=time)
    forecast = three.predict_distribution(X)
    assert isinstance(forecast, Categorical)
    assert_allclose(forecast.probabilities, three.predict_proba(X))


def test_no_class_is_impossible():
    forecast = class_distribution([[1.0, 0.0], [0.0, 1.0]])
    assert np.isfinite(forecast.log_prob([1, 0])).all()
    assert (forecast.log_prob([1, 0]) < -30).all()
