"""The fits of `equality.py`: small, of fixed seeds, through the public interface only.

Data are drawn here with numpy, so that a change of `driftglm.simulate` shows in its own cases and
nowhere else. Every case returns a dict of arrays: numbers, whole numbers or texts.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from beige_fomc import find_data
from beige_fomc import load as load_documents

import driftglm
from driftglm import DriftClassifier, DriftPoissonRegressor, DriftRegressor, DriftTextModel
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne, RidgeTS
from driftglm.evaluation import RollingOrigin, as_of_paths, compare
from driftglm.priors import Exact, Fixed, Learned, Variational
from driftglm.simulate import simulate_panel, simulate_text

LOCAL, TEXT, DASK = 1e-10, 1e-10, 1e-8
"""Largest differences, relative to the largest entry: of fits in one process, of text models (as
in tests/unit/test_text.py), of fits on workers (as in tests/distributed/test_rows.py)."""
N_SHOWN = 60
"""Rows whose predictions are kept."""
CLI_SECONDS = 300

PRIORS = {
    "learned": "learned",
    "exact": "exact",
    "exact estimated": Exact(rate="estimate"),
    "exact stationary": Exact(boundary="stationary"),
    "variational paper": Variational(bound="paper"),
    "variational elbo": Variational(bound="elbo"),
    "variational estimated": Variational(rate="estimate"),
    "fixed": Fixed(scale=0.3, autocorrelation=0.8),
    "fixed stationary": Fixed(scale=0.3, autocorrelation=0.8, boundary="stationary"),
}
ROW_MODELS = {
    "gaussian": DriftRegressor,
    "binomial": DriftClassifier,
    "multiclass": DriftClassifier,
    "poisson": DriftPoissonRegressor,
}
BASELINES = {
    "ridge-one": RidgeOne,
    "ridge-all": RidgeAll,
    "ridge-ts": RidgeTS,
    "lasso-one": LassoOne,
    "lasso-all": LassoAll,
}


@dataclass(frozen=True)
class Case:
    """A fit: `run` gives its figures, or None where its data are absent."""

    name: str
    run: Callable[[], dict[str, Any] | None]
    tolerance: float = LOCAL


# -------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class World:
    """Rows of steps 0..T-1 and of the step after them."""

    X: Any
    y: np.ndarray
    time: np.ndarray
    exposure: np.ndarray
    X_next: Any

    @property
    def shown(self):
        """Positions of the rows whose predictions are kept: some of every step."""
        return np.linspace(0, self.y.size - 1, N_SHOWN).astype(int)


@cache
def world(family="gaussian", n_features=9, n_steps=5, n_each=120, spread=False):
    """A drifting, a constant, a shrinking and a binary effect; other columns say nothing.

    With `spread`, two factors are behind all columns, and behind y as well.
    """
    rng = np.random.default_rng([n_features, n_steps, n_each])
    n_all = (n_steps + 1) * n_each
    time = np.repeat(np.arange(n_steps + 1), n_each)
    X = rng.normal(size=(n_all, n_features))
    X[:, 3] = X[:, 3] > 0.3
    X[:, 4] = 3.0 + 5.0 * X[:, 4]
    eta = (time - n_steps / 2) * 0.45 * X[:, 0] + 0.9 * X[:, 1] - 0.7 * 0.6**time * X[:, 2]
    eta += 0.8 * X[:, 3] + 0.3 * np.sin(time)
    if spread:
        factors = rng.normal(size=(n_all, 2)) + 0.2 * time[:, None]
        X[:, 5:] += factors @ rng.normal(size=(2, n_features - 5))
        eta = 0.5 * eta + 0.6 * factors[:, 0]
    exposure = rng.uniform(0.5, 2.0, n_all)
    if family == "gaussian":
        y = eta + 0.5 * rng.normal(size=n_all)
    elif family == "binomial":
        y = np.where(rng.random(n_all) < 1 / (1 + np.exp(-1.5 * eta)), "up", "down")
    elif family == "poisson":
        y = rng.poisson(exposure * np.exp(np.clip(0.6 * eta, -4, 4)))
    else:
        scores = np.column_stack([1.5 * eta, -1.5 * eta, X[:, 1]]) + rng.gumbel(size=(n_all, 3))
        y = np.array(["low", "mid", "top"])[np.argmax(scores, axis=1)]
    past = time < n_steps
    return World(X[past], y[past], time[past] + 2000, exposure[past], X[~past])


def sparse_world(rows):
    """The same rows, small entries left out."""
    cut = [np.where(np.abs(X) < 0.7, 0.0, X) for X in (rows.X, rows.X_next)]
    return World(sp.csr_matrix(cut[0]), rows.y, rows.time, rows.exposure, sp.csr_matrix(cut[1]))


def converted(rows, form):
    """The same rows in another form of table."""
    names = [f"column {j}" for j in range(rows.X.shape[1])]
    if form == "sparse":
        return sparse_world(rows)
    if form == "csc":
        some = sparse_world(rows)
        return World(some.X.tocsc(), some.y, some.time, some.exposure, some.X_next.tocsc())
    if form == "float32":
        pair = rows.X.astype(np.float32), rows.X_next.astype(np.float32)
    elif form == "polars":
        import polars as pl

        pair = (pl.DataFrame(X, schema=names) for X in (rows.X, rows.X_next))
    else:
        pair = (pd.DataFrame(X, columns=names) for X in (rows.X, rows.X_next))
    X, X_next = pair
    return World(X, rows.y, rows.time, rows.exposure, X_next)


@dataclass(frozen=True)
class Documents:
    """Documents of steps 0..T-1 and of the step after them."""

    counts: Any
    effects: np.ndarray
    time: np.ndarray
    counts_next: Any
    effects_next: np.ndarray


@cache
def documents(n_words=70, n_effects=3, n_steps=4, n_each=25, n_tokens=200):
    """Two effects that are there or not, the others numbers; a tenth of the words have them."""
    rng = np.random.default_rng([n_words, n_effects, n_steps])
    time = np.repeat(np.arange(n_steps + 1), n_each)
    effects = rng.normal(size=(time.size, n_effects))
    effects[:, :2] = effects[:, :2] > 0
    background = -np.log(np.arange(n_words) + 5.0)
    moved = np.cumsum(0.1 * rng.normal(size=(n_steps + 1, n_words)), axis=0)
    size = rng.normal(size=(n_effects, n_words)) * (rng.random((n_effects, n_words)) < 0.1)
    drift = 1.0 + 0.3 * np.cumsum(rng.normal(size=(n_steps + 1, n_effects, n_words)), axis=0)
    eta = background + moved[time] + np.einsum("ni,niw->nw", effects, (size * drift)[time])
    share = np.exp(eta - eta.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    counts = sp.csr_matrix(rng.multinomial(n_tokens, share).astype(np.float64))
    past, ahead = np.flatnonzero(time < n_steps), np.flatnonzero(time == n_steps)
    years = time[past] + 2000
    return Documents(counts[past], effects[past], years, counts[ahead], effects[ahead])


# ------------------------------------------------------------------------------- figures


def frame_facts(frame, name):
    """Numbers and texts of a DataFrame, column by column.

    Features are sorted by name: the order of those that hardly matter is a matter of rounding.
    That of the included ones is kept as well.
    """
    out = {}
    if "inclusion_probability" in frame and "feature" in frame:
        included = frame[frame["inclusion_probability"] > 0.5]
        out[f"{name} order"] = included["feature"].astype(str).to_numpy(str)
        frame = frame.sort_values([each for each in ("class", "feature") if each in frame])
    for column in frame.columns:
        values = frame[column]
        is_number = pd.api.types.is_numeric_dtype(values)
        found = values.to_numpy(np.float64) if is_number else values.astype(str).to_numpy(str)
        out[f"{name} {column}"] = found
    return out


def attributes(model, names):
    """Fitted attributes that are there; a mode has no standard deviations."""
    found = {name: getattr(model, name, None) for name in names}
    return {name: np.asarray(value) for name, value in found.items() if value is not None}


def how_it_ended(model):
    """Passes and the objective before the first and after the last one."""
    history = np.asarray(model.objective_history_)
    return {
        "n_iter_": np.asarray(model.n_iter_),
        "converged_": np.asarray(model.converged_),
        "objective_history_": history[[0, -1]],
        "timesteps_": np.asarray([str(step) for step in model.timesteps_]),
    }


ROW_ATTRIBUTES = (
    "coef_path_",
    "intercept_path_",
    "coef_",
    "intercept_",
    "inclusion_probability_",
    "autocorrelation_",
    "coef_std_path_",
    "noise_variance_",
    "rate_",
    "dispersion_",
)


def row_facts(model, rows, time=None, given=None):
    """All that a model of rows says: paths, how it ended, predictions, intervals, summary."""
    out = attributes(model, ROW_ATTRIBUTES) | how_it_ended(model)
    is_posterior = "coef_std_path_" in out
    some = rows.shown
    places = {"next": (rows.X_next, {}, {})}
    if time is not False:
        seen = taken(rows.X, some)
        labels = (rows.time if time is None else time)[some]
        places["seen"] = seen, {"time": labels}, {"exposure": rows.exposure[some]}
    for place, (X, when, counted) in places.items():
        more = counted if given and "exposure" in given else {}
        if hasattr(model, "classes_"):
            out[f"predict {place}"] = np.asarray(model.predict(X, **when)).astype(str)
            out[f"predict_proba {place}"] = model.predict_proba(X, **when)
            out[f"decision_function {place}"] = model.decision_function(X, **when)
        else:
            out[f"predict {place}"] = model.predict(X, **when, **more)
        if is_posterior:
            out[f"predict_interval {place}"] = model.predict_interval(X, **when, **more)
    if is_posterior:
        out["coef_interval"] = model.coef_interval(level=0.8)
    return out | frame_facts(model.summary(), "summary")


def fit_rows(family, rows=None, *, time=None, given=None, after=None, **params):
    """Fit and report; `time` False: no time at all; `given` goes to fit."""
    rows = world(family) if rows is None else rows
    given = dict(given or {})
    if family == "poisson" and "exposure" not in given:
        given["exposure"] = rows.exposure
    when = {} if time is False else {"time": rows.time if time is None else time}
    model = ROW_MODELS[family](**params).fit(rows.X, rows.y, **when, **given)
    if after is not None:
        model = after(model)
    return row_facts(model, rows, time, given)


def taken(X, some):
    """Some rows of any form of table."""
    return X.iloc[some] if hasattr(X, "iloc") else X[some]


def reloaded(model):
    """Saved and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.drift"
        model.save(path)
        return driftglm.load(path)


TEXT_ATTRIBUTES = (
    "coef_path_",
    "background_",
    "inclusion_probability_",
    "coef_std_path_",
    "rate_",
    "n_contexts_",
)


def text_facts(model, docs, time=None):
    """All that a text model says."""
    out = attributes(model, TEXT_ATTRIBUTES) | how_it_ended(model)
    out["log_prob next"] = model.log_prob(docs.effects_next)
    out["score next"] = np.asarray(model.score(docs.counts_next, docs.effects_next))
    out["perplexity next"] = np.asarray(model.perplexity(docs.counts_next, docs.effects_next))
    when = {} if time is False else {"time": docs.time if time is None else time}
    out["score seen"] = np.asarray(model.score(docs.counts, docs.effects, **when))
    return out | frame_facts(model.top_words(0), "top words")


def fit_text(docs=None, *, time=None, given=None, after=None, **params):
    """Fit and report."""
    docs = documents() if docs is None else docs
    when = {} if time is False else {"time": docs.time if time is None else time}
    params = {"max_iter": 60} | params
    model = DriftTextModel(**params).fit(docs.counts, docs.effects, **when, **(given or {}))
    return text_facts(model if after is None else after(model), docs, time)


# --------------------------------------------------------------------------- rows, local


def every_prior():
    """All estimators with all priors."""
    for family in ROW_MODELS:
        for name, prior in PRIORS.items():
            # Several classes converge slowly; fewer passes say as much.
            params = {"prior": prior, "max_iter": 150 if family == "multiclass" else 1000}
            yield Case(f"{family}: {name}", lambda f=family, p=params: fit_rows(f, **p))


def every_form():
    """All estimators with all forms of tables."""
    for family in ROW_MODELS:
        for form in ("sparse", "float32", "frame"):
            for prior in ("learned", "exact"):
                params = {"prior": prior, "max_iter": 25}

                def run(family=family, form=form, params=params):
                    return fit_rows(family, converted(world(family), form), **params)

                yield Case(f"{family}: {prior}, {form}", run)
    for form in ("csc", "polars"):
        yield Case(f"gaussian: learned, {form}", lambda f=form: fit_form("gaussian", f))


def fit_form(family, form, **params):
    """A fit to the rows of `world` in another form."""
    return fit_rows(family, converted(world(family), form), **params)


def gapped(years):
    """Years with a hole before the last one."""
    return np.where(years == years.max(), years + 1, years)


def weights(rows):
    """0, 1, 2 or a fraction."""
    return np.random.default_rng(5).integers(0, 5, rows.y.size) / 2.0


def options():
    """One setting at a time."""
    pairs = [("gaussian", "learned"), ("gaussian", "exact"), ("gaussian", "fixed")]
    pairs += [("binomial", "learned"), ("binomial", "exact"), ("poisson", "learned")]
    settings = {
        "always in, static": {"always_in": [2, 5], "static": [1, 6]},
        "no intercept": {"fit_intercept": False},
        "hold": {"extrapolate": "hold"},
        "forecast": {"extrapolate": "forecast"},
    }
    for family, prior in pairs:
        few = {"prior": prior, "max_iter": 200}
        for name, setting in settings.items():
            params = few | setting
            yield Case(f"{family}: {prior}, {name}", lambda f=family, p=params: fit_rows(f, **p))
        given = {"sample_weight": weights(world(family))}
        yield Case(
            f"{family}: {prior}, weights",
            lambda f=family, p=few, g=given: fit_rows(f, given=g, **p),
        )
        years = gapped(world(family).time)
        yield Case(
            f"{family}: {prior}, an empty step",
            lambda f=family, p=few, t=years: fit_rows(f, time=t, **p),
        )
        yield Case(
            f"{family}: {prior}, no time", lambda f=family, p=few: fit_rows(f, time=False, **p)
        )
    yield Case("multiclass: learned, no time", lambda: fit_rows("multiclass", time=False))
    yield Case("multiclass: learned, hold", lambda: fit_rows("multiclass", extrapolate="hold"))
    few = {"max_iter": 25, "always_in": [2], "static": [1], "fit_intercept": False}
    yield Case("multiclass: learned, always in", lambda: fit_rows("multiclass", **few))
    for name, times in kinds_of_time(world().time).items():
        freq = None if name == "categories" else "Q"
        yield Case(
            f"gaussian: learned, {name}",
            lambda t=times, f=freq: fit_rows("gaussian", time=t, freq=f),
        )
    by_name = {"always_in": ["column 2"], "static": "column 1", "prior": "exact"}
    yield Case("gaussian: exact, frame, named", lambda: fit_form("gaussian", "frame", **by_name))


def kinds_of_time(years):
    """Quarters and categories instead of years."""
    periods = pd.PeriodIndex.from_ordinals((years - years.min()).astype(int), freq="Q")
    dates = periods.to_timestamp()
    words = np.array(["first", "second", "third", "fourth", "fifth"])
    labels = pd.Series(pd.Categorical(words[years - years.min()], categories=words, ordered=True))
    return {"periods": periods, "dates": dates, "categories": labels}


def searches():
    """Starts, solvers, noise, class weights."""
    for family in ("gaussian", "binomial"):
        yield Case(f"{family}: learned, 3 starts", lambda f=family: fit_rows(f, n_starts=3))
        yield Case(f"{family}: learned, from ridge", lambda f=family: fit_rows(f, init="ridge-all"))
        for init in ("lasso-one", "lasso-all", "ridge-all", "zero"):
            params = {"prior": "exact", "init": init}
            yield Case(f"{family}: exact, from {init}", lambda f=family, p=params: fit_rows(f, **p))
    for family in ("gaussian", "binomial", "poisson"):
        for prior in ("exact", "variational", "fixed"):
            # Few iterations: line searches double a difference in the last digit every time.
            params = {"prior": prior, "solver": "lbfgs", "max_iter": 12}
            yield Case(f"{family}: {prior}, lbfgs", lambda f=family, p=params: fit_rows(f, **p))
    for prior in ("learned", "exact"):
        for noise in ("paper", 0.3):
            params = {"prior": prior, "noise": noise}
            yield Case(
                f"gaussian: {prior}, noise {noise}", lambda p=params: fit_rows("gaussian", **p)
            )
    for prior in ("learned", "exact"):
        for name, weight in (("balanced", "balanced"), ("given", {"up": 2.0, "down": 0.5})):
            params = {"prior": prior, "class_weight": weight}
            yield Case(
                f"binomial: {prior}, weights {name}", lambda p=params: fit_rows("binomial", **p)
            )
    params = {"class_weight": "balanced", "max_iter": 25}
    yield Case("multiclass: learned, balanced", lambda: fit_rows("multiclass", **params))


def directions():
    """Enough columns for shared directions, and the priors' own settings."""
    for family in ROW_MODELS:
        rows = {"n_features": 45, "n_each": 100, "spread": True}
        few = {"max_iter": 10} if family == "multiclass" else {}

        def run(family=family, rows=rows, few=few, **more):
            return fit_rows(family, world(family, **rows), **few, **more)

        yield Case(f"{family}: learned, 45 columns", run)
    for family in ("gaussian", "poisson"):
        rows = {"n_features": 70, "n_steps": 6, "n_each": 150, "spread": True}

        def run(family=family, rows=rows, **more):
            return fit_rows(family, sparse_world(world(family, **rows)), **more)

        yield Case(f"{family}: learned, 70 columns, sparse", run)
        yield Case(f"{family}: exact, 70 columns, sparse", lambda r=run: r(prior="exact"))
    wide = {"n_features": 70, "n_steps": 6, "n_each": 150, "spread": True}
    priors = {
        "no directions": Learned(n_directions=0),
        "one direction": Learned(n_directions=1),
        "pinned": Learned(boundary="pinned"),
        "a small grid": Learned(
            shares=(0.0, 1.0), correlations=(0.7,), n_scales=5, prior_count=0.0
        ),
    }
    for name, prior in priors.items():
        yield Case(
            f"gaussian: learned, 70 columns, {name}",
            lambda p=prior: fit_rows("gaussian", world("gaussian", **wide), prior=p),
        )
    many = {"n_features": 60, "n_steps": 4, "n_each": 8000, "spread": True}
    yield Case(
        "gaussian: learned, 32,000 rows",
        lambda: fit_rows("gaussian", sparse_world(world("gaussian", **many)), n_jobs=2),
    )


def validated():
    """extrapolate="validate", for as long as there is such a thing."""
    for family in ("gaussian", "binomial", "poisson"):
        for prior in ("learned", "exact"):
            params = {"prior": prior, "extrapolate": "validate"}
            yield Case(f"validate: {family}, {prior}", lambda f=family, p=params: fit_rows(f, **p))
    for prior in ("learned", "exact"):
        params = {"prior": prior, "extrapolate": "validate"}
        yield Case(f"validate: text, {prior}", lambda p=params: fit_text(**p), TEXT)


def updated(family, **params):
    """Fitted to all but the last step, which is added."""
    rows = world(family)
    last = rows.time == rows.time.max()
    more = {"exposure": rows.exposure} if family == "poisson" else {}
    model = ROW_MODELS[family](keep_data=True, **params)
    model.fit(rows.X[~last], rows.y[~last], time=rows.time[~last], **cut(more, ~last))
    model.update(rows.X[last], rows.y[last], time=rows.time[last], **cut(more, last))
    return row_facts(model, rows, None, more)


def cut(given, some):
    """Some rows of what goes to fit."""
    return {name: value[some] for name, value in given.items()}


def lives():
    """Updated, saved and read again."""
    for family in ROW_MODELS:
        params = {"max_iter": 25} if family == "multiclass" else {}
        yield Case(f"update: {family}, learned", lambda f=family, p=params: updated(f, **p))
        yield Case(
            f"save: {family}, learned", lambda f=family, p=params: fit_rows(f, after=reloaded, **p)
        )
    yield Case("update: gaussian, exact", lambda: updated("gaussian", prior="exact"))
    yield Case("save: gaussian, exact", lambda: fit_rows("gaussian", prior="exact", after=reloaded))
    yield Case("save: text, learned", lambda: fit_text(after=reloaded), TEXT)


def paths():
    """Paths of all sizes for the priors alone."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(12, 6)) * np.geomspace(1e-4, 10.0, 12)[:, None] + rng.normal(
        size=(12, 1)
    )


def prior_facts(prior):
    """Densities and expectations of paths."""
    names = ("1/lambda", "alpha/lambda", "alpha")
    found = dict(zip(names, prior.expectations(paths()), strict=True))
    return {"log_density": prior.log_density(paths())} | {
        k: np.asarray(v) for k, v in found.items()
    }


def alone():
    """Priors and simulated data, without a fit."""
    priors = {
        "exact": Exact(),
        "exact rate 5 stationary": Exact(rate=5.0, boundary="stationary"),
        "variational paper": Variational(bound="paper"),
        "variational elbo rate 5": Variational(rate=5.0, bound="elbo"),
    }
    for name, prior in priors.items():
        yield Case(f"prior: {name}", lambda p=prior: prior_facts(p))
    for family in ("gaussian", "binomial", "poisson"):
        given = {"n_features": 7, "n_timesteps": 3, "rows_per_step": 20, "family": family}
        yield Case(
            f"simulate: {family}", lambda g=given: simulated(simulate_panel(**g, random_state=1))
        )
    yield Case("simulate: text", lambda: simulated(simulate_text(n_words=30, random_state=1)))


def simulated(drawn):
    """Every array of what was drawn."""
    values = {name: getattr(drawn, name) for name in vars(drawn)}
    dense = {n: v.toarray() if sp.issparse(v) else np.asarray(v) for n, v in values.items()}
    return {name: value.astype(np.float64) for name, value in dense.items()}


# ---------------------------------------------------------------------------------- text


def texts():
    """Text models: ties, backgrounds, priors."""
    for prior in ("learned", "exact", "exact estimated", "variational paper", "fixed"):
        for tie in ("effect", "path"):
            for background in ("step", "all"):
                params = {"prior": PRIORS[prior], "tie": tie, "background": background}
                name = f"text: {prior}, tie {tie}, background {background}"
                yield Case(name, lambda p=params: fit_text(**p), TEXT)
    given = -np.log(np.arange(70) + 5.0)
    settings = {
        "background given": {"background": given},
        "hold": {"extrapolate": "hold"},
        "no centre": {"center": False, "fit_intercept": False},
        "smoothing 2, 2 threads": {"smoothing": 2.0, "n_jobs": 2},
        "full grid": {"prior": Learned()},
    }
    for name, params in settings.items():
        yield Case(f"text: learned, {name}", lambda p=params: fit_text(**p), TEXT)
    forecast = {"prior": "exact", "extrapolate": "forecast"}
    yield Case("text: exact, forecast", lambda: fit_text(**forecast), TEXT)
    yield Case("text: learned, no time", lambda: fit_text(time=False), TEXT)
    years = gapped(documents().time)
    yield Case("text: learned, an empty step", lambda: fit_text(time=years), TEXT)
    yield Case("text: learned, 400 words", lambda: fit_text(documents(400, 6, 5, 30)), TEXT)
    for prior in ("learned", "exact"):
        yield Case(f"beige_fomc: {prior}", lambda p=prior: beige(p), TEXT)


def beige(prior, n_words=300, first=2002):
    """The Beige Book and FOMC transcripts with few words and years, if they are there."""
    folder = find_data()
    if folder is None:
        return None
    counts, effects, years, words, _ = load_documents(folder, 2005)
    total = np.asarray(counts.sum(axis=0)).ravel()
    chosen = np.argsort(-total, kind="stable")[500 : 500 + n_words]
    past = np.flatnonzero((years >= first) & (years < 2005))
    now = np.flatnonzero(years == 2005)
    effects = effects.loc[:, (effects.iloc[past] != 0).sum() >= 20]
    table = counts[:, chosen]
    docs = Documents(table[past], effects.iloc[past], years[past], table[now], effects.iloc[now])
    return fit_text(docs, prior=prior, vocabulary=words[chosen], max_iter=30)


# ---------------------------------------------------------------------------- comparisons

BASELINE_ATTRIBUTES = (
    "coef_",
    "intercept_",
    "coef_path_",
    "intercept_path_",
    "background_",
    "strength_",
    "autocorrelation_",
    "noise_variance_",
)


def fit_baseline(maker, family, rows=None, *, given=None, after=None, **params):
    """Fit and report; `rows` are documents with family="text"."""
    if family == "text":
        docs = documents(40, 2, 4, 15)
        model = maker(family=family, **params).fit(docs.counts, docs.effects, time=docs.time)
        model = model if after is None else after(model)
        found = {
            "log_prob": model.log_prob(docs.effects_next),
            "score": np.asarray(model.score(docs.counts_next, docs.effects_next)),
        }
        return attributes(model, BASELINE_ATTRIBUTES) | found
    rows = world(family) if rows is None else rows
    model = maker(family=family, **params).fit(rows.X, rows.y, time=rows.time, **(given or {}))
    model = model if after is None else after(model)
    out = attributes(model, BASELINE_ATTRIBUTES)
    out["predict"] = np.asarray(model.predict(rows.X_next))
    if family == "binomial":
        out["predict"] = out["predict"].astype(str)
        out["predict_proba"] = model.predict_proba(rows.X_next)
    return out


def baselines():
    """The five baselines of all families, tuned and with a strength."""
    for name, maker in BASELINES.items():
        for family in ("gaussian", "binomial", "poisson", "text"):
            tolerance = TEXT if family == "text" else LOCAL
            scaled = {} if family == "text" else {"standardize": True}
            given = {"exposure": world(family).exposure} if family == "poisson" else {}
            yield Case(
                f"baseline: {name}, {family}, tuned",
                lambda m=maker, f=family, p=scaled, g=given: fit_baseline(m, f, given=g, **p),
                tolerance,
            )
            fixed = {"strength": 3.0} | ({"autocorrelation": 0.8} if maker is RidgeTS else {})
            if family != "text":
                fixed |= {"standardize": False, "always_in": [2]}
            yield Case(
                f"baseline: {name}, {family}, strength 3",
                lambda m=maker, f=family, p=fixed: fit_baseline(m, f, **p),
                tolerance,
            )
        yield Case(
            f"baseline: {name}, sparse",
            lambda m=maker: fit_baseline(
                m, "gaussian", sparse_world(world()), strength=2.0, standardize=True
            ),
        )
    yield Case(
        "save: ridge-ts",
        lambda: fit_baseline(
            RidgeTS, "gaussian", strength=2.0, autocorrelation=0.5, after=reloaded
        ),
    )


def compared(models, X, y, time, splitter, *, after=None, **params):
    """Tables, tests, ranks and predictions of a comparison."""
    result = compare(models, X, y, time, splitter, verbose=False, **params)
    result = result if after is None else after(result)
    frames = {
        "table": result.table(format="frame"),
        "significance": result.significance(),
        "ranks": result.ranks(),
        "predictions": result.predictions,
    }
    out = {}
    for name, frame in frames.items():
        out |= frame_facts(frame, name)
    return out


def comparisons():
    """`compare`, `RollingOrigin`, `as_of_paths`."""
    rows, sides, docs = world(), world("binomial"), documents(40, 2, 4, 15)
    two = RollingOrigin(dev=2002, test=[2003, 2004])
    models = {
        "lasso": LassoAll(standardize=True),
        "ridge": RidgeOne(strength=2.0, standardize=True),
        "exact": DriftRegressor(prior="exact"),
        "learned": DriftRegressor(),
        "fixed": DriftRegressor(prior="fixed"),
    }
    grids = {"fixed": {"prior": [Fixed(s, 0.9) for s in (0.01, 0.1, 1.0)]}}
    given = {"grids": grids, "sample_weight": weights(rows) + 0.5}
    yield Case(
        "compare: gaussian", lambda: compared(models, rows.X, rows.y, rows.time, two, **given)
    )
    yield Case(
        "save: comparison",
        lambda: compared(
            {"lasso": LassoOne(strength=2.0, standardize=True), "learned": DriftRegressor()},
            rows.X, rows.y, rows.time, RollingOrigin(n_test=1), after=reloaded,
        ),
    )  # fmt: skip
    binary = {
        "ridge": RidgeAll(family="binomial", standardize=True),
        "learned": DriftClassifier(),
    }
    yield Case(
        "compare: binomial, tuned at every origin",
        lambda: compared(
            binary, sides.X, sides.y, sides.time, RollingOrigin(n_test=2), tune="origin"
        ),
    )
    words = {"ridge": RidgeOne(family="text"), "learned": DriftTextModel()}
    yield Case(
        "compare: text",
        lambda: compared(
            words, docs.counts, docs.effects, docs.time, RollingOrigin(dev=2002, test=[2003])
        ),
        TEXT,
    )
    yield Case("compare: folds", lambda: folds(rows))
    for prior in ("learned", "exact"):
        yield Case(f"compare: as of, {prior}", lambda p=prior: as_of(rows, p))


def folds(rows):
    """Rows of every fold, expanding and sliding."""
    out = {}
    for name, one in {"all": {}, "window": {"window": 2}, "gap": {"gap": 1}}.items():
        splitter = RollingOrigin(n_test=2, **one)
        for k, (train, test) in enumerate(splitter.split(rows.X, rows.y, time=rows.time)):
            out |= {f"{name} train {k}": train, f"{name} test {k}": test}
        dev = splitter.dev_split(rows.X, rows.y, time=rows.time)
        out |= {f"{name} dev train": dev[0], f"{name} dev test": dev[1]}
    return out


def as_of(rows, prior):
    """Paths as known at each step."""
    return frame_facts(
        as_of_paths(DriftRegressor(prior=prior), rows.X, rows.y, rows.time).to_frame(), ""
    )


# --------------------------------------------------------------------------- command line


def driftglm_command(*words):
    """Run `driftglm` in a process of its own; its standard output."""
    command = [sys.executable, "-m", "driftglm", *map(str, words), "--quiet"]
    done = subprocess.run(  # noqa: S603
        command, capture_output=True, text=True, check=False, timeout=CLI_SECONDS
    )
    if done.returncode:
        raise RuntimeError(f"driftglm {words[0]} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def demo_csv(folder):
    """The table of weekly volatility as a file."""
    path = Path(folder) / "volatility.csv.gz"
    path.write_bytes(Path(__file__).with_name(path.name).read_bytes())
    return path


DEMO = ("--target", "log_volatility", "--time", "year", "--drop", "week")


def command_line(prior):
    """`driftglm fit` and `driftglm predict` on weekly volatility."""
    with tempfile.TemporaryDirectory() as folder:
        path, model = demo_csv(folder), Path(folder) / "model.drift"
        said = driftglm_command("fit", path, *DEMO, "--prior", prior, "-o", model, "--json")
        facts = json.loads(said)
        out = Path(folder) / "predictions.csv"
        interval = ("--interval", "0.9") if prior == "learned" else ()
        driftglm_command("predict", model, path, *interval, "-o", out)
        found = frame_facts(pd.read_csv(out).iloc[::20], "predictions")
        found |= frame_facts(pd.DataFrame(facts["features"]), "features")
        found |= frame_facts(pd.DataFrame([{"noise": facts["noise_variance"]}]), "fit")
    return found


def demo_table():
    """`driftglm compare` on weekly volatility, two test years."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = demo_csv(folder), Path(folder) / "out"
        names = "ridge-all,ridge-ts,lasso-all,lasso-one,exact,variational,learned"
        steps = ("--dev", "2011", "--test", "2012:2013", "--models", names)
        driftglm_command("compare", path, *DEMO, *steps, "-o", out)
        result = driftglm.load(out / "comparison.drift")
        found = frame_facts(result.table(format="frame"), "table")
        found |= frame_facts(result.significance(), "significance")
        return found | frame_facts(result.predictions.iloc[::10], "predictions")


def text_command():
    """`driftglm fit` with a column of texts, an indicator and weights."""
    docs = documents(40, 2, 4, 15)
    words = np.array([f"word{j:02d}" for j in range(40)])
    counts = docs.counts.toarray().astype(int)
    frame = pd.DataFrame(
        {
            "year": docs.time,
            "label": np.where(counts[:, :5].sum(axis=1) % 2, "odd", "even"),
            "place": np.where(docs.effects[:, 0] > 0, "here", "there"),
            "weight": 1.0 + docs.effects[:, 1],
            "text": [" ".join(np.repeat(words, np.minimum(row, 3))) for row in counts],
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path, model = Path(folder) / "documents.csv", Path(folder) / "model.drift"
        frame.to_csv(path, index=False)
        roles = ("--target", "label", "--time", "year", "--text", "text", "--weights", "weight")
        said = driftglm_command("fit", path, *roles, "-o", model, "--json")
        return frame_facts(pd.DataFrame(json.loads(said)["features"]), "features")


def commands():
    """The command line and a table."""
    for prior in ("learned", "exact"):
        yield Case(f"command line: demo, {prior}", lambda p=prior: command_line(p))
    yield Case("command line: demo, compare", demo_table)
    yield Case("command line: texts", text_command)


# ----------------------------------------------------------------------------------- Dask


class Cluster:
    """Two worker processes, started when a case asks for them."""

    def __init__(self):
        self.open = None

    def start(self):
        """A client is active from now on."""
        if self.open is None:
            from distributed import Client, LocalCluster

            self.open = ExitStack()
            cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
            self.open.enter_context(cluster)
            self.open.enter_context(Client(cluster))

    def stop(self):
        """No client is active."""
        if self.open is not None:
            self.open.close()
            self.open = None


CLUSTER = Cluster()


def on_workers(family, rows, **params):
    """Rows as a dask array, cut in three."""
    import dask.array as da

    CLUSTER.start()
    given = {"exposure": rows.exposure} if family == "poisson" else {}
    X = da.from_array(rows.X, chunks=(rows.y.size // 3 + 7, 4))
    model = ROW_MODELS[family](**params).fit(X, rows.y, time=rows.time, **given)
    return row_facts(model, rows, None, given)


def delayed_parts(rows, **params):
    """Sparse rows as delayed partitions, with weights."""
    import dask

    CLUSTER.start()
    rows = sparse_world(rows)
    ends = (0, 100, 101, rows.y.size)
    parts = [dask.delayed(rows.X[a:b]) for a, b in pairwise(ends)]
    model = DriftRegressor(always_in=[2], static=[1, 6], **params)
    model.fit(parts, rows.y, time=rows.time, sample_weight=weights(rows))
    return row_facts(model, rows)


def from_shards(rows, **params):
    """Rows in a folder written by `driftglm shard`."""
    CLUSTER.start()
    with tempfile.TemporaryDirectory() as folder:
        path, shards = Path(folder) / "rows.csv", Path(folder) / "shards"
        frame = pd.DataFrame(rows.X, columns=[f"c{j}" for j in range(rows.X.shape[1])])
        frame.assign(y=rows.y, year=rows.time).to_csv(path, index=False)
        driftglm_command("shard", path, "-o", shards, "--rows", 150, "--time", "year")
        model = DriftRegressor(**params).fit(os.fspath(shards), y="y", time="year")
    return row_facts(model, rows)


def local_workers(family, **params):
    """`n_workers=2` starts a cluster and ends it."""
    CLUSTER.stop()
    if family == "text":
        return fit_text(given={"n_workers": 2}, max_iter=12, **params)
    return fit_rows(family, given={"n_workers": 2}, **params)


def text_on_workers(**params):
    """Counts as a dask array of sparse blocks."""
    import dask.array as da

    CLUSTER.start()
    docs = documents()
    blocks = da.from_array(docs.counts.toarray(), chunks=(40, 30)).map_blocks(sp.csc_matrix)
    model = DriftTextModel(max_iter=12, **params).fit(blocks, docs.effects, time=docs.time)
    return text_facts(model, docs)


def workers():
    """Fits on Dask workers."""
    for family in ROW_MODELS:
        for prior in ("learned", "exact"):
            few = {"prior": prior, "init": "zero", "max_iter": 15 if family == "gaussian" else 8}
            yield Case(
                f"dask: {family}, {prior}",
                lambda f=family, p=few: on_workers(f, world(f), **p),
                DASK,
            )
    few = {"max_iter": 10}
    yield Case(
        "dask: gaussian, 45 columns",
        lambda: on_workers("gaussian", world("gaussian", 45, n_each=100, spread=True), **few),
        DASK,
    )
    yield Case("dask: gaussian, delayed parts", lambda: delayed_parts(world(), **few), DASK)
    yield Case("dask: gaussian, shards", lambda: from_shards(world(), **few), DASK)
    fixed = {"prior": PRIORS["fixed"], "max_iter": 6}
    yield Case("dask: gaussian, fixed", lambda: on_workers("gaussian", world(), **fixed), DASK)
    for prior in ("learned", "exact", "fixed"):
        yield Case(f"dask: text, {prior}", lambda p=prior: text_on_workers(prior=PRIORS[p]), DASK)
    yield Case("dask: gaussian, n_workers", lambda: local_workers("gaussian", **few), DASK)
    yield Case("dask: text, n_workers", lambda: local_workers("text"), DASK)


def all_cases():
    """Every case, in the order in which they run."""
    groups = (every_prior, every_form, options, searches, directions, validated, lives, alone)
    groups += (texts, baselines, comparisons, commands, workers)
    return [case for group in groups for case in group()]
