"""
Can I trust this interval?
==========================

*It says 90 %. Does it mean it?* Three checks that cost a minute, on a panel whose truth we know.
"""

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll, WithNormalErrors
from driftglm.evaluation import RollingOrigin, compare, permutation_check
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=15, n_active=4, n_timesteps=10, rows_per_step=60, random_state=5)

# %%
# **Of forecasts: count.** Predict the last steps, each from those before, and count how often y
# was inside. A share far below the level is a model that is too sure. But rows of a step share its
# coefficients and are covered or missed together: with four steps, a few points are chance.
models = {"drifting": DriftRegressor(), "lasso": WithNormalErrors(LassoAll())}
result = compare(models, panel.X, panel.y, panel.time, RollingOrigin(n_test=4), metric="crps")
calibration = result.calibration(levels=[0.5, 0.8, 0.9, 0.95])
calibration.query("step == 'overall'")[["model", "level", "coverage"]].round(3)

# %%
from matplotlib.figure import Figure

figure = Figure(figsize=(4.2, 4), layout="constrained")
axes = figure.subplots()
axes.plot([0.45, 1], [0.45, 1], color="0.6", lw=1)
for name, rows in calibration.query("step == 'overall'").groupby("model"):
    axes.plot(rows["level"], rows["coverage"], "o-", label=name)
axes.set(xlabel="promised", ylabel="kept")
axes.legend()
figure

# %%
# **Of what was found: shuffle.** With y shuffled within steps no column has an effect. What is
# found nevertheless would be found by chance in your data too.
model = DriftRegressor()
check = permutation_check(model, panel.X, panel.y, panel.time, n_shuffles=5)
print(check.sentence())
check.table().round(1)

# %%
# **Of the model: ask it.** ``diagnose`` looks at residuals: tails, rows of a step that move
# together, a variance that moves, columns that repeat each other.
fitted = model.fit(panel.X, panel.y, time=panel.time)
findings = fitted.diagnose()
print(findings.to_string() if len(findings) else "Nothing was found.")

# %%
# No check sees a shock that has never happened. Intervals learned before 2008 or 2020 did not
# contain those years, here or anywhere.
