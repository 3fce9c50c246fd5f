"""Rows that belong together and are spread over partitions: the fit of one process."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor
from driftglm.design import ColumnDesign

da = pytest.importorskip("dask.array")
from driftglm.distributed.cells import LocalCells  # noqa: E402
from driftglm.distributed.storage import MemoryColumns  # noqa: E402
from driftglm.distributed.worker import Partition, Untold  # noqa: E402

SAME = 1e-8
N_GROUPS, N_STEPS = 30, 5
MODELS = {
    "gaussian": DriftRegressor,
    "binomial": DriftClassifier,
    "multiclass": DriftClassifier,
    "poisson": DriftPoissonRegressor,
}
pytestmark = pytest.mark.usefixtures("client")


def panel(family, n_features=9):
    """Groups in all partitions, two rows in most cells, columns of groups, sparse and far ones."""
    rng = np.random.default_rng(5)
    group = np.tile(np.arange(N_GROUPS), 2 * N_STEPS)
    time = np.repeat(np.arange(2 * N_STEPS) % N_STEPS, N_GROUPS)
    keep = rng.random(group.size) < 0.9
    group, time = group[keep], time[keep]
    X = rng.normal(size=(group.size, n_features)) * (rng.random((group.size, n_features)) < 0.6)
    X[:, 0] = rng.normal(size=N_GROUPS)[group]
    X[:, 3] += 2.0 + 0.2 * time
    eta = 0.7 * X[:, 0] + (0.3 * time - 0.5) * X[:, 1] - 0.5 * X[:, 3]
    eta += 0.8 * rng.normal(size=N_GROUPS)[group]
    eta += 0.5 * rng.normal(size=(N_GROUPS, N_STEPS))[group, time]
    if family == "gaussian":
        y = eta + 0.5 * rng.normal(size=eta.size)
    elif family == "binomial":
        y = (rng.random(eta.size) < 1 / (1 + np.exp(-eta))).astype(int)
    elif family == "poisson":
        y = rng.poisson(np.exp(0.5 * eta))
    else:
        gumbel = rng.gumbel(size=(eta.size, 3))
        y = np.argmax(np.column_stack([eta, -eta, 0 * eta]) + gumbel, axis=1)
    return X, y, {"time": time, "groups": [f"firm {g}" for g in group]}


def both(one, X, y, given, chunks=70):
    """The fit of one process, and that of workers."""
    found = []
    for rows in (X, da.from_array(X, chunks=(chunks, X.shape[1]))):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(one(rows).fit(rows, y, **given))
    return found


@pytest.mark.parametrize("family", MODELS)
def test_groups_spread_over_partitions_give_the_fit_of_one_process(family):
    X, y, given = panel(family)

    def one(_rows):
        return MODELS[family](init="zero", max_iter=15, extrapolate="forecast")

    near, far = both(one, X, y, given)
    assert near.group_variance_.filter(regex="constant|anew").to_numpy().max() > 0.01
    for name in ("coef_path_", "coef_std_path_", "intercept_path_", "inclusion_probability_"):
        assert_allclose(getattr(far, name), getattr(near, name), rtol=0, atol=SAME, err_msg=name)
    for name in ("effect", "std"):
        close = {"rtol": 0, "atol": SAME, "err_msg": name}
        assert_allclose(far.group_effects_[name], near.group_effects_[name], **close)


@pytest.mark.parametrize("chunks", [23, 110])
def test_sparse_rows_in_any_partitions_too(chunks):
    X, y, given = panel("gaussian")
    X = np.where(X == 0, 0, np.round(X, 1))

    far_rows = da.from_array(X, chunks=(chunks, X.shape[1])).map_blocks(sp.csr_matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        near, far = (
            DriftRegressor(init="zero", extrapolate="forecast").fit(rows, y, **given)
            for rows in (sp.csr_matrix(X), far_rows)
        )
    assert_allclose(far.coef_path_, near.coef_path_, rtol=0, atol=SAME)
    assert_allclose(far.group_effects_["effect"], near.group_effects_["effect"], rtol=0, atol=SAME)


def test_averaged_forecasts_for_groups_are_those_of_one_process():
    X, y, given = panel("gaussian", n_features=5)
    near, far = both(lambda _: DriftRegressor(init="zero"), X, y, given)
    ids = given["groups"][:20]
    for name in ("predict", "predict_interval"):
        found = [getattr(each, name)(X[:20], groups=ids) for each in (far, near)]
        assert_allclose(*found, rtol=0, atol=1e-6, err_msg=name)
    assert_allclose(far.extrapolation_weights_, near.extrapolation_weights_, rtol=0, atol=1e-6)


def test_groups_in_one_step_each_are_not_used_to_forecast_there_either():
    X, y, given = panel("gaussian", n_features=5)
    ids = [f"{g} in {t}" for g, t in zip(given["groups"], given["time"], strict=True)]
    near, far = both(lambda _: DriftRegressor(init="zero"), X, y, given | {"groups": ids})
    assert_allclose(far.coef_path_, near.coef_path_, rtol=0, atol=1e-7)
    assert_allclose(far.predict(X[:20]), near.predict(X[:20]), rtol=0, atol=1e-6)


def test_a_seasonal_fit_on_workers_is_that_of_one_process():
    X, y, given = panel("gaussian", n_features=4)
    time = np.concatenate([given["time"] + N_STEPS * k for k in range(2)])
    rows, ids = np.concatenate([X] * 2), np.tile(given["groups"], 2)
    y = np.concatenate([y] * 2) + np.array([1.0, -1.0, 0.5, -0.5])[time % 4] * rows[:, 2]
    many = {"time": time, "groups": ids}
    settings = {"init": "zero", "seasonality": 4, "max_iter": 10}
    near, far = both(lambda _: DriftRegressor(**settings), rows, y, many, 300)
    assert np.abs(near.seasonal_path_[:, 2]).max() > 0.3
    assert_allclose(far.seasonal_path_, near.seasonal_path_, rtol=0, atol=1e-6)


def test_a_worker_that_forgot_what_it_was_told_about_cells_is_told_again():
    rng = np.random.default_rng(0)
    design, _ = ColumnDesign.from_matrix(rng.normal(size=(6, 2)), np.zeros(6, dtype=np.int64), 1)
    partition = Partition(MemoryColumns(design), design.step_offsets, 0)
    features, cells = np.arange(2), LocalCells(np.array([0, 1, 0, 1, 2, 2], dtype=np.int32), 3)
    with pytest.raises(Untold):
        partition.cell_sums(3, None, features)
    weights = rng.random(6)
    found = partition.cell_sums(3, (weights, cells), features)
    assert_allclose(partition.cell_sums(3, None, features).numbers, found.numbers)
    with pytest.raises(Untold):
        partition.cell_sums(4, None, features)
    sums = np.zeros((3, 2))
    np.add.at(sums, cells.cell, weights[:, None] * design.values.reshape(2, 6).T)
    assert_allclose(found.numbers.reshape(2, 3).T, sums)
