"""Every choice of the learned prior that a fit does not make itself, on development steps alone.

    python benchmarks/choices.py [--sets mda10k_vol elec2 worlds] [--write FILE]

The default and one choice changed at a time. Real sets: one step ahead, steps up to and including
the development step, never a test step. Worlds: the four simulated ones, and two of our own, one
with signal spread over correlated columns, one whose columns and intercept wander. A cell is the
mean loss over that of the default, and how much the ELBO rises (nats a fit): below 1 and above 0
speak for the change.
"""

import argparse
import time as clock
import warnings
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from real import markdown
from real_sets import load_set
from result_pages import write_page
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_poisson_deviance, mean_squared_error
from volatility import DEV, SPEC, load_volatility
from worlds import reference_worlds

from driftglm import DriftRegressor
from driftglm.design import directions as design_directions
from driftglm.estimators import base
from driftglm.fitting import fits, posteriors, rows
from driftglm.fitting.views import View, views_of
from driftglm.priors import Learned
from driftglm.tables import fit_encoder
from driftglm.tables.model import read_training

KINDS = ("const", "rw", "mixed", "switch")
OWN_WORLDS = ("spread", "wandering", "apart")
DEV_STEPS = {
    "mda10k_vol": range(2010, 2020),
    "elec2": range(3, 14),
    "bike_hour": range(2, 8),
    "volatility": range(2003, DEV + 1),
    "beige_fomc": range(2001, 2004),
}
LOSSES = {"elec2": log_loss, "bike_hour": mean_poisson_deviance}


# -------------------------------------------------------------------------- variants


def directions(count):
    """Another number of directions of the shared directions."""
    return patch.object(base, "prior_named", lambda _: Learned(n_directions=count))


def columns_for_one(count):
    """Another number of columns a direction must have."""
    return patch.object(design_directions, "COLUMNS_PER_DIRECTION", count)


def rows_for_one(count):
    """Another number of rows a direction must have."""
    return patch.object(design_directions, "ROWS_PER_DIRECTION", count)


def views(*wanted):
    """Other views of an intercept; "overall": columns centred overall, intercepts free at once."""

    def chosen(responses, given_view=None):
        given, raw, order = views_of(responses, given_view)
        found = {view.name: view for view in given}
        if not responses[0].intercept or (len(found) == 1 and wanted != ("overall",)):
            return given, raw, order  # nothing moves, and the views are the same
        made = {
            "residual": View("residual", None, flat_first=True),
            "overall": View("residual", None),
        }
        return [(made | found)[name] for name in wanted], raw, order

    return patch.object(posteriors, "views_of", chosen)


def always_in_at_step_means():
    """Features that are always in centred as the others are."""
    overall = rows.Rows.always_in_means.fget

    def means(self):
        if self.per_step_share is None:
            return overall(self)
        columns = self._always_in_columns()
        design, order = rows.ColumnDesign.from_matrix(columns, self.codes, self.n_timesteps)
        return design.centered(self._exposed[order], self.per_step_share).mean.T

    return patch.object(rows.Rows, "always_in_means", property(means))


def intercept_at(which):
    """Forecast the intercept at each step's own center (0) or at one fixed point (1) alone."""
    both = fits.intercept_forecast

    def ahead(self, n_steps, moved):
        found = []

        def recorded(*arguments):
            found.append(both(*arguments))
            return found[-1]

        with patch.object(fits, "intercept_forecast", recorded):
            means, variances = averaged(self, n_steps, moved)
        if moved is not None and moved[0].any() and len(found) > self.scale.size:
            means[0], variances[0] = found[which]
        return means, variances

    averaged = fits.InterceptFit.averaged_ahead
    return patch.object(fits.InterceptFit, "averaged_ahead", ahead)


VARIANTS = {
    "as it is": lambda: patch.object(posteriors, "RACE", posteriors.RACE),
    "no shared directions": lambda: directions(0),
    "10 directions": lambda: directions(10),
    "25 directions": lambda: directions(25),
    "100 directions": lambda: directions(100),
    "200 directions": lambda: directions(200),
    "a direction for 10 columns": lambda: columns_for_one(10),
    "a direction for 40 columns": lambda: columns_for_one(40),
    "a direction for 20 rows": lambda: rows_for_one(20),
    "per-step view alone": lambda: views("per-step"),
    "residual view alone": lambda: views("residual"),
    "overall view alone": lambda: views("overall"),
    "per-step and overall": lambda: views("per-step", "overall"),
    "per-step, residual and overall": lambda: views("per-step", "residual", "overall"),
    "always-in at their step's means": always_in_at_step_means,
    "intercept at the steps' centers": lambda: intercept_at(0),
    "intercept at one point": lambda: intercept_at(1),
}

TEXT_VARIANTS = {
    "as it is": {},
    "no path of the background": {"fit_intercept": False},
    "effects not centred": {"center": False},
    "background of all steps": {"background": "all"},
    "weights for all effects together": {"tie": "path"},
    "held, not forecast": {"extrapolate": "hold"},
}


# ------------------------------------------------------------------------------- data


def real_steps(name):
    """(model, training rows, test rows) for every development step of a set that is here."""
    if name == "volatility":
        table = load_volatility()
        table = replace(table, frame=table.frame[table.frame["year"] <= DEV].reset_index(drop=True))
        data = read_training(table, SPEC, "gaussian", fit_encoder(table, SPEC).matrix(table))
        X, y, time, model = data.X, data.y, np.asarray(data.time), DriftRegressor()
    else:
        found = load_set(name)
        if found is None:
            return
        X, y, time, model = found.X, found.y, found.time, found.models["learned"]
    for step in DEV_STEPS[name]:
        past, now = np.flatnonzero(time < step), np.flatnonzero(time == step)
        of = getattr(y, "iloc", y)  # the effects of a text are a frame
        yield model, (X[past], of[past], time[past]), (X[now], of[now])


def world_steps(kind):
    """The same of a simulated world."""
    for seed in range(10 if kind in OWN_WORLDS else 3):
        if kind in OWN_WORLDS:
            yield DriftRegressor(), *own_world(kind, seed)
        elif (worlds := reference_worlds()) is not None:
            X, y, time, X_next, y_next, _, _ = worlds.scenario(kind, seed)
            yield DriftRegressor(), (X, y, time), (X_next, y_next)


def own_world(kind, seed, n_steps=8, n_rows=150):
    """Signal along hidden factors of 400 columns; or 30 columns and an intercept that wander.

    Effects act on what a column is (wandering), or on its distance from its step's mean (apart).
    """
    rng = np.random.default_rng([seed, 9])
    time = np.repeat(np.arange(n_steps + 1), n_rows)
    if kind == "spread":
        factors = rng.normal(size=(time.size, 15))
        X = factors @ rng.normal(size=(15, 400)) + 3.0 * rng.normal(size=(time.size, 400))
        eta = 0.2 * factors @ rng.normal(size=15) + X[:, :3] @ np.array([0.1, -0.1, 0.05])
    else:
        wander = np.cumsum(rng.normal(size=(n_steps + 1, 30)), axis=0)
        within = rng.normal(size=(time.size, 30))
        X = wander[time] + within
        acts = X if kind == "wandering" else within
        intercept = np.cumsum(0.5 * rng.normal(size=n_steps + 1))
        eta = acts[:, :6] @ (0.3 * rng.normal(size=6)) + intercept[time]
    y = eta + 0.5 * rng.normal(size=time.size)
    past = time < n_steps
    return (X[past], y[past], time[past]), (X[~past], y[~past])


# ------------------------------------------------------------------------------- run


def measure(steps, loss):
    """Mean loss and ELBO of every variant over some steps."""
    found = {name: [] for name in VARIANTS}
    for model, (X, y, time), (X_next, y_next) in steps:
        for name, change in VARIANTS.items():
            with ExitStack() as stack:
                stack.enter_context(change())
                stack.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                fitted_model = fit(clone(model), X, y, time)
                ahead = getattr(fitted_model, "predict_proba", fitted_model.predict)(X_next)
                last = getattr(fitted_model, "steps", [(None, fitted_model)])[-1][1]
                found[name].append((loss(y_next, ahead), last.objective_history_[-1]))
    return {name: np.mean(pairs, axis=0) for name, pairs in found.items() if pairs}


def measure_text(steps):
    """The same for text: loss is the negative log probability of a token."""
    found = {name: [] for name in TEXT_VARIANTS}
    for model, (X, y, time), (X_next, y_next) in steps:
        for name, change in TEXT_VARIANTS.items():
            changed = clone(model)
            changed.steps[-1][1].set_params(n_jobs=2, **change)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit(changed, X, y, time)
                loss = -changed.score(X_next, y_next)
            found[name].append((loss, changed.steps[-1][1].objective_history_[-1]))
            print(name, found[name][-1], flush=True)
    return {name: np.mean(pairs, axis=0) for name, pairs in found.items() if pairs}


def fit(model, X, y, time):
    """A pipeline's last step is what needs the time."""
    steps = getattr(model, "steps", None)
    return (
        model.fit(X, y, **{f"{steps[-1][0]}__time": time}) if steps else model.fit(X, y, time=time)
    )


def main():
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*DEV_STEPS, "worlds"]
    parser.add_argument("--sets", nargs="+", choices=(*names, *OWN_WORLDS), default=names)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS)
    parser.add_argument("--write", type=Path)
    arguments = parser.parse_args()
    for name in list(VARIANTS):
        if arguments.variants and name not in ("as it is", *arguments.variants):
            del VARIANTS[name]
    began, table = clock.perf_counter(), {}
    for name in arguments.sets:
        kinds = (*KINDS, *OWN_WORLDS) if name == "worlds" else (name,)
        for kind in kinds:
            steps = real_steps(kind) if kind in DEV_STEPS else world_steps(kind)
            text = kind == "beige_fomc"
            loss = LOSSES.get(kind, mean_squared_error)
            found = measure_text(steps) if text else measure(steps, loss)
            if found:
                loss, elbo = found["as it is"]
                table[kind] = {
                    each: f"{value[0] / loss:.3f} ({value[1] - elbo:+.1f})"
                    for each, value in found.items()
                } | {"as it is": f"{loss:.4f}"}
                print(kind, table[kind], f"{clock.perf_counter() - began:.0f} s", flush=True)
    rows_of = {"text": table.pop("beige_fomc", {})}, table
    pages = [pd.DataFrame(part).rename_axis("variant") for part in rows_of if any(part.values())]
    text = "\n\n".join(markdown(page) for page in pages) + "\n"
    print(text)
    if arguments.write:
        write_page(arguments.write, text)


if __name__ == "__main__":
    main()
