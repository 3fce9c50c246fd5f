"""
Probabilities of classes
========================

A classifier whose boundary turns: forecast probabilities of the next step, beside the true ones.
"""

from matplotlib.figure import Figure

from driftglm import DriftClassifier
from driftglm.simulate import simulate_panel

panel = simulate_panel(n_features=8, n_active=4, family="binomial", scale=1.0, random_state=4)
model = DriftClassifier().fit(panel.X, panel.y, time=panel.time)
probability = model.predict_proba(panel.X_next)[:, 1]

figure = Figure(figsize=(4, 4), layout="constrained")
axes = figure.subplots()
axes.plot([0, 1], [0, 1], color="0.6", lw=1)
axes.plot(panel.mean_next, probability, ".", color="#0b5c7a")
axes.set(xlabel="true probability", ylabel="forecast")
figure
