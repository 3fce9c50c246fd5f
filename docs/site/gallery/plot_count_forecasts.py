"""
Counts as distributions
=======================

A forecast of counts is a distribution over 0, 1, 2, ...: its quantiles, and what happened.
"""

import numpy as np
from matplotlib.figure import Figure

from driftglm import DriftPoissonRegressor
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=6, n_active=3, family="poisson", rows_per_step=60, random_state=5)
model = DriftPoissonRegressor().fit(panel.X, panel.y, time=panel.time)
forecast = model.predict_distribution(panel.X_next)
low, middle, high = np.asarray(forecast.quantile([0.05, 0.5, 0.95])).T
order = np.argsort(forecast.mean)

figure = Figure(figsize=(6, 3), layout="constrained")
axes = figure.subplots()
axes.vlines(np.arange(order.size), low[order], high[order], color="#9cc3d5")
axes.plot(middle[order], "_", color="#0b5c7a", label="median, 90 %")
axes.plot(panel.y_next[order], "x", ms=4, color="#9a3412", label="what happened")
axes.legend()
figure
