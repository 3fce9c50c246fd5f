"""How many steps and rows does the learned prior need? Simulated panels, the next step forecast.

    python benchmarks/when_to_use.py [--seeds 10] [--steps 2 4 8 16] [--rows 50 200 1000]

Panels drawn from the model: 100 features of which 8 matter, an intercept that moves, Gaussian
noise. A cell is the learned prior's test MSE over that of the best of seven tuned baselines (the
best after the fact, by the mean over seeds, which favours them); below 1 the learned prior is
better. Then the name of that baseline, and in brackets the share of test rows inside the learned
90 % intervals.
"""

import argparse
import time as clock
import warnings

import numpy as np

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll, LassoOne, RidgeAll, RidgeOne
from driftglm.exceptions import ConvergenceWarning, DataWarning
from driftglm.simulate import simulate_panel

WORLDS = {
    "effects nearly constant (lag-1 correlation about .99)": 2e4,
    "effects drift slowly (about .9)": 300.0,
    "effects drift fast (about .6)": 20.0,
}
"""Rates of the distribution of alpha, which sets the autocorrelation."""


def baselines():
    """Each tuned on its last training step."""
    return {
        "lasso-one": LassoOne(),
        "lasso-3": LassoAll(window=3),
        "lasso-6": LassoAll(window=6),
        "lasso-all": LassoAll(),
        "ridge-one": RidgeOne(),
        "ridge-3": RidgeAll(window=3),
        "ridge-all": RidgeAll(),
    }


def one_panel(rate, steps, rows, seed):
    """Test MSE by model, and coverage."""
    panel = simulate_panel(n_timesteps=steps, rows_per_step=rows, rate=rate, random_state=seed)
    errors = {}
    for name, model in ({"learned": DriftRegressor()} | baselines()).items():
        fitted = model.fit(panel.X, panel.y, time=panel.time)
        errors[name] = np.mean((fitted.predict(panel.X_next) - panel.y_next) ** 2)
        if name == "learned":
            low, high = fitted.predict_interval(panel.X_next).T
    return errors, np.mean((low <= panel.y_next) & (panel.y_next <= high))


def cell(rate, steps, rows, seeds):
    """Ratio to the best baseline, its name, and coverage."""
    found = [one_panel(rate, steps, rows, seed) for seed in range(seeds)]
    means = {name: np.mean([errors[name] for errors, _ in found]) for name in found[0][0]}
    learned = means.pop("learned")
    best = min(means, key=means.get)
    covered = np.mean([part for _, part in found])
    return f"{learned / means[best]:.2f} {best} ({covered:.2f})"


def main():
    """Print a table a world."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, nargs="+", default=[2, 4, 8, 16])
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 200, 1000])
    arguments = parser.parse_args()
    # Fits to fifty rows choose the end of a grid and say so.
    warnings.simplefilter("ignore", DataWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)
    began = clock.perf_counter()
    for world, rate in WORLDS.items():
        columns = " | ".join(f"{rows} rows a step" for rows in arguments.rows)
        print(f"\n| {world}: steps | {columns} |")
        print("|---" * (len(arguments.rows) + 1) + "|")
        for steps in arguments.steps:
            cells = [cell(rate, steps, rows, arguments.seeds) for rows in arguments.rows]
            print(f"| {steps} | {' | '.join(cells)} |", flush=True)
    print(f"\n{(clock.perf_counter() - began) / 60:.1f} minutes.")


if __name__ == "__main__":
    main()
