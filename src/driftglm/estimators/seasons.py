"""The seasons of a fitted estimator, shown apart from the other paths."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import BoolArray, FloatArray
from driftglm.estimators.levels import LEVEL, normal_quantile
from driftglm.estimators.statements import Thresholds
from driftglm.fitting.fits import PosteriorFit
from driftglm.fitting.outcome import Forecaster
from driftglm.fitting.seasons import PhaseChanges, Seasons
from driftglm.plots.labels import Names

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

    def season_summary(
        self, feature_names: Names = None, *, drift_level: float = 0.9, negligible: float = 0.05
    ) -> pd.DataFrame:
        """One row a feature: what is season, and what drifts beside it.

        Parameters
        ----------
        feature_names, drift_level, negligible
            As in `summary`.

        Returns
        -------
        DataFrame
            feature, season_probability, season_range (of the seasonal path), drift_probability
            (beside the season), change, change_lower and change_upper (largest difference between
            two steps of one phase, and 90 % of it), kind: drifting if the drift probability reaches
            `drift_level` and the interval leaves negligible changes out, else seasonal if there
            rather is a season than not, else neither. All of it is that of the forecaster
            "seasonal", which takes rows for independent where groups are in one step each.
        """
        thresholds, model = Thresholds(drift_level, negligible), cast("Any", self)
        names, tables = model._names(feature_names), []  # noqa: SLF001
        for season, found, kind in self._judged(thresholds):
            table = {
                "feature": names,
                "season_probability": season.probability,
                "season_range": np.ptp(season.mean, axis=0),
                "drift_probability": season.drift,
                "change": found.estimate,
                "change_lower": found.lower,
                "change_upper": found.upper,
                "kind": kind,
            }
            tables.append(pd.DataFrame(table))
        if len(tables) == 1:
            return tables[0]
        labels = zip(model.classes_, tables, strict=True)
        return pd.concat([t.assign(**{"class": c}) for c, t in labels], ignore_index=True)

    def _judged(self, thresholds: Thresholds) -> list[tuple[Seasons, PhaseChanges, np.ndarray]]:
        """Season, changes beside it and kind of every feature, of every response."""
        seasons, out = self._seasons(), []
        fits = {each.name: each for each in self._forecasters}[FORECASTER].fits
        for season, fit in zip(seasons, fits, strict=True):
            known = cast("PosteriorFit", fit), int(self.seasonality_ or 0)
            found = PhaseChanges.of(*known, normal_quantile(LEVEL))
            beyond = thresholds.beyond(fit, found.lower, found.upper)
            kind = np.where(season.probability >= LIKELY, "seasonal", "neither")
            drifts = (season.drift >= thresholds.drift_level) & beyond
            out.append((season, found, np.where(drifts, "drifting", kind)))
        return out

    def _only_seasonal(self, thresholds: Thresholds) -> list[BoolArray | None]:
        """Features of which no more than a season can be said, of every response."""
        if FORECASTER not in {each.name for each in self._forecasters}:
            return [None] * len(self._forecasters[0].fits)
        return [np.asarray(kind == "seasonal") for _, _, kind in self._judged(thresholds)]

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
