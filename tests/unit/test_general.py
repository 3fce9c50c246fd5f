"""The general estimator, and what all estimators share whatever the family."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator

import driftglm
from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError
from driftglm.registry import FAMILIES, PRIORS, register_family, register_prior
from driftglm.simulate import simulate_panel

SPECIAL = {
    "gaussian": DriftRegressor,
    "binomial": DriftClassifier,
    "multinomial": DriftClassifier,
    "poisson": DriftPoissonRegressor,
}


@pytest.mark.parametrize("prior", ["learned", "exact"])
@pytest.mark.parametrize("family", SPECIAL)
def test_the_named_estimators_are_its_special_cases(family_rows, family, prior):
    X, y, time = family_rows(family)
    one = DriftGLM(family=family, prior=prior).fit(X, y, time=time)
    other = SPECIAL[family](prior=prior).fit(X, y, time=time)
    assert_array_equal(one.coef_path_, other.coef_path_)
    assert_array_equal(one.predict(X), other.predict(X))
    assert one.score(X, y, time=time) == other.score(X, y, time=time)
    if prior == "learned":
        assert_array_equal(one.predict_interval(X), other.predict_interval(X))


@pytest.mark.parametrize("family", ["gaussian", "binomial", "multinomial", "poisson"])
@pytest.mark.filterwarnings("ignore::driftglm.exceptions.DataWarning")
def test_scikit_learns_own_checks_pass(family):
    for model, check in estimator_checks_generator(DriftGLM(family=family, prior="fixed")):
        check(model)


def test_two_classes_of_the_multinomial_are_the_binomial(family_rows):
    X, y, time = family_rows("binomial")
    one = DriftGLM(family="multinomial").fit(X, y, time=time)
    other = DriftGLM(family="binomial").fit(X, y, time=time)
    assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert one.decision_function(X).shape == (240,)
    assert np.isfinite(cross_val_score(one, X, y, scoring="roc_auc", cv=2)).all()


def test_an_exposure_is_refused_by_families_that_take_none(family_rows):
    X, y, time = family_rows("gaussian")
    model = DriftGLM().fit(X, y, time=time)
    hours = np.full(240, 10.0)
    for call in (model.predict, model.predict_interval):
        with pytest.raises(DataError, match="takes no exposure"):
            call(X, exposure=hours)
    with pytest.raises(DataError, match="takes no exposure"):
        model.score(X, y, time=time, exposure=hours)
    X, y, time = family_rows("binomial")
    model = DriftGLM(family="binomial").fit(X, y, time=time)
    for call in (model.predict, model.predict_interval):
        with pytest.raises(DataError, match="takes no exposure"):
            call(X, exposure=hours)


def test_noise_is_refused_by_families_that_have_none(family_rows):
    X, y, time = family_rows("binomial")
    with pytest.raises(DataError, match="no noise variance or dispersion"):
        DriftGLM(family="binomial", noise=2.0).fit(X, y, time=time)


def test_nothing_of_another_family_is_left_behind(family_rows):
    X, y, time = family_rows("binomial")
    model = DriftGLM(family="binomial", keep_data=True).fit(X, y, time=time)
    X, y, time = family_rows("poisson")
    model.set_params(family="poisson").fit(X, y, time=time)
    assert not hasattr(model, "classes_")
    assert not hasattr(model, "predict_proba")
    model.update(X[:60], y[:60], time=np.full(60, 4))
    assert (model.predict(X) > 0).all()


def test_a_fitted_model_predicts_what_it_was_fitted_to(family_rows):
    X, y, time = family_rows("binomial")
    model = DriftGLM(family="binomial").fit(X, y, time=time)
    before = model.predict(X)
    assert_array_equal(model.set_params(family="poisson").predict(X), before)


def test_an_update_fits_what_it_reports(family_rows):
    X, y, time = family_rows("poisson")
    model = DriftPoissonRegressor(prior="fixed", keep_data=True)
    model.fit(X[time < 3], y[time < 3], time=time[time < 3])
    model.set_params(prior="learned").update(X[time == 3], y[time == 3], time=time[time == 3])
    fresh = DriftPoissonRegressor().fit(X, y, time=time)
    assert_allclose(model.dispersion_, fresh.dispersion_, rtol=1e-2)
    assert_allclose(model.coef_path_, fresh.coef_path_, atol=0.02)


def test_more_than_two_classes_need_a_family_for_them(family_rows, monkeypatch):
    from driftglm.families import Binomial

    monkeypatch.setattr(Binomial, "more_classes", None)
    X, y, time = family_rows("multinomial")
    with pytest.raises(DataError, match="y has 3 classes and family 'binomial' is for two"):
        DriftGLM(family="binomial").fit(X, y, time=time)


BAD_HOMES = {
    "driftglm.families.poisson:Poisson": "known already",
    "driftglm.priors.fixed:PathPrior": "no subclass of",
    "driftglm.families.base:Family": "lacks",
    "collections:OrderedDict": "no subclass of",
    "nowhere.to.be.found:Own": "cannot be imported",
    "os": "names no class",
    3: "pass a name",
}


@pytest.mark.parametrize("home", BAD_HOMES)
def test_a_registration_that_cannot_work_is_refused(home):
    before = dict(FAMILIES)
    with pytest.raises(DataError, match=BAD_HOMES[home]):
        register_family("own", home)
    assert before == FAMILIES


def test_what_is_built_in_is_not_replaced():
    with pytest.raises(DataError, match="registered already"):
        register_family("poisson", "collections:OrderedDict")
    with pytest.raises(DataError, match="registered already"):
        register_prior("exact", "collections:OrderedDict")
    register_prior("exact", PRIORS["exact"])  # the same line twice does no harm
    assert driftglm.DriftGLM(family="poisson").family_name == "poisson"


def test_the_general_estimator_knows_the_noise_of_every_step():
    panel = simulate_panel(n_features=3, n_timesteps=5, rows_per_step=30)
    named = DriftRegressor(errors="student").fit(panel.X, panel.y, time=panel.time)
    model = DriftGLM(family="student").fit(panel.X, panel.y, time=panel.time)
    np.testing.assert_array_equal(model.noise_variance_path_, named.noise_variance_path_)
    np.testing.assert_array_equal(model.noise_interval(), named.noise_interval())
    assert model.degrees_of_freedom_ == named.degrees_of_freedom_
    counts = DriftGLM(family="poisson").fit(panel.X, np.exp(panel.y), time=panel.time)
    with pytest.raises(AttributeError, match="has no noise variance"):
        _ = counts.noise_variance_path_
