"""Poisson regression with drifting coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Literal

from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions

from driftglm.estimators.base import DriftEstimator
from driftglm.estimators.exposure import ExposureEstimator
from driftglm.families import Family, Poisson


@dataclass(kw_only=True, eq=False, repr=False)
class DriftPoissonRegressor(RegressorMixin, ExposureEstimator):
    """Regression of counts, log link, whose coefficients drift over time, most being zero.

    Parameters
    ----------
    prior, solver, inference, extrapolate, fit_intercept, always_in, static, feature_groups, init, \
n_starts, keep_data, freq, seasonality, max_iter, tol, verbose, random_state, n_jobs
        As for `DriftRegressor`.
    dispersion
        Variance of a count over its mean: "estimate", a number, or "auto": estimated with the
        learned prior (never below 1), 1 with the paper's priors. Real counts scatter more than a
        Poisson distribution allows, and a model that does not know it takes noise for drift.

    Attributes
    ----------
    dispersion_ : float
    coef_path_, intercept_path_, coef_, intercept_, ... : as of `DriftRegressor`, on the log scale

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm import DriftPoissonRegressor
    >>> rng = np.random.default_rng(0)
    >>> month = np.repeat(np.arange(8), 100)
    >>> X = rng.normal(size=(800, 10))
    >>> y = rng.poisson(np.exp(1 + (month - 3.5) / 5 * X[:, 0] + 0.3 * X[:, 1]))
    >>> model = DriftPoissonRegressor().fit(X, y, time=month)
    >>> (model.inclusion_probability_ > 0.5).nonzero()[0].tolist()
    [0, 1]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DriftEstimator._parameter_constraints,  # noqa: SLF001
        "dispersion": [StrOptions({"auto", "estimate"}), Interval(Real, 0, None, closed="neither")],
    }

    dispersion: Literal["auto", "estimate"] | float = "auto"

    def _described(self) -> Family:
        return Poisson()

    def _noise_param(self) -> str | float:
        return "constant" if self.dispersion == "estimate" else self.dispersion

    @property
    def dispersion_(self) -> float:
        """Variance over mean of a count, as given or as estimated."""
        return self.noise_

    # RegressorMixin, which scikit-learn wants first, has a score that knows no exposure.
    score = ExposureEstimator.score

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags
