"""
Forecast next year
==================

*How will countries vote next year, and is a model with drifting coefficients any better at saying
so?* Votes of nineteen countries of the G20 in the United Nations, by issue; the table comes with
driftglm.
"""

import pandas as pd

from driftglm import DriftClassifier
from driftglm.baselines import RidgeAll, RidgeOne
from driftglm.demo.votes import ballots, load_votes
from driftglm.evaluation import RollingOrigin, compare

votes = load_votes()
votes = votes[votes["year"] >= votes["year"].max() - 14]  # the last fifteen years, to be quick
votes.tail(3)

# %%
# Rows are a country and an issue in a year: so many votes of yes, so many of no or abstention.
# Columns say which country, which issue, and which country on which issue, all of them zero or one.
rows = ballots(votes)
X = pd.DataFrame(rows.X.toarray(), columns=rows.names)
print(f"{len(X)} rows, {len(X.columns)} columns, {rows.weights.sum():.0f} votes")

# %%
# The question is about a year that has not been seen. So every test year is predicted from the
# years before it, and penalties are chosen on those as well: a *rolling origin*.
models = {
    "ridge, last year": RidgeOne(family="binomial"),
    "ridge, all years": RidgeAll(family="binomial"),
    "drifting": DriftClassifier(),
}
splitter = RollingOrigin(n_test=3)
result = compare(models, X, rows.y, rows.year, splitter, sample_weight=rows.weights)
print(result.table())

# %%
# Three years are three observations, however many votes they hold. A test that counts years:
result.significance(method="diebold-mariano")

# %%
# Now fit to all years and forecast the next. A country's vote on an issue is the sum of what the
# country, the issue and both together do; that such columns go along with each other is what the
# warning is about.
model = DriftClassifier().fit(X, rows.y, time=rows.year, sample_weight=rows.weights)

# %%
# Who moved, on which issue? Columns that drift all but certainly, by the largest change between any
# two years:
table = model.summary()
moved = table[table["drift_probability"] > 0.95].sort_values("change", key=abs, ascending=False)
moved[["feature", "kind", "coef_first", "coef_last", "coef_next"]].head(8).round(2)

# %%
model.plot_paths(features=moved["feature"].head(6))

# %%
# How much of the past does the forecast rest on?
model.trust_sentence()
