"""Rows of a page from a fitted model are the numbers of that model."""

import base64

import numpy as np
import pandas as pd
import pytest

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.estimators.statements import counted
from driftglm.report.features import feature_rows

N = 10


def rows(n_features=4, n_steps=4, n=30):
    """A panel whose first column matters, more in every other step."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(2001, 2001 + n_steps), n)
    X = rng.normal(size=(time.size, n_features))
    y = X[:, 0] * np.where(time % 2, 1.5, 0.5) + 0.3 * rng.normal(size=time.size)
    return X, y, time


def decode(text, kind="<f4"):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


@pytest.fixture(scope="module")
def model():
    X, y, time = rows(n_features=N)
    return DriftRegressor().fit(X, y, time=time)


def test_features_of_the_same_name_keep_their_own_numbers(model):
    names = ["same"] * N
    part = feature_rows(model, names).content()
    assert part["names"] == names
    order = model.summary([str(i) for i in range(N)])["feature"].astype(int)
    expected = model.coef_path_.T[order]
    paths = decode(part["path"]).reshape(expected.shape)
    np.testing.assert_allclose(paths, expected, rtol=1e-6)


def test_intervals_of_the_page_are_those_of_the_model(model):
    part = feature_rows(model).content()
    order = model.summary([str(i) for i in range(N)])["feature"].astype(int)
    for key, ends in zip(("low", "high"), model.coef_interval(0.9), strict=True):
        shown = decode(part[key]).reshape(N, -1)
        np.testing.assert_allclose(shown, ends.T[order], rtol=1e-5, atol=1e-7)


def test_the_page_counts_kinds_as_everything_else_does(model):
    found = counted(model.summary())
    rows = feature_rows(model)
    numbers = {each["kind"]: each["n"] for each in rows.counts()}
    assert rows.content()["included"] == len(found.included) > 0
    assert numbers["drifting"] == len(found.moving) > 0
    assert numbers["static"] == len(found.still)
    assert numbers["undecided"] == len(found.undecided)
    assert numbers["shared"] == len(found.shared)


def test_a_mode_has_paths_but_no_intervals():
    X, y, time = rows()
    model = DriftRegressor(prior="exact").fit(X, y, time=time)
    part = feature_rows(model).content()
    assert part["low"] is None
    assert part["high"] is None
    assert "lower" not in part["columns"]
    assert decode(part["path"]).size == 4 * 4


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_groups_only_if_there_are_more_than_two(n_classes):
    X, y, time = rows()
    labels = np.array(["<b>a</b>", "b", "c"])[np.digitize(y, [0.0, 1.0][: n_classes - 1])]
    model = DriftClassifier().fit(X, labels, time=time)
    part = feature_rows(model).content()
    assert part["groups"] == ([""] if n_classes == 2 else ["<b>a</b>", "b", "c"])
    assert part["nRows"] == X.shape[1] * len(part["groups"])
    group, name = decode(part["group"], "<i4"), decode(part["name"], "<i4")
    path = model.coef_path_.reshape(4, len(part["groups"]), 4)
    feature = [int(part["names"][k][1:]) for k in name]
    np.testing.assert_allclose(
        decode(part["path"]).reshape(-1, 4), path[:, group, feature].T, rtol=1e-6
    )


def test_counts_by_quarter_are_labelled_by_quarter():
    X, y, time = rows()
    quarters = pd.PeriodIndex.from_ordinals(time - 2001 + 200, freq="Q")
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * y))
    model = DriftPoissonRegressor(freq="Q").fit(X, counts, time=quarters)
    part = feature_rows(model).content()
    assert part["steps"] == ["2020Q1", "2020Q2", "2020Q3", "2020Q4"]


@pytest.mark.parametrize(("n_features", "n_steps", "n"), [(1, 1, 20), (3, 200, 4)])
def test_one_step_and_many_steps_are_both_fine(n_features, n_steps, n):
    X, y, time = rows(n_features, n_steps, n)
    time = None if n_steps == 1 else time
    model = DriftRegressor(tol=0.1).fit(X, y, time=time)
    part = feature_rows(model).content()
    assert len(part["steps"]) == n_steps
    assert (part["autocorrelation"] is None) == (n_steps == 1)


def test_coefficients_can_be_told_per_standard_deviation_of_their_column():
    X, y, time = rows()
    scale = np.array([1.0, 1000.0, 0.01, 5.0])
    X = X * scale + [0.0, 5000.0, 0.0, 100.0]
    for model in (DriftRegressor(), DriftRegressor(always_in=[1])):
        found = feature_rows(model.fit(X, y, time=time))
        units = found.columns["unit"][np.argsort(found.name)]
        np.testing.assert_allclose(units, X.std(axis=0), rtol=0.05)
        assert found.unit_noun == "standard deviation"


def test_a_mode_knows_the_standard_deviation_of_its_columns():
    X, y, time = rows()
    model = DriftRegressor(prior="exact").fit(1000 * X, y, time=time)
    found = feature_rows(model)
    assert found.unit_noun == "standard deviation"
    assert found.name[0] == 0  # the column that matters
    np.testing.assert_allclose(found.columns["unit"], 1000 * X.std(axis=0)[found.name], rtol=1e-10)
    still = DriftRegressor(prior="exact", fit_intercept=False).fit(1000 * X, y, time=time)
    assert feature_rows(still).unit_noun == "root mean square"


def test_levels_say_what_they_are_compared_with(model):
    names = ["colour=blue", *(f"x{i}" for i in range(1, N))]
    part = feature_rows(model, names, {"colour=blue": "<i>red"}).content()
    assert part["references"][part["names"].index("colour=blue")] == "<i>red"
    assert sum(each is not None for each in part["references"]) == 1
    assert feature_rows(model, names).content()["references"] is None
