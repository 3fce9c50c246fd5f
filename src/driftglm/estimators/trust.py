"""How much history a fitted estimator trusts: weights and scores of the averaged forecasters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from driftglm import plots
from driftglm._typing import FloatArray
from driftglm.data.timesteps import Labels
from driftglm.fitting.history import History

NEXT = "next"
TRUSTED = {
    "drifting": "drift",
    "held": "the last step",
    "static": "constant coefficients",
    "pooled": "all history",
    "seasonal": "drift and seasons",
    "seasonal-static": "constant coefficients and a seasonal intercept",
}
"""Forecasters in the words of a sentence."""


class Trust:
    """Mixin: what `extrapolate="average"` found."""

    extrapolate_: str
    timesteps_: Labels

    _history: Any
    """`History`, or None where nothing is averaged."""

    @property
    def extrapolation_weights_(self) -> pd.DataFrame:
        """How much every forecaster is trusted, a row a step: those predicted, then "next".

        A row has the weights that its step was predicted with, before it was seen; the last row
        has those that `predict` uses. Forecasters: "drifting" (coefficients move on as they did),
        "held" (those of the last step), "static" (constant coefficients, intercepts that move),
        "pooled" (one set of coefficients for all rows, as without time); with seasons also
        "seasonal" (coefficients drift and have seasons) and "seasonal-static" (constant
        coefficients under an intercept that moves and has a season).
        """
        return self._by_origin(self._averaged().weights, last=True)

    @property
    def extrapolation_scores_(self) -> pd.DataFrame:
        """Mean log density that every forecaster gave to the rows of a step it had not seen.

        The higher the better; missing where a forecaster was given up before.
        """
        history = self._averaged()
        scores = [each.mean for each in history.scores]
        found = np.array(scores).reshape(-1, len(history.names))
        return self._by_origin(np.where(np.isfinite(found), found, np.nan), last=False)

    def plot_weights(self) -> Any:
        """The weights of the forecasters over the steps they were judged by, as a Figure."""
        table = self.extrapolation_weights_
        return plots.plot_weights(table)

    def trust_sentence(self) -> str:
        """What `predict` trusts, in one sentence; empty where nothing is averaged."""
        check_is_fitted(self, "timesteps_")
        if self._history is None:
            return ""
        pairs = zip(self._history.names, self._history.current, strict=True)
        parts = [(weight, TRUSTED.get(name, name)) for name, weight in pairs]
        said = [f"{name} {weight:.0%}" for weight, name in sorted(parts, reverse=True)]
        return f"Forecasts trust {', '.join(said)}."

    def _averaged(self) -> History:
        check_is_fitted(self, "timesteps_")
        if self._history is None:
            raise AttributeError(
                f"this fit extrapolates by {self.extrapolate_!r} and averages nothing; use "
                "extrapolate='average' and the learned prior."
            )
        history: History = self._history
        return history

    def _by_origin(self, values: FloatArray, *, last: bool) -> pd.DataFrame:
        history = self._averaged()
        labels: list[object] = [self.timesteps_[code] for code in history.codes]
        index = pd.Index([*labels, NEXT] if last else labels, name="step", dtype=object)
        return pd.DataFrame(values, index=index, columns=list(history.names))
