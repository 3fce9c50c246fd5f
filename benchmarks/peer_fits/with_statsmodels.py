"""statsmodels: coefficients as random walks, written as a state space model."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from driftglm._typing import FloatArray, IntArray
from peer_fits.data import Linear, NotApplicableError, PeerData
from peer_fits.tuning import settled

MOST_FEATURES, MOST_ROWS = 60, 4000
DIFFUSE = 1e4


class RandomWalks:
    """All coefficients and the intercept move once a step; both variances by maximum likelihood."""

    def prepare(self, data: PeerData) -> Any:
        """The model, if it is small."""
        n_rows, n_features = data.X.shape
        if data.sparse:
            raise NotApplicableError("no sparse input")
        if n_features > MOST_FEATURES or n_rows > MOST_ROWS:
            raise NotApplicableError(
                f"a state of {n_features} coefficients filtered {n_rows} times for every "
                f"likelihood; tried up to {MOST_FEATURES} features and {MOST_ROWS} rows"
            )
        order = np.argsort(data.step, kind="stable")
        design = np.column_stack([np.ones(n_rows), data.X[order]])
        return _random_walks(design, data.y[order], data.step[order])

    def fit(self, model: Any) -> Linear:
        """Maximum likelihood, then the state after the last row."""
        with settled() as said:
            result = model.fit(disp=0, maxiter=100)
        state = result.filtered_state[:, -1]
        noise, drift = result.params
        chosen = f"noise {noise:.3g}, drift {drift:.3g} a step"
        return Linear("gaussian", state[1:], float(state[0]), state.size - 1, said[0], chosen)


def _random_walks(X: FloatArray, y: FloatArray, step: IntArray) -> Any:
    base = import_module("statsmodels.tsa.statespace.mlemodel").MLEModel
    n_rows, n_states = X.shape
    moves = np.zeros((n_states, n_states, n_rows))
    # The walk is between the last row of a step and the first of the next.
    moves[:, :, np.append(np.diff(step) > 0, True)] = np.eye(n_states)[:, :, None]

    class RandomWalk(base):  # type: ignore[misc, valid-type]
        """y = x beta_t + noise, beta_t a random walk."""

        def __init__(self) -> None:
            super().__init__(y, k_states=n_states)
            self["design"] = X.T[None]
            self["transition"] = self["selection"] = np.eye(n_states)
            self.ssm.initialize_approximate_diffuse(DIFFUSE)

        @property
        def param_names(self) -> list[str]:
            return ["noise", "drift"]

        @property
        def start_params(self) -> FloatArray:
            return np.asarray(np.var(y) * np.array([0.5, 1e-3]))

        def transform_params(self, unconstrained: FloatArray) -> FloatArray:
            return np.exp(unconstrained)

        def untransform_params(self, constrained: FloatArray) -> FloatArray:
            return np.log(constrained)

        def update(self, params: FloatArray, **kwargs: Any) -> None:
            noise, drift = super().update(params, **kwargs)
            self["obs_cov", 0, 0] = noise
            self["state_cov"] = moves * drift

    return RandomWalk()
