"""DriftPoissonRegressor as a user meets it: exposure, dispersion, tables, update, errors."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from driftglm import DriftPoissonRegressor
from driftglm.exceptions import DataError, TimeError
from driftglm.priors import Fixed
from driftglm.simulate import simulate_panel

T, P = 5, 5
COLUMNS = [
    "feature",
    "inclusion_probability",
    "kind",
    "coef_first",
    "coef_last",
    "coef_next",
    "lower",
    "upper",
    "change",
    "autocorrelation",
]
PRIORS = pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])


def counts(**params):
    return DriftPoissonRegressor(**params)


@pytest.fixture
def rows(rng):
    """Column 0 drifts, column 1 is constant, 2 to 4 do nothing; the level moves."""
    time = np.repeat(np.arange(2001, 2001 + T), 40)
    X = rng.normal(size=(time.size, P))
    drifting = np.linspace(-0.8, 0.8, T)[time - 2001]
    rate = np.exp(drifting * X[:, 0] + 0.6 * X[:, 1] + 1 + 0.1 * (time - 2001))
    return X, rng.poisson(rate), time


# ------------------------------------------------------------------------------ scikit-learn


@PRIORS
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
def test_scikit_learns_own_checks_pass(prior):
    """No failure is expected. check_array_api_input is skipped, as SCIPY_ARRAY_API is not set."""
    results = check_estimator(counts(prior=prior, max_iter=50), on_fail="raise", on_skip=None)
    status = {result["check_name"]: result["status"] for result in results}
    assert {name for name, got in status.items() if got != "passed"} <= {"check_array_api_input"}
    assert len(status) > 40


def test_a_clone_has_the_settings_and_nothing_fitted(rows):
    X, y, time = rows
    model = counts(prior="exact", always_in=[2], dispersion=1.5).fit(X, y, time=time)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert set(model.get_params()) >= {"dispersion", "prior", "always_in", "static", "freq"}
    assert not hasattr(twin, "coef_")
    assert_array_equal(twin.fit(X, y, time=time).coef_path_, model.coef_path_)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],  # noqa: S301
    ids=["copy", "pickle"],
)
def test_a_copied_model_predicts_the_same(copied, rows):
    X, y, time = rows
    model = counts().fit(X, y, time=time)
    other = copied(model)
    for when in (None, time):
        assert_array_equal(other.predict(X, time=when), model.predict(X, time=when))
    assert_array_equal(other.predict_interval(X), model.predict_interval(X))


def test_fit_leaves_the_data_alone(rows):
    X, y, time = rows
    exposure = np.linspace(1, 2, y.size)
    before = [part.copy() for part in (X, y, time, exposure)]
    model = counts(prior="fixed")
    assert model.fit(X, y, time=time, exposure=exposure) is model
    for part, old in zip((X, y, time, exposure), before, strict=True):
        assert_array_equal(part, old)


def test_a_pipeline_takes_time_and_exposure_by_the_name_of_the_step(rows):
    X, y, time = rows
    exposure = np.linspace(1, 2, y.size)
    pipe = make_pipeline(StandardScaler(), counts(prior="exact"))
    named = {"time": time, "exposure": exposure}
    pipe.fit(X, y, **{f"driftpoissonregressor__{name}": part for name, part in named.items()})
    direct = counts(prior="exact").fit(X, y, time=time, exposure=exposure)
    assert_allclose(
        pipe.predict(X, time=time, exposure=exposure),
        direct.predict(X, time=time, exposure=exposure),
        rtol=1e-3,
    )


def test_metadata_routing_carries_time_and_exposure_through_a_grid_search(rows):
    X, y, time = rows
    exposure = np.linspace(1, 2, y.size)
    with sklearn.config_context(enable_metadata_routing=True):
        model = counts(prior="fixed").set_fit_request(time=True, exposure=True)
        model.set_predict_request(time=True, exposure=True)
        model.set_score_request(time=True, exposure=True)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model),
            {"driftpoissonregressor__prior": [Fixed(scale=1.0), Fixed(scale=1e-9)]},
            cv=KFold(3, shuffle=True, random_state=0),
        )
        search.fit(X, y, time=time, exposure=exposure)
        assert search.best_params_["driftpoissonregressor__prior"].scale == 1.0
        assert search.score(X, y, time=time, exposure=exposure) > 0.3


# ---------------------------------------------------------------------------------- shapes


def test_every_attribute_and_method_has_the_promised_shape(rows):
    X, y, time = rows
    model = counts().fit(X, y, time=time)
    assert_array_equal(model.timesteps_, np.arange(2001, 2001 + T))
    for name in ("coef_path_", "coef_std_path_"):
        assert getattr(model, name).shape == (T, P)
    assert model.intercept_path_.shape == (T,)
    assert np.ndim(model.intercept_) == 0
    for name in ("coef_", "inclusion_probability_", "autocorrelation_"):
        assert getattr(model, name).shape == (P,)
    assert model.coef_interval().shape == (2, T, P)
    assert model.objective_history_.shape == (model.n_iter_,)
    assert model.converged_
    assert model.dispersion_ >= 1.0
    assert model.summary().columns.tolist() == COLUMNS
    assert len(model.summary()) == P
    for when in (None, time):
        assert model.predict(X, time=when).shape == (y.size,)
        interval = model.predict_interval(X, time=when)
        assert interval.shape == (y.size, 2)
        assert (interval[:, 0] <= interval[:, 1]).all()
        assert_array_equal(interval, np.round(interval))


def test_the_features_that_matter_are_found(rows):
    X, y, time = rows
    model = counts().fit(X, y, time=time)
    assert_array_equal(model.inclusion_probability_[:2] > 0.99, [True, True])
    assert model.coef_path_[0, 0] < -0.4
    assert model.coef_path_[-1, 0] > 0.4
    assert_allclose(model.coef_path_[:, 1], 0.6, atol=0.2)
    exact = counts(prior="exact").fit(X, y, time=time)
    assert_array_equal(exact.inclusion_probability_, [1, 1, 0, 0, 0])
    assert not exact.coef_path_[:, 2:].any()


@pytest.mark.parametrize("prior", ["exact", "fixed"])
def test_a_mode_predicts_the_rate_at_its_coefficients(prior, rows, rng):
    X, y, time = rows
    model = counts(prior=prior).fit(X, y, time=time)
    step = time - 2001
    eta = np.einsum("ni,ni->n", X, model.coef_path_[step]) + model.intercept_path_[step]
    order = rng.permutation(y.size)
    assert_allclose(model.predict(X[order], time=time[order]), np.exp(eta[order]), rtol=1e-9)
    assert_allclose(model.predict(X), np.exp(X @ model.coef_ + model.intercept_), rtol=1e-9)
    with pytest.raises(AttributeError, match=f"prior='{prior}' is a posterior mode and has no"):
        _ = model.coef_std_path_
    with pytest.raises(DataError, match="has no intervals; use prior='learned'"):
        model.predict_interval(X)


def test_the_learned_prior_predicts_the_mean_of_an_uncertain_rate(rows):
    """E[exp(eta)] lies above exp(E[eta])."""
    X, y, time = rows
    model = counts().fit(X, y, time=time)
    assert (model.predict(X) > np.exp(X @ model.coef_ + model.intercept_)).all()


def test_the_score_is_the_share_of_deviance_explained(rows, rng):
    X, y, time = rows
    exposure, weights = rng.uniform(0.5, 2, y.size), rng.random(y.size)
    model = counts(prior="exact").fit(X, y, time=time, exposure=exposure)
    expected = d2_tweedie_score(
        y, model.predict(X, time=time, exposure=exposure), power=1, sample_weight=weights
    )
    found = model.score(X, y, time=time, exposure=exposure, sample_weight=weights)
    assert_allclose(found, expected)
    assert found > 0.3


# ------------------------------------------------------------------------------------ tables


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_give_their_names(kind, rows):
    X, y, time = rows
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
def test_sparse_is_dense(prior, rows):
    X, y, time = rows
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = counts(prior=prior, always_in=[2], static=[1]).fit(X, y, time=time)
    for store in (sp.csr_array, sp.csc_matrix):
        other = counts(prior=prior, always_in=[2], static=[1]).fit(store(X), y, time=time)
        assert_allclose(other.coef_path_, dense.coef_path_, rtol=1e-4, atol=1e-5)
        assert_allclose(other.predict(store(X)), dense.predict(X), rtol=1e-4)


@PRIORS
def test_neither_the_order_of_rows_nor_the_origin_of_time_matters(prior, rows, rng):
    X, y, time = rows
    order = rng.permutation(y.size)
    one = counts(prior=prior).fit(X, y, time=time)
    other = counts(prior=prior).fit(X[order], y[order], time=time[order] - 1990)
    assert_allclose(other.coef_path_, one.coef_path_, rtol=1e-4, atol=1e-5)
    assert_allclose(other.intercept_path_, one.intercept_path_, rtol=1e-4, atol=1e-5)


@PRIORS
def test_integer_weights_are_repeated_rows(prior, rows, rng):
    X, y, time = rows
    times = rng.integers(0, 3, y.size)
    again = np.repeat(np.arange(y.size), times)
    settings = {"prior": prior, "tol": 1e-6, "max_iter": 5000}
    weighted = counts(**settings).fit(X, y, time=time, sample_weight=times)
    repeated = counts(**settings).fit(X[again], y[again], time=time[again])
    assert_allclose(weighted.coef_path_, repeated.coef_path_, rtol=1e-3, atol=1e-4)
    assert_allclose(weighted.dispersion_, repeated.dispersion_, rtol=1e-4)
    assert_allclose(weighted.objective_history_[-1], repeated.objective_history_[-1], rtol=1e-6)


# ---------------------------------------------------------------------------------- exposure


@PRIORS
def test_a_common_exposure_goes_to_the_intercept_alone(prior, rows):
    """One number for all rows is a change of unit, in whatever form it comes."""
    X, y, time = rows
    plain = counts(prior=prior).fit(X, y, time=time)
    for exposure in (12, np.float64(12), np.full(y.size, 12.0), [12] * y.size):
        model = counts(prior=prior).fit(X, y, time=time, exposure=exposure)
        assert_allclose(model.coef_path_, plain.coef_path_, rtol=1e-4, atol=1e-5)
        assert_allclose(
            model.intercept_path_ + np.log(12), plain.intercept_path_, rtol=1e-4, atol=1e-4
        )
        assert_allclose(
            model.predict(X, time=time, exposure=12), plain.predict(X, time=time), rtol=1e-3
        )


@PRIORS
def test_expected_counts_are_proportional_to_the_exposure(prior, rows, rng):
    X, y, time = rows
    hours = rng.uniform(0.2, 5, y.size)
    y = rng.poisson(hours * np.exp(0.8 * X[:, 0]))
    model = counts(prior=prior).fit(X, y, time=time, exposure=hours)
    assert_allclose(model.coef_path_[:, 0], 0.8, atol=0.2)
    assert_allclose(
        model.predict(X, time=time, exposure=hours),
        hours * model.predict(X, time=time),
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    ("exposure", "message"),
    [
        (lambda n: np.r_[np.ones(n - 1), 0.0], "exposure is 0.0 at row 199; .*positive and finite"),
        (lambda n: np.r_[1.0, -2.0, np.ones(n - 2)], "exposure is -2.0 at row 1; .*Drop rows"),
        (lambda n: np.r_[np.ones(n - 1), np.nan], "exposure is nan at row 199"),
        (lambda n: np.r_[np.inf, np.ones(n - 1)], "exposure is inf at row 0"),
        (lambda n: np.ones(n - 1), r"exposure has shape \(199,\) but X has 200 rows; pass one"),
        (lambda n: np.ones((n, 1)), r"exposure has shape \(200, 1\) but X has 200 rows"),
        (lambda n: ["long"] * n, "exposure cannot be read as numbers .*pass one number per row"),
        (lambda _: 0, "exposure is 0.0 at row 0"),
    ],
)
def test_an_exposure_that_cannot_be_used_is_explained(exposure, message, rows):
    X, y, time = rows
    bad = exposure(y.size)
    with pytest.raises(DataError, match=message):
        counts(prior="fixed").fit(X, y, time=time, exposure=bad)
    model = counts(prior="fixed").fit(X, y, time=time)
    with pytest.raises(DataError, match=message):
        model.predict(X, time=time, exposure=bad)


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
    assert counts(dispersion=2.5).fit(X, scattered, time=time).dispersion_ == 2.5
    estimated = counts(prior="exact", dispersion="estimate").fit(X, scattered, time=time)
    assert_allclose(estimated.dispersion_, 3.0, atol=0.6)


def test_more_dispersion_means_wider_intervals(rows):
    X, y, time = rows
    narrow, wide = (counts(dispersion=phi).fit(X, y, time=time) for phi in (1.0, 4.0))
    assert wide.coef_std_path_[:, :2].mean() > 1.3 * narrow.coef_std_path_[:, :2].mean()
    widths = [np.ptp(model.predict_interval(X, time=time), axis=1) for model in (narrow, wide)]
    assert widths[1].mean() > 1.4 * widths[0].mean()


def test_prediction_intervals_hold_the_share_of_counts_they_promise(rng):
    """1,500 rows: the standard error of a share is 0.013, that of the spread adds as much."""
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


def test_an_interval_of_a_rate_beyond_all_bounds_is_no_nan(rows):
    X, y, time = rows
    model = counts().fit(X, y, time=time)
    assert not np.isnan(model.predict_interval(1e3 * X)).any()


# ---------------------------------------------------------------------------------- settings


@PRIORS
def test_always_in_is_never_dropped_even_if_pure_noise(prior, rows):
    X, y, time = rows
    model = counts(prior=prior, always_in=[4]).fit(X, y, time=time)
    assert model.inclusion_probability_[4] == 1.0
    assert model.coef_path_[:, 4].all()
    assert np.abs(model.coef_path_[:, 4]).max() < 0.3


@PRIORS
@pytest.mark.parametrize("always_in", [None, [0]])
def test_static_features_do_not_move(prior, always_in, rows):
    X, y, time = rows
    model = counts(prior=prior, static=[0, 1], always_in=always_in).fit(X, y, time=time)
    path = model.coef_path_[:, :2]
    assert_allclose(path, np.tile(path[:1], (T, 1)), rtol=1e-9, atol=1e-12)
    assert_allclose(path[0, 1], 0.6, atol=0.2)


@pytest.mark.parametrize("extrapolate", ["hold", "forecast", "validate"])
def test_every_way_to_extrapolate_gives_a_rate(extrapolate, rows):
    X, y, time = rows
    model = counts(prior="exact", extrapolate=extrapolate).fit(X, y, time=time, exposure=2.0)
    assert model.extrapolate_ in {"hold", "forecast"}
    assert (model.predict(X) > 0).all()
    if extrapolate == "hold":
        assert_array_equal(model.coef_, model.coef_path_[-1])


@PRIORS
def test_a_step_without_any_count_has_a_low_finite_level(prior, rows):
    X, y, time = rows
    y = np.where(time == 2003, 0, y)
    model = counts(prior=prior).fit(X, y, time=time)
    assert np.isfinite(model.intercept_path_).all()
    assert model.predict(X, time=time)[time == 2003].mean() < 0.3
    assert model.intercept_path_.argmin() == 2


@PRIORS
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
def test_no_count_at_all_is_a_small_rate(prior, rows):
    X, y, time = rows
    model = counts(prior=prior).fit(X, 0 * y, time=time)
    assert (model.predict(X, time=time) < 0.1).all()
    assert np.isfinite(model.objective_history_).all()


@PRIORS
@pytest.mark.parametrize("level", [6.0, 12.0])
def test_large_counts_without_an_intercept_are_fitted_all_the_same(prior, level, rng):
    """The start must not overshoot: least squares at eta = 0 would put exp(1e5) in a rate."""
    time = np.repeat(np.arange(4), 20)
    X = np.column_stack([rng.normal(size=(80, 4)), np.ones(80)])
    y = rng.poisson(np.exp(level + 0.7 * X[:, 1]))
    model = counts(prior=prior, fit_intercept=False, max_iter=3000).fit(X, y, time=time)
    assert model.score(X, y, time=time) > 0.9


# ------------------------------------------------------------------------------------ update


def test_an_update_is_as_good_as_a_fit_of_all_rows(rows, rng):
    X, y, time = rows
    hours, old = rng.uniform(1, 2, y.size), time < 2005
    model = counts(keep_data=True).fit(X[old], y[old], time=time[old], exposure=hours[old])
    model.update(X[~old], y[~old], time=time[~old], exposure=hours[~old])
    whole = counts().fit(X, y, time=time, exposure=hours)
    assert_array_equal(model.timesteps_, whole.timesteps_)
    assert (model.coef_std_path_ > 0).all()
    assert model.objective_history_[-1] >= whole.objective_history_[-1] - 0.5
    assert_allclose(model.predict(X, time=time), whole.predict(X, time=time), rtol=0.3)


@pytest.mark.parametrize("seed", [1, 2])
def test_an_update_goes_on_from_point_masses_and_leaves_none(seed):
    panel = simulate_panel(
        family="poisson",
        rows_per_step=150,
        n_features=20,
        n_active=5,
        scale=0.3,
        random_state=seed,
    )
    old = panel.time < 7
    model = counts(keep_data=True).fit(panel.X[old], panel.y[old], time=panel.time[old])
    model.update(panel.X[~old], panel.y[~old], time=panel.time[~old])
    whole = counts().fit(panel.X, panel.y, time=panel.time)
    assert model.converged_
    assert (model.coef_std_path_ > 0).all()
    # Different maxima are possible; one that lies 5 nats higher has not paid its divergence.
    assert abs(model.objective_history_[-1] - whole.objective_history_[-1]) < 5.0


def test_an_update_needs_kept_data_and_later_steps(rows):
    X, y, time = rows
    with pytest.raises(DataError, match="fit it with keep_data=True"):
        counts(prior="fixed").fit(X, y, time=time).update(X, y, time=time + T)
    model = counts(prior="fixed", keep_data=True).fit(X, y, time=time)
    with pytest.raises(TimeError, match="row 0 belongs to a step the model has seen"):
        model.update(X, y, time=time)


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
        (lambda y: np.where(y > 0, np.nan, y), "contains NaN"),
        (lambda y: np.full(y.size, 1e20), r"y is 1e\+20 at row 0; counts"),
        (lambda y: np.array(["many"] * y.size), "many"),
        (lambda y: y[:-1], r"inconsistent numbers of samples: \[200, 199\]"),
    ],
    ids=["negative", "missing", "too large", "text", "short"],
)
def test_targets_that_are_no_counts_are_refused(target, message, rows):
    X, y, time = rows
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
def test_settings_that_do_not_exist_are_refused(params, message, rows):
    X, y, time = rows
    with pytest.raises((ValueError, TypeError), match=message):
        counts(**params).fit(X, y, time=time)


@pytest.mark.parametrize("level", [0.0, 1.0, 90, "high"])
def test_a_level_must_be_a_probability(level, rows):
    X, y, time = rows
    model = counts().fit(X[:80], y[:80], time=time[:80])
    with pytest.raises(DataError, match="pass a probability between 0 and 1"):
        model.predict_interval(X, level=level)
