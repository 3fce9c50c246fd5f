"""DriftClassifier as a user meets it: scikit-learn, shapes, settings, update."""

import copy
import itertools
import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from driftglm import DriftClassifier
from driftglm.estimators.statements import KINDS
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning, TimeError
from driftglm.priors import Fixed

T, P = 4, 5


PRIORS = pytest.mark.parametrize("prior", ["learned", "exact", "fixed"])

CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request, make_class_rows):
    X, y, time = make_class_rows(request.param)
    return DriftClassifier(keep_data=True).fit(X, y, time=time), X, y, time


# ------------------------------------------------------------------------------ scikit-learn


@PRIORS
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.DataWarning")
def test_scikit_learns_own_checks_pass(prior):
    """No failure is expected. check_array_api_input is skipped, as SCIPY_ARRAY_API is not set.

    Passes are few to save time; nothing the checks ask for needs convergence. Without a limit the
    paper's prior would not pass the checks of weights: rows that can be separated send its paths
    off without end, and the lasso start of repeated rows differs from that of weights in digits
    that are then never forgotten.
    """
    model = DriftClassifier(prior=prior, max_iter=6, init="zero" if prior == "exact" else "auto")
    results = check_estimator(model, on_fail="raise", on_skip=None)
    status = {result["check_name"]: result["status"] for result in results}
    assert {name for name, got in status.items() if got != "passed"} <= {"check_array_api_input"}
    assert len(status) > 40


def test_a_clone_has_the_settings_and_nothing_fitted(make_class_rows):
    X, y, time = make_class_rows(2)
    model = DriftClassifier(prior="exact", always_in=[2], class_weight={0: 1.0, 1: 3.0})
    model.fit(X, y, time=time)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    assert set(model.get_params()) >= {"prior", "class_weight", "always_in", "static", "freq"}
    assert not hasattr(twin, "classes_")
    assert_array_equal(twin.fit(X, y, time=time).coef_path_, model.coef_path_)


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))],  # noqa: S301
    ids=["copy", "pickle"],
)
def test_a_copied_model_predicts_the_same(copied, fitted):
    model, X, _, time = fitted
    other = copied(model)
    for when in (None, time):
        assert_array_equal(other.predict_proba(X, time=when), model.predict_proba(X, time=when))
    assert_array_equal(other.predict_interval(X[:9]), model.predict_interval(X[:9]))


@CLASSES
def test_fit_leaves_the_data_alone(n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes)
    weights = np.linspace(0, 1, y.size)
    before = [part.copy() for part in (X, y, time, weights)]
    model = DriftClassifier(prior="fixed", class_weight="balanced")
    assert model.fit(X, y, time=time, sample_weight=weights) is model
    for part, old in zip((X, y, time, weights), before, strict=True):
        assert_array_equal(part, old)


def test_a_second_fit_forgets_the_first(make_class_rows):
    X, y, time = make_class_rows(3)
    model = DriftClassifier(prior="exact").fit(X, y, time=time)
    model.set_params(prior="fixed").fit(X[:, :2], np.where(y == 0, "a", "b"))
    assert model.classes_.tolist() == ["a", "b"]
    assert model.coef_path_.shape == (1, 2)
    assert model.coef_.shape == (1, 2)
    assert not hasattr(model, "rate_")


def test_a_pipeline_takes_time_by_the_name_of_the_step(make_class_rows):
    X, y, time = make_class_rows(2)
    pipe = make_pipeline(StandardScaler(), DriftClassifier(prior="exact"))
    pipe.fit(100 + 20 * X, y, driftclassifier__time=time)
    direct = DriftClassifier(prior="exact").fit(100 + 20 * X, y, time=time)
    # Unscaled columns give the same fit: the prior has no unit.
    assert_allclose(
        pipe.predict_proba(100 + 20 * X, time=time),
        direct.predict_proba(100 + 20 * X, time=time),
        atol=1e-3,
    )


# Before 1.8, scikit-learn's search hands nothing to the score of a pipeline.
@pytest.mark.newest
def test_metadata_routing_works_in_a_grid_search(make_class_rows):
    X, y, time = make_class_rows(2)
    with sklearn.config_context(enable_metadata_routing=True):
        model = DriftClassifier(prior="fixed").set_fit_request(time=True)
        model.set_predict_request(time=True).set_score_request(time=True)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), model),
            {"driftclassifier__prior": [Fixed(scale=1.0), Fixed(scale=1e-9)]},
            cv=KFold(3, shuffle=True, random_state=0),
        )
        search.fit(X, y, time=time)
        assert search.best_params_["driftclassifier__prior"].scale == 1.0
        assert search.score(X, y, time=time) > 0.75


# ---------------------------------------------------------------------------------- shapes


def test_every_attribute_has_the_promised_shape(fitted):
    model, X, y, _ = fitted
    n_classes = len(np.unique(y))
    several = (n_classes,) if n_classes > 2 else ()
    assert_array_equal(model.classes_, np.arange(n_classes))
    assert_array_equal(model.timesteps_, np.arange(2001, 2001 + T))
    assert model.n_features_in_ == P
    assert model.coef_path_.shape == (T, *several, P)
    assert model.coef_std_path_.shape == (T, *several, P)
    assert model.intercept_path_.shape == (T, *several)
    assert model.coef_.shape == (*(several or (1,)), P)
    assert model.intercept_.shape == (several or (1,))
    assert model.inclusion_probability_.shape == (*several, P)
    assert model.autocorrelation_.shape == (*several, P)
    assert model.coef_interval().shape == (2, T, *several, P)
    assert ((model.inclusion_probability_ >= 0) & (model.inclusion_probability_ <= 1)).all()
    assert (model.coef_std_path_ >= 0).all()
    assert model.objective_history_.shape == (model.n_iter_,)
    assert model.converged_
    assert model.stop_reason_ == "converged"
    assert X.shape[1] == P


def test_every_method_has_the_promised_shape(fitted):
    model, X, y, time = fitted
    n_classes = len(np.unique(y))
    several = (n_classes,) if n_classes > 2 else ()
    for when in (None, time):
        p = model.predict_proba(X, time=when)
        assert p.shape == (y.size, n_classes)
        assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
        assert (p >= 0).all()
        assert model.decision_function(X, time=when).shape == (y.size, *several)
        assert_array_equal(model.predict(X, time=when), model.classes_[p.argmax(axis=1)])
        assert_allclose(np.exp(model.predict_log_proba(X, time=when)), p, rtol=1e-12)
        interval = model.predict_interval(X, time=when, level=0.8)
        assert interval.shape == (y.size, *several, 2)
        assert (interval >= 0).all()
        assert (interval <= 1).all()
        assert (interval[..., 0] < interval[..., 1]).all()


def test_the_summary_has_the_promised_columns(fitted, summary_columns):
    model, *_ = fitted
    table = model.summary(feature_names=list("abcde"))
    n_classes = len(model.classes_)
    if n_classes == 2:
        assert table.columns.tolist() == summary_columns
        assert len(table) == P
        kind = table.set_index("feature")["kind"]
        assert kind["a"] == "sign-flip"
        assert set(kind) <= set(KINDS)
    else:
        assert table.columns.tolist() == ["class", *summary_columns]
        assert len(table) == P * n_classes
        assert_array_equal(table["class"].value_counts().sort_index().index, model.classes_)
    assert (table["lower"] <= table["coef_next"]).all()
    assert (table["coef_next"] <= table["upper"]).all()
    assert (table["change_lower"] <= table["change_upper"]).all()


def test_the_features_that_matter_are_found(fitted):
    """Any class may carry a feature: only differences between classes can be told."""
    model, *_ = fitted
    found = model.inclusion_probability_.reshape(-1, P).max(axis=0)
    assert (found[:2] > 0.99).all()
    assert (found[:2] > found[2:].max()).all()
    size = np.abs(model.coef_path_).reshape(-1, P).max(axis=0)
    assert size[:2].min() > 3 * size[2:].max()


def test_rows_are_predicted_with_the_coefficients_of_their_step(fitted):
    model, X, y, time = fitted
    path = model.coef_path_.reshape(T, -1, P)[time - 2001]
    intercept = model.intercept_path_.reshape(T, -1)[time - 2001]
    eta = np.einsum("nki,ni->nk", path, X) + intercept
    found = model.decision_function(X, time=time)
    assert_allclose(found.reshape(y.size, -1), eta, rtol=1e-9, atol=1e-9)
    ahead = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X).reshape(y.size, -1), ahead, rtol=1e-9, atol=1e-9)
    next_year = np.full(y.size, 2001 + T)
    assert_allclose(model.predict_proba(X), model.predict_proba(X, time=next_year), rtol=1e-12)


def test_the_score_is_the_accuracy(fitted, rng):
    model, X, y, time = fitted
    weights = rng.random(y.size)
    expected = accuracy_score(y, model.predict(X, time=time), sample_weight=weights)
    assert_allclose(model.score(X, y, time=time, sample_weight=weights), expected)
    with pytest.warns(DataWarning, match="score was called without time"):
        timeless = model.score(X, y)
    assert model.score(X, y, time=time) > timeless + 0.05


def test_intervals_grow_with_their_level_and_with_the_distance(fitted):
    model, X, *_ = fitted
    widths = [np.ptp(model.predict_interval(X, level=q), axis=-1) for q in (0.2, 0.5, 0.9, 0.99)]
    for small, large in itertools.pairwise(widths):
        assert (large > small).all()
    near, far = (
        np.ptp(model.predict_interval(X, time=np.full(len(X), year)), axis=-1).mean()
        for year in (2001 + T, 2001 + T + 8)
    )
    assert far > near


def test_a_binary_interval_holds_the_probability_it_is_about(make_class_rows):
    X, y, time = make_class_rows(2)
    model = DriftClassifier().fit(X, y, time=time)
    lower, upper = model.predict_interval(X, time=time).T
    eta = model.decision_function(X, time=time)
    assert_allclose((np.log(lower / (1 - lower)) + np.log(upper / (1 - upper))) / 2, eta, atol=1e-8)
    narrow = model.predict_interval(X, time=time, level=1e-9)
    assert_allclose(narrow[:, 0], expit(eta), atol=1e-6)
    lower, upper = model.coef_interval(0.8)
    found = model.contrast({(0, 2002): 1.0}, level=0.8)
    assert_allclose([lower[1, 0], upper[1, 0]], [found.lower, found.upper], atol=1e-5)


@CLASSES
def test_a_mode_has_exact_zeros_and_no_intervals(n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes)
    model = DriftClassifier(prior="exact").fit(X, y, time=time)
    assert set(np.unique(model.inclusion_probability_)) == {0.0, 1.0}
    out = model.inclusion_probability_ == 0
    assert not np.moveaxis(model.coef_path_, 0, -1)[out].any()
    assert np.isnan(model.autocorrelation_[out]).all()
    with pytest.raises(AttributeError, match="prior='exact' is a posterior mode and has no"):
        _ = model.coef_std_path_
    with pytest.raises(DataError, match="has no intervals"):
        model.predict_interval(X)
    assert model.summary()["lower"].isna().all()


def test_a_model_without_time_has_one_step(make_class_rows):
    X, y, _ = make_class_rows(3)
    for prior in ("learned", "exact"):
        model = DriftClassifier(prior=prior).fit(X, y)
        assert model.coef_path_.shape == (1, 3, P)
        assert_array_equal(model.coef_, model.coef_path_[0])
        assert_array_equal(model.intercept_, model.intercept_path_[0])


@CLASSES
def test_no_intercept_means_even_odds_at_zero(n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes)
    model = DriftClassifier(fit_intercept=False).fit(X, y, time=time)
    assert not model.intercept_path_.any()
    assert not model.intercept_.any()
    assert_allclose(model.predict_proba(np.zeros((1, P)), time=[2002]), 1 / n_classes, rtol=1e-9)


# ---------------------------------------------------------------------------------- settings


@CLASSES
@PRIORS
def test_always_in_is_never_dropped_even_if_pure_noise(prior, n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes, per_step=30)
    model = DriftClassifier(prior=prior, always_in=[4]).fit(X, y, time=time)
    assert (model.inclusion_probability_[..., 4] == 1.0).all()
    assert model.coef_path_[..., 4].all()
    assert np.abs(model.coef_path_[..., 4]).max() < 1.0


@CLASSES
@PRIORS
@pytest.mark.parametrize("always_in", [None, [0]])
def test_static_features_do_not_move(prior, always_in, n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes, per_step=30)
    model = DriftClassifier(prior=prior, static=[0, 1], always_in=always_in).fit(X, y, time=time)
    path = model.coef_path_[..., :2]
    assert_allclose(path, np.broadcast_to(path[:1], path.shape), rtol=1e-9, atol=1e-12)
    assert np.abs(path[..., 1]).max() > 0.5
    assert_allclose(model.coef_[..., :2].reshape(path[0].shape), path[-1], rtol=1e-3, atol=1e-4)


def test_the_learned_prior_refuses_lbfgs_and_modes_refuse_many_starts(make_class_rows):
    X, y, time = make_class_rows(2)
    with pytest.raises(DataError, match="learned prior has none to find; use solver='block'"):
        DriftClassifier(solver="lbfgs").fit(X, y, time=time)
    with pytest.raises(DataError, match="n_starts=3 needs a prior whose starts can be ranked"):
        DriftClassifier(prior="exact", n_starts=3).fit(X, y, time=time)


@CLASSES
def test_more_starts_are_never_worse(n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes, per_step=25)
    one, many = (DriftClassifier(n_starts=n).fit(X, y, time=time) for n in (1, 2))
    assert many.objective_history_[-1] >= one.objective_history_[-1]
    assert (many.coef_std_path_ > 0).all()


@CLASSES
@pytest.mark.parametrize("init", ["ridge-all", "lasso-all", "lasso-one"])
def test_whatever_the_start_the_end_is_a_posterior(init, n_classes, make_class_rows):
    """Starting paths are point masses; none may be left, and none may count as evidence."""
    X, y, time = make_class_rows(n_classes)
    model = DriftClassifier(init=init).fit(X, y, time=time)
    assert (model.coef_std_path_ > 0).all()
    assert (model.inclusion_probability_[..., :2].max(axis=-1).max() > 0.99).all()
    plain = DriftClassifier().fit(X, y, time=time)
    # Different maxima are possible; one that lies 5 nats higher has not paid its divergence.
    assert abs(model.objective_history_[-1] - plain.objective_history_[-1]) < 5.0


def test_too_few_iterations_are_a_warning(make_class_rows):
    X, y, time = make_class_rows(3)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 iterations \(max_iter\)"):
        model = DriftClassifier(max_iter=2).fit(X, y, time=time)
    assert not model.converged_


# ------------------------------------------------------------------------------------ update


@CLASSES
def test_an_update_is_as_good_as_a_fit_of_all_rows(n_classes, make_class_rows):
    X, y, time = make_class_rows(n_classes)
    old = time < 2004
    model = DriftClassifier(keep_data=True).fit(X[old], y[old], time=time[old])
    model.update(X[~old], y[~old], time=time[~old])
    whole = DriftClassifier().fit(X, y, time=time)
    assert_array_equal(model.timesteps_, whole.timesteps_)
    assert model.converged_
    assert (model.coef_std_path_ > 0).all()
    assert_allclose(model.objective_history_[-1], whole.objective_history_[-1], atol=0.5)
    # Two ways up the same hill end within tol of each other, not at the same digit.
    assert_allclose(model.predict_proba(X, time=time), whole.predict_proba(X, time=time), atol=0.03)


def test_an_update_cannot_balance_classes_without_the_earlier_rows(make_class_rows):
    X, y, time = make_class_rows(2)
    old = time < 2004
    model = DriftClassifier(prior="fixed", keep_data=True, class_weight="balanced")
    model.fit(X[old], y[old], time=time[old])
    with pytest.raises(DataError, match=r"all rows together.*dict"):
        model.update(X[~old], y[~old], time=time[~old])


@pytest.mark.parametrize("class_weight", [{0: 3.0, 1: 0.5}])
def test_an_update_weighs_classes_as_a_fit_of_all_rows_does(class_weight, make_class_rows):
    X, y, time = make_class_rows(2)
    y = np.where(time == 2004, y * (X[:, 2] > 0.5), y)  # few of class 1 in the last step
    old, settings = time < 2004, {"prior": "fixed", "class_weight": class_weight}
    model = DriftClassifier(keep_data=True, **settings).fit(X[old], y[old], time=time[old])
    model.update(X[~old], y[~old], time=time[~old])
    whole = DriftClassifier(**settings).fit(X, y, time=time)
    assert_allclose(model.predict_proba(X, time=time), whole.predict_proba(X, time=time), atol=1e-3)


def test_an_update_may_lack_classes_but_not_bring_new_ones(make_class_rows):
    X, y, time = make_class_rows(3, per_step=30)
    labels, old = np.array(["no", "yes", "maybe"])[y], time < 2004
    model = DriftClassifier(prior="fixed", keep_data=True).fit(X[old], labels[old], time=time[old])
    new = ~old & (labels == "yes")
    model.update(X[new], labels[new], time=time[new])
    assert model.coef_path_.shape == (T, 3, P)
    before = model.coef_path_
    with pytest.raises(DataError, match=r"class .*'never'.*fitted with.*'maybe'.*Fit again"):
        model.update(X[:2], ["yes", "never"], time=[2005, 2005])
    assert model.coef_path_ is before


def test_an_update_needs_kept_data_and_later_steps(make_class_rows):
    X, y, time = make_class_rows(2)
    with pytest.raises(DataError, match="fit it with keep_data=True"):
        DriftClassifier(prior="fixed").fit(X, y, time=time).update(X, y, time=time + T)
    model = DriftClassifier(prior="fixed", keep_data=True).fit(X, y, time=time)
    with pytest.raises(TimeError, match="row 0 belongs to a step the model has seen"):
        model.update(X, y, time=time)
