"""DriftClassifier as a user meets it: labels, shapes, tables, weights, update, errors."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.estimator_checks import check_estimator

from driftglm import DriftClassifier
from driftglm.exceptions import ConvergenceWarning, DataError, TimeError
from driftglm.priors import Fixed

T, P = 4, 5
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
CLASSES = pytest.mark.parametrize("n_classes", [2, 3])


def make_rows(n_classes, per_step=60):
    """Column 0 drifts through zero, column 1 is constant, 2 to 4 do nothing."""
    rng = np.random.default_rng(17 + n_classes)
    time = np.repeat(np.arange(2001, 2001 + T), per_step)
    X = rng.normal(size=(time.size, P))
    drifting = np.linspace(-2.5, 2.5, T)[time - 2001] * X[:, 0]
    eta = np.column_stack([0 * drifting, drifting + 0.5, 2 * X[:, 1]])
    if n_classes == 2:
        eta = np.column_stack([0 * drifting, drifting + 1.5 * X[:, 1]])
    y = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
    return X, y, time


@pytest.fixture(scope="module", params=[2, 3])
def fitted(request):
    X, y, time = make_rows(request.param)
    return DriftClassifier(keep_data=True).fit(X, y, time=time), X, y, time


# ------------------------------------------------------------------------------ scikit-learn


@PRIORS
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.ConvergenceWarning")
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


def test_a_clone_has_the_settings_and_nothing_fitted():
    X, y, time = make_rows(2)
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
def test_fit_leaves_the_data_alone(n_classes):
    X, y, time = make_rows(n_classes)
    weights = np.linspace(0, 1, y.size)
    before = [part.copy() for part in (X, y, time, weights)]
    model = DriftClassifier(prior="fixed", class_weight="balanced")
    assert model.fit(X, y, time=time, sample_weight=weights) is model
    for part, old in zip((X, y, time, weights), before, strict=True):
        assert_array_equal(part, old)


def test_a_second_fit_forgets_the_first():
    X, y, time = make_rows(3)
    model = DriftClassifier(prior="exact").fit(X, y, time=time)
    model.set_params(prior="fixed").fit(X[:, :2], np.where(y == 0, "a", "b"))
    assert model.classes_.tolist() == ["a", "b"]
    assert model.coef_path_.shape == (1, 2)
    assert model.coef_.shape == (1, 2)
    assert not hasattr(model, "rate_")


def test_a_pipeline_takes_time_by_the_name_of_the_step():
    X, y, time = make_rows(2)
    pipe = make_pipeline(StandardScaler(), DriftClassifier(prior="exact"))
    pipe.fit(100 + 20 * X, y, driftclassifier__time=time)
    direct = DriftClassifier(prior="exact").fit(100 + 20 * X, y, time=time)
    # Unscaled columns give the same fit: the prior has no unit.
    assert_allclose(
        pipe.predict_proba(100 + 20 * X, time=time),
        direct.predict_proba(100 + 20 * X, time=time),
        atol=1e-3,
    )


def test_metadata_routing_works_in_a_grid_search():
    X, y, time = make_rows(2)
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


def test_the_summary_has_the_promised_columns(fitted):
    model, *_ = fitted
    table = model.summary(feature_names=list("abcde"))
    n_classes = len(model.classes_)
    if n_classes == 2:
        assert table.columns.tolist() == COLUMNS
        assert len(table) == P
        kind = table.set_index("feature")["kind"]
        assert kind["a"] == "sign-flip"
        assert set(kind) <= {"zero", "static", "drifting", "sign-flip"}
    else:
        assert table.columns.tolist() == ["class", *COLUMNS]
        assert len(table) == P * n_classes
        assert_array_equal(table["class"].value_counts().sort_index().index, model.classes_)
    assert (table["lower"] <= table["coef_next"]).all()
    assert (table["coef_next"] <= table["upper"]).all()
    assert_allclose(table["change"], table["coef_last"] - table["coef_first"])


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
    level = model.intercept_path_.reshape(T, -1)[time - 2001]
    eta = np.einsum("nki,ni->nk", path, X) + level
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
    assert model.score(X, y, time=time) > model.score(X, y) + 0.05


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


def test_a_binary_interval_holds_the_probability_it_is_about():
    X, y, time = make_rows(2)
    model = DriftClassifier().fit(X, y, time=time)
    lower, upper = model.predict_interval(X, time=time).T
    eta = model.decision_function(X, time=time)
    assert_allclose((np.log(lower / (1 - lower)) + np.log(upper / (1 - upper))) / 2, eta, atol=1e-8)
    narrow = model.predict_interval(X, time=time, level=1e-9)
    assert_allclose(narrow[:, 0], expit(eta), atol=1e-6)
    lower, upper = model.coef_interval(0.8)
    assert_allclose(upper - lower, 2 * norm.ppf(0.9) * model.coef_std_path_, rtol=1e-9)


@CLASSES
def test_a_mode_has_exact_zeros_and_no_intervals(n_classes):
    X, y, time = make_rows(n_classes)
    model = DriftClassifier(prior="exact").fit(X, y, time=time)
    assert set(np.unique(model.inclusion_probability_)) == {0.0, 1.0}
    out = model.inclusion_probability_ == 0
    assert not np.moveaxis(model.coef_path_, 0, -1)[out].any()
    assert np.isnan(model.autocorrelation_[out]).all()
    with pytest.raises(AttributeError, match="prior='exact' is a posterior mode and has no"):
        _ = model.coef_std_path_
    with pytest.raises(DataError, match="has no intervals; use prior='learned'"):
        model.predict_interval(X)
    assert model.summary()["lower"].isna().all()


def test_a_model_without_time_has_one_step():
    X, y, _ = make_rows(3)
    for prior in ("learned", "exact"):
        model = DriftClassifier(prior=prior).fit(X, y)
        assert model.coef_path_.shape == (1, 3, P)
        assert_array_equal(model.coef_, model.coef_path_[0])
        assert_array_equal(model.intercept_, model.intercept_path_[0])


@CLASSES
def test_no_intercept_means_even_odds_at_zero(n_classes):
    X, y, time = make_rows(n_classes)
    model = DriftClassifier(fit_intercept=False).fit(X, y, time=time)
    assert not model.intercept_path_.any()
    assert not model.intercept_.any()
    assert_allclose(model.predict_proba(np.zeros((1, P)), time=[2002]), 1 / n_classes, rtol=1e-9)


# ---------------------------------------------------------------------------------- labels


@CLASSES
@pytest.mark.parametrize(
    "names",
    [
        np.array(["pear", "fig", "apple"]),
        np.array(["pear", "fig", "apple"], dtype=object),
        np.array([7, -3, 40]),
        np.array([0.5, 2.0, -1.0]) * 2,
    ],
    ids=["text", "objects", "integers", "floats"],
)
def test_classes_may_have_any_name(names, n_classes):
    X, y, time = make_rows(n_classes, per_step=20)
    order = np.argsort(names[:n_classes])
    plain = np.argsort(order)[y]  # the same classes, numbered in the order of their names
    model = DriftClassifier(prior="fixed").fit(X, names[y], time=time)
    expected = DriftClassifier(prior="fixed").fit(X, plain, time=time)
    assert_array_equal(model.classes_, np.sort(names[:n_classes]))
    assert_array_equal(model.coef_path_, expected.coef_path_)
    assert_array_equal(model.predict(X, time=time), model.classes_[expected.predict(X, time=time)])
    assert model.score(X, names[y], time=time) > 0.5


def test_classes_may_be_true_and_false():
    X, y, time = make_rows(2)
    model = DriftClassifier(prior="fixed").fit(X, y == 1, time=time)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X).dtype == bool
    assert_array_equal(
        model.coef_path_, DriftClassifier(prior="fixed").fit(X, y, time=time).coef_path_
    )


@PRIORS
def test_swapping_two_classes_flips_every_sign(prior):
    X, y, time = make_rows(2)
    one, other = (DriftClassifier(prior=prior).fit(X, target, time=time) for target in (y, 1 - y))
    assert_allclose(one.coef_path_, -other.coef_path_, atol=1e-6)
    assert_allclose(one.intercept_path_, -other.intercept_path_, atol=1e-6)
    assert_allclose(one.predict_proba(X)[:, 0], other.predict_proba(X)[:, 1], atol=1e-6)


@PRIORS
@CLASSES
def test_a_class_may_be_missing_in_some_steps(prior, n_classes):
    X, y, time = make_rows(n_classes)
    keep = ~((time == 2002) & (y == 1)) & ~((time == 2004) & (y == 0))
    model = DriftClassifier(prior=prior).fit(X[keep], y[keep], time=time[keep])
    p = model.predict_proba(X, time=time)
    assert np.isfinite(p).all()
    whole = DriftClassifier(prior=prior).fit(X, y, time=time).predict_proba(X, time=time)
    for year, label in ((2002, 1), (2004, 0)):
        own = time == year
        assert p[own, label].mean() < 0.7 * whole[own, label].mean()


# ------------------------------------------------------------------------------------ tables


@CLASSES
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_give_their_names(kind, n_classes):
    X, y, time = make_rows(n_classes)
    names, labels = ["drift", "flat", "c", "d", "e"], np.array(["no", "yes", "maybe"])[y]
    if kind == "pandas":
        table, series = pd.DataFrame(X, columns=names, index=np.arange(len(X))[::-1]), pd.Series
    else:
        table, series = pl.DataFrame(X, schema=names), pl.Series
    settings = {"prior": "exact", "class_weight": "balanced"}
    model = DriftClassifier(always_in="d", static=["flat"], **settings)
    model.fit(table, series(labels), time=series(time))
    expected = DriftClassifier(always_in=[3], static=[1], **settings).fit(X, labels, time=time)
    assert model.feature_names_in_.tolist() == names
    assert_array_equal(model.coef_path_, expected.coef_path_)
    assert_array_equal(
        model.predict_proba(table, time=series(time)), expected.predict_proba(X, time=time)
    )
    assert set(model.summary()["feature"]) == set(names)


@CLASSES
@PRIORS
def test_sparse_is_dense(prior, n_classes):
    X, y, time = make_rows(n_classes, per_step=30)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = DriftClassifier(prior=prior, always_in=[2]).fit(X, y, time=time)
    for store in (sp.csr_array, sp.coo_matrix):
        other = DriftClassifier(prior=prior, always_in=[2]).fit(store(X), y, time=time)
        assert_allclose(other.coef_path_, dense.coef_path_, rtol=1e-4, atol=1e-5)
        assert_allclose(
            other.predict_proba(store(X), time=time), dense.predict_proba(X, time=time), atol=1e-5
        )


@CLASSES
@PRIORS
def test_permuting_rows_changes_nothing(prior, n_classes, rng):
    X, y, time = make_rows(n_classes, per_step=30)
    order = rng.permutation(y.size)
    one = DriftClassifier(prior=prior).fit(X, y, time=time)
    other = DriftClassifier(prior=prior).fit(X[order], y[order], time=time[order])
    assert_allclose(other.coef_path_, one.coef_path_, rtol=1e-4, atol=1e-5)
    assert_allclose(other.intercept_path_, one.intercept_path_, rtol=1e-4, atol=1e-5)


@CLASSES
def test_labels_of_time_may_start_anywhere(n_classes):
    X, y, time = make_rows(n_classes, per_step=30)
    one = DriftClassifier(prior="exact").fit(X, y, time=time)
    other = DriftClassifier(prior="exact").fit(X, y, time=time - 5000)
    dates = pd.PeriodIndex([f"{year}" for year in time], freq="Y")
    third = DriftClassifier(prior="exact").fit(X, y, time=dates)
    assert_array_equal(other.coef_path_, one.coef_path_)
    assert_array_equal(third.coef_path_, one.coef_path_)


# ----------------------------------------------------------------------------------- weights


@CLASSES
@PRIORS
def test_integer_weights_are_repeated_rows(prior, n_classes, rng):
    X, y, time = make_rows(n_classes, per_step=30)
    counts = rng.integers(0, 3, y.size)
    again = np.repeat(np.arange(y.size), counts)
    settings = {"prior": prior, "tol": 1e-6, "max_iter": 5000}
    weighted = DriftClassifier(**settings).fit(X, y, time=time, sample_weight=counts)
    repeated = DriftClassifier(**settings).fit(X[again], y[again], time=time[again])
    assert_allclose(weighted.coef_path_, repeated.coef_path_, rtol=1e-3, atol=1e-4)
    assert_allclose(weighted.objective_history_[-1], repeated.objective_history_[-1], rtol=1e-6)


@CLASSES
@pytest.mark.parametrize("sample_weight", [False, True])
@pytest.mark.parametrize("kind", ["balanced", "dict"])
def test_class_weight_is_the_sample_weights_it_stands_for(kind, sample_weight, n_classes, rng):
    X, y, time = make_rows(n_classes)
    labels = np.array(["no", "yes", "maybe"])[y]
    class_weight = "balanced" if kind == "balanced" else {"no": 3.0, "yes": 0.5}
    if kind == "dict" and n_classes == 3:
        class_weight = {"no": 3.0, "yes": 0.5, "maybe": 1.0}
    weights = rng.random(y.size) if sample_weight else None
    stands_for = compute_sample_weight(class_weight, labels) * (1 if weights is None else weights)
    settings = {"prior": "fixed"}
    model = DriftClassifier(class_weight=class_weight, **settings)
    model.fit(X, labels, time=time, sample_weight=weights)
    expected = DriftClassifier(**settings).fit(X, labels, time=time, sample_weight=stands_for)
    assert_array_equal(model.coef_path_, expected.coef_path_)
    plain = DriftClassifier(**settings).fit(X, labels, time=time, sample_weight=weights)
    assert np.abs(model.coef_path_ - plain.coef_path_).max() > 1e-3


# ---------------------------------------------------------------------------------- settings


@CLASSES
@PRIORS
def test_always_in_is_never_dropped_even_if_pure_noise(prior, n_classes):
    X, y, time = make_rows(n_classes, per_step=30)
    model = DriftClassifier(prior=prior, always_in=[4]).fit(X, y, time=time)
    assert (model.inclusion_probability_[..., 4] == 1.0).all()
    assert model.coef_path_[..., 4].all()
    assert np.abs(model.coef_path_[..., 4]).max() < 1.0


@CLASSES
@PRIORS
@pytest.mark.parametrize("always_in", [None, [0]])
def test_static_features_do_not_move(prior, always_in, n_classes):
    X, y, time = make_rows(n_classes, per_step=30)
    model = DriftClassifier(prior=prior, static=[0, 1], always_in=always_in).fit(X, y, time=time)
    path = model.coef_path_[..., :2]
    assert_allclose(path, np.broadcast_to(path[:1], path.shape), rtol=1e-9, atol=1e-12)
    assert np.abs(path[..., 1]).max() > 0.5
    assert_allclose(model.coef_[..., :2].reshape(path[0].shape), path[-1], rtol=1e-3, atol=1e-4)


def test_the_learned_prior_refuses_lbfgs_and_modes_refuse_many_starts():
    X, y, time = make_rows(2)
    with pytest.raises(DataError, match="learned prior has none to find; use solver='block'"):
        DriftClassifier(solver="lbfgs").fit(X, y, time=time)
    with pytest.raises(DataError, match="n_starts=3 needs a prior whose starts can be ranked"):
        DriftClassifier(prior="exact", n_starts=3).fit(X, y, time=time)


@CLASSES
def test_more_starts_are_never_worse(n_classes):
    X, y, time = make_rows(n_classes, per_step=25)
    one, many = (DriftClassifier(n_starts=n).fit(X, y, time=time) for n in (1, 2))
    assert many.objective_history_[-1] >= one.objective_history_[-1]
    assert (many.coef_std_path_ > 0).all()


@CLASSES
@pytest.mark.parametrize("init", ["ridge-all", "lasso-all", "lasso-one"])
def test_whatever_the_start_the_end_is_a_posterior(init, n_classes):
    """Starting paths are point masses; none may be left, and none may count as evidence."""
    X, y, time = make_rows(n_classes)
    model = DriftClassifier(init=init).fit(X, y, time=time)
    assert (model.coef_std_path_ > 0).all()
    assert (model.inclusion_probability_[..., :2].max(axis=-1).max() > 0.99).all()
    plain = DriftClassifier().fit(X, y, time=time)
    # Different maxima are possible; one that lies 5 nats higher has not paid its divergence.
    assert abs(model.objective_history_[-1] - plain.objective_history_[-1]) < 5.0


@CLASSES
def test_validation_holds_or_forecasts(n_classes):
    X, y, time = make_rows(n_classes)
    model = DriftClassifier(prior="exact", extrapolate="validate").fit(X, y, time=time)
    assert model.extrapolate_ in {"hold", "forecast"}
    expected = DriftClassifier(prior="exact", extrapolate=model.extrapolate_).fit(X, y, time=time)
    assert_array_equal(model.coef_, expected.coef_)


def test_too_few_iterations_are_a_warning():
    X, y, time = make_rows(3)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 2 iterations \(max_iter\)"):
        model = DriftClassifier(max_iter=2).fit(X, y, time=time)
    assert not model.converged_


# ------------------------------------------------------------------------------------ update


@CLASSES
def test_an_update_is_as_good_as_a_fit_of_all_rows(n_classes):
    X, y, time = make_rows(n_classes)
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


def test_an_update_cannot_balance_classes_without_the_earlier_rows():
    X, y, time = make_rows(2)
    old = time < 2004
    model = DriftClassifier(prior="fixed", keep_data=True, class_weight="balanced")
    model.fit(X[old], y[old], time=time[old])
    with pytest.raises(DataError, match=r"all rows together.*dict"):
        model.update(X[~old], y[~old], time=time[~old])


@pytest.mark.parametrize("class_weight", [{0: 3.0, 1: 0.5}])
def test_an_update_weighs_classes_as_a_fit_of_all_rows_does(class_weight):
    X, y, time = make_rows(2)
    y = np.where(time == 2004, y * (X[:, 2] > 0.5), y)  # few of class 1 in the last step
    old, settings = time < 2004, {"prior": "fixed", "class_weight": class_weight}
    model = DriftClassifier(keep_data=True, **settings).fit(X[old], y[old], time=time[old])
    model.update(X[~old], y[~old], time=time[~old])
    whole = DriftClassifier(**settings).fit(X, y, time=time)
    assert_allclose(model.predict_proba(X, time=time), whole.predict_proba(X, time=time), atol=1e-3)


def test_an_update_may_lack_classes_but_not_bring_new_ones():
    X, y, time = make_rows(3, per_step=30)
    labels, old = np.array(["no", "yes", "maybe"])[y], time < 2004
    model = DriftClassifier(prior="fixed", keep_data=True).fit(X[old], labels[old], time=time[old])
    new = ~old & (labels == "yes")
    model.update(X[new], labels[new], time=time[new])
    assert model.coef_path_.shape == (T, 3, P)
    before = model.coef_path_
    with pytest.raises(DataError, match=r"class .*'never'.*fitted with.*'maybe'.*Fit again"):
        model.update(X[:2], ["yes", "never"], time=[2005, 2005])
    assert model.coef_path_ is before


def test_an_update_needs_kept_data_and_later_steps():
    X, y, time = make_rows(2)
    with pytest.raises(DataError, match="fit it with keep_data=True"):
        DriftClassifier(prior="fixed").fit(X, y, time=time).update(X, y, time=time + T)
    model = DriftClassifier(prior="fixed", keep_data=True).fit(X, y, time=time)
    with pytest.raises(TimeError, match="row 0 belongs to a step the model has seen"):
        model.update(X, y, time=time)


# ------------------------------------------------------------------------------------ errors


def test_certain_probabilities_keep_their_digits():
    """log P of the unlikely class is minus its logit, not log(1 - 1)."""
    X, y, time = make_rows(2)
    model = DriftClassifier(prior="fixed").fit(X, y, time=time)
    far = 30 * X[np.abs(X[:, 1]) > 1.5]
    eta = model.decision_function(far)
    assert (np.abs(eta) > 40).any()
    inside = np.abs(eta) < 700
    logs = model.predict_log_proba(far)[inside]
    assert_allclose(logs[:, 0], -np.logaddexp(0, eta[inside]), rtol=1e-6, atol=1e-12)
    assert_allclose(logs[:, 1], -np.logaddexp(0, -eta[inside]), rtol=1e-6, atol=1e-12)


def test_an_unfitted_model_says_that_it_is_not_fitted():
    X = np.zeros((2, P))
    model = DriftClassifier()
    for method in ("predict", "predict_proba", "decision_function", "predict_interval"):
        with pytest.raises(NotFittedError):
            getattr(model, method)(X)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (lambda y: 0 * y, "y has one class only .*0.*needs 2 or more"),
        (lambda y: y + 0.25, "Unknown label type: continuous"),
        (lambda y: np.where(y == 0, np.nan, 1.0), "contains NaN"),
        (lambda y: y[:-1], r"inconsistent numbers of samples: \[240, 239\]"),
        (lambda y: np.column_stack([y, y]), r"1d array.*shape \(240, 2\)"),
    ],
    ids=["one class", "continuous", "missing", "short", "two columns"],
)
def test_targets_that_are_no_classes_are_refused(target, message):
    X, y, time = make_rows(2)
    with pytest.raises(ValueError, match=message):
        DriftClassifier(prior="fixed").fit(X, target(y), time=time)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"class_weight": "even"}, r"'class_weight' parameter .*'balanced'.*Got 'even'"),
        ({"prior": "horseshoe"}, r"'prior' parameter .*Got 'horseshoe'"),
        ({"solver": "sag"}, r"'solver' parameter .*Got 'sag'"),
        ({"always_in": [9]}, r"always_in .*9"),
        ({"prior": Fixed}, r"pass an object of it: prior=Fixed\(\)"),
    ],
)
def test_settings_that_do_not_exist_are_refused(params, message):
    X, y, time = make_rows(2)
    with pytest.raises((ValueError, TypeError), match=message):
        DriftClassifier(**params).fit(X, y, time=time)


@pytest.mark.parametrize("level", [0.0, 1.0, 90, "high"])
def test_a_level_must_be_a_probability(level, fitted):
    model, X, *_ = fitted
    with pytest.raises(DataError, match="pass a probability between 0 and 1"):
        model.predict_interval(X, level=level)
    with pytest.raises(DataError, match="pass a probability between 0 and 1"):
        model.coef_interval(level)


def test_a_step_before_the_first_is_an_error(fitted):
    model, X, *_ = fitted
    with pytest.raises(TimeError, match=r"time is 2000 in row 1, before the first step.*2001"):
        model.predict_proba(X[:2], time=[2002, 2000])
