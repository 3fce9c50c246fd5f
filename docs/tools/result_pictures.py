# ruff: noqa: INP001 (a script, not a package)
"""The pictures of docs/reading-a-result.md: `python docs/tools/result_pictures.py`.

Data are drawn from the model, so that the truth is known and can be drawn beside what was found.
Needs the extra `plot`.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from driftglm import DriftRegressor

FOLDER = Path(__file__).resolve().parents[1] / "images"
NAMES = ["size", "age", "garden", "noise_1", "noise_2"]


def example() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Prices of houses in twelve years: size matters more and more, a garden changes its sign."""
    rng = np.random.default_rng(1)
    years, t = np.repeat(np.arange(2001, 2013), 60), np.repeat(np.arange(12), 60)
    X = rng.normal(size=(years.size, len(NAMES)))
    truth = np.zeros((12, len(NAMES)))
    truth[:, 0] = np.linspace(0.3, 1.5, 12)
    truth[:, 1] = -0.6
    truth[:, 2] = 0.8 * np.cos(np.linspace(0, np.pi, 12))
    y = 3.0 + np.einsum("ij,ij->i", X, truth[t]) + rng.normal(size=years.size)
    return X, y, years, truth


def main() -> None:
    """Fit, draw, write."""
    mpl.rcParams["svg.hashsalt"] = "driftglm"
    X, y, years, truth = example()
    model = DriftRegressor().fit(X, y, time=years)
    figure, axes = plt.subplots(1, 4, figsize=(11, 2.6), sharey=True)
    lower, upper = model.coef_interval()
    steps = np.asarray(model.timesteps_)
    kinds = model.summary(feature_names=NAMES).set_index("feature")["kind"]
    for j, axis in enumerate(axes):
        axis.fill_between(steps, lower[:, j], upper[:, j], alpha=0.25, color="C0", lw=0)
        axis.plot(steps, model.coef_path_[:, j], color="C0", label="found, with 90 % band")
        axis.plot(steps, truth[:, j], color="black", ls=":", label="truth")
        axis.axhline(0.0, color="grey", lw=0.6)
        axis.set_xticks([2001, 2004, 2008, 2012])
        included = model.inclusion_probability_[j]
        axis.set_title(f"{NAMES[j]}: {kinds[NAMES[j]]} ({included:.2f})", fontsize=10)
    axes[0].legend(fontsize=7, frameon=False)
    save(figure, "paths")
    forecast = model.predict_distribution(X[-3:], time=[2013] * 3)
    figure, axis = plt.subplots(figsize=(6, 2.6))
    grid = np.linspace(-4, 10, 400)
    for k in range(3):
        axis.plot(grid, forecast.take([k] * grid.size).pdf(grid), label=f"house {k + 1}")
        low, high = forecast.interval(0.9)[k]
        axis.plot([low, high], [-0.015 * (k + 1)] * 2, color=f"C{k}", lw=3)
    axis.set_xlabel("price in 2013; bars: 90 % intervals")
    axis.legend(fontsize=8, frameon=False)
    save(figure, "forecast")


def save(figure: Figure, name: str) -> None:
    """A small SVG without a date, so that a second run writes the same file."""
    figure.tight_layout()
    figure.savefig(FOLDER / f"result-{name}.svg", metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
