"""What an estimator says is wrong with its own fit."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._typing import FloatArray, MatrixLike, VectorLike
from driftglm.data.timesteps import Freq, TimeAxis
from driftglm.diagnostics import Finding, Residuals, findings, findings_frame, range_check
from driftglm.diagnostics.diagnose import ORDER
from driftglm.exceptions import DataError
from driftglm.families import Family
from driftglm.fitting.fit import X_FORMAT
from driftglm.fitting.fits import Fit, PosteriorFit
from driftglm.fitting.residuals import RowChecks
from driftglm.plots.labels import Names

CYCLES = {"Q": 4, "M": 12, "W": 52, "D": 7, "h": 24}
"""Steps of a year, of a week for days and of a day for hours, by the unit of a period."""
FREQ = re.compile(r"(\d*)(Q|M|W|D|h)(?:-[A-Z]{3})?")


class Diagnosis:
    """Mixin: residuals of the training rows, and what they say about the fit."""

    family_: Family
    intercept_path_: FloatArray
    coef_path_: FloatArray
    _axis: TimeAxis
    _checks: RowChecks | None

    @property
    @abstractmethod
    def _fits(self) -> tuple[Fit, ...]: ...

    @abstractmethod
    def _names(self, feature_names: Names) -> list[str]: ...

    @abstractmethod
    def _split(self, X: MatrixLike, time: VectorLike) -> tuple[Any, Any]: ...

    @property
    def residuals_(self) -> FloatArray:
        """(n,) quantile residuals of the training rows: standard normal if the model is right.

        The normal quantile of the probability that the other rows give to values below y; a
        discrete y is given a random place of its own probability. Rows are in the order they were
        given, those of weight 0 left out. For the Gaussian it is the studentised residual.
        """
        return self._row_checks().residual.astype(np.float64)

    def diagnose(self, X: MatrixLike | None = None) -> pd.DataFrame:
        """What is wrong with the fit, in words, the worst first; no rows: nothing was found.

        The training rows are not needed: each has left a residual. If the model is right, there is
        a finding with a probability of 5 % at most, whatever the number of checks. Those of `X`
        are not tests.

        Parameters
        ----------
        X
            New rows to be predicted; columns that leave their training range are findings too.

        Returns
        -------
        DataFrame
            check, finding, advice, statistic, p_value (of all checks together; NaN where size alone
            decides) and severity, "major" or "minor".

        Examples
        --------
        >>> import numpy as np
        >>> from driftglm import DriftRegressor
        >>> from driftglm.simulate import simulate_panel
        >>> panel = simulate_panel(n_features=5, random_state=0)
        >>> y = np.where(panel.time == 3, 10 * panel.y, panel.y)  # another unit in one step
        >>> model = DriftRegressor(noise="constant").fit(panel.X, y, time=panel.time)
        >>> "wild step" in set(model.diagnose()["check"])
        True
        """
        checks = self._row_checks()
        found = self._unknown(checks) + findings(self._residuals(checks))
        if vars(self).get("seasonality_") is not None:  # the first forecaster alone lacks a season
            found = [each for each in found if each.check != "season"]
        if X is not None:
            rows = validate_data(self, self._split(X, None)[0], reset=False, **X_FORMAT)
            found += range_check(rows, checks.minimum, checks.maximum, self._names(None))
        return findings_frame(sorted(found, key=lambda each: ORDER[each.severity]))

    def _row_checks(self) -> RowChecks:
        check_is_fitted(self, "coef_path_")
        checks = vars(self).get("_checks")
        if not isinstance(checks, RowChecks):
            raise DataError(
                "the model is of a version that stored no residuals; fit it again to diagnose it."
            )
        return checks

    def _residuals(self, checks: RowChecks) -> Residuals:
        """What the checks take."""
        known = checks.sample()
        one, none = np.ones(1), np.zeros(1)
        discrete = self.family_.coupled or self.family_.predictive(none, none, one).discrete
        return Residuals(
            residual=checks.residual[known].astype(np.float64),
            steps=checks.codes[known].astype(np.int64),
            n_timesteps=self._axis.n_timesteps,
            period=cycle(self._axis.freq),
            labels=[str(label) for label in self._axis.labels],
            continuous=not discrete,
            influence=self._influence(),
            intercept_path=self._intercepts_in_residuals(checks),
        )

    def _influence(self) -> FloatArray | None:
        """(T,) what leaving a step out would move; of posteriors with time only."""
        fits = [fit for fit in self._fits if isinstance(fit, PosteriorFit)]
        if self._axis.is_single or not fits:
            return None
        return np.asarray(np.max([fit.influence() for fit in fits], axis=0))

    def _intercepts_in_residuals(self, checks: RowChecks) -> FloatArray | None:
        """(T,) intercepts at the mean of all rows, in the unit of the residuals.

        At x = 0 they would move with the coefficients of columns that are far from zero.
        """
        fit, *others = self._fits
        if others or not fit.columns.has_intercept:
            return None
        rows = np.bincount(checks.codes, minlength=fit.n_timesteps)
        middle = np.average(fit.columns.center, axis=0, weights=rows)
        path = self.intercept_path_ + np.einsum("ti,i->t", self.coef_path_, middle)
        return np.asarray((path - path.mean()) * np.sqrt(checks.information))

    def _unknown(self, checks: RowChecks) -> list[Finding]:
        """That some rows cannot be checked, if so."""
        n_rows, unknown = checks.residual.size, int(np.isnan(checks.residual).sum())
        if not unknown:
            return []
        text = f"{unknown:,} of {n_rows:,} rows were not checked: their y is not a whole number"
        advice = (
            f"family {self.family_.name!r} forecasts whole numbers: pass counts and their "
            "exposure, rather than rates and weights"
        )
        return [Finding("rows", text, advice, unknown / n_rows, None, "minor")]


def cycle(freq: Freq) -> int | None:
    """Steps of a year (of a week for days, of a day for hours); None: not known."""
    match = FREQ.fullmatch(str(freq))
    if match is None:
        return None
    steps, rest = divmod(CYCLES[match[2]], int(match[1] or 1))
    return steps if steps > 1 and rest == 0 else None
