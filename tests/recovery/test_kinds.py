"""Hyperpriors of their own: sparse words beside a few dense columns that drift."""

import numpy as np
from scipy.sparse import csr_matrix, hstack

from driftglm import DriftRegressor

N_WORDS, N_MACRO, N_STEPS, N_ROWS = 1000, 20, 10, 50


def panel(seed):
    """Thirty words matter and do not move; all dense columns matter and do."""
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(N_STEPS + 1), N_ROWS)
    words = csr_matrix((rng.random((time.size, N_WORDS)) < 0.03).astype(float))
    macro = rng.normal(size=(time.size, N_MACRO))
    beta = np.where(np.arange(N_WORDS) < 30, 0.3 * rng.normal(size=N_WORDS), 0.0)
    path = 0.3 * rng.normal(size=(N_STEPS + 1, N_MACRO))
    for t in range(1, N_STEPS + 1):
        path[t] = 0.9 * path[t - 1] + np.sqrt(1 - 0.9**2) * path[t]
    eta = words @ beta + np.einsum("ni,ni->n", macro, path[time])
    return csr_matrix(hstack([words, macro])), eta + rng.normal(size=eta.size), time


def test_own_hyperpriors_cut_the_loss_of_a_forecast_by_five_percent():
    kinds = {"words": np.arange(N_WORDS + N_MACRO) < N_WORDS}
    losses = []
    for seed in range(20, 24):
        X, y, time = panel(seed)
        past, now = np.flatnonzero(time < N_STEPS), np.flatnonzero(time == N_STEPS)
        found = []
        for groups in (None, kinds):
            model = DriftRegressor(feature_groups=groups, extrapolate="forecast")
            model.fit(X[past], y[past], time=time[past])
            found.append(np.mean((y[now] - model.predict(X[now])) ** 2))
        losses.append(found)
    alone, apart = np.mean(losses, axis=0)
    assert apart < 0.95 * alone
    table = model.kinds_summary().set_index("kind")
    zero = table["zeros"] / table["n_features"]
    assert zero["words"] > max(0.9, zero["other"])
