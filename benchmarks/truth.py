"""What is said about features, where the truth is known or a recoding or a shuffle can disprove it.

    python benchmarks/truth.py [--parts constant walks ...] [--write docs/results/truth.md]

Every fit is that of the defaults but for `extrapolate="forecast"`: what is said about features is
that of the drifting fit, with or without others to average it with. A part that is run replaces
its section of the page.
"""

import argparse
import re
import sys
import time as clock
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from driftglm import DriftRegressor

HOW = {"extrapolate": "forecast"}
MOVING = ("drifting", "sign-flip")
N_STEPS = 8


# ------------------------------------------------------------------------------------- simulations


def panel(seed, n_rows, n_features, *, walk=0.0, noise=1.0, effect=0.5, correlation=0.0):
    """X, y, time and paths (T, p): the first half active, constant or a random walk."""
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(N_STEPS), n_rows)
    common = np.sqrt(correlation) * rng.normal(size=(time.size, 1))
    X = common + np.sqrt(1.0 - correlation) * rng.normal(size=(time.size, n_features))
    paths = np.zeros((N_STEPS, n_features))
    active = n_features // 2
    steps = walk * rng.normal(size=(N_STEPS, active))
    steps[0] = effect * rng.normal(size=active)
    paths[:, :active] = steps.cumsum(axis=0)
    y = (X * paths[time]).sum(axis=1) + noise * rng.normal(size=time.size)
    return X, y, time, paths


def kinds_of(X, y, time, **params):
    """Kind of every feature, in the order of the columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DriftRegressor(**HOW, **params).fit(X, y, time=time)
    names = model._names(None)  # noqa: SLF001
    return model.summary().set_index("feature")["kind"].reindex(names).to_numpy(), model


def shares(seed, n_rows, n_features, **how):
    """Share of active features that are called drifting, undecided, static; of zeros not zero."""
    X, y, time, paths = panel(seed, n_rows, n_features, **how)
    kind, _ = kinds_of(X, y, time)
    active = paths.any(axis=0)
    found = [np.isin(kind[active], MOVING), kind[active] == "undecided", kind[active] == "static"]
    return [each.mean() for each in found] + [(kind[~active] != "zero").mean()]


COLUMNS = ["drifting", "undecided", "static", "zeros that are not zero"]


def constant(jobs):
    """Constant effects: sd .5, noise sd 1, 8 steps, half of the features active; 20 panels each."""
    cells = list(product((50, 200, 500), (16, 80)))
    tasks = [(seed, *cell) for cell in cells for seed in range(20)]
    found = np.array(Parallel(jobs)(delayed(shares)(*task) for task in tasks))
    table = pd.DataFrame(found.reshape(len(cells), 20, -1).mean(axis=1), columns=COLUMNS)
    table.index = [f"{rows} rows a step, {p} features" for rows, p in cells]
    worst = table["drifting"].max()
    return table, f"Called drifting: at most {worst:.3f} of active features in a cell (limit .05)."


def walks(jobs):
    """Random walks: innovation sd .25, noise sd .5, 200 rows a step, half active; 20 panels."""
    cells = (16, 80)
    how = {"walk": 0.25, "noise": 0.5}
    tasks = [(seed, 200, p) for p in cells for seed in range(20)]
    found = np.array(Parallel(jobs)(delayed(shares)(*task, **how) for task in tasks))
    table = pd.DataFrame(found.reshape(len(cells), 20, -1).mean(axis=1), columns=COLUMNS)
    table.index = [f"{p} features" for p in cells]
    least = table["drifting"].min()
    return table, f"Called drifting: at least {least:.3f} of active features (limit .80)."


def covered(seed, correlation, walk):
    """Coverage of strong and of all active coefficients, and the error of the paths."""
    X, y, time, paths = panel(seed, 200, 20, walk=walk, correlation=correlation)
    _, model = kinds_of(X, y, time)
    low, high = model.coef_interval(0.9)
    active = paths != 0
    # The standard error of a coefficient whose step is fitted alone, the others known to be in.
    error = np.sqrt(1.0 / (200 * (1.0 - correlation)))
    strong = np.abs(paths) >= 5.0 * error
    hit = (low <= paths) & (paths <= high)
    mse = np.mean((model.coef_path_ - paths) ** 2)
    return hit[strong].sum(), strong.sum(), hit[active].sum(), active.sum(), mse


def coverage(jobs):
    """90 % intervals of coefficients, 20 features, 8 steps of 200 rows, noise sd 1; 20 panels."""
    cells = list(product((0.0, 0.5, 0.8), (0.0, 0.25)))
    tasks = [(seed, *cell) for cell in cells for seed in range(20)]
    found = np.array(Parallel(jobs)(delayed(covered)(*task) for task in tasks))
    sums = found.reshape(len(cells), 20, -1).sum(axis=1)
    table = pd.DataFrame(
        {
            "strong ones": sums[:, 0] / sums[:, 1],
            "how many": sums[:, 1].astype(int),
            "all active": sums[:, 2] / sums[:, 3],
            "RMSE of paths": np.sqrt(sums[:, 4] / 20),
        }
    )
    names = {0.0: "constant", 0.25: "random walks"}
    table.index = [f"correlation {r:g}, {names[walk]}" for r, walk in cells]
    return table, f"Least coverage of strong ones: {table['strong ones'].min():.3f} (limit .85)."


PARTS = {"constant": constant, "walks": walks, "coverage": coverage}


def shown(table):
    """A frame as Markdown."""
    text = table.copy()
    for name in text.columns:
        if text[name].dtype.kind == "f":
            text[name] = [("" if np.isnan(v) else f"{v:.3f}") for v in text[name]]
    head = ["", *map(str, text.columns)]
    rows = [[str(i), *map(str, row)] for i, row in zip(text.index, text.to_numpy(), strict=True)]
    lines = ["| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines)


def section(name, found, seconds):
    """A part of the page."""
    table, said = found
    about = PARTS[name].__doc__.strip()
    return f"## {name}\n\n{about}\n\n{shown(table)}\n\n{said} ({seconds:.0f} s)\n"


def write(path, name, text):
    """Put a section in its place; the others stay."""
    head = "# What is said about features\n\n"
    head += "    python benchmarks/truth.py --write docs/results/truth.md\n\n"
    head += __doc__.split("\n\n")[2].replace("\n", " ") + "\n"
    old = path.read_text() if path.exists() else ""
    parts = dict(re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", old, flags=re.DOTALL | re.MULTILINE))
    parts = {key: f"## {key}\n{body.rstrip()}\n" for key, body in parts.items()} | {name: text}
    path.write_text("\n".join([head, *(parts[key] for key in PARTS if key in parts)]))


def main():
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, default=None)
    args = parser.parse_args()
    for name in args.parts:
        start = clock.perf_counter()
        with threadpool_limits(1):
            found = PARTS[name](args.jobs)
        if found is None:
            print(f"{name}: its data are not here; skipped", file=sys.stderr)
            continue
        text = section(name, found, clock.perf_counter() - start)
        print(text, flush=True)
        if args.write:
            write(args.write, name, text)


if __name__ == "__main__":
    main()
