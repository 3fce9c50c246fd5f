"""
Positive amounts
================

Claims, prices, durations: the gamma family, with the scatter learned.
"""

from driftglm import DriftGLM
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=8, n_active=3, family="gamma", random_state=6)
model = DriftGLM(family="gamma").fit(panel.X, panel.y, time=panel.time)
print(f"dispersion: true {panel.noise_variance}, learned {model.noise_:.3f}")
model.plot_paths(top=3)
