"""
What chance would find
======================

Shuffle y within steps, or the time labels, and count what is found nevertheless.
"""

from driftglm import DriftRegressor
from driftglm.evaluation import permutation_check
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=20, n_active=4, rows_per_step=50, n_timesteps=6, random_state=2)
check = permutation_check(DriftRegressor(), panel.X, panel.y, panel.time, n_shuffles=6)
print(check.sentence())
check.plot()
