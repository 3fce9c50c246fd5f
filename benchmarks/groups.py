"""Rows that belong together: intervals of panels, days of a month, firms, and what groups cost.

    python benchmarks/groups.py [--parts panels beijing ...] [--write docs/results/groups.md]

Panels: 150 groups of 6 steps, an effect a group, noise of the same size; 90 % intervals of a
covariate of rows and of one that is constant within groups, with `groups=` and without, and where
`static=` says that coefficients are constant, which they are. Beside them what the exact posterior
of the covariate of rows holds, all but its law being known (`exact_paths.py`), read by quantiles,
as fits are, and by mean and deviation; and least squares of a constant, all else known: as far as
it is from 90 %, these panels are from the usual. Paths: what that exact posterior holds of 8,000
simulated paths of each kind under the library's prior, which counts for two constant features and
one that drifts, and under two others. Strong: the constant estimate is five
standard errors or more from zero. Drawn from the prior, paths are held as often as is said;
constant ones among them more often, drifting ones less often, whatever the prior, as nobody knows
which is which. Counts: Poisson panels with effects of groups of deviation .5, a covariate of groups
and one of rows. Beijing: hourly pollution by month, days as groups and a cycle of twelve months;
every even month from 24 on. Days: of how many of its 34 effects least squares and a wild bootstrap
by days say, at five in a hundred, that they differ between months, and between the same months of
years (`clustered.py`), where days or blocks of days are independent; in brackets how many of them
at a false discovery rate of 5 %. Worlds: 48 months of 12 days with an effect each and 4 rows,
coefficients known; what is said of them, as shares of 30 worlds. Reports: firms as groups, 2003-05.
Scale: 24,000 rows, 10,000 words, 8,000 groups; the shorter of three fits each, by the clock and of
the processor, which other work on the machine disturbs less.
"""

import argparse
import os
import time as clock
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from clustered import p_values
from distributions import beijing_pm25, tenk_1996_2005
from exact_paths import exact_panel, simulated
from joblib import Parallel, delayed
from mda10k import markdown
from real_sets import data_folder
from result_pages import write_page
from threadpoolctl import threadpool_limits

from driftglm import DriftGLM, DriftRegressor
from driftglm.experiments.words import WordSelector

LEVEL, CYCLE, N_DRAWS, N_PATHS = 0.9, 12, 199, 8000
MOVING = ["drifting", "sign-flip"]


def panel(seed, n_groups=150, n_steps=6):
    """Whether intervals hold the truth: shares of steps, by covariate and model."""
    rng = np.random.default_rng(seed)
    group, step = np.repeat(np.arange(n_groups), n_steps), np.tile(np.arange(n_steps), n_groups)
    between, within = rng.normal(size=n_groups)[group], rng.normal(size=group.size)
    X = np.column_stack([between, within, rng.normal(size=(group.size, 3))])
    y = 0.7 * between + 0.5 * within + rng.normal(size=n_groups)[group]
    y += rng.normal(size=group.size)
    out = {}
    models = {
        "groups": ({}, {"groups": group}),
        "groups and known to be constant": ({"static": [*range(5)]}, {"groups": group}),
        "none": ({}, {}),
    }
    for name, (params, given) in models.items():
        model = DriftRegressor(extrapolate="forecast", **params).fit(X, y, time=step, **given)
        low, high = model.coef_interval(LEVEL)
        held = [(low[:, j] <= truth) & (truth <= high[:, j]) for j, truth in enumerate((0.7, 0.5))]
        out |= {f"between, {name}": held[0].mean(), f"within, {name}": held[1].mean()}
    exact = exact_panel(X, y, step, group, 0.5)
    names = {
        "deviations": "exact posterior by deviations",
        "quantiles": "exact posterior by quantiles",
        "constant": "least squares of a constant",
    }
    return out | {f"within, {name}": exact[each] for each, name in names.items()}


def panels(jobs, first=50_000, count=1600):
    """Coverage over panels; of these seeds none was looked at before."""
    found = pd.DataFrame(Parallel(jobs)(delayed(panel)(first + s) for s in range(count)))
    table = pd.DataFrame({"coverage": found.mean(), "standard error": found.sem()})
    table.index.name = f"{count} panels"
    return table.map(lambda v: f"{v:.3f}")


def paths(jobs):
    """What an exact posterior holds, by prior and by what is true."""
    del jobs
    table = simulated(N_PATHS)
    table.index = pd.Index(table.pop("prior"), name="exact posterior under")
    return table.map(lambda v: v if isinstance(v, str) else f"{v:.3f}")


def counts_panel(seed, n_groups, n_rows, mean, n_steps=6):
    """The same of counts: what intervals hold, and coefficients."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), n_steps * n_rows)
    step = np.tile(np.repeat(np.arange(n_steps), n_rows), n_groups)
    X = np.column_stack([rng.normal(size=n_groups)[group], rng.normal(size=group.size)])
    eta = np.log(mean) + X @ [0.4, 0.3] + 0.5 * rng.normal(size=n_groups)[group]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DriftGLM(family="poisson", extrapolate="forecast")
        model.fit(X, rng.poisson(np.exp(eta)), time=step, groups=group)
    low, high = model.coef_interval(LEVEL)
    held = ((low <= [0.4, 0.3]) & (high >= [0.4, 0.3])).mean(axis=0)
    error = (model.coef_path_ - [0.4, 0.3]).mean(axis=0) ** 2
    names = "between, coverage", "within, coverage", "between, error", "within, error"
    return dict(zip(names, [*held, *error], strict=True))


def counts(jobs, first=60_000, n_panels=100):
    """Coverage and root mean square error by the size of counts."""
    out = {}
    for design in ((60, 3, 1.0), (60, 3, 20.0), (30, 8, 20.0)):
        tasks = (delayed(counts_panel)(first + s, *design) for s in range(n_panels))
        found = pd.DataFrame(Parallel(jobs)(tasks)).mean()
        found[["between, error", "within, error"]] **= 0.5
        out["{} groups, {} rows a step, mean {:g}".format(*design)] = found
    table = pd.DataFrame(out).T
    table.index.name = f"counts, {n_panels} panels"
    return table.map(lambda v: f"{v:.3f}")


def month(X, y, time, day, step):
    """Squared error, log score, coverage and drifting effects of one origin."""
    past, now, out = time < step, time == step, {}
    options = {
        "neither": ({}, False),
        "days": ({}, True),
        "cycle": ({"seasonality": 12}, False),
        "both": ({"seasonality": 12}, True),
    }
    for name, (params, grouped) in options.items():
        given = {"groups": day[past]} if grouped else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DriftRegressor(**params).fit(X[past], y[past], time=time[past], **given)
        low, high = model.predict_interval(X[now], level=LEVEL).T
        kinds = model.summary()["kind"]
        out[name] = {
            "squared error": np.mean((model.predict(X[now]) - y[now]) ** 2),
            "log score": -model.log_score(X[now], y[now]),
            "coverage": np.mean((low <= y[now]) & (y[now] <= high)),
            "drifting effects": kinds.isin(MOVING).sum(),
            "seasonal effects": (kinds == "seasonal").sum(),
        }
    return pd.DataFrame(out).T


def hours():
    """X, y, month and day of the hours of Beijing; None where they are not here."""
    found, folder = beijing_pm25(False), data_folder("beijing_pm25")
    if found is None:
        return None
    table = pd.read_csv(folder / "pm25.csv.gz").dropna(subset=["pm2.5"])
    day = (table["month"] * 100 + table["day"] + 10_000 * table["year"]).to_numpy()
    return found.X, found.y, found.time, day


def beijing(jobs):
    """Days as groups, drawn anew in every month, and seasons."""
    rows = hours()
    if rows is None:
        return None
    steps = range(24, 60, 2)
    parts = Parallel(jobs)(delayed(month)(*rows, step) for step in steps)
    table = sum(parts) / len(parts)
    table.index.name = "mean of 18 months"
    return table.map(lambda v: f"{v:.4g}")


def days(jobs):
    """Effects that do differ, by a test that knows nothing of the library."""
    rows = hours()
    if rows is None:
        return None
    cycles = {"months": 1, "the same months of years": CYCLE}
    lengths = (1, 3, 5)

    def differ(n_months, cycle, length):
        X, y, step, day = (each[rows[2] < n_months] for each in rows)
        block = 100 * step + (day % 100 - 1) // length
        p = np.sort(p_values(np.asarray(X), y, step, block, cycle, n_draws=N_DRAWS))
        judged = p[np.isfinite(p)]
        below = np.flatnonzero(judged <= 0.05 * np.arange(1, judged.size + 1) / judged.size)
        return f"{(judged <= 0.05).sum()} ({below.max(initial=-1) + 1})"

    counts = (24, 36)
    tasks = [(n, cycle, k) for cycle in cycles.values() for k in lengths for n in counts]
    found = Parallel(jobs)(delayed(differ)(*task) for task in tasks)
    names = [f"{name}, blocks of {k} days" for name in cycles for k in lengths]
    table = pd.DataFrame(np.reshape(found, (len(names), -1)), names, counts)
    table.index.name = "of 34 effects, how many differ between; first months"
    return table.rename(columns=str)


def world(seed, n_months=48, n_days=12, n_hours=4):
    """What is said of coefficients that are known, with the days of a month as groups."""
    rng = np.random.default_rng(seed)
    step = np.repeat(np.arange(n_months), n_days * n_hours)
    day = np.repeat(np.arange(n_months * n_days), n_hours)
    season = rng.normal(size=CYCLE)
    season = 0.5 * ((season - season.mean()) / season.std())[np.arange(n_months) % CYCLE]
    trend = np.linspace(-0.5, 0.5, n_months)
    walk = np.cumsum(0.15 * rng.normal(size=n_months))
    paths = {
        "zero": 0 * trend,
        "constant": 0.5 + 0 * trend,
        "season": season,
        "season and constant": 0.5 + season,
        "season and trend": season + trend,
        "season and faint trend": season + 0.3 * trend,
        "season and walk": season + walk,
        "trend": 0.5 + trend,
        "walk": walk,
    }
    X = rng.normal(size=(step.size, len(paths)))
    y = (X * np.column_stack([*paths.values()])[step]).sum(axis=1)
    y += rng.normal(size=n_months * n_days)[day] + rng.normal(size=step.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DriftRegressor(seasonality=CYCLE).fit(X, y, time=step, groups=day)
    kind = model.summary(list(paths)).set_index("feature")["kind"]
    return kind.replace("sign-flip", "drifting")


def worlds(jobs, first=40_000, count=30):
    """Shares of worlds by kind."""
    found = Parallel(jobs)(delayed(world)(first + s) for s in range(count))
    table = pd.concat([pd.get_dummies(each) for each in found]).astype(float).fillna(0.0)
    table = table.groupby(level=0, sort=False).mean()
    table.index.name = f"what is said in {count} worlds of a path that is"
    return table.loc[found[0].index.sort_values()].map(lambda v: f"{v:.2f}")


def year(X, y, time, firm, step):
    """Squared error and log score of one year of reports."""
    past, now = time < step, time == step
    chosen = WordSelector(first=101, last=10_101, n_extra=1).fit(X[past])
    X_past, X_now = chosen.transform(X[past]), chosen.transform(X[now])
    out = {}
    for name in ("without", "firms"):
        given, known = ({}, {}) if name == "without" else ({"groups": firm[past]},) * 2
        known = {"groups": firm[now]} if known else {}
        model = DriftRegressor(always_in=[-1]).fit(X_past, y[past], time=time[past], **given)
        error = np.mean((model.predict(X_now, **known) - y[now]) ** 2)
        out[name] = {"squared error": error, "log score": -model.log_score(X_now, y[now], **known)}
    return pd.DataFrame(out).T


def tenk(jobs):
    """Firms as groups."""
    found, folder = tenk_1996_2005(False), data_folder("tenk_1996_2005")
    if found is None:
        return None
    reports = pd.read_csv(folder / "docs.csv.gz")
    firm = reports.loc[reports["past"].notna(), "cusip"].astype(str).to_numpy()
    rows = found.X, found.y, found.time, firm
    parts = Parallel(jobs)(delayed(year)(*rows, step) for step in (2003, 2004, 2005))
    table = sum(parts) / len(parts)
    table.index.name = "mean of 2003-05"
    return table.map(lambda v: f"{v:.4g}")


def scale(jobs):
    """Seconds at the paper's scale with and without groups, in turn, the best of three each."""
    del jobs
    rng, shape, n_steps = np.random.default_rng(0), (24_000, 10_000), 9
    often = np.arange(1, shape[1] + 1) ** -0.6
    often = np.minimum(often * 1250 / often.sum(), 0.9)
    columns = [rng.choice(shape[0], rng.binomial(shape[0], q), replace=False) for q in often]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in columns])])
    X = sp.csc_matrix((np.ones(starts[-1]), np.concatenate(columns), starts), shape=shape).tocsr()
    step = np.sort(rng.integers(0, n_steps, shape[0]))
    group = rng.integers(0, 8000, shape[0])
    active = rng.choice(shape[1], 60, replace=False)
    y = X[:, active] @ rng.normal(0, 0.3, 60) + 0.3 * rng.normal(size=8000)[group]
    y += 0.35 * rng.normal(size=shape[0])
    best = {name: np.full(2, np.inf) for name in ("without", "8,000 groups")}
    for _ in range(3):
        for name, given in {"without": {}, "8,000 groups": {"groups": group}}.items():
            began = np.array([clock.perf_counter(), clock.process_time()])
            DriftRegressor(extrapolate="forecast").fit(X, y, time=step, **given)
            took = np.array([clock.perf_counter(), clock.process_time()]) - began
            best[name] = np.minimum(best[name], took)
    table = pd.DataFrame(best, index=["seconds", "CPU seconds"]).T
    for name in ("seconds", "CPU seconds"):
        table[f"ratio of {name}"] = table[name] / table.loc["without", name]
    table.index.name = "paper scale"
    return table.map(lambda v: f"{v:.2f}")


PARTS = {
    "panels": panels,
    "paths": paths,
    "counts": counts,
    "beijing": beijing,
    "days": days,
    "worlds": worlds,
    "tenk": tenk,
    "scale": scale,
}


def main():
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=list(PARTS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, default=None)
    args = parser.parse_args()
    lines = ["# Rows that belong together", ""]
    lines += ["    python benchmarks/groups.py --write docs/results/groups.md", ""]
    lines += [__doc__.split("\n\n")[2].replace("\n", " ").strip(), ""]
    minutes = 0.0
    for name in args.parts:
        began = clock.perf_counter()
        with threadpool_limits(1):
            table = PARTS[name](args.jobs)
        minutes += (clock.perf_counter() - began) / 60
        if table is None:
            print(f"the data of {name} are not here; skipped", flush=True)
            continue
        print(markdown(table), "\n", flush=True)
        lines += [markdown(table), ""]
    lines.append(f"{minutes:.0f} minutes, {args.jobs} fits at a time ({os.cpu_count()} cores).\n")
    if args.write:
        write_page(args.write, "\n".join(lines))


if __name__ == "__main__":
    main()
