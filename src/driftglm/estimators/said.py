"""What an estimator says about coefficients: a table, intervals, standard deviations."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import BoolArray, FloatArray
from driftglm.estimators.levels import checked_level
from driftglm.estimators.statements import Thresholds
from driftglm.estimators.summary import summarise
from driftglm.families import Family
from driftglm.fitting.fits import Fit, Step
from driftglm.fitting.identity import ColumnNotes
from driftglm.fitting.limits import limits_of
from driftglm.fitting.outcome import Forecaster
from driftglm.plots.labels import Names, feature_names_of


def stacked(parts: list[FloatArray], axis: int = 1) -> FloatArray:
    """The array of a single response as it is; those of several along a new axis."""
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=axis)


class Said:
    """Mixin: `summary`, `coef_interval` and `coef_std_path_`."""

    prior: Any
    family_: Family
    classes_: np.ndarray
    coef_path_: FloatArray
    n_features_in_: int
    _notes: ColumnNotes

    @property
    @abstractmethod
    def _fits(self) -> tuple[Fit, ...]: ...

    @property
    @abstractmethod
    def _forecaster(self) -> Forecaster: ...

    @abstractmethod
    def _next_steps(self) -> Sequence[Step]: ...

    @abstractmethod
    def _only_seasonal(self, thresholds: Thresholds) -> list[BoolArray | None]: ...

    def coef_interval(self, level: float = 0.9) -> FloatArray:
        """Central intervals of every coefficient at every step: (2, T, p), lower and upper.

        Quantiles of what a coefficient may be, zero with some probability or one of several normal
        distributions; widened to the mean where that lies outside of them, as it may where zero is
        likely.
        """
        check_is_fitted(self, "coef_path_")
        if not self._forecaster.posterior:
            _ = self.coef_std_path_  # says why a mode has no intervals
        return stacked([limits_of(fit, checked_level(level)) for fit in self._fits], axis=2)

    def summary(
        self,
        feature_names: Names = None,
        *,
        drift_level: float = 0.9,
        negligible: float = 0.05,
    ) -> pd.DataFrame:
        """One row a feature, most important first.

        Parameters
        ----------
        feature_names
            Names of the columns of X; None: those seen by `fit`, or x0, x1, ...
        drift_level
            The least drift probability of what is called drifting.
        negligible
            Change of eta per standard deviation of a column that is not worth mentioning, in
            standard deviations of what there is to explain (of y, for a Gaussian).

        Returns
        -------
        DataFrame
            feature, inclusion_probability (of a path of its own), drift_probability, kind (zero,
            shared, static, seasonal, drifting, sign-flip or undecided; `docs/statements.md` defines
            them),
            coef_first, coef_last, coef_next, lower and upper (90 % of coef_next), change (largest
            difference between two steps, the later less the earlier), change_lower and
            change_upper (90 %), autocorrelation, reference (the level that a level is compared
            with, where that is known), note (what speaks against the column), and of a fit that
            was sampled r_hat and effective_draws (NaN of features next to never in). A mode
            has no intervals. Importance is the root mean square of (x - mean) * beta over the
            training rows; columns with a note about themselves come after all others.
        """
        check_is_fitted(self, "coef_path_")
        names, thresholds = self._names(feature_names), Thresholds(drift_level, negligible)
        known = names, self._notes, thresholds
        parts = zip(self._fits, self._next_steps(), self._only_seasonal(thresholds), strict=True)
        tables = [summarise(fit, step, *known, again) for fit, step, again in parts]
        if not self.family_.coupled:
            return tables[0]
        for label, table in zip(self.classes_, tables, strict=True):
            table.insert(0, "class", label)
        return pd.concat(tables, ignore_index=True)

    def _names(self, feature_names: Names) -> list[str]:
        return feature_names_of(self, self.n_features_in_, feature_names)

    @property
    def coef_std_path_(self) -> FloatArray:
        """(T, p) posterior standard deviations; a mode, as of the paper's priors, has none."""
        check_is_fitted(self, "coef_path_")
        if self._forecaster.posterior:
            return stacked([fit.std_path() for fit in self._fits])
        raise AttributeError(
            f"a fit with prior={self.prior!r} is a posterior mode and has no standard deviations; "
            "coef_path_ and inclusion_probability_ (0 or 1) are what it can say."
        )
