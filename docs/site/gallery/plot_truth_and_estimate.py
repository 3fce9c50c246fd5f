"""
Truth and estimate
==================

Data drawn from a model have a truth to compare with: here a path that turns its sign.
"""

import numpy as np
from matplotlib.figure import Figure

from driftglm import DriftRegressor

rng = np.random.default_rng(0)
year = np.repeat(np.arange(2001, 2016), 60)
truth = np.cos((np.arange(15)) / 4)
X = rng.normal(size=(year.size, 10))
y = truth[year - 2001] * X[:, 0] + rng.normal(size=year.size)
model = DriftRegressor().fit(X, y, time=year)

low, high = model.coef_interval()[:, :, 0]
figure = Figure(figsize=(6, 3), layout="constrained")
axes = figure.subplots()
axes.fill_between(model.timesteps_, low, high, color="#9cc3d5", label="90 %")
axes.plot(model.timesteps_, model.coef_path_[:, 0], color="#0b5c7a", label="estimate")
axes.plot(model.timesteps_, truth, "--", color="#9a3412", label="truth")
axes.legend()
figure
