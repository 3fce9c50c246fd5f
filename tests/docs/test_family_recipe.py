"""The recipe "Add a family" of CONTRIBUTING.md, followed to the letter: one module, one line.

The module is `recipes/erlang_family.py`. After the line everything knows it: the estimators,
the baselines, simulation, comparisons, the command line, workers, files and reports.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import gamma
from typer.testing import CliRunner

import driftglm
from driftglm import DriftGLM, baselines
from driftglm.evaluation import RollingOrigin, compare
from driftglm.exceptions import DataError
from driftglm.priors import Fixed
from driftglm.registry import FAMILIES, register_family
from driftglm.report import write_report
from driftglm.simulate import simulate_panel

RECIPES = Path(__file__).parent / "recipes"
SHAPE = 4.0


@pytest.fixture(autouse=True)
def family(monkeypatch):
    """The line of registration; for this file only."""
    monkeypatch.syspath_prepend(str(RECIPES))
    register_family("erlang", "erlang_family:Erlang")
    yield driftglm.registry.resolve(FAMILIES["erlang"])()
    del FAMILIES["erlang"]


def rows(rng, n_steps=1, per_step=150):
    time = np.repeat(np.arange(n_steps), per_step)
    X = rng.normal(size=(time.size, 6))
    slope = np.linspace(-0.6, 0.6, n_steps)[time] if n_steps > 1 else 0.5
    rate = np.exp(1.0 + slope * X[:, 0] - 0.4 * X[:, 1] + 0.2 * time)
    return X, rng.gamma(SHAPE, rate / SHAPE), time


# --------------------------------------------------------------------- the formulas are right


def value(family, y, mean, variance):
    row = [np.array([number]) for number in (y, mean, variance)]
    return family.log_likelihood(*row, np.ones(1), np.ones(1))


@pytest.mark.parametrize("eta", [-6.0, -0.3, 0.0, 2.0, 8.0])
def test_f_is_the_log_density_of_y(family, eta):
    for y in (0.01, 1.0, 40.0):
        expected = gamma.logpdf(y, SHAPE, scale=np.exp(eta) / SHAPE)
        assert_allclose(value(family, y, eta, 0.0), expected, rtol=1e-10)


@pytest.mark.parametrize("variance", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("eta", [-6.0, -0.3, 0.0, 2.0, 8.0])
def test_score_and_curvature_are_the_derivatives_of_f(family, eta, variance):
    for y in (0.01, 1.0, 40.0):
        row = np.array([y]), np.array([eta]), np.array([variance]), np.ones(1)
        step = 1e-5
        ends = (value(family, y, eta + sign * step, variance) for sign in (1, -1))
        slope = (next(ends) - next(ends)) / (2 * step)
        assert_allclose(family.score(*row)[0], slope, rtol=1e-5, atol=1e-5)
        ends = (value(family, y, eta, variance + sign * step) for sign in (1, -1))
        slope = (next(ends) - next(ends)) / (2 * step)
        assert_allclose(family.curvature(*row)[0], -2 * slope, rtol=1e-4, atol=1e-5)


def test_the_loss_is_minus_the_log_likelihood_up_to_a_constant(family):
    y, etas = np.full(3, 2.5), np.array([-1.0, 0.0, 2.0])
    losses = family.loss(y, etas)
    values = [value(family, 2.5, eta, 0.0) for eta in etas]
    assert_allclose(np.diff(losses), -np.diff(values), rtol=1e-10)


def test_a_prediction_is_judged_by_the_deviance(family):
    y, mean = np.array([0.5, 3.0]), np.array([1.0, 2.0])
    at = [value(family, a, np.log(b), 0.0) for a, b in zip(y, mean, strict=True)]
    best = [value(family, a, np.log(a), 0.0) for a in y]
    assert_allclose(family.prediction_loss(y, mean), 2 * (np.array(best) - at) / SHAPE, rtol=1e-9)


# ------------------------------------------------------------------------------- estimators


def test_one_step_with_next_to_no_prior_is_statsmodels_glm(rng):
    X, y, _ = rows(rng)
    weak = Fixed(scale=1e8, autocorrelation=0.0, boundary="stationary")
    model = DriftGLM(family="erlang", prior=weak, tol=1e-7, max_iter=20_000).fit(X, y)
    peer = sm.GLM(y, sm.add_constant(X), family=sm.families.Gamma(sm.families.links.Log())).fit()
    assert model.converged_
    assert_allclose(model.coef_, peer.params[1:], rtol=1e-5, atol=1e-6)
    assert_allclose(model.intercept_, peer.params[0], rtol=1e-5, atol=1e-6)
    assert_allclose(model.predict(X), peer.fittedvalues, rtol=1e-5)


@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_one_step_with_a_fixed_prior_is_a_penalised_fit(solver, rng):
    X, y, _ = rows(rng)
    strength = 20.0

    def loss(beta):
        inverse = y * np.exp(-X @ beta)
        value = SHAPE * np.sum(X @ beta + inverse) + 0.5 * strength * beta @ beta
        return value, SHAPE * X.T @ (1 - inverse) + strength * beta

    best = minimize(loss, np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    prior = Fixed(scale=1 / strength, autocorrelation=0.0, boundary="stationary")
    settings = {"prior": prior, "fit_intercept": False, "tol": 1e-7, "max_iter": 20_000}
    model = DriftGLM(family="erlang", solver=solver, **settings).fit(X, y)
    assert_allclose(model.coef_, best, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("prior", ["fixed", "exact", "variational", "learned"])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_objective_never_falls_and_the_drift_is_found(prior, intercept, rng):
    X, y, time = rows(rng, n_steps=5)
    model = DriftGLM(family="erlang", prior=prior, fit_intercept=intercept).fit(X, y, time=time)
    history = model.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    assert model.converged_
    if intercept:
        assert_allclose(model.coef_path_[:, 0], np.linspace(-0.6, 0.6, 5), atol=0.2)
        assert_allclose(model.coef_path_[:, 1], -0.4, atol=0.2)
        assert np.abs(model.coef_path_[:, 2:]).max() < 0.2
        assert_allclose(model.intercept_path_, 1.0 + 0.2 * np.arange(5), atol=0.2)


def test_intervals_cover_and_an_exposure_multiplies(rng):
    X, y, time = rows(rng, n_steps=5, per_step=300)
    model = DriftGLM(family="erlang").fit(X, y, time=time)
    lower, upper = model.predict_interval(X, time).T
    # 1,500 rows of an exact 90 % interval: a standard error of .8 %.
    assert abs(np.mean((lower < y) & (y < upper)) - 0.9) < 0.025
    assert 0 < model.score(X, y, time=time) < 1
    hours = rng.uniform(0.5, 2.0, y.size)
    exposed = DriftGLM(family="erlang").fit(X, y * hours, time=time, exposure=hours)
    assert_allclose(exposed.coef_path_, model.coef_path_, atol=1e-3)
    twice = exposed.predict(X, time=time, exposure=2 * hours)
    assert_allclose(twice, 2 * exposed.predict(X, time=time, exposure=hours), rtol=1e-12)


def test_steps_are_appended(rng):
    X, y, time = rows(rng, n_steps=5)
    model = DriftGLM(family="erlang").fit(X, y, time=time)
    assert len(model.summary()) == 6
    old = time < 4
    later = DriftGLM(family="erlang", keep_data=True).fit(X[old], y[old], time=time[old])
    later.update(X[~old], y[~old], time=time[~old])
    assert_allclose(later.predict(X, time=time), model.predict(X, time=time), rtol=0.1)


def test_impossible_targets_are_refused_by_row(rng):
    X, y, _ = rows(rng)
    y[3] = 0.0
    weights = np.ones(y.size)
    weights[:2] = 0.0
    with pytest.raises(DataError, match=r"y is 0\.0 at row 3; amounts must be positive"):
        DriftGLM(family="erlang", prior="fixed").fit(X, y, sample_weight=weights)


# ------------------------------------------------------------------------- everything around


def test_panels_are_drawn_from_it(family):
    panel = simulate_panel(family="erlang", n_features=5, n_active=2, rows_per_step=2000)
    ratio = panel.y / panel.mean
    assert (panel.y > 0).all()
    # Mean 1 and variance 1 / a of a gamma variable over its mean; 16,000 rows.
    assert_allclose([ratio.mean(), ratio.var()], [1.0, 1 / SHAPE], rtol=0.05)
    assert family.name == "erlang"


def test_it_is_compared_with_baselines_by_its_own_metric(family):
    panel = simulate_panel(family="erlang", n_timesteps=5, rows_per_step=60, n_features=5)
    models = {
        "learned": DriftGLM(family="erlang"),
        "lasso": baselines.LassoAll(0.5, family="erlang"),
        "ridge-ts": baselines.RidgeTS(1.0, 0.9, family="erlang"),
    }
    found = compare(models, panel.X, panel.y, panel.time, RollingOrigin(n_test=2))
    assert found.metric == "erlang"
    assert found.label == "mean Erlang deviance"
    for name in models:
        part = found.predictions[found.predictions["model"] == name]
        by_hand = family.prediction_loss(part["y"].to_numpy(), part["prediction"].to_numpy())
        assert_allclose(part["loss"], by_hand, rtol=1e-12)


def test_files_hold_it(rng, tmp_path):
    X, y, time = rows(rng, n_steps=3)
    model = DriftGLM(family="erlang", keep_data=True).fit(X, y, time=time)
    model.save(tmp_path / "model.drift")
    again = driftglm.load(tmp_path / "model.drift")
    assert_allclose(again.predict_interval(X), model.predict_interval(X), rtol=1e-15)
    assert again.family_ == model.family_


def test_workers_fit_it(rng, tmp_path):
    distributed = pytest.importorskip("distributed")
    X, y, time = rows(rng, n_steps=3)
    here = DriftGLM(family="erlang", tol=1e-6).fit(X, y, time=time)
    with (
        distributed.LocalCluster(
            n_workers=2, processes=False, dashboard_address=":0", local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster),
    ):
        there = DriftGLM(family="erlang", tol=1e-6).fit(X, y, time=time, n_workers=2)
    assert_allclose(there.coef_path_, here.coef_path_, rtol=1e-8, atol=1e-10)


def test_a_report_shows_it(rng, tmp_path):
    X, y, time = rows(rng, n_steps=3)
    model = DriftGLM(family="erlang").fit(X, y, time=time)
    page = write_report(tmp_path / "report.html", model=model).read_text()
    assert "DriftGLM" in page
    assert "erlang" in page


def test_the_command_line_takes_it(rng, tmp_path):
    from driftglm.cli.main import app

    X, y, time = rows(rng, n_steps=4, per_step=60)
    frame = pd.DataFrame(X, columns=list("abcdef")).assign(amount=y, year=2001 + time)
    frame.to_csv(tmp_path / "data.csv", index=False)

    def run(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == 0, result.output
        return result.stdout

    named = ["--target", "amount", "--time", "year", "--family", "erlang"]
    data, model = tmp_path / "data.csv", tmp_path / "model.drift"
    facts = json.loads(run("fit", data, *named, "-o", model, "--json"))
    assert facts["family"] == "erlang"
    assert facts["features"][0]["feature"] in {"a", "b"}
    run("predict", model, data, "--interval", 0.9, "-o", tmp_path / "out.csv")
    predicted = pd.read_csv(tmp_path / "out.csv")
    assert (predicted["lower"] < predicted["prediction"]).all()
    chosen = ["--n-test", 1, "--models", "learned,ridge-all", "-o", tmp_path / "results"]
    assert "mean Erlang deviance" in run("compare", data, *named, *chosen)
    run("report", model, "-o", tmp_path / "page.html")
    assert "erlang" in (tmp_path / "page.html").read_text()
