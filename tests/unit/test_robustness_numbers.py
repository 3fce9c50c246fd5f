"""Numbers far from what is usual: sizes, weights, and effects of groups that know next to all."""

import warnings

import numpy as np
import pytest

from driftglm import DriftGLM
from driftglm.exceptions import DataError

N_ROWS, N_STEPS = 90, 6


def panel(rng):
    """X, a linear predictor, time and groups of rows; some groups skip some steps."""
    X = rng.normal(size=(N_ROWS, 3))
    time = np.sort(rng.integers(0, N_STEPS, N_ROWS))
    eta = 0.7 * X[:, 0] + 0.4 * np.cumsum(rng.normal(size=N_STEPS))[time]
    return X, np.clip(eta - eta.mean(), -3, 3), time, rng.integers(0, 8, N_ROWS)


def quietly(family, *rows, groups=None, **settings):
    """A model; rows that are odd enough are warned of."""
    X, y, time, *weights = rows
    given = {"time": time, "sample_weight": weights[0] if weights else None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return DriftGLM(family=family, **settings).fit(X, y, groups=groups, **given)


@pytest.mark.parametrize("family", ["gaussian", "student"])
@pytest.mark.parametrize(("of_y", "of_x"), [(1e55, 1e-55), (1e-55, 1e55)])
def test_the_unit_of_a_target_changes_no_prediction_however_large(family, of_y, of_x, rng):
    X, eta, time, _ = panel(rng)
    y = eta + 0.3 * rng.standard_t(3, size=N_ROWS)
    usual = quietly(family, X, y, time).predict(X)
    found = quietly(family, X * of_x, y * of_y, time).predict(X * of_x)
    np.testing.assert_allclose(found / of_y, usual, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [1e80, 1e-80])
def test_sizes_whose_products_vanish_or_overflow_are_refused(size, rng):
    """With 1e-80 predictions were another model's, a twentieth of a deviation off."""
    X, eta, time, _ = panel(rng)
    for rows in ((X, size * eta, time), (size * X, eta, time)):
        with pytest.raises(DataError, match=r"sizes from 1e-60 to 1e.60 can be fitted"):
            quietly("gaussian", *rows)


@pytest.mark.parametrize("settings", [{}, {"always_in": [1]}, {"prior": "exact"}])
def test_normal_errors_learn_nothing_from_less_than_one_row_and_say_so(settings, rng):
    """They did without a word; what is always in, or groups, ended in an error or in nowhere."""
    X, eta, time, _ = panel(rng)
    with pytest.raises(DataError, match=r"less than one row, .* 'gaussian' can learn nothing"):
        quietly("gaussian", X, eta, time, np.full(N_ROWS, 1e-6), **settings)


@pytest.mark.parametrize("family", ["gaussian", "student", "poisson"])
def test_weights_of_more_rows_than_can_be_counted_are_refused(family, rng):
    X, eta, time, _ = panel(rng)
    with pytest.raises(DataError, match="more rows than numbers can tell from infinitely many"):
        quietly(family, X, np.abs(eta), time, np.full(N_ROWS, 1e18), seasonality=3)


def test_rows_of_little_weight_are_fitted_where_their_noise_is_given(rng):
    """What counts then is the ratio; within a tenth: the prior still counts rows."""
    X, eta, time, _ = panel(rng)
    y = eta + 0.3 * rng.normal(size=N_ROWS)
    usual = quietly("gaussian", X, y, time, np.full(N_ROWS, 1.0), noise=0.1).predict(X)
    found = quietly("gaussian", X, y, time, np.full(N_ROWS, 1e-6), noise=1e-7).predict(X)
    np.testing.assert_allclose(found, usual, atol=0.1)


@pytest.mark.parametrize("weight", [1e2, 1e6, 1e9])
def test_forecasts_with_groups_lie_where_the_rows_do_however_much_these_weigh(weight):
    """Effects of groups leave an intercept next to no information, and the score that was left at
    the end of a fit, over that, sent forecasts to -3e7 where |y| < 7.
    """
    for seed in range(2):
        rng = np.random.default_rng([seed, 7])
        X, eta, time, groups = panel(rng)
        y = eta + 0.3 * rng.standard_t(3, size=N_ROWS)
        weights = weight * rng.uniform(0.5, 2.0, N_ROWS)
        model = quietly("student", X, y, time, weights, groups=groups)
        found = model.predict(X, groups=groups)
        assert np.abs(found).max() < 2.0 * np.abs(y).max()


@pytest.mark.parametrize("weight", [1e2, 1e4])
def test_counts_with_groups_have_means_that_can_be_counts_however_much_rows_weigh(weight):
    """Whole steps at the end ran away, into an error of the search for a variance, or to 1e-305."""
    for seed in range(3):
        rng = np.random.default_rng([seed, 6])
        X, eta, time, groups = panel(rng)
        y = rng.poisson(np.exp(eta))
        weights = weight * rng.uniform(0.5, 2.0, N_ROWS)
        model = quietly("poisson", X, y, time, weights, groups=groups, extrapolate="forecast")
        found = model.predict(X, groups=groups)
        assert found.min() > 1e-5
        assert found.max() < 100.0 * y.max()
