"""Rows that belong together and are spread over partitions: the fit of one process."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor

da = pytest.importorskip("dask.array")

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
