"""Tables, exposure and dispersion of DriftPoissonRegressor, and what it refuses."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from driftglm import DriftPoissonRegressor
from driftglm.exceptions import DataError
from driftglm.priors import Fixed

T, P = 5, 5

PRIORS = pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])


def counts(**params):
    return DriftPoissonRegressor(**params)


# ------------------------------------------------------------------------------------ tables


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_give_their_names(kind, count_rows):
    X, y, time = count_rows
    names = ["drift", "flat", "c", "d", "e"]
    if kind == "pandas":
        table, series = pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1]), pd.Series
    else:
        table, series = pl.DataFrame(X, schema=names), pl.Series
    hours = np.linspace(1, 3, y.size)
    model = counts(prior="exact", always_in="d", static=["flat"])
    model.fit(table, series(y), time=series(time), exposure=series(hours))
    expected = counts(prior="exact", always_in=[3], static=[1])
    expected.fit(X, y, time=time, exposure=hours)
    assert model.feature_names_in_.tolist() == names
    assert_array_equal(model.coef_path_, expected.coef_path_)
    assert_array_equal(
        model.predict(table, time=series(time), exposure=series(hours)),
        expected.predict(X, time=time, exposure=hours),
    )


@PRIORS
def test_sparse_is_dense(prior, count_rows):
    X, y, time = count_rows
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = counts(prior=prior, always_in=[2], static=[1]).fit(X, y, time=time)
    for store in (sp.csr_array, sp.csc_matrix):
        other = counts(prior=prior, always_in=[2], static=[1]).fit(store(X), y, time=time)
        assert_allclose(other.coef_path_, dense.coef_path_, rtol=1e-4, atol=1e-5)
        assert_allclose(other.predict(store(X)), dense.predict(X), rtol=1e-4)


@PRIORS
def test_neither_the_order_of_rows_nor_the_origin_of_time_matters(prior, count_rows, rng):
    X, y, time = count_rows
    order = rng.permutation(y.size)
    one = counts(prior=prior).fit(X, y, time=time)
    other = counts(prior=prior).fit(X[order], y[order], time=time[order] - 1990)
    assert_allclose(other.coef_path_, one.coef_path_, rtol=1e-4, atol=1e-5)
    assert_allclose(other.intercept_path_, one.intercept_path_, rtol=1e-4, atol=1e-5)


@PRIORS
def test_integer_weights_are_repeated_rows(prior, count_rows, rng):
    X, y, time = count_rows
    times = rng.integers(0, 3, y.size)
    again = np.repeat(np.arange(y.size), times)
    settings = {"prior": prior, "tol": 1e-6, "max_iter": 5000}
    weighted = counts(**settings).fit(X, y, time=time, sample_weight=times)
    repeated = counts(**settings).fit(X[again], y[again], time=time[again])
    assert_allclose(weighted.coef_path_, repeated.coef_path_, rtol=1e-3, atol=1e-4)
    assert_allclose(weighted.dispersion_, repeated.dispersion_, rtol=1e-4)
    assert_allclose(weighted.objective_history_[-1], repeated.objective_history_[-1], rtol=1e-6)


# ---------------------------------------------------------------------------------- exposure


# -------------------------------------------------------------------------------- dispersion


def test_dispersion_is_estimated_where_the_prior_is_learned_and_one_elsewhere(rng):
    time = np.repeat(np.arange(T), 100)
    X = rng.normal(size=(time.size, P))
    rate = np.exp(2 + 0.3 * X[:, 0])
    scattered = rng.poisson(rate * rng.gamma(4, 0.25, time.size))
    plain = rng.poisson(rate)
    # Variance over mean is 1 + rate / 4: about 3 here.
    assert_allclose(counts().fit(X, scattered, time=time).dispersion_, 3.0, atol=0.6)
    assert_allclose(counts().fit(X, plain, time=time).dispersion_, 1.05, atol=0.15)
    assert counts(prior="exact").fit(X, scattered, time=time).dispersion_ == 1.0
    given = counts(dispersion=2.5).fit(X, scattered, time=time)
    assert_allclose(given.dispersion_, 2.5, rtol=1e-15)  # its logarithm is taken and undone
    estimated = counts(prior="exact", dispersion="estimate").fit(X, scattered, time=time)
    assert_allclose(estimated.dispersion_, 3.0, atol=0.6)


def test_more_dispersion_means_wider_intervals(count_rows):
    X, y, time = count_rows
    narrow, wide = (counts(dispersion=phi).fit(X, y, time=time) for phi in (1.0, 4.0))
    assert wide.coef_std_path_[:, :2].mean() > 1.3 * narrow.coef_std_path_[:, :2].mean()
    widths = [np.ptp(model.predict_interval(X, time=time), axis=1) for model in (narrow, wide)]
    assert widths[1].mean() > 1.4 * widths[0].mean()


def test_prediction_intervals_hold_the_share_of_counts_they_promise(rng):
    """1,500 rows: the standard error of a share is 0.013, that of the deviation adds as much."""
    time = np.repeat(np.arange(T), 300)
    X = rng.normal(size=(time.size, P))
    for scatter in (False, True):
        rate = np.exp(4 + 0.3 * X[:, 0])
        y = rng.poisson(rate * (rng.gamma(8, 1 / 8, time.size) if scatter else 1.0))
        model = counts().fit(X, y, time=time)
        for level in (0.5, 0.9):
            lower, upper = model.predict_interval(X, time=time, level=level).T
            # A count on the border is half in: whole numbers cannot hit a level exactly.
            inside = ((lower <= y) & (y <= upper)).mean() + ((lower < y) & (y < upper)).mean()
            assert_allclose(inside / 2, level, atol=0.05)


def test_an_interval_of_a_rate_beyond_all_bounds_is_no_nan(count_rows):
    X, y, time = count_rows
    model = counts().fit(X, y, time=time)
    assert not np.isnan(model.predict_interval(1e3 * X)).any()


# ------------------------------------------------------------------------------------ errors


def test_an_unfitted_model_says_that_it_is_not_fitted():
    model = counts()
    for method in ("predict", "predict_interval", "summary"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(np.zeros((2, P))) if method != "summary" else model.summary()
    with pytest.raises(NotFittedError):
        _ = model.dispersion_


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (lambda y: y - 50.0, r"y is -\d+.0 at row 0; counts must lie between 0 and"),
        (lambda y: np.where(y > 0, np.nan, y), "y has no value in"),
        (lambda y: np.full(y.size, 1e20), r"y is 1e\+20 at row 0; counts"),
        (lambda y: np.array(["many"] * y.size), "many"),
        (lambda y: y[:-1], r"inconsistent numbers of samples: \[200, 199\]"),
    ],
    ids=["negative", "missing", "too large", "text", "short"],
)
def test_targets_that_are_no_counts_are_refused(target, message, count_rows):
    X, y, time = count_rows
    with pytest.raises(ValueError, match=message):
        counts(prior="fixed").fit(X, target(y), time=time)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"dispersion": "none"}, r"'dispersion' parameter .*'estimate'.*Got 'none'"),
        ({"dispersion": 0.0}, r"'dispersion' parameter .*Got 0.0"),
        ({"dispersion": -1}, r"'dispersion' parameter .*Got -1"),
        ({"solver": "lbfgs"}, r"learned prior has none to find; use solver='block'"),
        ({"prior": Fixed}, r"pass an object of it: prior=Fixed\(\)"),
    ],
)
def test_settings_that_do_not_exist_are_refused(params, message, count_rows):
    X, y, time = count_rows
    with pytest.raises((ValueError, TypeError), match=message):
        counts(**params).fit(X, y, time=time)


@pytest.mark.parametrize("level", [0.0, 1.0, 90, "high"])
def test_a_level_must_be_a_probability(level, count_rows):
    X, y, time = count_rows
    model = counts().fit(X[:80], y[:80], time=time[:80])
    with pytest.raises(DataError, match="pass a probability between 0 and 1"):
        model.predict_interval(X, level=level)
