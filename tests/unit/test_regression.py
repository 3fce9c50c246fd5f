"""DriftRegressor as a user meets it: input, time, prediction, settings, errors."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from driftglm import DriftRegressor
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning, TimeError
from driftglm.priors import Exact, Fixed, Variational
from driftglm.simulate import simulate_panel

T = 6
PRIORS = pytest.mark.parametrize("prior", ["exact", "variational", "fixed"])


def drift(**params):
    """The paper's prior, whatever the default of the class may be."""
    return DriftRegressor(**{"prior": "exact", **params})


@pytest.fixture
def rows(rng):
    """Column 0 drifts, column 1 is constant, 2 to 4 do nothing; the intercept moves."""
    time = np.repeat(np.arange(2001, 2001 + T), 30)
    X = rng.normal(size=(time.size, 5))
    drifting = np.linspace(-1.5, 1.5, T)[time - 2001]
    y = drifting * X[:, 0] + X[:, 1] + 0.2 * (time - 2001) + 0.4 * rng.normal(size=time.size)
    return X, y, time


# ------------------------------------------------------------------------------ scikit-learn


@PRIORS
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
def test_scikit_learns_own_checks_pass(prior):
    """No failure is expected. check_array_api_input is skipped, as SCIPY_ARRAY_API is not set."""
    results = check_estimator(DriftRegressor(prior=prior), on_fail="raise", on_skip=None)
    status = {result["check_name"]: result["status"] for result in results}
    assert {name for name, got in status.items() if got != "passed"} <= {"check_array_api_input"}
    assert len(status) > 40


def test_a_clone_has_the_settings_and_nothing_fitted(rows):
    X, y, time = rows
    model = drift(prior=Exact(rate=3.0), always_in=[2], noise=0.5).fit(X, y, time=time)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert not hasattr(twin, "coef_")
    assert_array_equal(twin.fit(X, y, time=time).coef_path_, model.coef_path_)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],  # noqa: S301
    ids=["copy", "pickle"],
)
@pytest.mark.parametrize("extrapolate", ["hold", "forecast"])
def test_a_copied_model_predicts_the_same(copied, extrapolate, rows):
    X, y, time = rows
    model = drift(always_in=[3], extrapolate=extrapolate).fit(X, y, time=time)
    other = copied(model)
    for when in (None, time, np.full(time.size, 2010)):
        assert_array_equal(other.predict(X, time=when), model.predict(X, time=when))


def test_fit_returns_the_model_and_leaves_the_data_alone(rows):
    X, y, time = rows
    weights = np.linspace(0, 1, y.size)
    before = [part.copy() for part in (X, y, time, weights)]
    model = drift()
    assert model.fit(X, y, time=time, sample_weight=weights) is model
    for part, old in zip((X, y, time, weights), before, strict=True):
        assert_array_equal(part, old)


def test_a_second_fit_forgets_the_first(rows):
    X, y, time = rows
    model = drift().fit(X, y, time=time)
    assert model.rate_ == 1.0
    model.set_params(prior="fixed").fit(X[:, :2], y)
    assert not hasattr(model, "rate_")
    assert model.coef_path_.shape == (1, 2)
    assert model.predict(X[:, :2]).shape == y.shape


def test_a_pipeline_takes_time_by_the_name_of_the_step(rows):
    X, y, time = rows
    X = 100 + 20 * X
    pipe = make_pipeline(StandardScaler(), drift())
    pipe.fit(X, y, driftregressor__time=time)
    model = pipe[-1]
    assert_array_equal(model.timesteps_, np.arange(2001, 2001 + T))
    direct = drift().fit(X, y, time=time)
    # Unscaled columns give the same fit: the prior has no unit.
    assert_allclose(pipe.predict(X, time=time), direct.predict(X, time=time), rtol=1e-4, atol=1e-4)
    assert_allclose(pipe.predict(X), direct.predict(X), rtol=1e-4, atol=1e-4)


def routed():
    model = drift().set_fit_request(time=True)
    return model.set_predict_request(time=True).set_score_request(time=True)


def test_metadata_routing_carries_time_into_fit_and_score(rows):
    X, y, time = rows
    folds = KFold(3, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            routed(), X, y, params={"time": time}, cv=folds, return_estimator=True
        )
    for score, model, (_, test) in zip(
        found["test_score"], found["estimator"], folds.split(X), strict=True
    ):
        assert_array_equal(model.timesteps_, np.arange(2001, 2001 + T))
        assert_allclose(score, r2_score(y[test], model.predict(X[test], time=time[test])))
        # Without time in score, rows would be scored as if they came after the last step.
        assert score > model.score(X[test], y[test]) + 0.1


def test_metadata_routing_works_in_a_grid_search_over_a_pipeline(rows):
    X, y, time = rows
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), routed())
        search = GridSearchCV(
            pipe,
            {"driftregressor__noise": [0.16, 100.0]},
            cv=KFold(3, shuffle=True, random_state=0),
        )
        search.fit(X, y, time=time)
        assert search.best_params_ == {"driftregressor__noise": 0.16}
        assert search.best_estimator_[-1].timesteps_.size == T
        assert search.score(X, y, time=time) > 0.8


# --------------------------------------------------------------------------------- tables


def frame(X, kind):
    names = ["drift", "flat", "c", "d", "e"]
    if kind == "pandas":
        return pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1] + 7)
    return pl.DataFrame(X, schema=names)


FRAMES = pytest.mark.parametrize("kind", ["pandas", "polars"])


@FRAMES
def test_frames_give_their_names(kind, rows):
    X, y, time = rows
    table = frame(X, kind)
    series = pd.Series if kind == "pandas" else pl.Series
    model = drift(always_in="d", static=["flat"]).fit(table, series(y), time=series(time))
    assert model.feature_names_in_.tolist() == ["drift", "flat", "c", "d", "e"]
    expected = drift(always_in=[3], static=[1]).fit(X, y, time=time)
    assert_array_equal(model.coef_path_, expected.coef_path_)
    assert_array_equal(model.predict(table, time=series(time)), expected.predict(X, time=time))
    assert model.inclusion_probability_[3] == 1.0


@FRAMES
@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["flat", "drift", "c", "d", "e"], "must be in the same order"),
        (["drift", "flat", "c", "d"], r"(?s)missing:.*- e"),
        (["drift", "flat", "c", "d", "e", "extra"], r"(?s)unseen at fit time:.*- extra"),
    ],
)
def test_missing_reordered_or_new_columns_are_named(kind, columns, message, rows):
    X, y, time = rows
    table = frame(X, kind)
    model = drift().fit(table, y, time=time)
    if kind == "pandas":
        wrong = table.assign(extra=1.0)[columns]
    else:
        wrong = table.with_columns(extra=pl.lit(1.0)).select(columns)
    with pytest.raises(ValueError, match=message):
        model.predict(wrong, time=time)


@pytest.mark.parametrize("argument", ["always_in", "static"])
def test_a_name_that_is_not_a_column_is_an_error(argument, rows):
    X, y, time = rows
    with pytest.raises(DataError, match=rf"{argument} names the column 'rain'.*'drift', 'flat'"):
        drift(**{argument: "rain"}).fit(frame(X, "pandas"), y, time=time)
    with pytest.raises(DataError, match=rf"{argument} names the column 'flat' but X came without"):
        drift(**{argument: "flat"}).fit(X, y, time=time)


@pytest.mark.parametrize(
    "store", [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.csc_matrix, sp.dok_array]
)
def test_every_sparse_format_is_accepted(store, rows):
    X, y, time = rows
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    model = drift(always_in=[2], static=[1]).fit(store(X), y, time=time)
    expected = drift(always_in=[2], static=[1]).fit(X, y, time=time)
    assert_allclose(model.coef_path_, expected.coef_path_, rtol=1e-6, atol=1e-9)
    assert_allclose(model.predict(store(X), time=time), expected.predict(X, time=time), rtol=1e-6)


def test_entries_given_twice_in_coo_are_added(rows):
    X, y, time = rows
    coo = sp.coo_array(X)
    twice = sp.coo_array(
        (np.tile(coo.data / 2, 2), (np.tile(coo.row, 2), np.tile(coo.col, 2))), shape=X.shape
    )
    expected = drift().fit(X, y, time=time).coef_path_
    assert_allclose(drift().fit(twice, y, time=time).coef_path_, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "cast",
    [
        lambda X, y: (X.astype(np.float32), y.astype(np.float32)),
        lambda X, y: (np.asfortranarray(X), y[::1]),
        lambda X, y: (X.tolist(), y.tolist()),
        lambda X, y: (np.repeat(X, 2, axis=1)[:, ::2], np.repeat(y, 2)[::2]),
    ],
    ids=["float32", "fortran", "lists", "strided"],
)
def test_other_arrays_of_the_same_numbers_give_the_same_fit(cast, rows):
    X, y, time = rows
    expected = drift().fit(X, y, time=time).coef_path_
    model = drift().fit(*cast(X, y), time=time)
    assert_allclose(model.coef_path_, expected, rtol=1e-4, atol=1e-5)
    assert model.coef_path_.dtype == np.float64


# ----------------------------------------------------------------------------------- time


def test_every_row_is_predicted_with_its_own_step(rows, rng):
    X, y, time = rows
    model = drift().fit(X, y, time=time)
    order = rng.permutation(time.size)
    own = model.coef_path_[time - 2001]
    expected = (X * own).sum(axis=1) + model.intercept_path_[time - 2001]
    assert_allclose(model.predict(X[order], time=time[order]), expected[order], rtol=1e-12)
    assert_allclose(model.score(X, y, time=time), r2_score(y, expected), rtol=1e-12)
    weights = rng.random(y.size)
    found = model.score(X, y, time=time, sample_weight=weights)
    assert_allclose(found, r2_score(y, expected, sample_weight=weights), rtol=1e-12)


def test_without_time_rows_are_predicted_for_the_next_step(rows):
    X, y, time = rows
    for extrapolate in ("hold", "forecast"):
        model = drift(extrapolate=extrapolate).fit(X, y, time=time)
        expected = X @ model.coef_ + model.intercept_
        assert_allclose(model.predict(X), expected, rtol=1e-12)
        following = np.full(time.size, 2001 + T)
        assert_allclose(model.predict(X, time=following), expected, rtol=1e-12)


def test_a_model_without_time_has_one_step(rows):
    X, y, _ = rows
    for extrapolate in ("hold", "forecast", "validate"):
        model = drift(extrapolate=extrapolate).fit(X, y)
        assert model.coef_path_.shape == (1, 5)
        assert_array_equal(model.coef_, model.coef_path_[0])
        assert model.intercept_ == model.intercept_path_[0]
        assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, rtol=1e-12)


def labelled(time, kind):
    if kind == "datetime":
        days = pd.to_datetime([f"{year}-0{1 + k % 9}-15" for k, year in enumerate(time)])
        return days, {"freq": "Y"}
    if kind == "period":
        return pd.PeriodIndex([f"{year}" for year in time], freq="Y"), {}
    if kind == "category":
        names = [f"year {year}" for year in range(2001, 2001 + T + 2)]
        return pd.Categorical([f"year {year}" for year in time], names, ordered=True), {}
    if kind == "every fifth":
        return 5 * time, {"freq": 5}
    return time.astype(float), {}


@pytest.mark.parametrize("kind", ["datetime", "period", "category", "every fifth", "float"])
@pytest.mark.parametrize("extrapolate", ["hold", "validate"])
def test_labels_of_any_kind_give_the_same_fit(kind, extrapolate, rows):
    X, y, time = rows
    labels, params = labelled(time, kind)
    model = drift(extrapolate=extrapolate, **params).fit(X, y, time=labels)
    expected = drift(extrapolate=extrapolate).fit(X, y, time=time)
    assert_array_equal(model.coef_path_, expected.coef_path_)
    assert_array_equal(model.predict(X, time=labels), expected.predict(X, time=time))
    assert_array_equal(model.coef_, expected.coef_)
    assert len(model.timesteps_) == T


def test_dates_become_the_steps_of_their_freq(rows):
    X, y, time = rows
    labels, _ = labelled(time, "datetime")
    model = drift(freq="Y").fit(X, y, time=labels)
    assert [str(step) for step in model.timesteps_] == [
        "2001",
        "2002",
        "2003",
        "2004",
        "2005",
        "2006",
    ]
    later = pd.to_datetime(["2007-12-31"] * 3)
    assert_allclose(model.predict(X[:3], time=later), model.predict(X[:3]), rtol=1e-12)


def test_a_year_without_rows_is_filled_in(rows):
    X, y, time = rows
    keep = time != 2003
    model = drift().fit(X[keep], y[keep], time=time[keep])
    assert_array_equal(model.timesteps_, np.arange(2001, 2001 + T))
    assert model.coef_path_.shape == (T, 5)
    # Column 0 rises by .6 a year; the empty year is put between its neighbours.
    before, empty, after = model.coef_path_[1:4, 0]
    assert before < empty < after
    assert np.isfinite(model.predict(X, time=time)).all()


@pytest.mark.parametrize("extrapolate", ["hold", "forecast"])
def test_far_steps_are_held_or_fade_to_the_mean(extrapolate, rows):
    X, y, time = rows
    model = drift(extrapolate=extrapolate).fit(X, y, time=time)
    one = np.zeros((1, 5))
    one[0, 0] = 1.0
    ahead = [
        model.predict(one, time=[2000 + T + k])[0] - model.predict(0 * one, time=[2000 + T + k])[0]
        for k in range(5)
    ]
    last, rho = model.coef_path_[-1, 0], model.autocorrelation_[0]
    if extrapolate == "hold":
        assert_allclose(ahead, np.full(5, last), rtol=1e-9)
    else:
        assert 0 < rho < 1
        assert_allclose(ahead, last * rho ** np.arange(5), rtol=1e-9)


def test_a_forecast_intercept_reverts_to_its_flat_part(rng):
    """White noise about 7: the forecast is the mean of the steps, shrunk toward no one step."""
    time = np.repeat(np.arange(12), 20)
    intercept = 7 + rng.normal(size=12)
    y = intercept[time] + 0.1 * rng.normal(size=time.size)
    X = rng.normal(size=(time.size, 1))
    model = drift(extrapolate="forecast").fit(X, y, time=time)
    assert_allclose(model.intercept_, intercept.mean(), atol=0.3)
    held = drift(extrapolate="hold").fit(X, y, time=time)
    assert_allclose(held.intercept_, intercept[-1], atol=0.1)


def test_a_step_before_the_first_is_an_error(rows):
    X, y, time = rows
    model = drift().fit(X, y, time=time)
    with pytest.raises(TimeError, match=r"time is 2000 in row 1, before the first step.*2001"):
        model.predict(X[:2], time=[2002, 2000])


def test_predict_needs_time_of_the_kind_fitted(rows):
    X, y, time = rows
    with pytest.raises(TimeError, match="fitted without time"):
        drift().fit(X, y).predict(X, time=time)
    model = drift().fit(X, y, time=time)
    with pytest.raises(TimeError, match=r"integer labels from 2001 to 2006"):
        model.predict(X[:2], time=pd.to_datetime(["2003-01-01", "2004-01-01"]))


# --------------------------------------------------------------------------- extrapolation


def test_validation_forecasts_where_things_revert(rng):
    """The intercept jumps about its mean: the last one says nothing about the next."""
    time = np.repeat(np.arange(12), 25)
    X = rng.normal(size=(time.size, 2))
    intercept = 2.0 * rng.normal(size=12)
    y = intercept[time] + 0.3 * rng.normal(size=time.size)
    model = drift(extrapolate="validate").fit(X, y, time=time)
    assert model.extrapolate_ == "forecast"
    assert abs(model.intercept_ - intercept.mean()) < abs(
        model.intercept_path_[-1] - intercept.mean()
    )


def test_validation_holds_where_things_stay(rng):
    """Constant effects: any fading toward zero is a loss."""
    time = np.repeat(np.arange(8), 40)
    X = rng.normal(size=(time.size, 3))
    y = X @ [2.0, -1.0, 0.0] + 0.3 * rng.normal(size=time.size)
    model = drift(extrapolate="validate", fit_intercept=False).fit(X, y, time=time)
    assert model.extrapolate_ == "hold"
    assert_array_equal(model.coef_, model.coef_path_[-1])


def test_the_papers_priors_hold_by_default(rows):
    X, y, time = rows
    model = drift().fit(X, y, time=time)
    assert model.extrapolate_ == "hold"
    assert_array_equal(model.coef_, model.coef_path_[-1])


@pytest.mark.parametrize("labels", [[0, 4, 5, 6, 7], [0, 1, 2, 5, 6]])
def test_validation_can_cope_with_gaps_and_steps_of_no_weight(labels, rng):
    time = np.repeat(labels, 20)
    X = rng.normal(size=(time.size, 2))
    y = X[:, 0] + 0.3 * rng.normal(size=time.size)
    weights = np.where(time == 0, 0.0, 1.0)
    for sample_weight in (None, weights):
        model = drift(extrapolate="validate").fit(X, y, time=time, sample_weight=sample_weight)
        assert model.extrapolate_ in {"hold", "forecast"}


# ------------------------------------------------------------------------------- settings


@PRIORS
def test_always_in_is_never_dropped_even_if_pure_noise(prior, rows):
    X, y, time = rows
    model = drift(prior=prior, always_in=[4]).fit(X, y, time=time)
    assert model.inclusion_probability_[4] == 1.0
    assert model.coef_path_[:, 4].all()
    assert np.abs(model.coef_path_[:, 4]).max() < 0.3
    if prior != "fixed":
        assert not drift(prior=prior).fit(X, y, time=time).coef_path_[:, 4].any()


@PRIORS
@pytest.mark.parametrize("always_in", [None, [0]])
def test_static_features_do_not_move(prior, always_in, rows):
    X, y, time = rows
    model = drift(prior=prior, static=[0, 1], always_in=always_in).fit(X, y, time=time)
    path = model.coef_path_[:, :2]
    assert_array_equal(path, path[:1] * np.ones((T, 1)))
    assert_allclose(path[0, 1], 1.0, atol=0.15)
    assert_array_equal(model.autocorrelation_[[1]], [1.0])
    if always_in:
        assert model.autocorrelation_[0] == 1.0
    forecast = drift(prior=prior, static=[0, 1], extrapolate="forecast").fit(X, y, time=time)
    assert_allclose(forecast.coef_[1], forecast.coef_path_[-1, 1], rtol=1e-12)


def test_always_in_may_be_every_feature(rows):
    X, y, time = rows
    for solver in ("block", "lbfgs"):
        model = drift(always_in=range(5), solver=solver).fit(X, y, time=time)
        assert (model.inclusion_probability_ == 1).all()
        assert_allclose(model.coef_path_[:, 1], 1.0, atol=0.3)
        assert model.coef_path_[-1, 0] > 1.0


def test_an_always_in_column_of_one_value_takes_nothing_from_the_intercept(rows):
    X, y, time = rows
    X = np.column_stack([X, np.full(y.size, 0.1)])
    with pytest.warns(DataWarning, match="cannot be told from the intercept"):
        model = drift(always_in=[5]).fit(X, y, time=time)
    assert not model.coef_path_[:, 5].any()
    plain = drift().fit(X[:, :5], y, time=time)
    assert_allclose(model.intercept_path_, plain.intercept_path_, rtol=1e-9)


def test_inclusion_is_zero_or_one_and_zeros_are_exact(rows):
    X, y, time = rows
    model = drift().fit(X, y, time=time)
    assert_array_equal(model.inclusion_probability_, [1, 1, 0, 0, 0])
    assert not model.coef_path_[:, 2:].any()
    assert np.isnan(model.autocorrelation_[2:]).all()
    assert ((model.autocorrelation_[:2] > 0) & (model.autocorrelation_[:2] < 1)).all()
    dense = drift(prior="fixed").fit(X, y, time=time)
    assert_array_equal(dense.inclusion_probability_, np.ones(5))
    assert_array_equal(dense.autocorrelation_, np.full(5, 0.9))


@PRIORS
def test_a_mode_has_no_standard_deviations_and_says_so(prior, rows):
    X, y, time = rows
    model = drift(prior=prior).fit(X, y, time=time)
    with pytest.raises(AttributeError, match=f"prior='{prior}' is a posterior mode and has no"):
        _ = model.coef_std_path_
    assert not hasattr(model, "coef_std_path_")


def test_an_unfitted_model_says_that_it_is_not_fitted(rows):
    with pytest.raises(NotFittedError):
        drift().predict(rows[0])
    with pytest.raises(NotFittedError):
        _ = drift().coef_std_path_


def test_the_noise_may_be_estimated_given_or_the_papers():
    panel = simulate_panel(n_features=5, n_active=3, noise_variance=0.25, random_state=1)
    estimated = drift().fit(panel.X, panel.y, time=panel.time)
    # 1600 rows: the standard error of a variance of .25 is .009.
    assert_allclose(estimated.noise_variance_, 0.25, atol=0.04)
    assert drift(noise="paper").fit(panel.X, panel.y, time=panel.time).noise_variance_ == 0.5
    assert drift(noise=0.7).fit(panel.X, panel.y, time=panel.time).noise_variance_ == 0.7


def test_more_noise_means_fewer_features(rows):
    X, y, time = rows
    kept = [drift(noise=s2).fit(X, y, time=time).inclusion_probability_.sum() for s2 in (0.01, 30)]
    assert kept[0] > kept[1]


@pytest.mark.parametrize("kind", [Exact, Variational])
def test_the_rate_may_be_estimated(kind, rows):
    X, y, time = rows
    assert drift(prior=kind(rate=2.5)).fit(X, y, time=time).rate_ == 2.5
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = drift(prior=kind(rate="estimate")).fit(X, y, time=time)
    assert -100 <= model.rate_ <= 100
    # It is the best rate for the paths found, up to the last change of the paths.
    paths = model.coef_path_.T[model.inclusion_probability_ > 0]
    best = kind(rate=model.rate_).log_density(paths).sum()
    for rate in (-50.0, 0.0, 1.0, 10.0):
        assert best >= kind(rate=rate).log_density(paths).sum() - 1e-3


def test_a_rate_at_its_limit_is_reported(rng):
    time = np.repeat(np.arange(8), 30)
    X = rng.normal(size=(time.size, 3))
    y = X @ [3.0, -2.0, 2.0] + 0.1 * rng.normal(size=time.size)
    with pytest.warns(DataWarning, match="ended at its limit 100: .* strongest auto") as record:
        model = drift(prior=Exact(rate="estimate")).fit(X, y, time=time)
    assert record[0].filename == __file__
    assert model.rate_ == 100


@pytest.mark.parametrize("init", ["auto", "lasso-one", "lasso-all", "ridge-all", "zero"])
@pytest.mark.parametrize("prior", ["exact", "variational", "fixed"])
def test_an_easy_problem_is_solved_from_every_start(init, prior, rows):
    X, y, time = rows
    model = drift(init=init, prior=prior).fit(X, y, time=time)
    assert_allclose(model.coef_path_[:, 0], np.linspace(-1.5, 1.5, T), atol=0.35)
    assert_allclose(model.coef_path_[:, 1], 1.0, atol=0.25)
    assert model.converged_


def test_lbfgs_keeps_features_at_zero_that_start_there(rows):
    X, y, time = rows
    model = drift(init="zero", solver="lbfgs").fit(X, y, time=time)
    assert not model.coef_path_.any()
    for intercept in (True, False):
        empty = drift(init="zero", solver="lbfgs", fit_intercept=intercept).fit(X, y, time=time)
        assert np.isfinite(empty.predict(X)).all()


def test_several_starts_cannot_be_ranked_by_a_mode(rows):
    X, y, time = rows
    with pytest.raises(DataError, match=r"n_starts=3 .* Choose one start with init="):
        drift(n_starts=3).fit(X, y, time=time)


def test_too_few_iterations_are_a_warning_that_names_the_cures(rows):
    X, y, time = rows
    with pytest.warns(ConvergenceWarning) as record:
        model = drift(max_iter=1, tol=1e-9).fit(X, y, time=time)
    text = str(record[0].message)
    assert text.startswith("stopped after 1 iterations (max_iter) with optimality")
    assert "> tol=1e-09; raise max_iter or tol" in text
    assert record[0].filename == __file__
    assert not model.converged_
    assert (model.n_iter_, model.stop_reason_) == (1, "max_iter")
    assert model.objective_history_.shape == (1,)


@pytest.mark.parametrize("solver", ["block", "lbfgs"])
def test_verbose_reports_on_stderr_alone(solver, rows, capsys):
    X, y, time = rows
    options = {"prior": "fixed", "solver": solver, "tol": 1e-3}
    drift(**options).fit(X, y, time=time)  # compiling announces itself once
    capsys.readouterr()
    drift(**options).fit(X, y, time=time)
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == ("", "")
    model = drift(**options, verbose=True).fit(X, y, time=time)
    loud = capsys.readouterr()
    assert loud.out == ""
    assert f"driftglm: pass {model.n_iter_}, objective" in loud.err
    assert loud.err.endswith("\n")


def test_no_intercept_means_an_intercept_of_zero(rows):
    X, y, time = rows
    model = drift(fit_intercept=False).fit(X, y, time=time)
    assert not model.intercept_path_.any()
    assert model.intercept_ == 0.0
    assert_array_equal(model.predict(np.zeros((3, 5))), np.zeros(3))


# ------------------------------------------------------------------------------- bad input


def with_value(array, value):
    out = np.array(array, dtype=float)
    out[(3,) * out.ndim] = value
    return out


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", ["X", "y", "time", "sample_weight"])
def test_values_that_are_no_numbers_are_found(part, value, rows):
    X, y, time = rows
    data = {"X": X, "y": y, "time": time, "sample_weight": np.ones(y.size)}
    data[part] = with_value(data[part], value)
    with pytest.raises(ValueError, match=part.split("_")[0]) as error:
        drift().fit(data.pop("X"), data.pop("y"), **data)
    text = str(error.value)
    assert ("NaN" in text) or ("nan" in text) or ("inf" in text) or ("missing" in text)
    if part in {"time", "sample_weight"}:
        assert "row 3" in text


def test_values_that_are_no_numbers_are_found_in_sparse_and_at_prediction(rows):
    X, y, time = rows
    with pytest.raises(ValueError, match="X contains NaN"):
        drift().fit(sp.csr_array(with_value(X, np.nan)), y, time=time)
    model = drift().fit(X, y, time=time)
    with pytest.raises(ValueError, match="X contains infinity"):
        model.predict(with_value(X, np.inf))
    with pytest.raises(TimeError, match="time is missing in 1 of 180 rows, first in row 3"):
        model.predict(X, time=with_value(time, np.nan))


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ("X", r"inconsistent numbers of samples: \[179, 180\]"),
        ("y", r"inconsistent numbers of samples: \[180, 179\]"),
        ("time", "time has 179 labels for 180 rows.*Select the same rows"),
        ("sample_weight", r"sample_weight has shape \(179,\) but X has 180 rows; pass one weight"),
    ],
)
def test_lengths_that_differ_are_told(part, message, rows):
    X, y, time = rows
    data = {"X": X, "y": y, "time": time, "sample_weight": np.ones(y.size)}
    data[part] = data[part][:-1]
    with pytest.raises(ValueError, match=message):
        drift().fit(data.pop("X"), data.pop("y"), **data)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((0, 5), r"0 sample\(s\) \(shape=\(0, 5\)\) while a minimum of 2 is required"),
        ((1, 5), r"1 sample\(s\) \(shape=\(1, 5\)\) while a minimum of 2 is required"),
        ((9, 0), r"0 feature\(s\) \(shape=\(9, 0\)\) while a minimum of 1 is required"),
        ((9,), "Expected 2D array, got 1D array instead"),
    ],
)
def test_too_little_data_is_an_error(shape, message):
    with pytest.raises(ValueError, match=message):
        drift().fit(np.ones(shape), np.ones(shape[0]))


def test_columns_that_say_nothing_are_a_warning_that_names_them(rows):
    X, y, time = rows
    X = np.column_stack([X, np.zeros(y.size), np.full(y.size, 4.0)])
    with pytest.warns(DataWarning) as record:
        model = drift().fit(X, y, time=time)
    texts = [str(warning.message) for warning in record]
    assert texts[0].startswith("1 of 7 columns are zero in every row (5); their coefficients are 0")
    assert texts[1].startswith("1 columns have one value in every row (6) and cannot be told from")
    assert "drop them, or set fit_intercept=False" in texts[1]
    assert {warning.filename for warning in record} == {__file__}
    assert not model.coef_path_[:, 5:].any()
    table = pd.DataFrame(X, columns=list("abcdefg")).drop(columns="g")
    with pytest.warns(DataWarning, match=r"\('f'\)"):
        drift().fit(table, y, time=time)


def test_many_dull_columns_are_not_all_listed(rows):
    X, y, time = rows
    X = np.column_stack([X, np.zeros((y.size, 9))])
    with pytest.warns(DataWarning, match=r"9 of 14 columns .*\(5, 6, 7, 8, 9, \.\.\.\)"):
        drift().fit(sp.csr_array(X), y, time=time)


def test_without_an_intercept_a_constant_column_is_a_feature(rows):
    X, y, time = rows
    X = np.column_stack([X, np.full(y.size, 4.0)])
    model = drift(fit_intercept=False).fit(X, y, time=time)
    # The intercept rises from 0 to 1; a constant column of 4 takes it up.
    assert_allclose(4 * model.coef_path_[-1, 5], 1.0, atol=0.3)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda n: with_value(np.ones(n), -2.0), r"-2\.0 at row 3; .* not negative\. Use 0"),
        (np.zeros, "every sample weight is zero; at least one row must count"),
        (lambda n: -1.0, r"-1\.0 at row 0"),  # noqa: ARG005
        (lambda n: np.ones((n, 1)), r"shape \(180, 1\) .* pass one weight per row"),
        (lambda n: ["heavy"] * n, "cannot be read as numbers .* pass one weight per row"),
    ],
    ids=["negative", "all zero", "negative number", "2-d", "text"],
)
def test_weights_that_cannot_be_used_are_explained(weights, message, rows):
    X, y, time = rows
    with pytest.raises(DataError, match=message):
        drift().fit(X, y, time=time, sample_weight=weights(y.size))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"prior": "exakt"}, r"'prior' parameter of DriftRegressor must be a str among .*'exakt'"),
        ({"prior": None}, r"'prior' parameter .* Got None"),
        ({"solver": "newton"}, r"'solver' parameter of DriftRegressor must be .*'newton'"),
        ({"init": "random"}, r"'init' parameter .*'random'"),
        ({"extrapolate": "trend"}, r"'extrapolate' parameter .*'trend'"),
        ({"noise": 0.0}, r"'noise' parameter .* Got 0\.0"),
        ({"noise": -1}, r"'noise' parameter .* Got -1"),
        ({"noise": "guess"}, r"'noise' parameter .*'guess'"),
        ({"max_iter": 0}, r"'max_iter' parameter .* Got 0"),
        ({"tol": -1e-3}, r"'tol' parameter .* Got -0\.001"),
        ({"freq": 0}, r"'freq' parameter .* Got 0"),
        ({"n_starts": 0}, r"'n_starts' parameter .* Got 0"),
        ({"freq": "fortnight"}, r"freq='fortnight' was given for integer labels"),
        ({"always_in": [9]}, r"always_in names column 9 but X has 5 columns"),
        ({"static": [True]}, r"static is a mask of length 1 but X has 5 columns"),
    ],
)
def test_settings_that_do_not_exist_are_refused(params, message, rows):
    X, y, time = rows
    with pytest.raises(ValueError, match=message):
        drift(**params).fit(X, y, time=time)


def test_the_allowed_priors_and_solvers_are_listed(rows):
    X, y, _ = rows
    for name, allowed in (
        ("prior", {"exact", "variational", "fixed"}),
        ("solver", {"block", "lbfgs"}),
    ):
        with pytest.raises(ValueError, match=name) as error:
            drift(**{name: "unknown"}).fit(X, y)
        assert all(f"'{choice}'" in str(error.value) for choice in allowed)


def test_a_class_is_not_a_prior(rows):
    X, y, _ = rows
    with pytest.raises(TypeError, match=r"prior is the class Exact; pass .* prior=Exact\(\)"):
        drift(prior=Exact).fit(X, y)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (lambda y: y.round().astype(str), r"y holds str_ values such as '.*'; pass numbers"),
        (lambda y: y.astype("datetime64[s]"), "y holds datetime64 values .* pass numbers"),
        (
            lambda y: np.column_stack([y, y]),
            r"y should be a 1d array, got an array of shape \(180, 2\)",
        ),
        (lambda y: y + 1j, "Complex data not supported"),
        (lambda y: y * 1e150, r"y has values of size .*e\+150; .* Change its unit"),
        (lambda y: y * 1e-150, r"y has values of size .*e-150; .* Change its unit"),
    ],
    ids=["text", "dates", "2-d", "complex", "huge", "tiny"],
)
def test_a_target_that_is_no_column_of_numbers_is_refused(y, message, rows):
    X, target, time = rows
    with pytest.raises(ValueError, match=message):
        drift().fit(X, y(target), time=time)


@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_columns_whose_squares_overflow_or_vanish_are_refused(unit, rows):
    X, y, time = rows
    X = X.copy()
    X[:, 2] *= unit
    for stored in (X, sp.csr_array(X)):
        with pytest.raises(DataError, match=r"1 of 5 columns \(2\) have values of size .* Change"):
            drift().fit(stored, y, time=time)


def test_dates_need_a_freq_and_freq_needs_time(rows):
    X, y, time = rows
    labels, _ = labelled(time, "datetime")
    with pytest.raises(TimeError, match="freq is None"):
        drift().fit(X, y, time=labels)
    with pytest.raises(TimeError, match="time is None"):
        drift(freq="Y").fit(X, y)


# --------------------------------------------------------------------- odd but legitimate data


def odd(name, rng):
    """(X, y, time) of data that are unusual but not wrong."""
    time = np.repeat(np.arange(5), 12)
    X = rng.normal(size=(60, 4))
    y = X[:, 0] * (1 + time) + 0.3 * rng.normal(size=60)
    cases = {
        "one row a step": lambda: (X, y, np.arange(60)),
        "two rows": lambda: (X[:2], y[:2], None),
        "two rows, two steps": lambda: (X[:2], y[:2], [0, 1]),
        "two steps": lambda: (X, y, time // 3),
        "one feature": lambda: (X[:, :1], y, time),
        "more features than rows": lambda: (rng.normal(size=(60, 150)), y, time),
        "duplicate columns": lambda: (np.hstack([X, X[:, :2]]), y, time),
        "constant y": lambda: (X, np.full(60, 0.1), time),
        "large constant y": lambda: (X, np.full(60, 1e8), time),
        "y of zeros": lambda: (X, np.zeros(60), time),
        "exactly linear y": lambda: (X, X @ [1.0, -2.0, 0.0, 0.0], time),
        "boolean X": lambda: (X > 0, y, time),
        "integer y": lambda: (X, (3 * y).astype(int), time),
        "boolean y": lambda: (X, y > 0, time),
        "large X": lambda: (1e8 * X, y, time),
        "small X": lambda: (1e-8 * X, y, time),
        "large y": lambda: (X, 1e8 * y, time),
        "small y": lambda: (X, 1e-8 * y, time),
        "y far from zero": lambda: (X, y + 1e7, time),
        "X far from zero": lambda: (X + 1e7, y, time),
        "X of zeros": lambda: (0 * X, y, time),
        "a column of zeros": lambda: (X * [1, 0, 1, 1], 1e8 * y, time),
        "a constant column": lambda: (np.column_stack([X, np.full(60, 0.1)]), y, time),
        "a column seen once": lambda: (np.column_stack([X, np.arange(60) == 7]), y, time),
        "a column of one step": lambda: (np.column_stack([X, X[:, 1] * (time == 2)]), y, time),
        "half of the steps empty": lambda: (X, y, 2 * time),
    }
    return cases if name is None else cases[name]()


@pytest.mark.parametrize("prior", ["exact", "fixed"])
@pytest.mark.parametrize("solver", ["block", "lbfgs"])
@pytest.mark.parametrize("name", list(odd(None, np.random.default_rng(0))))
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.DataWarning")
def test_odd_data_give_finite_numbers_and_a_rising_objective(name, solver, prior, rng):
    X, y, time = odd(name, rng)
    for intercept in (True, False):
        model = drift(prior=prior, solver=solver, fit_intercept=intercept, max_iter=60)
        model.fit(X, y, time=time)
        history = model.objective_history_
        for value in (model.coef_path_, model.intercept_path_, model.noise_variance_, history):
            assert np.isfinite(value).all()
        assert np.isfinite(model.predict(X, time=time)).all()
        assert np.isfinite(model.predict(X)).all()
        assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
        assert model.noise_variance_ > 0


@pytest.mark.parametrize("weight", [1e-8, 1e8])
@pytest.mark.parametrize("prior", ["exact", "fixed"])
def test_weights_of_any_size_give_finite_numbers(weight, prior, rows):
    X, y, time = rows
    model = drift(prior=prior).fit(X, y, time=time, sample_weight=weight)
    history = model.objective_history_
    assert np.isfinite(model.coef_path_).all()
    assert np.isfinite(model.intercept_path_).all()
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    if weight > 1:  # so many rows that no prior can hold against them
        assert_allclose(model.predict(X, time=time), fitted_by_step(X, y, time), atol=1e-3)


def fitted_by_step(X, y, time):
    """Least squares in every step of its own."""
    out = np.empty_like(y)
    for label in np.unique(time):
        own = time == label
        columns = np.column_stack([X[own], np.ones(own.sum())])
        out[own] = columns @ np.linalg.lstsq(columns, y[own], rcond=None)[0]
    return out


def test_a_constant_y_is_the_intercept(rng):
    X = rng.normal(size=(60, 3))
    for value in (0.1, -1e8):
        model = drift().fit(X, np.full(60, value), time=np.repeat(np.arange(5), 12))
        assert_allclose(model.intercept_path_, np.full(5, value), rtol=1e-9)
        assert not model.coef_path_.any()


def test_exactly_linear_data_are_recovered(rng):
    X = rng.normal(size=(200, 4))
    y = X @ [1.0, -2.0, 0.0, 0.0] + 3.0
    model = drift().fit(X, y, time=np.repeat(np.arange(5), 40))
    assert_array_equal(model.inclusion_probability_, [1, 1, 0, 0])
    # The noise is not let go to zero, so the prior still pulls a little.
    assert_allclose(model.coef_path_, np.tile([1.0, -2.0, 0.0, 0.0], (5, 1)), atol=0.01)
    assert_allclose(model.intercept_path_, np.full(5, 3.0), atol=0.01)


def test_of_two_identical_columns_one_takes_all(rng):
    X = rng.normal(size=(200, 2))
    y = 2 * X[:, 0] + 0.3 * rng.normal(size=200)
    time = np.repeat(np.arange(4), 50)
    model = drift().fit(np.hstack([X, X[:, :1]]), y, time=time)
    assert model.inclusion_probability_[[0, 2]].sum() == 1
    assert_allclose(model.coef_path_[:, [0, 2]].sum(axis=1), np.full(4, 2.0), atol=0.2)


def test_a_fixed_prior_object_is_used_as_given(rows):
    X, y, time = rows
    tight, loose = (
        drift(prior=Fixed(scale=scale, autocorrelation=0.5)).fit(X, y, time=time)
        for scale in (1e-4, 10.0)
    )
    assert np.abs(tight.coef_path_).max() < np.abs(loose.coef_path_).max()
