"""Labels, tables and weights that DriftClassifier takes, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.utils.class_weight import compute_sample_weight

from driftglm import DriftClassifier
from driftglm.exceptions import DataError, TimeError
from driftglm.priors import Fixed

T, P = 4, 5

PRIORS = pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])

CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request, make_class_rows):
    X, y, time = make_class_rows(request.param)
    return DriftClassifier(keep_data=True).fit(X, y, time=time), X, y, time


# ---------------------------------------------------------------------------------- labels


@CLASSES
@pytest.mark.parametrize(
    "names",
    [
        np.array(["pear", "fig", "apple"]),
        np.array(["pear", "fig", "apple"], dtype=object),
        np.array([7, -3, 40]),
        np.array([0.5, 2.0, -1.0]) * 2,
    ],
    ids=["text", "objects", "integers", "floats"],
)
def test_classes_may_have_any_name(names, n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes, per_step=20)
    order = np.argsort(names[:n_classes])
    plain = np.argsort(order)[y]  # the same classes, numbered in the order of their names
    model = DriftClassifier(prior="fixed").fit(X, names[y], time=time)
    expected = DriftClassifier(prior="fixed").fit(X, plain, time=time)
    assert_array_equal(model.classes_, np.sort(names[:n_classes]))
    assert_array_equal(model.coef_path_, expected.coef_path_)
    assert_array_equal(model.predict(X, time=time), model.classes_[expected.predict(X, time=time)])
    assert model.score(X, names[y], time=time) > 0.5


def test_classes_may_be_true_and_false(make_class_rows):
    X, y, time = make_class_rows(2)
    model = DriftClassifier(prior="fixed").fit(X, y == 1, time=time)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X).dtype == bool
    assert_array_equal(
        model.coef_path_, DriftClassifier(prior="fixed").fit(X, y, time=time).coef_path_
    )


@PRIORS
def test_swapping_two_classes_flips_every_sign(prior, make_class_rows):
    X, y, time = make_class_rows(2)
    one, other = (DriftClassifier(prior=prior).fit(X, target, time=time) for target in (y, 1 - y))
    assert_allclose(one.coef_path_, -other.coef_path_, atol=1e-6)
    assert_allclose(one.intercept_path_, -other.intercept_path_, atol=1e-6)
    assert_allclose(one.predict_proba(X)[:, 0], other.predict_proba(X)[:, 1], atol=1e-6)


@PRIORS
@CLASSES
def test_a_class_may_be_missing_in_some_steps(prior, n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes)
    keep = ~((time == 2002) & (y == 1)) & ~((time == 2004) & (y == 0))
    model = DriftClassifier(prior=prior).fit(X[keep], y[keep], time=time[keep])
    p = model.predict_proba(X, time=time)
    assert np.isfinite(p).all()
    whole = DriftClassifier(prior=prior).fit(X, y, time=time).predict_proba(X, time=time)
    for year, label in ((2002, 1), (2004, 0)):
        own = time == year
        assert p[own, label].mean() < 0.7 * whole[own, label].mean()


# ------------------------------------------------------------------------------------ tables


@CLASSES
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_give_their_names(kind, n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes)
    names, labels = ["drift", "flat", "c", "d", "e"], np.array(["no", "yes", "maybe"])[y]
    if kind == "pandas":
        table, series = pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1]), pd.Series
    else:
        table, series = pl.DataFrame(X, schema=names), pl.Series
    settings = {"prior": "exact", "class_weight": "balanced"}
    model = DriftClassifier(always_in="d", static=["flat"], **settings)
    model.fit(table, series(labels), time=series(time))
    expected = DriftClassifier(always_in=[3], static=[1], **settings).fit(X, labels, time=time)
    assert model.feature_names_in_.tolist() == names
    assert_array_equal(model.coef_path_, expected.coef_path_)
    assert_array_equal(
        model.predict_proba(table, time=series(time)), expected.predict_proba(X, time=time)
    )
    assert set(model.summary()["feature"]) == set(names)


@CLASSES
@PRIORS
def test_sparse_is_dense(prior, n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes, per_step=30)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = DriftClassifier(prior=prior, always_in=[2]).fit(X, y, time=time)
    for store in (sp.csr_array, sp.coo_matrix):
        other = DriftClassifier(prior=prior, always_in=[2]).fit(store(X), y, time=time)
        assert_allclose(other.coef_path_, dense.coef_path_, rtol=1e-4, atol=1e-5)
        assert_allclose(
            other.predict_proba(store(X), time=time), dense.predict_proba(X, time=time), atol=1e-5
        )


@CLASSES
@PRIORS
def test_permuting_rows_changes_nothing(prior, n_classes, rng, make_class_rows):
    X, y, time = make_class_rows(n_classes, per_step=30)
    order = rng.permutation(y.size)
    one = DriftClassifier(prior=prior).fit(X, y, time=time)
    other = DriftClassifier(prior=prior).fit(X[order], y[order], time=time[order])
    assert_allclose(other.coef_path_, one.coef_path_, rtol=1e-4, atol=1e-5)
    assert_allclose(other.intercept_path_, one.intercept_path_, rtol=1e-4, atol=1e-5)


@CLASSES
def test_labels_of_time_may_start_anywhere(n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes, per_step=30)
    one = DriftClassifier(prior="exact").fit(X, y, time=time)
    other = DriftClassifier(prior="exact").fit(X, y, time=time - 5000)
    dates = pd.PeriodIndex([f"{year}" for year in time], freq="Y")
    third = DriftClassifier(prior="exact").fit(X, y, time=dates)
    assert_array_equal(other.coef_path_, one.coef_path_)
    assert_array_equal(third.coef_path_, one.coef_path_)


# ----------------------------------------------------------------------------------- weights


@CLASSES
@PRIORS
def test_integer_weights_are_repeated_rows(prior, n_classes, rng, make_class_rows):
    X, y, time = make_class_rows(n_classes, per_step=30)
    counts = rng.integers(0, 3, y.size)
    again = np.repeat(np.arange(y.size), counts)
    settings = {"prior": prior, "tol": 1e-6, "max_iter": 5000}
    weighted = DriftClassifier(**settings).fit(X, y, time=time, sample_weight=counts)
    repeated = DriftClassifier(**settings).fit(X[again], y[again], time=time[again])
    assert_allclose(weighted.coef_path_, repeated.coef_path_, rtol=1e-3, atol=1e-4)
    assert_allclose(weighted.objective_history_[-1], repeated.objective_history_[-1], rtol=1e-6)


@CLASSES
@pytest.mark.parametrize("sample_weight", [False, True])
@pytest.mark.parametrize("kind", ["balanced", "dict"])
def test_class_weight_is_the_sample_weights_it_stands_for(
    kind, sample_weight, n_classes, rng, make_class_rows
):
    X, y, time = make_class_rows(n_classes)
    labels = np.array(["no", "yes", "maybe"])[y]
    class_weight = "balanced" if kind == "balanced" else {"no": 3.0, "yes": 0.5}
    if kind == "dict" and n_classes == 3:
        class_weight = {"no": 3.0, "yes": 0.5, "maybe": 1.0}
    weights = rng.random(y.size) if sample_weight else None
    stands_for = compute_sample_weight(class_weight, labels) * (1 if weights is None else weights)
    settings = {"prior": "fixed"}
    model = DriftClassifier(class_weight=class_weight, **settings)
    model.fit(X, labels, time=time, sample_weight=weights)
    expected = DriftClassifier(**settings).fit(X, labels, time=time, sample_weight=stands_for)
    assert_array_equal(model.coef_path_, expected.coef_path_)
    plain = DriftClassifier(**settings).fit(X, labels, time=time, sample_weight=weights)
    assert np.abs(model.coef_path_ - plain.coef_path_).max() > 1e-3


# ------------------------------------------------------------------------------------ errors


def test_certain_probabilities_keep_their_digits(make_class_rows):
    """log P of the unlikely class is minus its logit, not log(1 - 1)."""
    X, y, time = make_class_rows(2)
    model = DriftClassifier(prior="fixed").fit(X, y, time=time)
    far = 30 * X[np.abs(X[:, 1]) > 1.5]
    eta = model.decision_function(far)
    assert (np.abs(eta) > 40).any()
    inside = np.abs(eta) < 700
    logs = model.predict_log_proba(far)[inside]
    assert_allclose(logs[:, 0], -np.logaddexp(0, eta[inside]), rtol=1e-6, atol=1e-12)
    assert_allclose(logs[:, 1], -np.logaddexp(0, -eta[inside]), rtol=1e-6, atol=1e-12)


def test_an_unfitted_model_says_that_it_is_not_fitted():
    X = np.zeros((2, P))
    model = DriftClassifier()
    for method in ("predict", "predict_proba", "decision_function", "predict_interval"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (lambda y: 0 * y, "y has one class only .*0.*needs 2 or more"),
        (lambda y: y + 0.25, "Unknown label type: continuous"),
        (lambda y: np.where(y == 0, np.nan, 1.0), "contains NaN"),
        (lambda y: y[:-1], r"inconsistent numbers of samples: \[240, 239\]"),
        (lambda y: np.column_stack([y, y]), r"1d array.*shape \(240, 2\)"),
    ],
    ids=["one class", "continuous", "missing", "short", "two columns"],
)
def test_targets_that_are_no_classes_are_refused(target, message, make_class_rows):
    X, y, time = make_class_rows(2)
    with pytest.raises(ValueError, match=message):
        DriftClassifier(prior="fixed").fit(X, target(y), time=time)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"class_weight": "even"}, r"'class_weight' parameter .*'balanced'.*Got 'even'"),
        ({"prior": "horseshoe"}, r"'prior' parameter .*Got 'horseshoe'"),
        ({"solver": "sag"}, r"'solver' parameter .*Got 'sag'"),
        ({"always_in": [9]}, r"always_in .*9"),
        ({"prior": Fixed}, r"pass an object of it: prior=Fixed\(\)"),
    ],
)
def test_settings_that_do_not_exist_are_refused(params, message, make_class_rows):
    X, y, time = make_class_rows(2)
    with pytest.raises((ValueError, TypeError), match=message):
        DriftClassifier(**params).fit(X, y, time=time)


@pytest.mark.parametrize("level", [0.0, 1.0, 90, "high"])
def test_a_level_must_be_a_probability(level, fitted):
    model, X, *_ = fitted
    with pytest.raises(DataError, match="pass a probability between 0 and 1"):
        model.predict_interval(X, level=level)
    with pytest.raises(DataError, match="pass a probability between 0 and 1"):
        model.coef_interval(level)


def test_a_step_before_the_first_is_an_error(fitted):
    model, X, *_ = fitted
    with pytest.raises(TimeError, match=r"time is 2000 in row 1, before the first step.*2001"):
        model.predict_proba(X[:2], time=[2002, 2000])
