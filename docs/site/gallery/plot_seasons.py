"""
A season in a coefficient
=========================

Forty-eight months: one effect comes again every year, another drifts.
"""

import numpy as np

from driftglm import DriftRegressor

rng = np.random.default_rng(0)
month = np.repeat(np.arange(48), 25)
X = rng.normal(size=(month.size, 3))
y = rng.normal(size=12)[month % 12] * X[:, 0] + 0.02 * month * X[:, 1] + rng.normal(size=month.size)
model = DriftRegressor(seasonality=12).fit(X, y, time=month)
print(model.season_sentence())
model.plot_paths(top=2)
