"""A family of a user's own, once registered, is known to baselines, comparisons and simulations.

The family is the gamma of the recipe in CONTRIBUTING.md, with shape 4.
"""

import shutil
import sys
from dataclasses import dataclass
from typing import ClassVar

import erlang_family
import numpy as np
import pytest
from erlang_family import SHAPE, Erlang
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.base import is_regressor
from sklearn.linear_model import GammaRegressor, Ridge
from sklearn.metrics import d2_tweedie_score, mean_gamma_deviance

from driftglm import DriftGLM, DriftPoissonRegressor, registry
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.baselines.family_loss import FamilyLoss
from driftglm.baselines.strength import fixed_scale
from driftglm.evaluation import RollingOrigin, compare
from driftglm.evaluation.metrics import find_metric, metrics
from driftglm.exceptions import DataError
from driftglm.families import Gaussian, family_named, uncoupled_families
from driftglm.families.base import CERTAIN
from driftglm.priors import Fixed
from driftglm.simulate import simulate_panel

EVERY = [RidgeOne, RidgeAll, RidgeTS, LassoOne, LassoAll]
NAMES = ["gaussian", "binomial", "poisson", "erlang"]


@dataclass(frozen=True)
class Doubled(Gaussian):
    """Quadratic, with a curvature that is not one."""

    name: ClassVar[str] = "doubled"

    def log_likelihood(self, y, mean, variance, weights, noise):
        return super().log_likelihood(y, mean, variance, 2.0 * weights, noise)

    def score(self, y, mean, variance, weights):
        return super().score(y, mean, variance, 2.0 * weights)

    def curvature(self, y, mean, variance, weights):
        return super().curvature(y, mean, variance, 2.0 * weights)

    def expected_deviance(self, y, mean, variance, weights):
        return super().expected_deviance(y, mean, variance, 2.0 * weights)

    def loss(self, y, eta):
        return 2.0 * super().loss(y, eta)


@dataclass(frozen=True)
class Scattered(Erlang):
    """With a dispersion that a mode would estimate if it were not told one."""

    name: ClassVar[str] = "scattered"

    @property
    def has_noise(self):
        return True

    def log_likelihood(self, y, mean, variance, weights, noise):
        rows = SHAPE * (mean + y * self._inverse(mean, variance))
        return -float(np.sum(weights * (rows / noise + 0.5 * np.log(noise))))

    def noise_scale(self, y, weights, offset):
        deviance = SHAPE * self.expected_deviance(y, offset, CERTAIN, weights)
        return float(deviance.sum() / weights.sum()), None


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    for kind in (Erlang, Doubled, Scattered):
        monkeypatch.setitem(registry.FAMILIES, kind.name, f"{kind.__module__}:{kind.__name__}")


def panel_of(family, **changes):
    sizes = {
        "n_features": 5,
        "n_active": 2,
        "rows_per_step": 60,
        "n_timesteps": 4,
        "intercept": 0.4,
    }
    return simulate_panel(family=family, random_state=7, **(sizes | changes))


# ------------------------------------------------------------------------ baselines


def test_every_family_of_one_response_is_listed():
    assert [name for name in uncoupled_families() if name in NAMES] == NAMES
    assert "multinomial" not in uncoupled_families()


@pytest.mark.parametrize("family", [*NAMES, "doubled"])
def test_derivatives_are_those_of_the_loss(family):
    loss, step = FamilyLoss.named(family), 1e-5
    for eta in (-3.0, -0.2, 0.0, 1.5):
        at = np.full(3, eta)
        y = {"erlang": [0.1, 1.0, 9.0], "poisson": [0.0, 1.0, 9.0]}.get(family, [0.0, 1.0, 0.3])
        target = np.array(y)
        low, mid, high = (loss.value(target, at + move) for move in (-step, 0.0, step))
        assert_allclose(loss.slope(target, at), (high - low) / (2 * step), rtol=1e-6, atol=1e-8)
        ends = [loss.slope(target, at + move) for move in (-step, step)]
        assert_allclose(loss.curvature(target, at), (ends[1] - ends[0]) / (2 * step), rtol=1e-6)
        aim, weights = loss.working(target, at)
        assert_allclose(weights * (at - aim), loss.slope(target, at), rtol=1e-9, atol=1e-12)
        assert np.isfinite(mid).all()
    far = loss.curvature(target, np.full(3, 600.0 if family == "binomial" else -600.0))
    assert (far > 0).all()


@pytest.mark.parametrize("family", NAMES)
@pytest.mark.parametrize("maker", EVERY)
def test_every_baseline_takes_every_family(maker, family, rng):
    X, time = rng.normal(size=(240, 4)), np.repeat(np.arange(4), 60)
    described = family_named(family)
    y = described.draw(0.3 + X[:, 0] - 0.6 * X[:, 1], 0.25, rng)
    settings = {"autocorrelation": 0.8} if maker is RidgeTS else {}
    model = maker(3.0, family=family, **settings).fit(X, y, time=time)
    assert model.converged_
    classes = described.target == "classes"
    guess = model.predict_proba(X)[:, 1] if classes else model.predict(X)
    better, worse = (described.prediction_loss(y, mean) for mean in (guess, np.full(240, y.mean())))
    assert better.mean() < 0.85 * worse.mean()
    assert model.score(X, y) > 0.25
    assert is_regressor(model) != classes
    assert model.__sklearn_tags__().target_tags.positive_only == described.positive


@pytest.mark.parametrize("maker", [RidgeOne, RidgeAll, LassoOne, LassoAll])
def test_baselines_tune_themselves_by_the_deviance_of_the_family(maker):
    panel = panel_of("erlang")
    model = maker(family="erlang").fit(panel.X, panel.y, time=panel.time)
    past, last = panel.time < 3, panel.time == 3
    (chain,) = maker(family="erlang").tuning_chains(
        panel.X[past], panel.y[past], panel.X[last], time=panel.time[past]
    )
    errors = {
        params["strength"]: mean_gamma_deviance(panel.y[last], mean) for params, mean in chain
    }
    assert model.strength_ == min(errors, key=errors.get)


def test_a_ridge_of_amounts_minimises_what_it_says(rng):
    panel = panel_of("erlang")
    exposure = rng.uniform(0.5, 2.0, panel.y.size)
    y = panel.y * exposure
    model = RidgeAll(5.0, family="erlang", tol=1e-10, standardize=False).fit(
        panel.X, y, exposure=exposure
    )

    def objective(theta):
        eta = panel.X @ theta[:-1] + theta[-1] + np.log(exposure)
        return SHAPE * np.sum(eta + y * np.exp(-eta)) + 2.5 * theta[:-1] @ theta[:-1]

    best = minimize(objective, np.zeros(6), options={"gtol": 1e-6}).x
    assert_allclose(model.coef_, best[:-1], atol=1e-5)
    assert_allclose(model.intercept_, best[-1], atol=1e-5)
    peer = GammaRegressor(alpha=5.0 / SHAPE / y.size, tol=1e-8).fit(panel.X, panel.y)
    plain = RidgeAll(5.0, family="erlang", tol=1e-10, standardize=False).fit(panel.X, panel.y)
    assert_allclose(plain.coef_, peer.coef_, atol=1e-4)
    expected = d2_tweedie_score(panel.y, plain.predict(panel.X), power=2)
    assert_allclose(plain.score(panel.X, panel.y), expected)


def test_a_quadratic_family_is_solved_by_its_own_curvature(monkeypatch):
    """Twice the loss at twice the strength is the same problem."""
    panel = panel_of("gaussian")
    for maker in EVERY:
        settings = {"autocorrelation": 0.8} if maker is RidgeTS else {}
        one, two = (
            maker(strength, family=family, **settings).fit(panel.X, panel.y, time=panel.time)
            for strength, family in ((3.0, "gaussian"), (6.0, "doubled"))
        )
        assert_allclose(two.coef_, one.coef_, rtol=1e-6, atol=1e-8)
        assert_allclose(two.intercept_, one.intercept_, rtol=1e-6)
    monkeypatch.setattr("driftglm.baselines.ridge_ts.DIRECT", 0)
    settings = {"autocorrelation": 0.8, "fit_intercept": False, "tol": 1e-9}
    one, two = (
        RidgeTS(strength, family=family, standardize=False, **settings).fit(
            panel.X, panel.y, time=panel.time
        )
        for strength, family in ((3.0, "gaussian"), (6.0, "doubled"))
    )
    assert_allclose(two.coef_path_, one.coef_path_, atol=1e-6)


@pytest.mark.parametrize("family", ["erlang", "scattered"])
def test_a_strength_over_time_means_the_same_with_and_without_noise(family):
    """Where steps are not correlated every step is a ridge of its own."""
    panel = panel_of("erlang")
    settings = {"fit_intercept": False, "tol": 1e-9}
    model = RidgeTS(5.0, 0.0, family=family, standardize=False, **settings)
    model.fit(panel.X, panel.y, time=panel.time)
    for step in range(4):
        rows = panel.time == step
        alone = RidgeAll(5.0, family="erlang", standardize=False, **settings).fit(
            panel.X[rows], panel.y[rows]
        )
        assert_allclose(model.coef_path_[step], alone.coef_, atol=1e-5)


def test_ridge_over_time_is_the_general_estimator():
    panel = panel_of("erlang")
    model = RidgeTS(5.0, 0.8, family="erlang", standardize=False).fit(
        panel.X, panel.y, time=panel.time
    )
    prior = Fixed(scale=fixed_scale(5.0), autocorrelation=0.8)
    drift = DriftGLM(family="erlang", prior=prior, tol=1e-3)
    drift.fit(panel.X, panel.y, time=panel.time)
    assert_allclose(model.coef_path_, drift.coef_path_, rtol=1e-12)
    assert is_regressor(model)
    assert not hasattr(model, "predict_proba")


def test_impossible_targets_and_families_are_refused():
    panel = panel_of("gaussian")
    with pytest.raises(DataError, match=r"family='erlang': y is .* amounts must be positive"):
        LassoAll(1.0, family="erlang").fit(panel.X, panel.y)
    listed = "'gaussian', 'binomial', 'poisson', .*, 'erlang', 'doubled', 'scattered', 'text'"
    for wrong in ("multinomial", "weibull", 3):
        with pytest.raises(ValueError, match=f"a str among {{{listed}}}"):
            LassoAll(1.0, family=wrong).fit(panel.X, panel.y)
    with pytest.raises(DataError, match=r"takes none.*a family that does: 'poisson', .*, 'erlang'"):
        LassoAll(1.0).fit(panel.X, panel.y, exposure=np.ones(panel.y.size))


# ----------------------------------------------------------------------- comparison


def test_models_of_a_family_are_compared_by_its_metric():
    panel = panel_of("erlang")
    models = {
        "lasso": LassoAll(family="erlang"),
        "drift": DriftGLM(family="erlang", prior="fixed"),
        "foreign": Ridge(),
    }
    data = (panel.X, panel.y, panel.time, RollingOrigin(n_test=1))
    one_by_one = {name: models[name] for name in ("lasso", "drift")}
    result = compare(one_by_one, *data)
    assert (result.metric, result.label) == ("erlang", "mean Erlang deviance")
    expected = mean_gamma_deviance(result.y, result.prediction["lasso"])
    assert_allclose(result.table("frame").loc["overall", "lasso"], expected)
    assert compare(one_by_one, *data, metric="erlang").loss["drift"] == pytest.approx(
        result.loss["drift"]
    )
    assert compare(one_by_one, *data, metric="mse").metric == "mse"
    assert find_metric("auto", models).name == "erlang"


def test_metrics_are_looked_up_when_they_are_asked_for(monkeypatch):
    known = ["mse", "log_loss", "poisson", "gamma", "binomial", "erlang", "nll"]
    assert list(metrics()) == known
    with pytest.raises(DataError, match="'lasso' is to be compared by 'erlang' and 'counts' by"):
        find_metric("auto", {"lasso": LassoAll(family="erlang"), "counts": DriftPoissonRegressor()})
    with pytest.raises(DataError, match="does not suit"):
        find_metric("erlang", {"classes": LassoAll(family="binomial")})
    for name in ("erlang", "doubled", "scattered"):
        monkeypatch.delitem(registry.FAMILIES, name)
    with pytest.raises(DataError, match="'poisson', 'gamma', 'binomial', 'nll', 'crps'"):
        find_metric("erlang", {"m": Ridge()})


@pytest.fixture
def amounts(tmp_path, monkeypatch):
    """A module that a process of its own can import, with the family of this file in it."""
    folder = tmp_path / "modules"
    folder.mkdir()
    shutil.copy(erlang_family.__file__, folder / "amounts.py")
    monkeypatch.syspath_prepend(str(folder))
    for kind in ("erlang", "doubled", "scattered"):
        monkeypatch.delitem(registry.FAMILIES, kind)
    registry.register_family("erlang", "amounts:Erlang")
    yield folder / "amounts.py"
    registry.FAMILIES.pop("erlang", None)
    sys.modules.pop("amounts", None)
    shutil.rmtree(folder)


def test_processes_and_files_of_results_know_the_family(amounts, tmp_path, monkeypatch):
    from joblib.externals.loky import get_reusable_executor

    panel = panel_of("erlang")
    models = {"lasso": LassoAll(family="erlang"), "drift": DriftGLM(family="erlang", prior="fixed")}
    data = (panel.X, panel.y, panel.time, RollingOrigin(n_test=2))
    get_reusable_executor().shutdown(wait=True)  # one that knows today's sys.path
    alone, two = (compare(models, *data, n_jobs=n, cache_dir=tmp_path / str(n)) for n in (1, 2))
    get_reusable_executor().shutdown(wait=True)
    for name in models:
        assert (alone.prediction[name] == two.prediction[name]).all()
    stored = set((tmp_path / "1").rglob("*"))
    compare(models, *data, cache_dir=tmp_path / "1")
    assert set((tmp_path / "1").rglob("*")) == stored
    # Another family of the same name is another family.
    text = amounts.read_text().replace("2.0 * (y / safe", "3.0 * (y / safe")
    amounts.with_name("others.py").write_text(text)
    monkeypatch.setitem(registry.FAMILIES, "erlang", "others:Erlang")
    compare(models, *data, cache_dir=tmp_path / "1")
    assert set((tmp_path / "1").rglob("*")) > stored


# ----------------------------------------------------------------------- simulation


@pytest.mark.parametrize("family", NAMES)
def test_panels_are_drawn_from_every_family(family):
    panel = panel_of(family, rows_per_step=4000)
    family_named(family).check_target(panel.y)
    residual = panel.y - panel.mean
    # Six standard errors.
    assert abs(residual.mean()) < 6 * residual.std() / np.sqrt(residual.size)
    ahead = panel.X_next @ panel.coef_path[-1] + panel.intercept_path[-1]
    assert_allclose(panel.mean_next, family_named(family).mean(ahead, CERTAIN), rtol=1e-10)
    if family == "erlang":
        assert_allclose(np.var(panel.y / panel.mean), 1 / SHAPE, rtol=0.1)


@pytest.mark.parametrize("wrong", ["multinomial", "weibull", "text"])
def test_what_cannot_be_drawn_is_refused(wrong):
    with pytest.raises(DataError, match=f"family='{wrong}'; choose one of 'gaussian', 'binomial'"):
        simulate_panel(family=wrong)


# ---------------------------------------------------------------------------- peers


@pytest.fixture
def peers():
    return pytest.importorskip("peer_fits", reason="benchmarks are not here")


def test_peers_judge_by_the_loss_of_the_family(peers):
    panel, data = panel_of("erlang"), peers.data
    assert peers.LOSSES["erlang"] == "mean Erlang deviance"
    found = data.mean_loss("erlang", panel.y, panel.mean)
    assert_allclose(found, mean_gamma_deviance(panel.y, panel.mean))
    assert_allclose(data.mean("erlang", np.array([-1.0, 0.0, 99.0])), np.exp([-1.0, 0.0, 30.0]))
    with pytest.raises(DataError, match="choose one of 'gaussian', 'binomial', 'poisson'"):
        peers.PeerData("p", "multinomial", panel.X, panel.y, panel.time, panel.X_next, panel.y_next)


@pytest.mark.usefixtures("amounts")
def test_a_family_that_only_driftglm_knows_is_a_contest_of_its_own(peers):
    panel = panel_of("erlang")
    data = peers.PeerData("p", "erlang", panel.X, panel.y, panel.time, panel.X_next, panel.y_next)
    for name, peer in peers.PEERS.items():
        reason = peers.registry.why_not(peer, "erlang")
        assert (reason is None) == (name in {"driftglm learned", "driftglm exact"})
    contest = [peers.PEERS["driftglm exact"], peers.PEERS["glum lasso"]]
    ours, theirs = peers.run_peers(data, contest, limit=120.0)
    assert (theirs.status, theirs.note) == ("not applicable", "no model of this family")
    assert ours.measured, ours.note
    model = DriftGLM(family="erlang", prior="exact").fit(panel.X, panel.y, time=panel.time)
    expected = mean_gamma_deviance(panel.y_next, model.predict(panel.X_next))
    assert_allclose(ours.loss, expected, rtol=1e-6)
