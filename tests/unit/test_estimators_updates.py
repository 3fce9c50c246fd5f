"""Updates: rows of later steps are added to a fit."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from driftglm import DriftRegressor
from driftglm.exceptions import DataError, TimeError
from driftglm.priors import Learned
from driftglm.simulate import simulate_panel

N_STEPS = 8


@pytest.fixture(scope="module")
def panel():
    return simulate_panel(
        n_timesteps=10, rows_per_step=60, n_features=30, n_active=5, random_state=1
    )


# ---------------------------------------------------------------------------------------- update


def split(data, n_new):
    return data.time < data.time.max() + 1 - n_new


@pytest.mark.parametrize("n_new", [1, 2])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_an_update_is_as_good_as_a_cold_fit_in_a_third_of_the_passes(n_new, seed):
    data = simulate_panel(random_state=seed)
    old = split(data, n_new)
    cold = DriftRegressor().fit(data.X, data.y, time=data.time)
    model = DriftRegressor(keep_data=True).fit(data.X[old], data.y[old], time=data.time[old])
    model.update(data.X[~old], data.y[~old], time=data.time[~old])
    reached, wanted = model.objective_history_[-1], cold.objective_history_[-1]
    assert reached >= wanted - 1e-6 * abs(wanted)
    assert model.n_iter_ <= cold.n_iter_ / 3
    assert model.converged_
    history = model.objective_history_
    assert (np.diff(history) >= -1e-9 * np.abs(history).max()).all()
    size = np.abs(cold.coef_path_).max()
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.01 * size)
    assert_allclose(model.coef_std_path_, cold.coef_std_path_, atol=0.01 * size)
    assert_allclose(model.noise_variance_, cold.noise_variance_, rtol=1e-3)
    assert_array_equal(model.timesteps_, cold.timesteps_)


def test_updates_one_by_one_reach_the_same_end(panel):
    cold = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
    first = split(panel, 3)
    model = DriftRegressor(keep_data=True).fit(
        panel.X[first], panel.y[first], time=panel.time[first]
    )
    for step in (7, 8, 9):
        new = panel.time == step
        model.update(panel.X[new], panel.y[new], time=panel.time[new])
        assert model.timesteps_[-1] == step
    wanted = cold.objective_history_[-1]
    assert model.objective_history_[-1] >= wanted - 1e-6 * abs(wanted)
    assert model.predict(panel.X_next).shape == panel.y_next.shape


def test_update_needs_the_data_and_says_so(fitted, rows):
    with pytest.raises(DataError, match="keep_data=True"):
        fitted.update(rows.X, rows.y, time=np.full(rows.y.size, 2008))
    with pytest.raises(NotFittedError):
        DriftRegressor(keep_data=True).update(rows.X, rows.y, time=rows.time)


@pytest.mark.parametrize("label", [2000, 2007])
def test_update_refuses_steps_the_model_has_seen(label, rows):
    model = DriftRegressor(keep_data=True).fit(rows.X, rows.y, time=rows.time)
    before = model.coef_path_.copy()
    with pytest.raises(TimeError, match="later steps only"):
        model.update(rows.X[:2], rows.y[:2], time=[2008, label])
    with pytest.raises(TimeError, match="before the first step"):
        model.update(rows.X[:1], rows.y[:1], time=[1999])
    assert_array_equal(model.coef_path_, before)
    assert_array_equal(model.timesteps_, 2000 + np.arange(N_STEPS))


def test_a_model_without_time_cannot_be_updated(rows):
    model = DriftRegressor(keep_data=True).fit(rows.X, rows.y)
    with pytest.raises(TimeError):
        model.update(rows.X, rows.y, time=rows.time)


@pytest.mark.parametrize("kind", ["integers", "periods", "dates", "categories"])
def test_updates_extend_every_kind_of_axis(kind, rows):
    codes = rows.time - 2000
    names = np.array([f"step {c}" for c in range(N_STEPS)])
    labels, freq = {
        "integers": (pd.Series(rows.time), None),
        "periods": (pd.Series(pd.PeriodIndex([f"{t}Q1" for t in rows.time], freq="Q")), "Y"),
        "dates": (pd.Series(pd.to_datetime([f"{t}-06-30" for t in rows.time])), "Y"),
        "categories": (
            pd.Series(pd.Categorical(names[codes], categories=list(names), ordered=True)),
            None,
        ),
    }[kind]
    old = codes < 6
    model = DriftRegressor(keep_data=True, freq=freq)
    model.fit(rows.X[old], rows.y[old], time=labels[old])
    assert len(model.timesteps_) == 6
    model.update(rows.X[~old], rows.y[~old], time=labels[~old])
    cold = DriftRegressor(freq=freq).fit(rows.X, rows.y, time=labels)
    assert list(model.timesteps_) == list(cold.timesteps_)
    assert len(model.timesteps_) == N_STEPS
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.02)
    assert_allclose(model.predict(rows.X, time=labels), cold.predict(rows.X, time=labels), atol=0.1)


def test_an_update_may_leave_steps_empty(rows):
    old = rows.time < 2006
    model = DriftRegressor(keep_data=True).fit(rows.X[old], rows.y[old], time=rows.time[old])
    new = rows.time == 2007
    model.update(rows.X[new], rows.y[new], time=rows.time[new])
    assert_array_equal(model.timesteps_, 2000 + np.arange(N_STEPS))
    keep = old | new
    cold = DriftRegressor().fit(rows.X[keep], rows.y[keep], time=rows.time[keep])
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.02)


def test_an_update_of_a_single_step_starts_to_drift(rows):
    first = rows.time == 2000
    model = DriftRegressor(keep_data=True).fit(rows.X[first], rows.y[first], time=rows.time[first])
    model.update(rows.X[~first], rows.y[~first], time=rows.time[~first])
    # So much is new that the earlier fit is a poor start: the bound may end a few nats below a
    # cold fit's, the paths within noise of it.
    cold = DriftRegressor().fit(rows.X, rows.y, time=rows.time)
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.1)
    assert np.ptp(model.coef_path_[:, 3]) > 1.0


@pytest.mark.parametrize("stores", [("csr", "csr"), ("csr", "dense"), ("dense", "csr")])
def test_updates_take_sparse_rows_and_weights(stores, rows):
    store = {"csr": sp.csr_array, "dense": np.asarray}
    weights = np.random.default_rng(2).uniform(0.5, 2.0, rows.y.size)
    weights[::17] = 0.0
    old = rows.time < 2007
    X_old, X_new = store[stores[0]](rows.X[old]), store[stores[1]](rows.X[~old])
    options = {"always_in": [1], "static": [4], "keep_data": True}
    model = DriftRegressor(**options)
    model.fit(X_old, rows.y[old], time=rows.time[old], sample_weight=weights[old])
    model.update(X_new, rows.y[~old], time=rows.time[~old], sample_weight=weights[~old])
    cold = DriftRegressor(**options).fit(rows.X, rows.y, time=rows.time, sample_weight=weights)
    wanted = cold.objective_history_[-1]
    assert model.objective_history_[-1] >= wanted - 1e-6 * abs(wanted)
    assert_allclose(model.coef_path_, cold.coef_path_, atol=0.02)
    assert_allclose(model.intercept_path_, cold.intercept_path_, atol=0.02)
    assert model.inclusion_probability_[1] == 1.0
    assert np.ptp(model.coef_path_[:, 4]) < 1e-9


def test_an_update_keeps_a_given_noise_and_given_weights(rows):
    count = Learned(n_scales=3).components(1.0, 480, N_STEPS).count
    prior = Learned(n_scales=3, weights=(1.0,) * count)
    old = rows.time < 2007
    model = DriftRegressor(keep_data=True, noise=0.2, prior=prior)
    model.fit(rows.X[old], rows.y[old], time=rows.time[old])
    model.update(rows.X[~old], rows.y[~old], time=rows.time[~old])
    assert model.noise_variance_ == 0.2
    assert_allclose(np.exp(model._fits[0].log_pi), 1 / count, rtol=1e-12)


def test_an_update_with_other_columns_is_refused(rows):
    model = DriftRegressor(keep_data=True).fit(rows.X, rows.y, time=rows.time)
    with pytest.raises(ValueError, match="features"):
        model.update(rows.X[:, :3], rows.y, time=np.full(rows.y.size, 2008))


def test_a_refused_update_changes_nothing(rows):
    model = DriftRegressor(keep_data=True).fit(rows.X, rows.y, time=rows.time)
    before = pickle.dumps(model)
    later = np.full(3, 2008)
    for y, weights in [
        ([1.0, np.nan, 2.0], None),
        ([1.0, 2.0, 3.0], [1.0, -1.0, 1.0]),
        ([1.0, 2.0, 3.0], [0.0, 0.0, 0.0]),
    ]:
        with pytest.raises(ValueError):  # noqa: PT011
            model.update(rows.X[:3], y, time=later, sample_weight=weights)
    assert pickle.dumps(model) == before
