"""
Errors with tails
=================

A few wild rows pull a normal model. Student errors let them be wild.
"""

import numpy as np
from matplotlib.figure import Figure

from driftglm import DriftRegressor

rng = np.random.default_rng(1)
time = np.repeat(np.arange(8), 40)
X = rng.normal(size=(time.size, 3))
y = X[:, 0] + 0.5 * rng.standard_t(1.5, size=time.size)
figure = Figure(figsize=(6, 3), layout="constrained")
axes = figure.subplots()
for errors, shift in (("normal", -0.1), ("student", 0.1)):
    model = DriftRegressor(errors=errors).fit(X, y, time=time)
    low, high = model.coef_interval()[:, :, 0]
    axes.vlines(
        np.arange(8) + shift,
        low,
        high,
        lw=2,
        color="C0" if errors == "normal" else "C1",
        label=errors,
    )
axes.axhline(1.0, color="0.4", lw=1)
axes.set(xlabel="step", ylabel="coefficient, 90 %; the truth is 1")
axes.legend()
figure
