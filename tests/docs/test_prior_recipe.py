"""The recipe "Add a prior" of CONTRIBUTING.md, followed to the letter: one module, one line.

The module is `recipes/student_prior.py`.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_t
from typer.testing import CliRunner

import driftglm
from driftglm import DriftClassifier, DriftRegressor, DriftTextModel
from driftglm.exceptions import DriftError
from driftglm.priors import PathStats
from driftglm.registry import PRIORS, register_prior, resolve
from driftglm.simulate import simulate_text

RECIPES = Path(__file__).parent / "recipes"


@pytest.fixture(autouse=True)
def prior(monkeypatch):
    """The line of registration; for this file only."""
    monkeypatch.syspath_prepend(str(RECIPES))
    register_prior("student", "student_prior:StudentChain")
    yield resolve(PRIORS["student"])()
    del PRIORS["student"]


def rows(rng, n_steps=5, per_step=60):
    time = np.repeat(np.arange(n_steps), per_step)
    X = rng.normal(size=(time.size, 5))
    return X, X[:, 0] * time - X[:, 1] + rng.normal(size=time.size), time


@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_the_density_is_that_of_a_multivariate_student_distribution(prior, n_steps, rng):
    lags = np.abs(np.subtract.outer(np.arange(n_steps), np.arange(n_steps)))
    shape = prior.scale * prior.autocorrelation**lags
    paths = rng.normal(size=(7, n_steps))
    expected = multivariate_t(np.zeros(n_steps), shape, df=prior.degrees).logpdf(paths)
    found = prior.evaluate(PathStats.of(paths), n_steps).log_density
    assert_allclose(found, np.atleast_1d(expected), rtol=1e-10)


def test_the_quadratic_touches_the_density_from_below(prior, rng):
    here, there = rng.normal(size=(2, 500, 6)) * rng.lognormal(size=(2, 500, 1))
    at = prior.evaluate(PathStats.of(here), 6)

    def quadratic(stats):
        return at.omega * stats.S + 2 * at.omega_alpha * stats.R + at.omega_end * stats.E

    promised = at.log_density - 0.5 * (
        quadratic(PathStats.of(there)) - quadratic(PathStats.of(here))
    )
    assert (prior.evaluate(PathStats.of(there), 6).log_density >= promised - 1e-9).all()


@pytest.mark.parametrize("solver", ["block", "lbfgs"])
@pytest.mark.parametrize("model", [DriftRegressor, DriftClassifier])
def test_the_objective_never_falls(model, solver, rng):
    X, y, time = rows(rng)
    y = y if model is DriftRegressor else y > 0
    fitted = model(prior="student", solver=solver).fit(X, y, time=time)
    history = fitted.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    assert fitted.extrapolate_ == "hold"
    assert np.asarray(fitted.coef_path_)[-1, 0] > np.asarray(fitted.coef_path_)[0, 0] + 1


def test_text_takes_it():
    text = simulate_text(n_words=30, n_effects=2, random_state=0)
    model = DriftTextModel(prior="student").fit(text.counts, text.effects, time=text.time)
    history = model.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()


def test_files_hold_it(rng, tmp_path):
    X, y, time = rows(rng)
    for prior in ("student", resolve(PRIORS["student"])(degrees=7.0)):
        model = DriftRegressor(prior=prior).fit(X, y, time=time)
        model.save(tmp_path / "model.drift")
        again = driftglm.load(tmp_path / "model.drift")
        assert again.prior == prior
        assert_allclose(again.predict(X), model.predict(X), rtol=1e-15)


def test_a_file_of_an_unregistered_prior_is_refused(rng, tmp_path):
    X, y, time = rows(rng)
    model = DriftRegressor(prior=resolve(PRIORS["student"])()).fit(X, y, time=time)
    model.save(tmp_path / "model.drift")
    home = PRIORS.pop("student")
    try:
        with pytest.raises(DriftError, match="StudentChain"):
            driftglm.load(tmp_path / "model.drift")
    finally:
        PRIORS["student"] = home


def test_workers_fit_it(rng, tmp_path):
    distributed = pytest.importorskip("distributed")
    X, y, time = rows(rng)
    here = DriftRegressor(prior="student", tol=1e-8, init="zero").fit(X, y, time=time)
    with (
        distributed.LocalCluster(
            n_workers=2, processes=False, dashboard_address=":0", local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster),
    ):
        there = DriftRegressor(prior="student", tol=1e-8).fit(X, y, time=time, n_workers=2)
    assert_allclose(there.coef_path_, here.coef_path_, rtol=1e-8, atol=1e-10)


def test_the_command_line_takes_it(rng, tmp_path):
    from driftglm.cli.main import app

    X, y, time = rows(rng)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(y=y, year=2001 + time)
    frame.to_csv(tmp_path / "data.csv", index=False)
    named = ["--target", "y", "--time", "year", "--prior", "student"]
    words = ["fit", str(tmp_path / "data.csv"), *named, "-o", str(tmp_path / "model.drift")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert driftglm.load(tmp_path / "model.drift").estimator.prior == "student"
    words = ["compare", *words[1:6], "--n-test", "1", "--models", "student,ridge-all"]
    result = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "results")])
    assert result.exit_code == 0, result.output
    assert "student" in result.stdout
