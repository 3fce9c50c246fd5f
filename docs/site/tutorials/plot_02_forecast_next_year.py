"""
Forecast next year
==================

*Who will vote with whom next year, and is a model with drifting coefficients any better at saying
so?* Votes of nineteen countries of the G20 in the United Nations, by issue; the table comes with
driftglm.
"""

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
print(f"{rows.X.shape[0]} rows, {rows.X.shape[1]} columns, {rows.weights.sum():.0f} votes")

# %%
# The question is about a year that has not been seen. So every test year is predicted from the
# years before it, and penalties are chosen on those as well: a *rolling origin*.
models = {
    "ridge, last year": RidgeOne(family="binomial"),
    "ridge, all years": RidgeAll(family="binomial"),
    "drifting": DriftClassifier(),
}
splitter = RollingOrigin(n_test=3)
result = compare(models, rows.X, rows.y, rows.year, splitter, sample_weight=rows.weights)
print(result.table())

# %%
# Three years are three observations, however many votes they hold. A test that counts years:
result.significance(method="diebold-mariano")

# %%
# Now fit to all years and forecast the next. Which countries moved, on which issue?
model = DriftClassifier().fit(rows.X, rows.y, time=rows.year, sample_weight=rows.weights)
table = model.summary(feature_names=rows.names)
shown = ["feature", "drift_probability", "kind", "coef_first", "coef_last", "coef_next"]
table[shown].head(8).round(2)

# %%
model.plot_paths(top=6, feature_names=rows.names)

# %%
# How much of the past does the forecast rest on?
model.trust_sentence()
