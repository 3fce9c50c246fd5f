"""DriftRegressor as a user of scikit-learn meets it, and its settings."""

import copy
import pickle
import warnings

import numpy as np
import pytest
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
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning
from driftglm.priors import Exact, Variational
from driftglm.simulate import simulate_panel

T = 6

PRIORS = pytest.mark.parametrize("prior", ["exact", "variational", "fixed"])


def drift(**params):
    """The paper's prior, whatever the default of the class may be."""
    return DriftRegressor(**{"prior": "exact", **params})


# ------------------------------------------------------------------------------ scikit-learn


@PRIORS
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.DataWarning")
def test_scikit_learns_own_checks_pass(prior):
    """No failure is expected. check_array_api_input is skipped, as SCIPY_ARRAY_API is not set."""
    results = check_estimator(DriftRegressor(prior=prior), on_fail="raise", on_skip=None)
    status = {result["check_name"]: result["status"] for result in results}
    assert {name for name, got in status.items() if got != "passed"} <= {"check_array_api_input"}
    assert len(status) > 40


def test_a_clone_has_the_settings_and_nothing_fitted(panel_rows):
    X, y, time = panel_rows
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
def test_a_copied_model_predicts_the_same(copied, extrapolate, panel_rows):
    X, y, time = panel_rows
    model = drift(always_in=[3], extrapolate=extrapolate).fit(X, y, time=time)
    other = copied(model)
    for when in (None, time, np.full(time.size, 2010)):
        assert_array_equal(other.predict(X, time=when), model.predict(X, time=when))


def test_fit_returns_the_model_and_leaves_the_data_alone(panel_rows):
    X, y, time = panel_rows
    weights = np.linspace(0, 1, y.size)
    before = [part.copy() for part in (X, y, time, weights)]
    model = drift()
    assert model.fit(X, y, time=time, sample_weight=weights) is model
    for part, old in zip((X, y, time, weights), before, strict=True):
        assert_array_equal(part, old)


def test_a_second_fit_forgets_the_first(panel_rows):
    X, y, time = panel_rows
    model = drift().fit(X, y, time=time)
    assert model.rate_ == 1.0
    model.set_params(prior="fixed").fit(X[:, :2], y)
    assert not hasattr(model, "rate_")
    assert model.coef_path_.shape == (1, 2)
    assert model.predict(X[:, :2]).shape == y.shape


def test_a_pipeline_takes_time_by_the_name_of_the_step(panel_rows):
    X, y, time = panel_rows
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


def test_metadata_routing_carries_time_into_fit_and_score(panel_rows):
    X, y, time = panel_rows
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
        with pytest.warns(DataWarning, match="score was called without time"):
            timeless = model.score(X[test], y[test])
        assert score > timeless + 0.1


# Before 1.8, scikit-learn's search hands nothing to the score of a pipeline.
@pytest.mark.newest
def test_metadata_routing_works_in_a_grid_search_over_a_pipeline(panel_rows):
    X, y, time = panel_rows
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


# ------------------------------------------------------------------------------- settings


@PRIORS
def test_always_in_is_never_dropped_even_if_pure_noise(prior, panel_rows):
    X, y, time = panel_rows
    model = drift(prior=prior, always_in=[4]).fit(X, y, time=time)
    assert model.inclusion_probability_[4] == 1.0
    assert model.coef_path_[:, 4].all()
    assert np.abs(model.coef_path_[:, 4]).max() < 0.3
    if prior != "fixed":
        assert not drift(prior=prior).fit(X, y, time=time).coef_path_[:, 4].any()


@PRIORS
@pytest.mark.parametrize("always_in", [None, [0]])
def test_static_features_do_not_move(prior, always_in, panel_rows):
    X, y, time = panel_rows
    model = drift(prior=prior, static=[0, 1], always_in=always_in).fit(X, y, time=time)
    path = model.coef_path_[:, :2]
    assert_array_equal(path, path[:1] * np.ones((T, 1)))
    assert_allclose(path[0, 1], 1.0, atol=0.15)
    assert_array_equal(model.autocorrelation_[[1]], [1.0])
    if always_in:
        assert model.autocorrelation_[0] == 1.0
    forecast = drift(prior=prior, static=[0, 1], extrapolate="forecast").fit(X, y, time=time)
    assert_allclose(forecast.coef_[1], forecast.coef_path_[-1, 1], rtol=1e-12)


def test_always_in_may_be_every_feature(panel_rows):
    X, y, time = panel_rows
    for solver in ("block", "lbfgs"):
        model = drift(always_in=range(5), solver=solver).fit(X, y, time=time)
        assert (model.inclusion_probability_ == 1).all()
        assert_allclose(model.coef_path_[:, 1], 1.0, atol=0.3)
        assert model.coef_path_[-1, 0] > 1.0


def test_an_always_in_column_of_one_value_takes_nothing_from_the_intercept(panel_rows):
    X, y, time = panel_rows
    X = np.column_stack([X, np.full(y.size, 0.1)])
    with pytest.warns(DataWarning, match="cannot be told from the intercept"):
        model = drift(always_in=[5]).fit(X, y, time=time)
    assert not model.coef_path_[:, 5].any()
    plain = drift().fit(X[:, :5], y, time=time)
    assert_allclose(model.intercept_path_, plain.intercept_path_, rtol=1e-9)


def test_inclusion_is_zero_or_one_and_zeros_are_exact(panel_rows):
    X, y, time = panel_rows
    model = drift().fit(X, y, time=time)
    assert_array_equal(model.inclusion_probability_, [1, 1, 0, 0, 0])
    assert not model.coef_path_[:, 2:].any()
    assert np.isnan(model.autocorrelation_[2:]).all()
    assert ((model.autocorrelation_[:2] > 0) & (model.autocorrelation_[:2] < 1)).all()
    dense = drift(prior="fixed").fit(X, y, time=time)
    assert_array_equal(dense.inclusion_probability_, np.ones(5))
    assert_array_equal(dense.autocorrelation_, np.full(5, 0.9))


@PRIORS
def test_a_mode_has_no_standard_deviations_and_says_so(prior, panel_rows):
    X, y, time = panel_rows
    model = drift(prior=prior).fit(X, y, time=time)
    with pytest.raises(AttributeError, match=f"prior='{prior}' is a posterior mode and has no"):
        _ = model.coef_std_path_
    assert not hasattr(model, "coef_std_path_")


def test_an_unfitted_model_says_that_it_is_not_fitted(panel_rows):
    with pytest.raises(NotFittedError):
        drift().predict(panel_rows[0])
    with pytest.raises(NotFittedError):
        _ = drift().coef_std_path_


def test_the_noise_may_be_estimated_given_or_the_papers():
    panel = simulate_panel(n_features=5, n_active=3, noise_variance=0.25, random_state=1)
    estimated = drift().fit(panel.X, panel.y, time=panel.time)
    # 1600 rows: the standard error of a variance of .25 is .009.
    assert_allclose(estimated.noise_variance_, 0.25, atol=0.04)
    assert drift(noise="paper").fit(panel.X, panel.y, time=panel.time).noise_variance_ == 0.5
    assert drift(noise=0.7).fit(panel.X, panel.y, time=panel.time).noise_variance_ == 0.7


def test_more_noise_means_fewer_features(panel_rows):
    X, y, time = panel_rows
    included = [
        drift(noise=s2).fit(X, y, time=time).inclusion_probability_.sum() for s2 in (0.01, 30)
    ]
    assert included[0] > included[1]


@pytest.mark.parametrize("kind", [Exact, Variational])
def test_the_rate_may_be_estimated(kind, panel_rows):
    X, y, time = panel_rows
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
def test_an_easy_problem_is_solved_from_every_start(init, prior, panel_rows):
    X, y, time = panel_rows
    model = drift(init=init, prior=prior).fit(X, y, time=time)
    assert_allclose(model.coef_path_[:, 0], np.linspace(-1.5, 1.5, T), atol=0.35)
    assert_allclose(model.coef_path_[:, 1], 1.0, atol=0.25)
    assert model.converged_


def test_lbfgs_keeps_features_at_zero_that_start_there(panel_rows):
    X, y, time = panel_rows
    model = drift(init="zero", solver="lbfgs").fit(X, y, time=time)
    assert not model.coef_path_.any()
    for intercept in (True, False):
        empty = drift(init="zero", solver="lbfgs", fit_intercept=intercept).fit(X, y, time=time)
        assert np.isfinite(empty.predict(X)).all()


def test_several_starts_cannot_be_ranked_by_a_mode(panel_rows):
    X, y, time = panel_rows
    with pytest.raises(DataError, match=r"n_starts=3 .* Choose one start with init="):
        drift(n_starts=3).fit(X, y, time=time)


def test_too_few_iterations_are_a_warning_that_names_the_cures(panel_rows):
    X, y, time = panel_rows
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
def test_verbose_reports_on_stderr_alone(solver, panel_rows, capsys):
    X, y, time = panel_rows
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


def test_no_intercept_means_an_intercept_of_zero(panel_rows):
    X, y, time = panel_rows
    model = drift(fit_intercept=False).fit(X, y, time=time)
    assert not model.intercept_path_.any()
    assert model.intercept_ == 0.0
    assert_array_equal(model.predict(np.zeros((3, 5))), np.zeros(3))
