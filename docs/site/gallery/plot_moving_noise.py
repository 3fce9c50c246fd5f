"""
Noise that moves
================

Calm and restless years: the variance has a path of its own, and intervals follow it.
"""

import numpy as np
from matplotlib.figure import Figure

from driftglm import DriftRegressor

rng = np.random.default_rng(3)
year = np.repeat(np.arange(2001, 2017), 50)
scale = np.exp(np.sin((year - 2001) / 2.5))
X = rng.normal(size=(year.size, 3))
model = DriftRegressor().fit(X, X[:, 0] + scale * rng.normal(size=year.size), time=year)

low, high = model.noise_interval()
figure = Figure(figsize=(6, 3), layout="constrained")
axes = figure.subplots()
axes.fill_between(model.timesteps_, low, high, color="#9cc3d5")
axes.plot(model.timesteps_, model.noise_variance_path_, color="#0b5c7a", label="learned, 90 %")
axes.plot(model.timesteps_, scale[::50] ** 2, "--", color="#9a3412", label="truth")
axes.set(yscale="log", ylabel="noise variance")
axes.legend()
figure
