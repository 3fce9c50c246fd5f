"""
All columns at a glance
=======================

A row for each column, a step for each cell: blue and red are the two signs.
"""

from driftglm import DriftRegressor
from driftglm.simulate import simulate_panel

panel = simulate_panel(
    n_features=40, n_active=10, rows_per_step=100, n_timesteps=10, random_state=2
)
model = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
model.plot_heatmap(top=20)
