"""What seasons gain where there are some, and cost where there are none.

    python benchmarks/seasons.py [--sets worlds beijing_pm25 bike_hour] [--seeds 8]

Simulated worlds of monthly steps: of twelve columns one has a season, one a season and a random
walk, one a random walk, one is constant, and the intercept has both; or the same without seasons.
The next step is predicted with `seasonality=None` and with 12. Real sets as in `history.py`.
"""

import argparse
import time as clock
import warnings

import numpy as np
from history import CASES, losses, mean_of
from sklearn.base import clone

from driftglm import DriftRegressor

CYCLE = 12


def world(seed, n_steps, *, seasonal, n_rows=40, n_features=12):
    """Rows of `n_steps` steps and the next one, and what is true of each."""
    rng = np.random.default_rng(seed)
    time = np.repeat(np.arange(n_steps + 1), n_rows)
    X = rng.normal(size=(time.size, n_features))
    coef, phase = np.zeros((n_steps + 1, n_features)), np.arange(n_steps + 1) % CYCLE
    coef[:, 1:3] = 0.12 * rng.normal(size=(n_steps + 1, 2)).cumsum(axis=0)
    coef[:, 3] = 0.6
    level = 0.08 * rng.normal(size=n_steps + 1).cumsum()
    if seasonal:
        coef[:, :2] += 0.5 * rng.normal(size=(CYCLE, 2))[phase]
        level += 0.5 * rng.normal(size=CYCLE)[phase]
    mean = (X * coef[time]).sum(axis=1) + level[time]
    return X, mean, mean + rng.normal(size=time.size), time


def worlds(n_seeds):
    """Squared errors of the mean of the next step, and how often seasons are said of columns."""
    for seasonal in (True, False):
        for n_steps in (36, 60):
            errors, said, seconds = [], [], []
            for seed in range(n_seeds):
                X, mean, y, time = world(seed, n_steps, seasonal=seasonal)
                past, now = time < n_steps, time == n_steps
                found = []
                for cycle in (None, CYCLE):
                    began = clock.perf_counter()
                    model = DriftRegressor(seasonality=cycle).fit(X[past], y[past], time=time[past])
                    seconds.append(clock.perf_counter() - began)
                    found.append(np.mean((model.predict(X[now]) - mean[now]) ** 2))
                errors.append(found)
                said.append(model.seasonal_probability_ > 0.5)
            without, with_them = np.mean(errors, axis=0)
            first, others = np.mean(said, axis=0)[:2], np.mean(said, axis=0)[2:]
            print(
                f"worlds, seasons {seasonal}, {n_steps} steps: error {without:.3f} without, "
                f"{with_them:.3f} with; forecasts of y {(1 + with_them) / (1 + without):.4f} of "
                f"those without; seasons said of the first two {first.round(2)}, of others "
                f"{others.mean():.3f}; seconds {np.mean(seconds[::2]):.1f}, "
                f"{np.mean(seconds[1::2]):.1f}",
                flush=True,
            )


def real(name):
    """Mean loss over the test steps, and log score, without and with seasons."""
    case = CASES[name]()
    if case is None:
        print(f"{name} is not here; skipped", flush=True)
        return
    for cycle in (None, CYCLE):
        lost, scores, seconds = [], [], []
        for step in case.steps:
            past, now = case.time < step, case.time == step
            began = clock.perf_counter()
            model = clone(case.model).set_params(seasonality=cycle)
            model.fit(case.X[past], case.y[past], time=case.time[past])
            seconds.append(clock.perf_counter() - began)
            mean = mean_of(model, case.X[now], {})
            lost.append(losses(model.family_name, case.y[now], mean))
            scores.append(model.log_score(case.X[now], case.y[now]))
        print(
            f"{name}, seasonality {cycle}: loss {np.mean(lost):.4f}, log score "
            f"{np.mean(scores):.4f}, {np.mean(seconds):.1f} s a fit",
            flush=True,
        )


def main():
    """Run and print."""
    parser = argparse.ArgumentParser()
    sets = ["worlds", "beijing_pm25", "bike_hour", "elec2"]
    parser.add_argument("--sets", nargs="+", default=sets, choices=sets)
    parser.add_argument("--seeds", type=int, default=8)
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in args.sets:
            worlds(args.seeds) if name == "worlds" else real(name)


if __name__ == "__main__":
    main()
