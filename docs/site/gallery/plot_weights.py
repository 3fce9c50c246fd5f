"""
What a forecast trusts
======================

The weights of the forecasters, origin after origin.
"""

from driftglm import DriftRegressor
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=8, n_timesteps=12, rate=2.0, random_state=7)
model = DriftRegressor().fit(panel.X, panel.y, time=panel.time)
print(model.trust_sentence())
model.plot_weights()
