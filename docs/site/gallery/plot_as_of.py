"""
What was known at the time
==========================

A smoothed path has seen the future. As-of paths are what would have been said at each step.
"""

from matplotlib.figure import Figure

from driftglm import DriftRegressor
from driftglm.evaluation import as_of_paths
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=4, n_active=2, n_timesteps=9, rows_per_step=60, random_state=9)
paths = as_of_paths(DriftRegressor(), panel.X, panel.y, panel.time, first=3)
active = abs(panel.coef_path).sum(axis=0).argmax()

figure = Figure(figsize=(6, 3), layout="constrained")
axes = figure.subplots()
axes.plot(panel.coef_path[:-1, active], "--", color="0.5", label="truth")
axes.plot(paths.smoothed[:, active], color="#0b5c7a", label="said afterwards")
axes.plot(paths.as_of[:, active], color="#9a3412", label="said at the time")
axes.legend()
figure
