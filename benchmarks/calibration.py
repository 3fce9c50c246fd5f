"""Are the probabilities and their intervals honest? A reliability plot and a table of coverage.

    python benchmarks/calibration.py [--seeds 20] [--write docs/results]

Panels are drawn from the model (logistic, 8 steps, 30 features of which 6 matter); the step after
the last is forecast. Coverage is the share of true probabilities, or of true coefficients that are
not zero, inside intervals of 90 %.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from result_pages import write_page

from driftglm import DriftClassifier
from driftglm.simulate import simulate_panel

SETTINGS = [(scale, rows) for rows in (100, 300, 1000) for scale in (0.25, 0.5, 1.0)]
N_BINS = 10

PAGE = """# Calibration of the logistic model

    python benchmarks/calibration.py --write docs/results

Panels drawn from the model: 8 steps, 30 features of which 6 drift, {seeds} panels a line. `scale`
is the typical size of an effect on the logit of a feature of unit variance. Coverage of intervals
of 90 %: of the probabilities of the training rows, of those of the step after the last, and of the
coefficients of the six features.

{table}

Forecast probabilities against what happened, {rows:,} forecasts (300 rows a step):

![Reliability of forecast probabilities](reliability.svg)

Intervals of probabilities are close to honest. Those of coefficients are too narrow where little
can be told: with 100 binary rows a step many of the six effects cannot be told from zero and are
taken for it.
"""


def one_panel(scale, rows, seed):
    """Coverage in the training steps, at the next step and of coefficients; forecasts and y."""
    panel = simulate_panel(
        family="binomial",
        scale=scale,
        rows_per_step=rows,
        n_features=30,
        n_active=6,
        random_state=seed,
    )
    model = DriftClassifier().fit(panel.X, panel.y, time=panel.time)
    low, high = model.predict_interval(panel.X, time=panel.time).T
    seen = np.mean((low <= panel.mean) & (panel.mean <= high))
    low, high = model.predict_interval(panel.X_next).T
    ahead = np.mean((low <= panel.mean_next) & (panel.mean_next <= high))
    active = panel.coef_path.any(axis=0)
    low, high = model.coef_interval(0.9)[:, :, active]
    truth = panel.coef_path[:-1, active]
    forecast = model.predict_proba(panel.X_next)[:, 1]
    return (seen, ahead, np.mean((low <= truth) & (truth <= high))), forecast, panel.y_next


def reliability(forecast, y, path):
    """Draw what happened against what was forecast."""
    mpl.rcParams["svg.hashsalt"] = "reliability"  # the same drawing every time
    edges = np.linspace(0, 1, N_BINS + 1)
    where = np.clip(np.digitize(forecast, edges) - 1, 0, N_BINS - 1)
    mean = np.array([forecast[where == b].mean() for b in range(N_BINS)])
    share = np.array([y[where == b].mean() for b in range(N_BINS)])
    count = np.bincount(where, minlength=N_BINS)
    error = 1.645 * np.sqrt(share * (1 - share) / count)
    figure, axis = plt.subplots(figsize=(4.2, 4.2), layout="constrained")
    axis.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    axis.errorbar(mean, share, yerr=error, fmt="o", markersize=4, color="#1f5fa8", capsize=2)
    axis.set(xlabel="forecast probability", ylabel="share that happened", xlim=(0, 1), ylim=(0, 1))
    axis.set_aspect("equal")
    figure.savefig(path, metadata={"Date": None})
    return float(np.abs(mean - share) @ count / count.sum())


def main():
    """Print the table; write page and plot where asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--write", type=Path, default=None)
    arguments = parser.parse_args()
    lines = ["| rows a step | scale | training rows | next step | coefficients |", "|---" * 5 + "|"]
    forecasts, outcomes = [], []
    for scale, rows in SETTINGS:
        found = [one_panel(scale, rows, seed) for seed in range(arguments.seeds)]
        seen, ahead, coef = np.mean([part[0] for part in found], axis=0)
        lines.append(f"| {rows} | {scale} | {seen:.3f} | {ahead:.3f} | {coef:.3f} |")
        print(lines[-1], flush=True)
        if rows == 300:
            forecasts += [part[1] for part in found]
            outcomes += [part[2] for part in found]
    if arguments.write:
        forecast, y = np.concatenate(forecasts), np.concatenate(outcomes)
        gap = reliability(forecast, y, arguments.write / "reliability.svg")
        print(f"mean distance from the diagonal {gap:.4f}")
        page = PAGE.format(seeds=arguments.seeds, table="\n".join(lines), rows=y.size)
        write_page(arguments.write / "calibration.md", page)


if __name__ == "__main__":
    main()
