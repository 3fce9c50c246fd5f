"""Baselines as estimators: classes, exposure, what is refused, scikit-learn's own checks."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from driftglm import baselines
from driftglm.baselines import (
    LassoAll,
    LassoOne,
    RidgeAll,
    RidgeOne,
    RidgeTS,
)
from driftglm.exceptions import ConvergenceWarning, DataError

POOLED = [RidgeOne, RidgeAll, LassoOne, LassoAll]
EVERY = [*POOLED, RidgeTS]


def test_names_masks_and_positions_of_always_in(baseline_rows, rng):
    X, y, _, _ = baseline_rows(rng, "gaussian")
    frame = pd.DataFrame(X, columns=list("abcde"))
    mask = np.array([False, True, False, False, False])
    fits = [
        LassoAll(strength=9.0, always_in=chosen).fit(frame, y).coef_
        for chosen in ("b", ["b"], 1, [1], mask)
    ]
    for coef in fits[1:]:
        assert_allclose(coef, fits[0])
    assert fits[0][1] != 0
    strong = LassoAll(strength=1e6, always_in="b").fit(frame, y)
    assert_allclose(np.delete(strong.coef_, 1), 0.0)
    slope = np.polyfit(X[:, 1], y, 1)
    assert_allclose([strong.coef_[1], strong.intercept_], slope, rtol=1e-7)


def test_classes_of_any_kind(baseline_rows, rng):
    X, y, _, _ = baseline_rows(rng, "binomial")
    labels = np.where(y == 1, "yes", "no")
    model = LassoAll(strength=1.0, family="binomial").fit(X, labels)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.coef_.shape == (1, 5)
    probability = model.predict_proba(X)
    assert_allclose(probability.sum(axis=1), 1.0)
    assert (model.predict(X) == model.classes_[probability.argmax(axis=1)]).all()
    assert is_classifier(model)
    assert is_regressor(LassoAll())
    assert 0.6 < model.score(X, labels) <= 1


def test_exposure_scales_the_counts(baseline_rows, rng):
    X, y, _, _ = baseline_rows(rng, "poisson")
    model = RidgeAll(strength=1.0, family="poisson").fit(X, y, exposure=np.full(y.size, 4.0))
    plain = RidgeAll(strength=1.0, family="poisson").fit(X, y)
    assert_allclose(model.coef_, plain.coef_, atol=1e-6)
    assert_allclose(model.intercept_, plain.intercept_ - np.log(4.0), atol=1e-6)
    assert_allclose(model.predict(X, exposure=np.full(y.size, 4.0)), plain.predict(X), rtol=1e-5)
    assert plain.score(X, y) > 0


def test_wrong_data_are_refused(baseline_rows, rng):
    X, y, time, _ = baseline_rows(rng, "gaussian")
    with pytest.raises(DataError, match="exposure was given with family='gaussian'"):
        LassoAll(1.0).fit(X, y, time=time, exposure=np.ones(y.size))
    with pytest.raises(DataError, match=r"exposure is 0\.0 at row 3"):
        LassoAll(1.0, family="poisson").fit(
            X, np.abs(y), exposure=np.where(np.arange(y.size) == 3, 0.0, 1.0)
        )
    with pytest.raises(DataError, match=r"family=.poisson.: y is .* counts must lie between"):
        LassoAll(1.0, family="poisson").fit(X, y)
    with pytest.raises(DataError, match="3 classes"):
        LassoAll(1.0, family="binomial").fit(X, np.arange(y.size) % 3)
    with pytest.raises(DataError, match="every sample weight is zero"):
        LassoAll(1.0).fit(X, y, sample_weight=np.zeros(y.size))
    model = LassoAll(1.0).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "decision_function")


def test_stopping_early_is_reported(baseline_rows, rng):
    X, y, _, _ = baseline_rows(rng, "poisson")
    with pytest.warns(ConvergenceWarning, match="LassoAll stopped before"):
        LassoAll(1.0, family="poisson", max_iter=1).fit(X, 100 * y)


@pytest.mark.parametrize("maker", EVERY)
def test_a_clone_has_the_same_parameters_and_fit(baseline_rows, rng, maker):
    X, y, time, _ = baseline_rows(rng, "gaussian")
    model = maker(strength=2.0, always_in=[1], standardize=True)
    if maker is RidgeTS:
        model.set_params(autocorrelation=0.7)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    first, second = (m.fit(X, y, time=time).predict(X) for m in (model, copy))
    assert (first == second).all()


def test_grid_search_over_strengths(baseline_rows, rng):
    X, y, _, _ = baseline_rows(rng, "gaussian")
    search = GridSearchCV(LassoAll(), {"strength": [1.0, 10.0, 1e6]}, cv=3).fit(X, y)
    assert search.best_params_["strength"] < 1e6


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model",
    [
        LassoAll(),
        RidgeOne(1.0),
        # Before 1.7, scikit-learn names two classes by the first row, and reorders rows.
        pytest.param(LassoAll(1.0, family="binomial"), marks=pytest.mark.newest),
        RidgeAll(1.0, family="poisson"),
        RidgeTS(1.0, 0.9),
    ],
    ids=repr,
)
def test_scikit_learn_finds_no_fault(model):
    # Without a step to hold out, rows are held out by position: repeated rows move others.
    moved = "check_sample_weight_equivalence_on_{}_data"
    expected = {moved.format(kind): "rows move" for kind in ("dense", "sparse")}
    tuned = model.strength is None
    check_estimator(model, on_skip=None, expected_failed_checks=expected if tuned else {})


def test_without_a_step_to_hold_out_every_fifth_row_is(baseline_rows, rng):
    X, y, _, _ = baseline_rows(rng, "gaussian")
    held = np.arange(y.size) % 5 == 4
    time = held.astype(int)
    one = LassoAll().fit(X, y)
    two = LassoAll().fit(X, y, time=time)
    assert one.strength_ == two.strength_


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
@pytest.mark.parametrize("name", ["RidgeOne", "RidgeAll", "RidgeTS", "LassoOne", "LassoAll"])
def test_columns_may_lie_anywhere(name, family, stored):
    rng = np.random.default_rng(3)
    time = np.sort(rng.integers(0, 5, 100))
    X = np.round((rng.normal(size=(100, 3)) + time[:, None] * [0, 1, 0]) * 2**18) / 2**18
    eta = 0.5 * X[:, 0] + 0.2 * X[:, 1]
    y = {
        "gaussian": eta + rng.normal(size=100),
        "binomial": (eta + rng.logistic(size=100) > 0).astype(int),
        "poisson": rng.poisson(np.exp(0.5 * eta)),
    }[family]
    found = []
    for far in (0.0, -1e3, 1e6, 1e9):
        moved = stored(X + far * np.array([1.0, 1.0, 0.0]))
        model = getattr(baselines, name)(family=family).fit(moved, y, time=time)
        answer = model.predict_proba(moved)[:, 1] if family == "binomial" else model.predict(moved)
        chain = next(iter(model.tuning_chains(moved, y, moved[:5], time=time)))
        found.append(np.concatenate([answer, next(iter(chain))[1]]))
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-6, atol=1e-6)
