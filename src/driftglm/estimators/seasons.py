"""The seasons of a fitted estimator, shown apart from the other paths."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray
from driftglm.fitting.fits import PosteriorFit
from driftglm.fitting.outcome import Forecaster
from driftglm.fitting.seasons import Seasons

FORECASTER = "seasonal"
LIKELY = 0.5
MOST_NAMED = 5


class Seasonal:
    """Mixin: what `seasonality` found. All of it is that of the forecaster "seasonal"."""

    seasonality_: int | None
    n_features_in_: int
    _forecasters: tuple[Forecaster, ...]

    @property
    def seasonal_path_(self) -> FloatArray:
        """(T, p) the seasonal part of every coefficient; (T, K, p) with K classes.

        What is beside it is the rest of the path: a constant part and a drift. Under the forecaster
        "seasonal" a coefficient is the sum of the two.
        """
        return _stack([each.mean for each in self._seasons()], axis=1)

    @property
    def seasonal_std_path_(self) -> FloatArray:
        """Posterior standard deviations of `seasonal_path_`."""
        return _stack([each.deviation for each in self._seasons()], axis=1)

    @property
    def seasonal_intercept_path_(self) -> FloatArray:
        """(T,) the seasonal part of the intercept, of a row at the columns' centre; (T, K)."""
        return _stack([each.intercept for each in self._seasons()], axis=1)

    @property
    def seasonal_probability_(self) -> FloatArray:
        """(p,) probability that a coefficient has a season; (K, p)."""
        return _stack([each.probability for each in self._seasons()], axis=0)

    @property
    def seasonal_intercept_probability_(self) -> FloatArray:
        """() probability that the intercept has a season; (K,)."""
        found = [np.asarray(each.intercept_probability) for each in self._seasons()]
        return _stack(found, axis=0)

    def season_sentence(self) -> str:
        """Which coefficients have a season, in one sentence; empty where none was looked for."""
        check_is_fitted(self, "timesteps_")
        if self.seasonality_ is None:
            return ""
        model = cast("Any", self)
        likely = np.atleast_2d(self.seasonal_probability_).max(axis=0)
        order = [i for i in np.argsort(-likely, kind="stable") if likely[i] >= LIKELY]
        names = model._names(None)  # noqa: SLF001 (as the summary does)
        said = [names[i] for i in order[:MOST_NAMED]]
        if np.max(self.seasonal_intercept_probability_) >= LIKELY:
            said.insert(0, "the intercept")
        if len(order) > MOST_NAMED:
            said.append(f"{len(order) - MOST_NAMED} more")
        what = ", ".join(said) if said else "nothing"
        return f"Seasons of {self.seasonality_} steps were found in {what}."

    def _seasons(self, n_more: int = 0) -> list[Seasons]:
        """Those of every response, `n_more` steps after the last too."""
        check_is_fitted(self, "timesteps_")
        known = {each.name: each for each in self._forecasters}
        if FORECASTER not in known:
            raise AttributeError(
                "this fit has no seasons; pass seasonality=12 (the steps of a cycle, two of which "
                "must be there) with prior='learned'."
            )
        return [Seasons.of(cast("PosteriorFit", fit), n_more) for fit in known[FORECASTER].fits]


def _stack(parts: list[FloatArray], axis: int) -> FloatArray:
    """The array of a single response as it is; those of several along a new axis."""
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=axis)
