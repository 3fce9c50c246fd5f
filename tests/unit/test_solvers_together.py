"""All means at once: what is solved is the top of the bound, and the bound never falls."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from driftglm import DriftClassifier, DriftRegressor
from driftglm.design import ColumnDesign
from driftglm.priors import Learned
from driftglm.priors.mixture import Components
from driftglm.solvers import cavi, together
from driftglm.solvers.path_work import PathWork
from driftglm.solvers.together import mean_operators_inplace

pytestmark = pytest.mark.filterwarnings("ignore:intervals are too narrow")


def test_operators_are_mean_covariances_of_the_components(rng):
    n_steps, shape = 6, (3, 5)
    static = np.array([0.0, 2.0, 0.3, 0.7, 0.0])
    dynamic, rho = np.array([0.0, 0.0, 0.5, 0.5, 1.5]), np.array([0.0, 0.0, 0.8, 0.8, 0.3])
    components = Components(static, dynamic, rho, "stationary", n_steps)
    h, phi = rng.uniform(0.0, 3.0, (3, n_steps)), rng.dirichlet(np.ones(5), shape[0])
    found = np.empty((2, n_steps, n_steps))
    mean_operators_inplace(np.array([2, 0]), h, phi, components.tables(), found)
    lags = np.abs(np.subtract.outer(np.arange(n_steps), np.arange(n_steps)))
    for out, i in zip(found, (2, 0), strict=True):
        covariances = [
            s + d * r**lags if d else np.full(lags.shape, s)
            for s, d, r in zip(static, dynamic, rho, strict=True)
        ]
        posteriors = [np.linalg.solve(np.eye(n_steps) + k * h[i], k) for k in covariances]
        assert_allclose(out, np.einsum("k,kts->ts", phi[i], posteriors), atol=1e-12)


@pytest.mark.parametrize("ones", [True, False])
def test_products_go_there_and_back(rng, ones):
    X = sparse.random(40, 7, 0.4, random_state=1, format="csr")
    X.data[:] = 1.0 if ones else X.data
    codes, weights = np.sort(rng.integers(0, 4, 40)), rng.uniform(0.5, 2.0, 40)
    design, _ = ColumnDesign.from_matrix(X, codes, 4, compact=ones)
    design = design.centered(weights)
    some, change, eta = np.array([5, 1, 2]), rng.normal(size=(3, 4)), rng.normal(size=40)
    moved, whole = eta.copy(), np.zeros((7, 4))
    whole[some] = change
    found = design.some_columns(some).curved_inplace(change, moved, weights)
    assert_allclose(moved, weights * (eta + design.eta(whole)), atol=1e-12)
    assert_allclose(found, design.gradient(moved)[some], atol=1e-12)


@pytest.fixture(scope="module")
def issues():
    """Columns, and the same columns within some rows: each says what the others do."""
    rng = np.random.default_rng(5)
    own, kind = rng.integers(0, 12, 6000), rng.integers(0, 2, (6000, 4))
    main = np.eye(12)[own]
    X = np.hstack([main, kind, *(main * kind[:, [j]] for j in range(4))])
    time = np.sort(rng.integers(0, 6, 6000))
    paths = 0.8 * rng.normal(size=(X.shape[1], 1)) + 0.2 * rng.normal(size=(X.shape[1], 6))
    eta = np.einsum("ni,in->n", X, paths[:, time])
    y = (rng.random(6000) < 1 / (1 + np.exp(-eta))).astype(int)
    return sparse.csr_matrix(X), y, time


def test_moves_save_passes_and_the_bound_never_falls(issues, monkeypatch):
    X, y, time = issues
    monkeypatch.setattr(cavi, "APART", 1)
    model = DriftClassifier(extrapolate="forecast").fit(X, y, time=time)
    history, said = np.array(model.objective_history_), model.predict_proba(X)
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:])).all()
    monkeypatch.setattr(cavi, "may_move_together", lambda _: False)
    plain = model.fit(X, y, time=time)
    assert history.size < 0.7 * plain.n_iter_
    assert history[-1] > plain.objective_history_[-1] - 0.05
    assert np.abs(said - plain.predict_proba(X)).mean() < 5e-3


def test_where_one_move_leads_every_path_is_the_best_given_the_others(rng, monkeypatch):
    """With one component, the probabilities of components cannot change: the top is reached."""
    monkeypatch.setattr(together, "ENOUGH", 1e-12)
    monkeypatch.setattr(together, "N_STEPS", 500)
    ends = []

    def climb(_, run):
        work = PathWork(run.problems[0], run.states[0])
        climbing = cavi._Climb(run, [work])
        climbing.begin()
        for _ in range(3):
            climbing.all_paths()
        before = work.problem.value(work.state)
        assert together.move_together(work, work.order)
        assert work.problem.value(work.state) > before
        means = work.state.beta.copy(), work.state.intercept_mean.copy()
        work.survey()
        unit = work.problem.unit[:, None]
        precision = work.problem.precision(work.state)
        gradient = work.problem.design.gradient(work.score) * precision / unit
        linear = gradient + work.state.curvature * means[0] * unit
        ends.append((linear, work.state.linear.copy()))
        climbing._record()
        return run.result(climbing.posteriors, 0.0, cavi.StopReason.CONVERGED)

    monkeypatch.setattr(cavi.CAVISolver, "run", climb)
    X = rng.normal(size=(400, 6)) @ (np.eye(6) + 0.8)
    time = np.sort(rng.integers(0, 5, 400))
    y = X @ rng.normal(size=6) + rng.normal(size=400)
    prior = Learned(n_scales=1, shares=(0.5,), correlations=(0.5,), weights=(0.0, 1.0))
    asked = {"prior": prior, "extrapolate": "forecast", "noise": 1.0, "fit_intercept": False}
    DriftRegressor(**asked).fit(X, y, time=time)
    linear, stored = ends[-1]
    assert_allclose(linear, stored, rtol=1e-7, atol=1e-7 * np.abs(linear).max())
