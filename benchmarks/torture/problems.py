"""Nasty problems for every estimator: finite, truthful, the same whatever order and origin."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from tally import Tally

from driftglm import DriftGLM, DriftTextModel
from driftglm.exceptions import DataError

FAMILIES = {
    "regressor": ("gaussian", "student"),
    "classifier": ("binomial", "multinomial", "beta-binomial"),
    "counts": ("poisson", "negative-binomial", "gamma"),
}
SEEN = 1e-3
"""What a tighter fit may move a prediction by that was said to have converged."""
OFFSET = 1e-6
"""What a move of a column by up to 1e9 may change, by the same measure, in problems with more rows
than columns and steps; rounding errors of any kind may change twenty times as much in others."""
WARNED = "held, warned of uneven weights"


def rows(family: str, rng: np.random.Generator):
    """X, y, time and weights, small and odd: scales apart, twins, rare columns, empty steps."""
    n, n_steps, p = (int(rng.choice(each)) for each in ([20, 60, 150], [1, 2, 4, 8], [1, 3, 8]))
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-1, 1, p)
    X = X if rng.random() < 0.6 else (X > 0.5).astype(float)
    if p > 1 and rng.random() < 0.3:
        X[:, 1] = X[:, 0] + 0.05 * rng.normal(size=n)
    time = np.sort(rng.integers(0, n_steps, n))
    if rng.random() < 0.3:
        X[:, -1] += 2.0 * X[:, -1].std() * np.cumsum(rng.normal(size=n_steps))[time]
    unit = X.std(axis=0) + 1e-9
    coef = rng.normal(size=p) * (rng.random(p) < 0.4) / unit
    drift = np.cumsum(0.3 * rng.normal(size=(n_steps, p)), axis=0) / unit
    eta = np.einsum("ni,ni->n", X, coef + drift[time] * (rng.random(p) < 0.3))
    eta = np.clip(eta - eta.mean(), -4, 4)
    y = drawn(family, eta, rng)
    weights = 10.0 ** rng.uniform(-9, 9, n) if rng.random() < 0.15 else None
    return np.round(X * 2**20) / 2**20, y, time, weights


def drawn(family: str, eta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Targets of a family; every class occurs."""
    n, p = eta.size, 1.0 / (1.0 + np.exp(-eta))
    if family in {"gaussian", "student"}:
        return eta + 10 ** rng.uniform(-1.5, 0.5) * rng.standard_t(3, size=n)
    if family == "binomial":
        y = (rng.random(n) < p).astype(int)
        y[:2] = 0, 1
        return y
    if family == "multinomial":
        y = np.argmax(np.column_stack([eta, 0 * eta, -eta]) + rng.gumbel(size=(n, 3)), axis=1)
        y[:3] = 0, 1, 2
        return y
    if family == "beta-binomial":
        trials = rng.integers(1, 9, n)
        hits = rng.binomial(trials, p)
        return np.column_stack([hits, trials - hits])
    if family == "gamma":
        return rng.gamma(2, np.exp(eta) / 2) + 1e-9
    return rng.poisson(np.exp(eta))


def answers(model, family: str, X, time) -> np.ndarray:
    """Predictions of the next step and of the rows' own."""
    ask = model.predict_proba if family in {"binomial", "multinomial"} else model.predict
    return np.concatenate([np.ravel(ask(X)), np.ravel(ask(X, time=time))]).astype(float)


def distance(family: str, one: np.ndarray, other: np.ndarray, y: np.ndarray) -> float:
    """How far predictions lie apart: in deviations of y, in probability, or as a share."""
    away = np.abs(one - other)
    if family in {"gaussian", "student"}:
        return float((away / np.std(y)).max())
    if family in {"binomial", "multinomial", "beta-binomial"}:
        return float(away.max())
    return float((away / np.maximum(np.abs(other), 1e-3 * np.abs(other).max())).max())


def attack_rows(estimator: str, n_times: int, seed: int) -> Tally:
    """Fits of an estimator: one in three is tightened, reordered, or moved far from zero."""
    tally = Tally(f"problems, {estimator}")
    for k in range(n_times):
        rng = np.random.default_rng([seed, k])
        family = FAMILIES[estimator][k % len(FAMILIES[estimator])]
        given = rows(family, rng)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                said = _judged(family, given, ("tighter", "reordered", "moved")[k % 3], rng)
        except DataError:
            tally.hold("refused")
            continue
        except Exception as error:  # noqa: BLE001 (what is looked for)
            said = f"{type(error).__name__}: {error}"
        if said.startswith("held"):
            tally.hold(said.removeprefix("held, "))
        else:
            tally.fail(f"seed {seed} problem {k} {family}: {said[:100]}")
    return tally


def _judged(family: str, given, how: str, rng: np.random.Generator) -> str:
    X, y, time, weights = given
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = DriftGLM(family=family).fit(X, y, time=time, sample_weight=weights)
    uneven = any("orders of magnitude" in str(each.message) for each in said)
    found = answers(model, family, X, time)
    if not np.isfinite(found).all():
        return "a prediction is not finite"
    fall = np.diff(model.objective_history_)
    if fall.size and fall.min() < -1e-9 * max(1.0, np.abs(model.objective_history_).max()):
        return f"the objective fell by {-fall.min():.2g}"
    if not model.converged_:
        return "held, said not converged"
    most, (X_other, u, at, w) = SEEN, given
    settings = {}
    if how == "tighter":
        settings = {"tol": 1e-7, "max_iter": 5000}
    elif how == "reordered":
        order = rng.permutation(len(time))
        X_other, u, at = X[order], y[order], time[order]
        w = None if weights is None else weights[order]
    else:
        X_other, most = X.copy(), 20 * OFFSET  # by a whole number, so that no digit is lost
        far = np.round(rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(3, 9))
        X_other[:, rng.integers(X.shape[1])] += far
        X_other = sp.csr_array(X_other) if rng.random() < 0.5 else X_other
    other = DriftGLM(family=family, **settings).fit(X_other, u, time=at, sample_weight=w)
    rows_at = X_other if how == "moved" else X
    gap = distance(family, found, answers(other, family, rows_at, time), y)
    if gap <= most:
        return f"held, {how}"
    return WARNED if uneven else f"{how}: predictions differ by {gap:.2g}"


def documents(rng: np.random.Generator):
    """Word counts, effects and time of a small corpus."""
    n, n_words, n_steps, f = (
        int(rng.choice(each)) for each in ([10, 40, 120], [5, 20, 60], [1, 2, 4], [1, 2, 4])
    )
    E = (rng.random((n, f)) < 0.4).astype(float)
    rate = np.exp(E @ (rng.normal(size=(f, n_words)) * 0.7) + rng.normal(size=n_words))
    size = rng.choice([5, 30, 200], n)
    counts = [rng.multinomial(m, r / r.sum()) for m, r in zip(size, rate, strict=True)]
    return sp.csr_array(np.array(counts)), E, np.sort(rng.integers(0, n_steps, n))


def attack_text(n_times: int, seed: int) -> Tally:
    """Small corpora, tightened or reordered."""
    tally = Tally("problems, text")
    for k in range(n_times):
        rng = np.random.default_rng([seed, k])
        X, E, time = documents(rng)
        order = rng.permutation(len(time))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = DriftTextModel().fit(X, E, time=time)
                if not model.converged_:
                    tally.hold("said not converged")
                    continue
                if k % 2:
                    other = DriftTextModel(tol=1e-6, max_iter=20000).fit(X, E, time=time)
                else:
                    other = DriftTextModel().fit(X[order], E[order], time=time[order])
                gap = np.abs(model.log_prob(E) - other.log_prob(E)).max()
        except DataError:
            tally.hold("refused")
            continue
        except Exception as error:  # noqa: BLE001 (what is looked for)
            tally.fail(f"seed {seed} text {k}: {type(error).__name__}: {error}")
            continue
        how = "tighter" if k % 2 else "reordered"
        if gap <= SEEN:
            tally.hold(how)
        else:
            tally.fail(f"seed {seed} text {k} {how}: log probabilities differ by {gap:.2g}")
    return tally
