"""The learned prior as a user meets it: the default, corners, and what is stored."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from driftglm import DriftRegressor
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning
from driftglm.fitting.fits import PosteriorFit
from driftglm.priors import Learned

N_STEPS = 8


# ----------------------------------------------------------------------------------- the default


def test_the_learned_prior_is_the_default(fitted):
    assert DriftRegressor().prior == "learned"
    assert isinstance(fitted._fits[0], PosteriorFit)
    assert fitted.extrapolate_ == "forecast"
    assert fitted.converged_


def test_a_name_and_an_object_are_the_same_prior(fitted, rows):
    other = DriftRegressor(prior=Learned()).fit(rows.X, rows.y, time=rows.time)
    assert_array_equal(other.coef_path_, fitted.coef_path_)


def test_shapes_and_ranges_are_those_promised(fitted, rows):
    T, p = N_STEPS, rows.X.shape[1]  # noqa: N806
    assert fitted.coef_path_.shape == fitted.coef_std_path_.shape == (T, p)
    assert fitted.coef_.shape == fitted.inclusion_probability_.shape == (p,)
    assert fitted.autocorrelation_.shape == (p,)
    assert fitted.intercept_path_.shape == fitted.timesteps_.shape == (T,)
    assert isinstance(fitted.intercept_, float)
    assert (fitted.coef_std_path_ >= 0).all()
    assert ((fitted.inclusion_probability_ >= 0) & (fitted.inclusion_probability_ <= 1)).all()
    assert fitted.n_iter_ == fitted.objective_history_.size


def test_the_truth_is_found(fitted, rows):
    # 60 rows a step and noise .3: a standard error of .04 for a coefficient that is free to move
    assert_allclose(fitted.coef_path_, rows.paths, atol=5 * 0.04)
    assert_allclose(fitted.intercept_path_, rows.intercept, atol=5 * 0.04)
    assert_allclose(fitted.noise_variance_, 0.09, rtol=0.15)


def test_lbfgs_is_refused_with_the_reason(rows):
    with pytest.raises(DataError, match=r"solver='lbfgs'.*learned.*solver='block'"):
        DriftRegressor(solver="lbfgs").fit(rows.X, rows.y, time=rows.time)


def test_too_few_passes_are_a_warning_and_the_state_returned_is_the_one_recorded(rows):
    for max_iter in (1, 5, 10):
        model = DriftRegressor(max_iter=max_iter, tol=1e-12)
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.fit(rows.X, rows.y, time=rows.time)
        assert model.n_iter_ == max_iter
        assert not model.converged_
        assert np.isfinite(model.coef_path_).all()


def test_the_best_of_several_starts_is_kept():
    rng = np.random.default_rng(2)
    time = np.repeat(np.arange(4), 12)
    X = rng.normal(size=(48, 60)) + 1.5 * rng.normal(size=(48, 1))
    y = X[:, :8].sum(axis=1) + 0.5 * rng.normal(size=48)
    kinds = ["zero", "lasso-all", "ridge-all"]
    prior = Learned(n_directions=0)
    single = [
        DriftRegressor(prior=prior, init=kind, noise="constant").fit(X, y, time=time)
        for kind in kinds
    ]
    values = [model.objective_history_[-1] for model in single]
    assert max(values) > values[0] + 1e-3, "the starts must differ, or the test says little"
    best = DriftRegressor(prior=prior, n_starts=3, noise="constant").fit(X, y, time=time)
    assert best.objective_history_[-1] == max(values)
    assert_array_equal(best.coef_path_, single[int(np.argmax(values))].coef_path_)


# --------------------------------------------------------------------------------------- corners


def assert_finite(model, X):
    for value in (
        model.coef_path_,
        model.coef_std_path_,
        model.coef_,
        model.intercept_path_,
        model.objective_history_,
        model.inclusion_probability_,
        model.predict(X),
        model.predict_interval(X),
        model._fits[0].ahead(3).coef_variance,
    ):
        assert np.isfinite(value).all()
    history = model.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    assert model.noise_variance_ > 0
    rho = model.autocorrelation_[~np.isnan(model.autocorrelation_)]
    assert ((rho >= 0) & (rho <= 1)).all()
    assert model.summary().shape == (X.shape[1], 15)


@pytest.mark.parametrize("intercept", [True, False])
def test_more_features_than_rows_and_no_noise_at_all(intercept):
    """An exactly linear y: the two features are found, the noise ends between floor and 1/N."""
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(3), 10)
    X = rng.normal(size=(30, 100))
    y = 2 * X[:, 0] - X[:, 1]
    model = DriftRegressor(fit_intercept=intercept).fit(X, y, time=time)
    assert_finite(model, X)
    assert_allclose(model.coef_[:2], [2.0, -1.0], atol=0.02)
    assert_array_equal(model.inclusion_probability_ > 0.5, np.arange(100) < 2)
    assert 1e-3 * y.var() <= model.noise_variance_ <= y.var() / 20


def test_features_that_are_all_zero_leave_the_intercept():
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(4), 20)
    X, y = np.zeros((80, 3)), rng.normal(size=80) + time
    with pytest.warns(DataWarning, match="3 of 3 columns are zero"):
        model = DriftRegressor().fit(X, y, time=time)
    assert_finite(model, X)
    assert_array_equal(model.coef_path_, 0.0)
    assert_allclose(model.intercept_path_, np.arange(4), atol=0.8)


def test_a_column_of_zeros_among_others_is_zero(rows):
    X = np.column_stack([rows.X, np.zeros(rows.y.size)])
    with pytest.warns(DataWarning, match="1 of 7 columns are zero"):
        model = DriftRegressor().fit(X, rows.y, time=rows.time)
    assert_finite(model, X)
    assert_array_equal(model.coef_path_[:, 6], 0.0)
    assert model.inclusion_probability_[6] < 1.0


@pytest.mark.parametrize("time", ["none", "one label"])
def test_one_step(time, rows):
    labels = None if time == "none" else np.full(rows.y.size, 7)
    model = DriftRegressor().fit(rows.X, rows.y, time=labels)
    assert_finite(model, rows.X)
    assert model.coef_path_.shape == (1, 6)
    assert_allclose(model.coef_path_[0, [1, 4]], [1.0, -0.3], atol=0.2)
    if time == "none":
        assert_array_equal(model.coef_, model.coef_path_[0])
        assert model.intercept_ == model.intercept_path_[0]
    # At T = 1 nothing can drift: a forecast is the same step, no less certain.
    ahead = model._fits[0].ahead(4)
    assert_allclose(ahead.coef, model.coef_path_[0], rtol=1e-9, atol=1e-12)
    assert_allclose(np.sqrt(ahead.total_variance), model.coef_std_path_[0], rtol=1e-9, atol=1e-12)


def test_the_intercept_of_one_step_is_not_shrunk():
    rng = np.random.default_rng(0)
    X, y = np.zeros((40, 1)), 100.0 + rng.normal(size=40)
    with pytest.warns(DataWarning):
        model = DriftRegressor().fit(X, y)
    assert_allclose(model.intercept_, y.mean(), rtol=1e-12)


def test_two_steps(rows):
    keep = rows.time < 2002
    model = DriftRegressor().fit(rows.X[keep], rows.y[keep], time=rows.time[keep])
    assert_finite(model, rows.X)
    assert model.coef_path_.shape == (2, 6)


def test_one_feature(rows):
    y = 2.0 * rows.X[:, 0] + 0.1 * np.random.default_rng(0).normal(size=rows.y.size)
    model = DriftRegressor().fit(rows.X[:, :1], y, time=rows.time)
    assert_finite(model, rows.X[:, :1])
    assert_allclose(model.coef_path_[:, 0], 2.0, atol=0.05)
    assert model.inclusion_probability_[0] > 0.99
    noise = np.random.default_rng(1).normal(size=rows.y.size)
    model = DriftRegressor().fit(rows.X[:, :1], noise, time=rows.time)
    assert model.inclusion_probability_[0] < 0.5


@pytest.mark.filterwarnings("ignore:some columns cannot be told")
def test_identical_columns_share_one_effect(rows):
    X = np.column_stack([rows.X[:, 1], rows.X[:, 1], rows.X[:, 0]])
    y = 1.5 * X[:, 0] + 0.3 * np.random.default_rng(77).normal(size=rows.y.size)
    model = DriftRegressor().fit(X, y, time=rows.time)
    assert_finite(model, X)
    assert_allclose(model.coef_path_[:, :2].sum(axis=1), 1.5, atol=0.1)
    # Documented: which of them has it is hardly known, and neither is called sure or zero.
    assert model.inclusion_probability_[:2].max() < 0.95
    assert model.inclusion_probability_[:2].min() > 0.3


@pytest.mark.parametrize("value", [0.0, 3.3, -1e6])
@pytest.mark.parametrize("intercept", [True, False])
def test_a_constant_y_is_the_intercept(value, intercept, rows):
    y = np.full(rows.y.size, value)
    model = DriftRegressor(fit_intercept=intercept).fit(rows.X, y, time=rows.time)
    assert_finite(model, rows.X)
    if intercept:
        assert_allclose(model.coef_path_, 0.0, atol=1e-28)
        assert_allclose(model.intercept_path_, value, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_rows", [2, 12, 30])
def test_a_single_row_a_step(n_rows):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 4))
    y = 3.0 * X[:, 0] + 0.1 * rng.normal(size=n_rows)
    model = DriftRegressor().fit(X, y, time=np.arange(n_rows))
    assert_finite(model, X)
    assert model.coef_path_.shape == (n_rows, 4)
    if n_rows >= 12:
        assert_allclose(model.coef_path_[:, 0], 3.0, atol=0.5)


@pytest.mark.parametrize("weight", [1e-2, 1e6, 1e10])
def test_weights_of_any_size(weight, rows):
    weights = np.full(rows.y.size, weight)
    model = DriftRegressor().fit(rows.X, rows.y, time=rows.time, sample_weight=weights)
    assert_finite(model, rows.X)
    if weight > 1:  # as many repetitions: all rows are believed
        assert model.coef_std_path_.max() < 1e-2


def test_columns_of_very_different_size(rows):
    unit = 10.0 ** np.array([-8.0, 8.0, -3.0, 5.0, -6.0, 0.0])
    model = DriftRegressor().fit(rows.X, rows.y, time=rows.time)
    other = DriftRegressor().fit(rows.X * unit, rows.y, time=rows.time)
    assert_finite(other, rows.X * unit)
    size = np.abs(model.coef_path_).max()
    assert_allclose(other.coef_path_ * unit, model.coef_path_, rtol=1e-6, atol=1e-7 * size)
    assert_allclose(other.coef_std_path_ * unit, model.coef_std_path_, rtol=1e-5, atol=1e-7 * size)


def test_pure_noise_includes_next_to_nothing():
    """Inclusion must not be read off components too small to be told from zero.

    Weights estimated from pure noise scatter, so single fits may include a few features weakly;
    with drifting components as small as constant ones 47 of 100 features were included here.
    """
    shapes = [(3, 500, 50), (8, 100, 100), (1, 200, 50), (5, 40, 200), (8, 300, 50), (3, 300, 50)]
    included, n_wrong, n_all = [], 0, 0
    for seed, (n_steps, rows_per_step, n_features) in enumerate(shapes * 2):
        rng = np.random.default_rng(seed)
        time = np.repeat(np.arange(n_steps), rows_per_step)
        X = rng.normal(size=(time.size, n_features))
        y = rng.normal(size=time.size) + 0.5 * time
        model = DriftRegressor().fit(X, y, time=time)
        included.append(model.inclusion_probability_.mean())
        n_wrong += int((model.inclusion_probability_ > 0.5).sum())
        n_all += n_features
    assert np.mean(included) < 0.1
    assert max(included) < 0.4
    assert n_wrong <= 0.015 * n_all


# ------------------------------------------------------------------------------- what is kept


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])  # noqa: S301
def test_a_copied_model_says_the_same(copied, fitted, rows):
    other = copied(fitted)
    assert_array_equal(other.predict(rows.X), fitted.predict(rows.X))
    time = np.full(rows.y.size, 2012)
    assert_array_equal(
        other.predict_interval(rows.X, time=time), fitted.predict_interval(rows.X, time=time)
    )
    pd.testing.assert_frame_equal(other.summary(), fitted.summary())


def test_an_updatable_model_survives_pickling(rows):
    old = rows.time < 2007
    model = DriftRegressor(keep_data=True).fit(rows.X[old], rows.y[old], time=rows.time[old])
    other = pickle.loads(pickle.dumps(model))  # noqa: S301
    for one in (model, other):
        one.update(rows.X[~old], rows.y[~old], time=rows.time[~old])
    assert_array_equal(other.coef_path_, model.coef_path_)


def test_a_model_holds_no_training_data_unless_asked_to():
    rng = np.random.default_rng(0)
    time = np.repeat(np.arange(4), 5000)
    X = rng.normal(size=(time.size, 5))
    y = X[:, 0] + rng.normal(size=time.size)
    small = len(pickle.dumps(DriftRegressor().fit(X, y, time=time)))
    large = len(pickle.dumps(DriftRegressor(keep_data=True).fit(X, y, time=time)))
    # A row leaves its residual and its step, eight bytes together.
    assert small < 50_000 + 8 * time.size
    assert large > X.nbytes


def test_a_second_fit_forgets_the_first(rows, fitted):
    model = DriftRegressor(keep_data=True).fit(rows.X[:, :2], rows.y * 5, time=rows.time)
    model.set_params(keep_data=False).fit(rows.X, rows.y, time=rows.time)
    assert_array_equal(model.coef_path_, fitted.coef_path_)
    with pytest.raises(DataError, match="keep_data"):
        model.update(rows.X, rows.y, time=rows.time + 100)


def test_the_same_fit_twice_is_the_same_to_the_last_bit(rows, fitted):
    other = DriftRegressor().fit(rows.X, rows.y, time=rows.time)
    assert_array_equal(other.coef_path_, fitted.coef_path_)
    assert_array_equal(other.objective_history_, fitted.objective_history_)
    assert_array_equal(other.coef_std_path_, fitted.coef_std_path_)


@pytest.mark.parametrize("slope", [0.0, 0.5, 2.0])
def test_a_trend_in_a_columns_mean_is_not_taken_for_drift(slope):
    """The intercept moves; a column that moves along must not be set against it."""
    rng = np.random.default_rng(3)
    time = np.repeat(np.arange(9), 100)
    X = rng.normal(size=(900, 8))
    X[:, 0] += slope * time
    y = X[:, 0] + 0.5 * X[:, 1] + 0.4 * rng.normal(size=9)[time] + 0.5 * rng.normal(size=900)
    past = time < 8
    model = DriftRegressor().fit(X[past], y[past], time=time[past])
    kinds = model.summary().set_index("feature")["kind"]
    assert kinds["x0"] == "static"
    assert_allclose(model.coef_path_[:, 0], 1.0, atol=0.08)


def test_intercepts_that_do_not_move_leave_columns_at_their_overall_mean(rng):
    time = np.repeat(np.arange(6), 40)
    X = rng.normal(size=(240, 3)) + 0.3 * time[:, None]
    model = DriftRegressor().fit(X, X[:, 0] - 0.3 * time + rng.normal(size=240), time=time)
    center = model._fits[0].columns.center
    own = np.array([X[time == t].mean(axis=0) for t in range(6)])
    share = (center - X.mean(axis=0)) / (own - X.mean(axis=0))
    assert (share < 0.75).all()
    moving = DriftRegressor().fit(X, X[:, 0] + 3 * rng.normal(size=6)[time], time=time)
    share = (moving._fits[0].columns.center - X.mean(axis=0)) / (own - X.mean(axis=0))
    assert (share > 0.9).all()
    single = DriftRegressor().fit(X[::40], rng.normal(size=6), time=np.arange(6))
    assert_allclose(single._fits[0].columns.center, np.tile(X[::40].mean(axis=0), (6, 1)))


@pytest.mark.filterwarnings("ignore::driftglm.exceptions.DataWarning")
def test_a_column_that_says_nothing_is_not_included():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[:, 2], X[:, 3] = 0.0, 5.0
    y = X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=200)
    model = DriftRegressor().fit(X, y, time=np.repeat(np.arange(4), 50))
    assert_array_equal(model.inclusion_probability_[2:], 0.0)
    assert_array_equal(model.coef_path_[:, 2:], 0.0)
    assert model.inclusion_probability_[:2].min() > 0.9
    assert list(model.summary().set_index("feature")["kind"][["x2", "x3"]]) == ["zero", "zero"]
