"""pydlm: a dynamic linear model with discounts, one row after the other."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np

from driftglm._typing import FloatArray
from peer_fits.data import Linear, NotApplicableError, PeerData, mean_loss

DISCOUNTS = (0.5, 0.8, 0.9, 0.97, 1.0)
"""What a step leaves of the information before it; a row leaves its root."""
MOST_FEATURES, MOST_ROWS = 60, 4000


class Discounted:
    """Rows in the order of their steps, each a time of its own; an intercept and all features."""

    def prepare(self, data: PeerData) -> PeerData:
        """The rows as they are, if they are few."""
        n_rows, n_features = data.X.shape
        if data.sparse:
            raise NotApplicableError("no sparse input")
        if n_features > MOST_FEATURES or n_rows > MOST_ROWS:
            raise NotApplicableError(
                f"one row a time, a state of {n_features} coefficients filtered {n_rows} times; "
                f"tried up to {MOST_FEATURES} features and {MOST_ROWS} rows"
            )
        order = np.argsort(data.step, kind="stable")
        return replace(data, X=data.X[order], y=data.y[order], step=data.step[order])

    def fit(self, data: PeerData) -> Linear:
        """The discount on the last training step, then all rows."""
        last = data.step == data.step.max()
        rows_a_step = data.y.size / data.n_steps
        errors = []
        for discount in DISCOUNTS:
            linear = _filtered(data.X[~last], data.y[~last], discount ** (1 / rows_a_step))
            errors.append(mean_loss("gaussian", data.y[last], linear.predict(data.X[last])))
        best = DISCOUNTS[int(np.argmin(errors))]
        linear = _filtered(data.X, data.y, best ** (1 / rows_a_step))
        return replace(linear, chosen=f"discount {best} a step")


def _filtered(X: FloatArray, y: FloatArray, discount: float) -> Linear:
    pydlm = import_module("pydlm")
    level = pydlm.trend(degree=0, discount=discount, name="level")
    slopes = pydlm.dynamic(features=X.tolist(), discount=discount, name="features")
    model = pydlm.dlm(y.tolist()) + level + slopes
    model.fitForwardFilter()
    state = np.ravel(model.getLatentState(filterType="forwardFilter")[-1])
    return Linear("gaussian", state[1:], float(state[0]), X.shape[1])
