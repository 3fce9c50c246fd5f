"""DriftPoissonRegressor as a user meets it: scikit-learn, shapes, settings, update."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from driftglm import DriftPoissonRegressor
from driftglm.exceptions import DataError, DataWarning, TimeError
from driftglm.priors import Fixed
from driftglm.simulate import simulate_panel

T, P = 5, 5


PRIORS = pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])


def counts(**params):
    return DriftPoissonRegressor(**params)


# ------------------------------------------------------------------------------ scikit-learn


@PRIORS
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.DataWarning")
def test_scikit_learns_own_checks_pass(prior):
    """No failure is expected. check_array_api_input is skipped, as SCIPY_ARRAY_API is not set."""
    results = check_estimator(counts(prior=prior, max_iter=50), on_fail="raise", on_skip=None)
    status = {result["check_name"]: result["status"] for result in results}
    assert {name for name, got in status.items() if got != "passed"} <= {"check_array_api_input"}
    assert len(status) > 40


def test_a_clone_has_the_settings_and_nothing_fitted(count_rows):
    X, y, time = count_rows
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
def test_a_copied_model_predicts_the_same(copied, count_rows):
    X, y, time = count_rows
    model = counts().fit(X, y, time=time)
    other = copied(model)
    for when in (None, time):
        assert_array_equal(other.predict(X, time=when), model.predict(X, time=when))
    assert_array_equal(other.predict_interval(X), model.predict_interval(X))


def test_fit_leaves_the_data_alone(count_rows):
    X, y, time = count_rows
    exposure = np.linspace(1, 2, y.size)
    before = [part.copy() for part in (X, y, time, exposure)]
    model = counts(prior="fixed")
    assert model.fit(X, y, time=time, exposure=exposure) is model
    for part, old in zip((X, y, time, exposure), before, strict=True):
        assert_array_equal(part, old)


def test_a_pipeline_takes_time_and_exposure_by_the_name_of_the_step(count_rows):
    X, y, time = count_rows
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


# Before 1.8, scikit-learn's search hands nothing to the score of a pipeline.
@pytest.mark.newest
def test_metadata_routing_carries_time_and_exposure_through_a_grid_search(count_rows):
    X, y, time = count_rows
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


def test_every_attribute_and_method_has_the_promised_shape(count_rows, summary_columns):
    X, y, time = count_rows
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
    assert model.summary().columns.tolist() == summary_columns
    assert len(model.summary()) == P
    for when in (None, time):
        assert model.predict(X, time=when).shape == (y.size,)
        interval = model.predict_interval(X, time=when)
        assert interval.shape == (y.size, 2)
        assert (interval[:, 0] <= interval[:, 1]).all()
        assert_array_equal(interval, np.round(interval))


def test_the_features_that_matter_are_found(count_rows):
    X, y, time = count_rows
    model = counts().fit(X, y, time=time)
    assert_array_equal(model.inclusion_probability_[:2] > 0.99, [True, True])
    assert model.coef_path_[0, 0] < -0.4
    assert model.coef_path_[-1, 0] > 0.4
    assert_allclose(model.coef_path_[:, 1], 0.6, atol=0.2)
    exact = counts(prior="exact").fit(X, y, time=time)
    assert_array_equal(exact.inclusion_probability_, [1, 1, 0, 0, 0])
    assert not exact.coef_path_[:, 2:].any()


@pytest.mark.parametrize("prior", ["exact", "fixed"])
def test_a_mode_predicts_the_rate_at_its_coefficients(prior, count_rows, rng):
    X, y, time = count_rows
    model = counts(prior=prior).fit(X, y, time=time)
    step = time - 2001
    eta = np.einsum("ni,ni->n", X, model.coef_path_[step]) + model.intercept_path_[step]
    order = rng.permutation(y.size)
    assert_allclose(model.predict(X[order], time=time[order]), np.exp(eta[order]), rtol=1e-9)
    assert_allclose(model.predict(X), np.exp(X @ model.coef_ + model.intercept_), rtol=1e-9)
    with pytest.raises(AttributeError, match=f"prior='{prior}' is a posterior mode and has no"):
        _ = model.coef_std_path_
    with pytest.raises(DataError, match="has no intervals"):
        model.predict_interval(X)


def test_the_learned_prior_predicts_the_mean_of_an_uncertain_rate(count_rows):
    """E[exp(eta)] lies above exp(E[eta])."""
    X, y, time = count_rows
    model = counts().fit(X, y, time=time)
    assert (model.predict(X) > np.exp(X @ model.coef_ + model.intercept_)).all()


def test_the_score_is_the_share_of_deviance_explained(count_rows, rng):
    X, y, time = count_rows
    exposure, weights = rng.uniform(0.5, 2, y.size), rng.random(y.size)
    model = counts(prior="exact").fit(X, y, time=time, exposure=exposure)
    expected = d2_tweedie_score(
        y, model.predict(X, time=time, exposure=exposure), power=1, sample_weight=weights
    )
    found = model.score(X, y, time=time, exposure=exposure, sample_weight=weights)
    assert_allclose(found, expected)
    assert found > 0.3


# ---------------------------------------------------------------------------------- settings


@PRIORS
def test_always_in_is_never_dropped_even_if_pure_noise(prior, count_rows):
    X, y, time = count_rows
    model = counts(prior=prior, always_in=[4]).fit(X, y, time=time)
    assert model.inclusion_probability_[4] == 1.0
    assert model.coef_path_[:, 4].all()
    assert np.abs(model.coef_path_[:, 4]).max() < 0.3


@PRIORS
@pytest.mark.parametrize("always_in", [None, [0]])
def test_static_features_do_not_move(prior, always_in, count_rows):
    X, y, time = count_rows
    model = counts(prior=prior, static=[0, 1], always_in=always_in).fit(X, y, time=time)
    path = model.coef_path_[:, :2]
    assert_allclose(path, np.tile(path[:1], (T, 1)), rtol=1e-9, atol=1e-12)
    assert_allclose(path[0, 1], 0.6, atol=0.2)


@pytest.mark.parametrize("extrapolate", ["hold", "forecast"])
def test_every_way_to_extrapolate_gives_a_rate(extrapolate, count_rows):
    X, y, time = count_rows
    model = counts(prior="exact", extrapolate=extrapolate).fit(X, y, time=time, exposure=2.0)
    assert model.extrapolate_ == extrapolate
    assert (model.predict(X) > 0).all()
    if extrapolate == "hold":
        assert_array_equal(model.coef_, model.coef_path_[-1])


@PRIORS
def test_a_step_without_any_count_has_a_low_finite_intercept(prior, count_rows):
    X, y, time = count_rows
    y = np.where(time == 2003, 0, y)
    model = counts(prior=prior).fit(X, y, time=time)
    assert np.isfinite(model.intercept_path_).all()
    assert model.predict(X, time=time)[time == 2003].mean() < 0.3
    assert model.intercept_path_.argmin() == 2


@PRIORS
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
def test_no_count_at_all_is_a_small_rate(prior, count_rows):
    X, y, time = count_rows
    with pytest.warns(DataWarning, match="every count is zero"):
        model = counts(prior=prior, max_iter=100).fit(X, 0 * y, time=time)
    assert (model.predict(X, time=time) < 0.1).all()
    assert np.isfinite(model.objective_history_).all()


@PRIORS
@pytest.mark.parametrize("log_mean", [6.0, 12.0])
def test_large_counts_without_an_intercept_are_fitted_all_the_same(prior, log_mean, rng):
    """The start must not overshoot: least squares at eta = 0 would put exp(1e5) in a rate."""
    time = np.repeat(np.arange(4), 20)
    X = np.column_stack([rng.normal(size=(80, 4)), np.ones(80)])
    y = rng.poisson(np.exp(log_mean + 0.7 * X[:, 1]))
    model = counts(prior=prior, fit_intercept=False, max_iter=3000).fit(X, y, time=time)
    assert model.score(X, y, time=time) > 0.9


# ------------------------------------------------------------------------------------ update


def test_an_update_is_as_good_as_a_fit_of_all_rows(count_rows, rng):
    X, y, time = count_rows
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


def test_an_update_needs_kept_data_and_later_steps(count_rows):
    X, y, time = count_rows
    with pytest.raises(DataError, match="fit it with keep_data=True"):
        counts(prior="fixed").fit(X, y, time=time).update(X, y, time=time + T)
    model = counts(prior="fixed", keep_data=True).fit(X, y, time=time)
    with pytest.raises(TimeError, match="row 0 belongs to a step the model has seen"):
        model.update(X, y, time=time)
