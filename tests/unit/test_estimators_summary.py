"""The table of features."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from driftglm import DriftRegressor
from driftglm.exceptions import DataError

KINDS = ["zero", "static", "drifting", "sign-flip", "static", "zero"]


# --------------------------------------------------------------------------------------- summary


def test_summary_has_the_promised_columns_and_one_row_a_feature(fitted, summary_columns):
    table = fitted.summary()
    assert list(table.columns) == summary_columns
    assert sorted(table["feature"]) == [f"x{i}" for i in range(6)]
    assert_array_equal(table.index, range(6))


def test_summary_tells_the_kinds_apart(fitted):
    kind = fitted.summary().set_index("feature")["kind"]
    assert [kind[f"x{i}"] for i in range(6)] == KINDS


def test_summary_says_what_the_attributes_say(fitted):
    table = fitted.summary().set_index("feature").loc[[f"x{i}" for i in range(6)]]
    ahead = fitted._fits[0].ahead(1)
    reach = norm.ppf(0.95) * np.sqrt(ahead.total_variance)
    path = fitted.coef_path_
    assert_allclose(table["inclusion_probability"], fitted.inclusion_probability_, rtol=1e-12)
    assert_allclose(table["coef_first"], path[0], rtol=1e-12)
    assert_allclose(table["coef_last"], path[-1], rtol=1e-12)
    assert_allclose(table["coef_next"], fitted.coef_, rtol=1e-12)
    assert_allclose(table["lower"], fitted.coef_ - reach, rtol=1e-9)
    assert_allclose(table["upper"], fitted.coef_ + reach, rtol=1e-9)
    assert_allclose(np.abs(table["change"]), np.ptp(path, axis=0), atol=1e-12)
    assert_allclose(table["drift_probability"], fitted.drift_probability_, rtol=1e-12)
    assert_allclose(table["autocorrelation"], fitted.autocorrelation_, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_summary_is_sorted_by_the_size_of_what_a_feature_contributes(
    weighted, sparse, intercept, rows
):
    """RMS of (x - mean) * beta over the training rows; of x * beta without an intercept."""
    X = rows.X * [1.0, 0.01, 1.0, 2.0, 30.0, 1.0] + [0.0, 5.0, 0.0, 0.0, 0.0, 0.0]
    weights = np.random.default_rng(1).uniform(0.2, 3.0, rows.y.size) if weighted else None
    model = DriftRegressor(fit_intercept=intercept, always_in=[2], static=[1])
    model.fit(sp.csr_array(X) if sparse else X, rows.y, time=rows.time, sample_weight=weights)
    mean = np.average(X, axis=0, weights=weights) if intercept else 0.0
    contribution = (X - mean) * model.coef_path_[rows.time - 2000]
    expected = np.sqrt(np.average(contribution**2, axis=0, weights=weights))
    assert_allclose(model._fits[0].importance, expected, rtol=1e-8, atol=1e-10)
    order = [f"x{i}" for i in np.argsort(-expected, kind="stable")]
    assert list(model.summary()["feature"]) == order


def test_summary_takes_names_from_the_frame_or_the_argument(rows, fitted):
    names = ["a", "b", "c", "d", "e", "f"]
    model = DriftRegressor().fit(pd.DataFrame(rows.X, columns=names), rows.y, time=rows.time)
    assert sorted(model.summary()["feature"]) == names
    assert sorted(fitted.summary(feature_names=names)["feature"]) == names
    assert sorted(model.summary(feature_names=list("uvwxyz"))["feature"]) == list("uvwxyz")


@pytest.mark.parametrize("names", [["a"], list("abcdefg"), []])
def test_summary_refuses_names_that_do_not_fit(names, fitted):
    with pytest.raises(DataError, match=rf"{len(names)} names .* 6 features"):
        fitted.summary(feature_names=names)


def test_summary_of_one_step_calls_what_is_in_static(rows):
    model = DriftRegressor().fit(rows.X, rows.y)
    kind = model.summary().set_index("feature")["kind"]
    assert set(kind) <= {"zero", "static"}
    assert kind["x1"] == "static"


def test_a_drift_that_stays_on_one_side_is_no_sign_flip(rows):
    """The same path, moved above zero and mirrored below it."""
    codes = rows.time - 2000
    for sign in (1.0, -1.0):
        lifted = rows.y + 2.0 * sign * rows.X[:, 3]
        model = DriftRegressor().fit(rows.X, lifted, time=rows.time)
        kind = model.summary().set_index("feature")["kind"]
        assert kind["x3"] == "drifting"
        assert_allclose(model.coef_path_[:, 3], rows.paths[:, 3] + 2.0 * sign, atol=0.2)
    flipped = rows.y - 2 * (rows.X[:, 3] * rows.paths[codes, 3])
    model = DriftRegressor().fit(rows.X, flipped, time=rows.time)
    assert model.summary().set_index("feature")["kind"]["x3"] == "sign-flip"
