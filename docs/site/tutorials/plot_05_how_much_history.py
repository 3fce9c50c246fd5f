"""
How much history should I use?
==============================

*Keep all years, or only the last few?* The usual answer is a window, the same for all columns,
chosen by hand. Here the forecasts themselves decide.
"""

import numpy as np
import pandas as pd

from driftglm import DriftRegressor

rng = np.random.default_rng(2)
year = np.repeat(np.arange(2001, 2017), 200)
X = rng.normal(size=(year.size, 6))
noise = rng.normal(size=year.size)

steps = np.arange(16)
worlds = {
    "nothing changes": np.ones(16),
    "a random walk": np.cumsum(0.35 * rng.normal(size=16)),
    "up and down": np.where(steps % 2 == 0, 1.0, -1.0),
}

# %%
# Four forecasters predict each of the last years from the years before it: one lets coefficients
# drift, one holds the last ones, one keeps them constant, one pools all rows. Each gets a weight
# by the probability it gave to what then happened.
weights = {}
for name, path in worlds.items():
    y = path[year - 2001] * X[:, 0] + 0.5 * X[:, 1] + noise
    model = DriftRegressor().fit(X, y, time=year)
    weights[name] = model.extrapolation_weights_.iloc[-1]
table = pd.DataFrame(weights).T
table.round(2)

# %%
from matplotlib.figure import Figure

figure = Figure(figsize=(7, 2.6), layout="constrained")
axes = figure.subplots()
left = np.zeros(len(table))
for name, colour in zip(table.columns, ["#0b5c7a", "#7cc7e3", "#9a3412", "#fdba74"], strict=False):
    axes.barh(table.index, table[name], left=left, label=name, color=colour)
    left += table[name].to_numpy()
axes.set_xlabel("weight in the forecast of 2017")
axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))
figure

# %%
# Where the first effect turns its sign every year, holding the last one is the worst thing to do,
# and the forecasters that average over years are little better: nearly all of the weight goes to
# the one that knows how short its memory must be. Where nothing changes, or changes slowly, all
# four say nearly the same, and weights stay near those they began with (60, 32, 4 and 4 %): no
# evidence, no opinion. With fewer than five steps there is nothing to judge by at all.
