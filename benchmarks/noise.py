"""Noise that moves against a constant one: simulated, and on annual reports.

    python benchmarks/noise.py [--write docs/results/noise.md] [--worlds 240]

Simulated noise is an AR(1) of the log variance; intervals are counted by thirds of the forecast of
the noise. Annual reports are looked for as in `real_sets.py`, the reference worlds as in
`worlds.py`; what is absent is left out.
"""

import argparse
import time as clock
import warnings
from pathlib import Path

import numpy as np
from distributions import tenk_1996_2005
from real_sets import load_set
from result_pages import write_page
from scipy.special import ndtr
from scipy.stats import norm
from sklearn.base import clone
from worlds import paper_scale, reference_worlds

from driftglm import DriftRegressor
from driftglm.exceptions import DataWarning

NOISES = ("constant", "drift")
RHO, N_STEPS, N_ROWS = 0.9, 24, 120
LEVEL = 0.9


def simulated(deviation, seed):
    """24 steps and the one to predict, 120 rows each: X, y, time and the log variance."""
    rng = np.random.default_rng(seed)
    log_variance = np.empty(N_STEPS + 1)
    log_variance[0] = deviation * rng.normal()
    for t in range(N_STEPS):
        shock = deviation * np.sqrt(1 - RHO**2) * rng.normal()
        log_variance[t + 1] = RHO * log_variance[t] + shock
    time = np.repeat(np.arange(N_STEPS + 1), N_ROWS)
    X = rng.normal(size=(time.size, 10))
    paths = np.zeros((N_STEPS + 1, 10))
    paths[:, 0], paths[:, 2] = 1.0, -0.5
    paths[:, 1] = np.cumsum(0.1 * rng.normal(size=N_STEPS + 1))
    y = (X * paths[time]).sum(1) + np.exp(log_variance / 2)[time] * rng.normal(size=time.size)
    return X, y, time, log_variance


def ceiling(deviation, log_variance, rng):
    """Correlation of the best estimate if residuals and dynamics were known."""
    lag = np.abs(np.subtract.outer(np.arange(N_STEPS), np.arange(N_STEPS)))
    seen = log_variance + np.log(rng.chisquare(N_ROWS, N_STEPS) / N_ROWS) + 1 / N_ROWS
    prior = deviation**2 * RHO**lag
    best = prior @ np.linalg.solve(prior + 2 / N_ROWS * np.eye(N_STEPS), seen)
    return np.corrcoef(best, log_variance)[0, 1]


def covered(y, interval):
    """Share of rows inside."""
    return np.mean((interval[:, 0] <= y) & (y <= interval[:, 1]))


def simulated_section(n_worlds):
    """Correlation of the path, and coverage by thirds of the forecast noise."""
    lines = [
        "## Simulated noise",
        "",
        (
            f"{N_STEPS} steps of {N_ROWS} rows, ten columns, log variance an AR(1) of "
            f"autocorrelation {RHO}; {n_worlds} series each. *correlation*: of the path with the "
            "truth, all series together (mean of single series in brackets, and that of the best "
            "estimate if residuals and dynamics were known). Coverage of 90 % intervals of the "
            "next step, by thirds of the forecast noise."
        ),
        "",
        "| deviation of log variance | noise | correlation | calm third | middle | wild third |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for deviation in (0.3, 0.8):
        rng = np.random.default_rng(0)
        coverage, ahead, paths, truths, best = {name: [] for name in NOISES}, [], [], [], []
        for seed in range(1000, 1000 + n_worlds):
            X, y, time, log_variance = simulated(deviation, seed)
            past = time < N_STEPS
            for name in NOISES:
                model = DriftRegressor(noise=name, extrapolate="forecast").fit(
                    X[past], y[past], time=time[past]
                )
                coverage[name].append(covered(y[~past], model.predict_interval(X[~past])))
            ahead.append(model.noise_variance_)
            paths.append(np.log(model.noise_variance_path_))
            truths.append(log_variance[:-1])
            best.append(ceiling(deviation, log_variance[:-1], rng))
        third = np.searchsorted(np.quantile(ahead, [1 / 3, 2 / 3]), ahead)
        single = np.mean([np.corrcoef(*pair)[0, 1] for pair in zip(paths, truths, strict=True)])
        joint = np.corrcoef(np.ravel(paths), np.ravel(truths))[0, 1]
        for name in NOISES:
            shares = [f"{np.array(coverage[name])[third == k].mean():.3f}" for k in range(3)]
            known = f"{joint:.3f} ({single:.3f}, best {np.mean(best):.3f})"
            cells = [f"{deviation}", name, known if name == "drift" else "none", *shares]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def expected_deviation(model, X):
    """Mean distance of a step's coverage from .9 if the model were true: its shift is shared."""
    _, variance = model._eta_moments(X, None)  # noqa: SLF001
    shared = model._next_steps()[0].intercept_variance  # noqa: SLF001
    half = np.ptp(model.predict_interval(X), axis=1) / 2
    own = np.sqrt(np.maximum(variance - shared, 0.0) + model.noise_variance_)
    shifts = np.sqrt(shared) * norm.ppf((np.arange(200) + 0.5) / 200)
    inside = [np.mean(ndtr((half - s) / own) - ndtr((-half - s) / own)) for s in shifts]
    return np.mean(np.abs(np.array(inside) - LEVEL))


def reports(X, y, time, selector, years):
    """Scores of both noises, year by year: {noise: rows of figures}."""
    out = {name: [] for name in NOISES}
    for year in years:
        past, now = time < year, time == year
        chosen = clone(selector).fit(X[past])
        train, test = chosen.transform(X[past]), chosen.transform(X[now])
        for name in NOISES:
            model = DriftRegressor(always_in=[-1], noise=name, extrapolate="forecast")
            model.fit(train, y[past], time=time[past])
            forecast = model.predict_distribution(test)
            interval = forecast.interval(LEVEL)
            low, high = interval.T
            missed = np.maximum(low - y[now], 0) + np.maximum(y[now] - high, 0)
            figures = (
                np.mean((model.predict(test) - y[now]) ** 2),
                covered(y[now], interval),
                forecast.crps(y[now]).mean(),
                -forecast.log_prob(y[now]).mean(),
                np.mean(high - low + 2 / (1 - LEVEL) * missed),
                expected_deviation(model, test),
            )
            out[name].append(figures)
    return {name: np.array(rows) for name, rows in out.items()}


def reports_section(title, found, years, late):
    """Coverage by year, and means of the scores."""
    lines = [f"## {title}", "", "| noise | " + " | ".join(str(year) for year in years) + " |"]
    lines.append("| --- |" + " --- |" * len(years))
    for name, rows in found.items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.2f}" for value in rows[:, 1]) + " |")
    lines += [
        "",
        (
            "Coverage of 90 % intervals by year. Means over years; squared error of "
            f"{late}-{years[-1]}. *expected*: what the distance of coverage from .90 would be on "
            "average if the model were true: the reports of a year share the shift of its "
            "intercept, so that a year is covered almost wholly or badly."
        ),
        "",
        "| noise | squared error | CRPS | log score | interval score | off by | expected |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, rows in found.items():
        error = rows[np.array(years) >= late, 0].mean()
        off = np.abs(rows[:, 1] - LEVEL).mean()
        figures = [error, *rows[:, 2:5].mean(0), off, rows[:, 5].mean()]
        lines.append(f"| {name} | " + " | ".join(f"{value:.4f}" for value in figures) + " |")
    return lines


def worlds_section(worlds):
    """Forecasts where the noise does not move, and what a fit costs."""
    lines = ["## Where the noise does not move", "", "| world | constant | drift |"]
    lines.append("| --- | --- | --- |")
    for kind in ("const", "rw", "mixed", "switch"):
        errors = {name: [] for name in NOISES}
        for seed in range(3):
            X, y, time, X_next, y_next, _, _ = worlds.scenario(kind, seed)
            for name in NOISES:
                model = DriftRegressor(noise=name, extrapolate="forecast").fit(X, y, time=time)
                errors[name].append(np.mean((model.predict(X_next) - y_next) ** 2))
        lines.append(
            f"| {kind} | " + " | ".join(f"{np.mean(errors[n]):.4f}" for n in NOISES) + " |"
        )
    train, test = paper_scale(0)
    seconds = {name: [] for name in NOISES}
    error = {}
    for _ in range(3):
        for name in NOISES:
            began = clock.perf_counter()
            model = DriftRegressor(noise=name, extrapolate="forecast").fit(
                train[0], train[1], time=train[2]
            )
            seconds[name].append(clock.perf_counter() - began)
            error[name] = np.mean((model.predict(test[0]) - test[1]) ** 2)
    ratio = min(seconds["drift"]) / min(seconds["constant"])
    lines += [
        "",
        (
            f"At the paper's scale a fit takes {ratio:.2f} times as long as with a constant noise "
            f"(the fastest of three each); squared error {error['drift']:.5f} against "
            f"{error['constant']:.5f}."
        ),
    ]
    return lines


def main():
    """Print the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path, default=None)
    parser.add_argument("--worlds", type=int, default=240)
    given = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)  # words that every report has
    page = [
        "# Noise that moves",
        "",
        "    python benchmarks/noise.py --write docs/results/noise.md",
    ]
    page += ["", *simulated_section(given.worlds)]
    annual = load_set("mda10k_vol")
    if annual is not None:
        selector, years = annual.models["learned"].steps[0][1], range(2008, 2024)
        rows = annual.X, np.asarray(annual.y), annual.time
        found = reports(*rows, selector, years)
        page += ["", *reports_section("mda10k_vol", found, years, 2018)]
    early = tenk_1996_2005(quick=False)
    if early is not None:
        selector, years = early.models["learned"].steps[0][1], range(2002, 2006)
        found = reports(early.X, np.asarray(early.y), early.time, selector, years)
        page += ["", *reports_section("tenk_1996_2005", found, years, 2003)]
    if (worlds := reference_worlds()) is not None:
        page += ["", *worlds_section(worlds)]
    text = "\n".join(page) + "\n"
    print(text)
    if given.write:
        write_page(given.write, text)


if __name__ == "__main__":
    main()
