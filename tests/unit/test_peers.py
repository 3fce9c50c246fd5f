"""Peers side by side: adapters solve what they say, and one that fails stops nobody else."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from peer_fits import PEERS, NotApplicableError, PeerData, chosen
from peer_fits.data import Linear, mean_loss, time_expanded
from peer_fits.process import tiny
from peer_fits.registry import why_not
from peer_fits.tuning import RATIOS, Solution, settled
from sklearn.linear_model import Lasso, LogisticRegression, PoissonRegressor

from driftglm.exceptions import DataError
from driftglm.families import Poisson
from driftglm.simulate import simulate_panel

N_FEATURES, N_STEPS = 6, 4


@pytest.fixture(scope="module")
def panel():
    return simulate_panel(
        n_features=N_FEATURES, n_active=3, rows_per_step=50, n_timesteps=N_STEPS, random_state=3
    )


def data_of(panel, family="gaussian", *, sparse=False):
    X, X_next = panel.X, panel.X_next
    if sparse:
        X, X_next = sp.csr_matrix(X), sp.csr_matrix(X_next)
    return PeerData("panel", family, X, panel.y, panel.time, X_next, panel.y_next)


def fitted(name, data):
    peer = PEERS[name]
    if importlib.util.find_spec(peer.module) is None:
        pytest.skip(f"{peer.package} is not installed")
    adapter = peer.adapter()
    with settled():  # some packages warn of their own affairs
        prepared = adapter.prepare(data)
        return adapter.fit(prepared)


def tuned_by_hand(make, data, strengths):
    """The strength with the least error on the last step, then all steps."""
    last = data.step == data.step.max()
    errors = []
    for strength in strengths(data.X[~last], data.y[~last]):
        model = make(strength).fit(data.X[~last], data.y[~last])
        errors.append(np.mean((data.y[last] - model.predict(data.X[last])) ** 2))
    strength = strengths(data.X, data.y)[int(np.argmin(errors))]
    return make(strength).fit(data.X, data.y)


def lasso_strengths(X, y):
    return RATIOS * np.abs(X.T @ (y - y.mean())).max() / y.size


# ----------------------------------------------------------------- designs and losses


def test_time_expanded_design_holds_every_row_in_the_columns_of_its_step(panel):
    wide = time_expanded(sp.csr_matrix(panel.X), panel.time, N_STEPS).toarray()
    by_feature = wide.reshape(-1, N_FEATURES, N_STEPS)
    for row, step in enumerate(panel.time):
        np.testing.assert_array_equal(by_feature[row, :, step], panel.X[row])
        assert not np.delete(by_feature[row], step, axis=1).any()
    np.testing.assert_array_equal(time_expanded(panel.X, panel.time, N_STEPS).toarray(), wide)


def test_expanded_coefficients_of_the_last_step_predict_the_next(panel):
    adapter = PEERS["skglm group lasso"].adapter()
    design = adapter.prepare(data_of(panel)).whole
    paths = np.random.default_rng(0).normal(size=(N_FEATURES + 1, N_STEPS))
    linear = design.linear(Solution(paths.ravel(), 0.5))
    np.testing.assert_array_equal(linear.coef, paths[:-1, -1])
    assert linear.intercept == 0.5 + paths[-1, -1]
    assert linear.n_nonzero == N_FEATURES
    # The same numbers on the training rows of the last step.
    last = panel.time == N_STEPS - 1
    np.testing.assert_allclose(
        (design.X @ paths.ravel())[last] + 0.5, linear.predict(panel.X[last]), rtol=1e-12
    )


def test_a_start_for_one_more_step_goes_on_as_the_last():
    widened = Solution(np.array([1.0, 2.0, 3.0, 4.0]), 0.0).widened(2, 3)
    np.testing.assert_array_equal(widened.coef, [1.0, 2.0, 2.0, 3.0, 4.0, 4.0])


# scikit-learn takes the lasso of classes from l1_ratio alone since 1.8.
@pytest.mark.parametrize(
    "family", ["gaussian", pytest.param("binomial", marks=pytest.mark.newest), "poisson"]
)
def test_largest_strength_is_where_scikit_learn_leaves_nothing(family):
    panel = simulate_panel(n_features=N_FEATURES, n_timesteps=3, family=family, intercept=0.3)
    design = PEERS["sklearn ridge-all"].adapter().prepare(data_of(panel, family)).whole
    if family == "poisson":  # no lasso to ask: the score at the best constant is its definition
        score = panel.X.T @ (panel.y - panel.y.mean()) / panel.y.size
        assert design.largest() == pytest.approx(np.abs(score).max())
        return

    def coefficients(strength):
        if family == "gaussian":
            return Lasso(alpha=strength).fit(design.X, design.y).coef_
        weight = 1 / (strength * design.y.size)
        model = LogisticRegression(l1_ratio=1, C=weight, solver="saga", tol=1e-6, max_iter=2000)
        return model.fit(design.X, design.y).coef_

    assert not coefficients(1.01 * design.largest()).any()
    assert coefficients(0.95 * design.largest()).any()


def test_losses_are_those_of_the_evaluation():
    y, mean = np.array([0.0, 2.0, 5.0]), np.array([0.5, 2.5, 4.0])
    assert mean_loss("poisson", y, mean) == pytest.approx(Poisson().prediction_loss(y, mean).mean())
    right = np.array([0.8, 0.6])
    loss = mean_loss("binomial", np.array([1.0, 0.0]), np.array([0.8, 0.4]))
    assert loss == pytest.approx(-np.log(right).mean())
    assert mean_loss("gaussian", y, mean) == pytest.approx(np.mean((y - mean) ** 2))


def test_steps_with_a_gap_are_refused(panel):
    with pytest.raises(DataError, match="without a gap"):
        replace(data_of(panel), step=panel.time * 2)


@pytest.mark.parametrize("sparse", [False, True])
def test_saved_data_come_back(panel, tmp_path, sparse):
    data = replace(data_of(panel, sparse=sparse), always_in=(2,))
    data.save(tmp_path)
    again = PeerData.load(tmp_path)
    assert again.always_in == (2,)
    assert again.sparse == sparse
    for part in ("X", "y", "step", "X_next", "y_next"):
        one, other = (np.asarray(getattr(d, part)) for d in (data, again))
        if sparse and part.startswith("X"):
            one, other = getattr(data, part).toarray(), getattr(again, part).toarray()
        np.testing.assert_array_equal(one, other)


# --------------------------------------------------------------------------- adapters


LASSOS = [
    "sklearn lasso-all", "skglm lasso", "celer lasso", "adelie lasso", "glum lasso", "glmnet lasso",
]  # fmt: skip


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", LASSOS)
def test_lassos_are_scikit_learns_lasso_tuned_by_hand(panel, name, sparse):
    model = fitted(name, data_of(panel, sparse=sparse))
    by_hand = tuned_by_hand(
        lambda strength: Lasso(alpha=strength, tol=1e-8), data_of(panel), lasso_strengths
    )
    # Every package stops by a rule of its own, at best 1e-4 of the objective away.
    np.testing.assert_allclose(model.coef, by_hand.coef_, atol=2e-2)
    np.testing.assert_allclose(
        model.predict(panel.X_next), by_hand.predict(panel.X_next), atol=5e-2
    )
    assert model.converged


GROUPS = ["skglm group lasso", "celer group lasso", "adelie group lasso"]


@pytest.mark.parametrize("name", GROUPS)
def test_group_lassos_meet_the_optimality_conditions(panel, name):
    """At the solution, a group's score is strength * its direction, or shorter where it is zero."""
    if importlib.util.find_spec(PEERS[name].module) is None:
        pytest.skip("not installed")
    adapter = PEERS[name].adapter()
    design = adapter.prepare(data_of(panel)).whole
    strength = 0.1 * design.largest()
    with settled():
        path = np.array([5.0, 2.0, 1.0]) * strength
        *_, solution = adapter.path(design, path, None)
    residual = design.y - design.X @ solution.coef - solution.intercept
    score = (design.X.T @ residual / design.y.size).reshape(-1, N_STEPS)
    paths = solution.coef.reshape(-1, N_STEPS)
    sizes = np.linalg.norm(paths, axis=1)
    for group, size in enumerate(sizes):
        if size == 0.0:
            assert np.linalg.norm(score[group]) <= 1.01 * strength
        else:
            np.testing.assert_allclose(
                score[group], strength * paths[group] / size, atol=0.02 * strength
            )
    assert (sizes > 0).sum() > 0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["skglm lasso", "celer lasso", "adelie lasso", "glum lasso"])
def test_logistic_lassos_agree_with_scikit_learn(name, sparse):
    panel = simulate_panel(
        n_features=N_FEATURES, rows_per_step=80, n_timesteps=3, family="binomial", intercept=0.3
    )
    data = data_of(panel, "binomial", sparse=sparse)
    ours, theirs = fitted(name, data), fitted("sklearn lasso-all", data)
    assert ours.chosen == theirs.chosen
    np.testing.assert_allclose(
        ours.predict(data.X_next), theirs.predict(data.X_next), atol=2e-2
    )  # celer's intercept is a column of tens, penalised a little


@pytest.mark.parametrize("sparse", [False, True])
def test_celers_logistic_lasso_starts_where_it_is_told(sparse):
    if importlib.util.find_spec("celer") is None:
        pytest.skip("celer is not installed")
    panel = simulate_panel(n_features=N_FEATURES, n_timesteps=3, family="binomial", intercept=0.3)
    adapter = PEERS["celer lasso"].adapter()
    design = adapter.prepare(data_of(panel, "binomial", sparse=sparse)).whole
    path = np.array([0.2, 0.05]) * design.largest()
    cold = list(adapter.path(design, path, None))
    (warm,) = adapter.path(design, path[-1:], cold[-1])
    # A start that is the solution already is left where it is, up to a last polish.
    np.testing.assert_allclose(warm.coef, cold[-1].coef, atol=1e-4)
    assert warm.intercept == pytest.approx(cold[-1].intercept, abs=1e-3)
    assert (np.abs(cold[0].coef) > 0).sum() <= (np.abs(cold[1].coef) > 0).sum()


def test_ridge_of_counts_is_scikit_learns_with_the_strength_of_a_sum():
    panel = simulate_panel(n_features=4, n_timesteps=3, family="poisson", intercept=0.3, n_active=3)
    data = data_of(panel, "poisson")
    model = fitted("sklearn ridge-all", data)
    strength = float(model.chosen.split()[1])
    again = PoissonRegressor(alpha=strength / panel.y.size, max_iter=1000).fit(panel.X, panel.y)
    np.testing.assert_allclose(model.coef, again.coef_, rtol=2e-2, atol=1e-3)


def test_ridge_over_time_is_the_dense_solution(panel):
    if importlib.util.find_spec("glum") is None:
        pytest.skip("glum is not installed")
    adapter = PEERS["glum ridge-ts"].adapter()
    design = adapter.prepare(data_of(panel)).whole
    strength, n_rows = 0.01, panel.y.size
    with settled():
        (solution,) = adapter.path(design, np.array([strength]), None)
    lag = np.abs(np.subtract.outer(np.arange(N_STEPS), np.arange(N_STEPS)))
    precision = np.kron(np.eye(N_FEATURES + 1), np.linalg.inv(adapter.correlation**lag))
    X = design.X.toarray() - design.X.toarray().mean(axis=0)
    dense = np.linalg.solve(
        X.T @ X / n_rows + strength * precision, X.T @ (panel.y - panel.y.mean()) / n_rows
    )
    np.testing.assert_allclose(solution.coef, dense, atol=1e-6)


def test_random_walks_without_drift_are_least_squares(panel):
    if importlib.util.find_spec("statsmodels") is None:
        pytest.skip("statsmodels is not installed")
    model = PEERS["statsmodels random walks"].adapter().prepare(data_of(panel))
    state = model.filter([0.25, 1e-14]).filtered_state[:, -1]
    X = np.column_stack([np.ones(panel.y.size), panel.X])
    np.testing.assert_allclose(state, np.linalg.lstsq(X, panel.y, rcond=None)[0], atol=1e-4)


@pytest.mark.parametrize("name", ["pydlm", "statsmodels random walks", "river online"])
def test_peers_with_a_moving_state_beat_a_constant(name):
    panel = simulate_panel(n_features=4, n_active=4, rows_per_step=80, n_timesteps=4, scale=1.0)
    data = data_of(panel)
    loss = data.loss(fitted(name, data))
    assert loss < np.mean((panel.y_next - panel.y.mean()) ** 2)


@pytest.mark.parametrize("name", ["pydlm", "statsmodels random walks"])
def test_state_space_models_say_why_not(panel, name):
    adapter = PEERS[name].adapter()
    with pytest.raises(NotApplicableError, match="no sparse input"):
        adapter.prepare(data_of(panel, sparse=True))
    wide = replace(data_of(panel), X=np.tile(panel.X, (1, 20)))
    with pytest.raises(NotApplicableError, match="120 coefficients"):
        adapter.prepare(wide)


def test_own_fit_predicts_what_the_estimator_does(panel):
    from driftglm import DriftRegressor

    data = data_of(panel)
    model = PEERS["driftglm learned"].adapter().fit(data)
    again = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
    np.testing.assert_array_equal(model.predict(panel.X_next), again.predict(panel.X_next))


# -------------------------------------------------------------------------- registry


def test_peers_are_chosen_by_name_or_first_word():
    assert [peer.name for peer in chosen(["pydlm", "skglm"])] == [
        "pydlm",
        "skglm lasso",
        "skglm group lasso",
    ]
    assert len(chosen()) == len(PEERS) > len(chosen(quick=True))
    with pytest.raises(DataError, match="there is no peer 'sk'"):
        chosen(["sk"])


def test_peers_for_text_only_are_left_out_elsewhere_unless_named_in_full():
    for_text = {"driftglm ridge-all", "driftglm lasso-all"}
    assert not for_text & {peer.name for peer in chosen(family="poisson")}
    assert not for_text & {peer.name for peer in chosen(["driftglm"], family="gaussian")}
    assert for_text <= {peer.name for peer in chosen(["driftglm"], family="text")}
    assert [peer.name for peer in chosen(["driftglm ridge-all"], family="gaussian")] == [
        "driftglm ridge-all"
    ]


def test_settings_count_what_the_adapters_try():
    assert "7 learning rates" in PEERS["river online"].settings
    assert "5 discounts" in PEERS["pydlm"].settings
    assert "4 strengths x 2 correlations" in PEERS["glum ridge-ts"].settings
    assert PEERS["sklearn ridge-one"].settings == "10 strengths"
    assert "10 strengths" in PEERS["skglm lasso"].settings
    code = "import sys, peer_fits; print([m for m in sys.argv[1:] if m in sys.modules])"
    packages = {peer.module for peer in PEERS.values()} - {"driftglm"}
    words = [sys.executable, "-c", code, *packages]
    env = dict(os.environ) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"  # to know the settings, no peer is imported


def test_every_adapter_can_be_made_and_every_absence_has_a_reason():
    for peer in PEERS.values():
        adapter = peer.adapter()
        assert callable(adapter.prepare)
        assert callable(adapter.fit)
        for family in ("gaussian", "binomial", "poisson", "text"):
            able = peer.families is None or family in peer.families
            assert (why_not(peer, family) is None) == able


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson", "text"])
def test_the_warm_up_is_of_the_same_kind(family):
    panel = simulate_panel(n_features=3, n_timesteps=3)
    data = data_of(panel, family, sparse=True)
    small = tiny(data)
    assert small.family == family
    assert small.sparse
    assert small.n_steps == 3


def test_linear_models_predict_means():
    model = Linear("binomial", np.array([1.0]), 0.5, 1)
    np.testing.assert_allclose(model.predict(np.array([[2.0]])), 1 / (1 + np.exp(-2.5)))
