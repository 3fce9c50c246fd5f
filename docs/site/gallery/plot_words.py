"""
Words of documents
==================

Which words an effect raises and lowers, over time.
"""

from driftglm import DriftTextModel
from driftglm.simulate import simulate_text

text = simulate_text(n_words=60, n_effects=2, random_state=1)
model = DriftTextModel().fit(text.counts, text.effects, time=text.time)
model.plot_words(0)
