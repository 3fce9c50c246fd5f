"""
Constant or restless?
=====================

The correlation of each path with itself one step later: 1 is constant, 0 begins anew every step.
"""

from driftglm import DriftRegressor
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=30, n_active=10, n_timesteps=12, rate=2.0, random_state=3)
model = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
model.plot_autocorrelation()
