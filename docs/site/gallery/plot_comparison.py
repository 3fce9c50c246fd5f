"""
Compare models over time
========================

Every test step predicted from the steps before it, by each model.
"""

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll, RidgeOne
from driftglm.evaluation import RollingOrigin, compare
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=20, n_active=5, rows_per_step=60, n_timesteps=8, random_state=8)
models = {"ridge, last step": RidgeOne(), "lasso, all": LassoAll(), "drifting": DriftRegressor()}
result = compare(models, panel.X, panel.y, panel.time, RollingOrigin(n_test=3))
print(result.table())
result.plot()
