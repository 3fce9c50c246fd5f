"""Seconds and losses of tuned ridge-all and lasso-all beside the learned prior's, at one origin.

    python benchmarks/baseline_speed.py [--sets un_votes] [--json FILE] [--write PAGE]

Every model is fitted to all steps before one and predicts that one; strengths are chosen on the
last training step. Seconds are those of the processor in this process, compiling not counted: the
machine may do other things meanwhile. `before` are the figures of the same script at the commit
that last tuned with scikit-learn's `Lasso` and one factorisation or conjugate gradients a strength.
"""

import argparse
import json
import time as clock
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from distributions import tenk_rows
from history import Case, beijing, losses, mean_of, un_votes
from sklearn.base import clone

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll, RidgeAll
from driftglm.experiments.words import WordSelector

N_ROWS, N_COLUMNS, N_STEPS = 20_000, 2_600, 10
BEFORE = Path(__file__).with_name("baseline_speed_before.json")


def tenk():
    """Annual reports 1997-2005, words ranked at the origin."""
    found = tenk_rows()
    if found is None:
        return None
    selector = WordSelector(first=101, last=10_101, n_extra=1)
    always = {"always_in": [-1]}
    return Case(*found, (2005,), DriftRegressor(**always), always, selector)


def panel(seed=0):
    """Twenty thousand rows of 2,600 words, as rare as words are; 60 matter, half of them drift."""
    rng = np.random.default_rng(seed)
    n_rows = N_ROWS + N_ROWS // N_STEPS
    share = np.minimum(0.5, 20.0 / (np.arange(N_COLUMNS) + 20.0) + 0.002)
    columns = [np.flatnonzero(rng.random(n_rows) < each) for each in share]
    starts = np.cumsum([0] + [each.size for each in columns]).astype(np.int32)
    parts = np.ones(starts[-1]), np.concatenate(columns).astype(np.int32), starts
    X = sp.csc_array(parts, shape=(n_rows, N_COLUMNS)).tocsr()
    time = np.repeat(np.arange(N_STEPS + 1), n_rows // (N_STEPS + 1))
    coef = np.zeros((N_STEPS + 1, N_COLUMNS))
    active = rng.choice(N_COLUMNS, 60, replace=False)
    coef[:, active] = rng.normal(scale=0.5, size=60)
    coef[:, active[:30]] += np.cumsum(rng.normal(scale=0.15, size=(N_STEPS + 1, 30)), axis=0)
    # Many small effects, which a ridge penalty finds and a lasso does not.
    coef += rng.normal(scale=0.02, size=N_COLUMNS)
    eta = np.empty(n_rows)
    for step in range(N_STEPS + 1):
        eta[time == step] = X[np.flatnonzero(time == step)] @ coef[step]
    y = eta + rng.normal(size=n_rows)
    return Case(X, y, time, (N_STEPS,), DriftRegressor(), {})


CASES = {
    "tenk_1996_2005": tenk,
    "beijing_pm25": beijing,
    "un_votes": lambda: un_votes(20),
    "sparse panel": panel,
}


def measure(case):
    """Seconds and losses of the three models at the last test step."""
    step = case.steps[-1]
    past, now = np.flatnonzero(case.time < step), np.flatnonzero(case.time == step)
    X, X_now, y, y_now = case.X[past], case.X[now], case.y[past], case.y[now]
    if case.selector is not None:
        chosen = clone(case.selector).fit(X)
        X, X_now = chosen.transform(X), chosen.transform(X_now)
    models = {
        "ridge-all": RidgeAll(standardize=True, **case.baseline),
        "lasso-all": LassoAll(standardize=True, **case.baseline),
        "forecast": clone(case.model).set_params(extrapolate="forecast"),
    }
    out = {"rows": len(past), "columns": X.shape[1]}
    few = np.arange(0, len(past), max(len(past) // 300, 1))
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(model).fit(X[few], y[few], time=case.time[past][few])  # compiles
            began = clock.process_time()
            model.fit(X, y, time=case.time[past])
            seconds = clock.process_time() - began
            family = getattr(model, "family_name", getattr(model, "family", "gaussian"))
            loss = losses(family, y_now, mean_of(model, X_now, {}))
        out[name] = {"seconds": round(seconds, 2), "loss": round(float(loss), 6)}
        print(f"  {name}: {seconds:.1f} s, loss {loss:.5f}", flush=True)
    return out


def page(found, before):
    """The table, in Markdown."""
    lines = [
        "| set | rows x columns | model | seconds before | now | loss before | now |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, case in found.items():
        size = f"{case['rows']:,} x {case['columns']:,}"
        for model in ("ridge-all", "lasso-all", "forecast"):
            old, new = before.get(name, {}).get(model, {}), case[model]
            old_s, old_loss = old.get("seconds", "-"), old.get("loss", "-")
            now = f"{new['seconds']:.1f} | {old_loss} | {new['loss']}"
            lines.append(f"| {name} | {size} | {model} | {old_s} | {now} |")
    return "\n".join(lines)


def main():
    """Measure the sets asked for and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=list(CASES))
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args()
    before = json.loads(BEFORE.read_text()) if BEFORE.exists() else {}
    found = {}
    for name in options.sets:
        case = CASES[name]()
        if case is None:
            continue
        print(name, flush=True)
        found[name] = measure(case)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")
    print(page(found, before))


if __name__ == "__main__":
    main()
