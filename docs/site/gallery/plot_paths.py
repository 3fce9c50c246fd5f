"""
Paths with bands
================

The six most important columns, how their coefficients move, and how sure that is.
"""

from driftglm import DriftRegressor
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=30, n_active=6, rows_per_step=80, n_timesteps=10, random_state=1)
model = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
model.plot_paths(top=6)
