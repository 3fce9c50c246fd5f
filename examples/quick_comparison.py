"""A first look at driftglm: who predicts the next step best when effects drift.

    make demo

Simulates panels in which 8 of 200 features matter and their effects drift, fits the first eight
steps and predicts the ninth: driftglm's priors against pooled and last-step lasso and ridge.
"""

from __future__ import annotations

import time as clock
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, RidgeCV

from driftglm import DriftRegressor
from driftglm.simulate import Panel, simulate_panel

SEEDS = range(10)
WORLD: dict[str, Any] = {"n_features": 200, "rows_per_step": 100, "rate": 300.0, "level": 0.3}
STRENGTHS = np.geomspace(1e-2, 1e5, 15)


def errors(panel: Panel) -> dict[str, float]:
    """Test mean squared error of every contestant on the step after the last."""
    newest = panel.time == panel.time.max()
    everything = np.ones(panel.y.size, dtype=bool)
    out: dict[str, float] = {}
    for name, rows in (("newest step", newest), ("all steps pooled", everything)):
        contestants: dict[str, Any] = {"lasso": LassoCV(cv=5), "ridge": RidgeCV(STRENGTHS)}
        for kind, model in contestants.items():
            model.fit(panel.X[rows], panel.y[rows])
            out[f"{kind}, {name}"] = mse(panel, model.predict(panel.X_next))
    for prior in ("exact", "variational", "learned"):
        fit = DriftRegressor(prior=prior).fit(panel.X, panel.y, time=panel.time)
        out[f"driftglm, {prior} prior"] = mse(panel, fit.predict(panel.X_next))
    return out


def mse(panel: Panel, prediction: np.ndarray) -> float:
    """Mean squared error on the next step."""
    return float(np.mean((panel.y_next - prediction) ** 2))


def main() -> None:
    """Print the comparison and one fit's summary."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    began = clock.perf_counter()
    panels = [simulate_panel(**WORLD, random_state=seed) for seed in SEEDS]
    results = [errors(panel) for panel in panels]
    mean = {name: float(np.mean([r[name] for r in results])) for name in results[0]}
    best = min(mean, key=mean.__getitem__)
    print(f"Test error on the step after the last, mean of {len(panels)} simulated panels")
    print("(8 of 200 effects are nonzero and drift; the noise alone is 0.25)\n")
    for name, value in sorted(mean.items(), key=lambda item: -item[1]):
        print(f"  {name:28s} {value:.3f}{'  <- best' if name == best else ''}")
    panel = panels[0]
    model = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
    print("\nWhat the learned prior found in the first panel:\n")
    table = model.summary().head(10)
    print(table.to_string(index=False, float_format=lambda value: f"{value:.2f}"))
    truth = sorted(f"x{i}" for i in np.flatnonzero(panel.coef_path.any(axis=0)))
    print(f"\nTruly active: {', '.join(truth)}. Took {clock.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main()
