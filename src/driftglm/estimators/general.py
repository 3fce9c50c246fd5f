"""The general estimator: drifting coefficients for any registered family."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import MatrixLike, VectorLike
from driftglm.estimators.base import DriftEstimator
from driftglm.estimators.classification import DriftClassifier
from driftglm.estimators.exposure import ExposureEstimator
from driftglm.estimators.noise_paths import NoisePaths
from driftglm.estimators.parameters import Registered
from driftglm.families import Family, family_named
from driftglm.fitting.reading import Given, exposure_of
from driftglm.fitting.worker_rows import Workers
from driftglm.registry import FAMILIES


def _has_classes(model: DriftGLM) -> bool:
    """For `available_if`: only classes have probabilities."""
    if not model._of_classes:  # noqa: SLF001
        raise AttributeError(f"family {model.family!r} has no classes and no probabilities.")
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class DriftGLM(ExposureEstimator, NoisePaths):
    """A generalized linear model of any family whose coefficients drift over time.

    `DriftRegressor`, `DriftClassifier` and `DriftPoissonRegressor` are its special cases, with the
    parameters and attributes that belong to them alone.

    Parameters
    ----------
    family
        The distribution of y: "gaussian", "binomial", "multinomial", "poisson",
        "negative-binomial", "gamma", "beta-binomial", or one that was registered.
    noise
        Noise variance or dispersion, for families that have one: "auto" (estimated where a
        posterior needs it), "constant", "drift" (families "gaussian" and "student") or a number. Of
        "negative-binomial" (variance - mean) / squared mean, of "gamma" variance / squared mean, of
        "beta-binomial" the correlation of two trials of a row; these three always have one.
    prior, solver, inference, extrapolate, fit_intercept, always_in, static, feature_groups, init, \
n_starts, keep_data, freq, seasonality, max_iter, tol, verbose, random_state, n_jobs
        As for `DriftRegressor`.

    Attributes
    ----------
    noise_ : float, noise variance or dispersion, as given or as estimated
    classes_ : (K,), for families of classes
    coef_path_, intercept_path_, coef_, intercept_, ... : as of `DriftRegressor` and
        `DriftClassifier`

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm import DriftGLM
    >>> rng = np.random.default_rng(0)
    >>> year = np.repeat(np.arange(2001, 2007), 200)
    >>> X = rng.normal(size=(1200, 5))
    >>> y = rng.poisson(np.exp(1 + (year - 2003.5) / 5 * X[:, 0]))
    >>> model = DriftGLM(family="poisson").fit(X, y, time=year)
    >>> model.coef_path_[:, 0].round(1).tolist()
    [-0.5, -0.3, -0.1, 0.0, 0.2, 0.5]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DriftEstimator._parameter_constraints,  # noqa: SLF001
        "family": [Registered(FAMILIES)],
        "noise": [
            StrOptions({"auto", "constant", "drift"}),
            Interval(Real, 0, None, closed="neither"),
        ],
    }

    family: str = "gaussian"
    noise: Literal["auto", "constant", "drift"] | float = "auto"

    def _described(self) -> Family:
        return family_named(self.family)

    @property
    def family_name(self) -> str:
        """The name of the family of y."""
        return self.family

    @property
    def _of_classes(self) -> bool:
        """Whether y is classes: of the fit if there is one, else of the parameter."""
        if hasattr(self, "family_"):
            return self.family_.target == "classes"
        return self.family in FAMILIES and self._described().target == "classes"

    def _noise_param(self) -> str | float:
        return self.noise

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(  # noqa: PLR0913 (what rows may come with)
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: VectorLike = None,
        sample_weight: VectorLike = None,
        exposure: VectorLike = None,
        trials: VectorLike = None,
        groups: VectorLike = None,
        n_workers: int | None = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X, time, sample_weight, groups, n_workers, checkpoint
            As for `DriftRegressor.fit`.
        y : (n_rows,) what the family wants; for "beta-binomial" successes, or (n_rows, 2) successes
            and failures
        exposure : (n_rows,) what the mean is proportional to, for families that take one
        trials : (n_rows,) or one number: trials of every row, for "beta-binomial" with successes
            alone; None: y is 0 or 1
        """
        given = Given(y, time, sample_weight, exposure, trials, groups)
        return self._fit_given(X, given, Workers(n_workers, checkpoint))

    def update(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: ArrayLike,
        sample_weight: VectorLike = None,
        exposure: VectorLike = None,
        trials: VectorLike = None,
        groups: VectorLike = None,
    ) -> Self:
        """Append rows of new timesteps and fit again, starting from the present fit.

        As `DriftRegressor.update`, with exposure and trials of the new rows.
        """
        return self._update(X, Given(y, time, sample_weight, exposure, trials, groups))

    def predict(
        self,
        X: MatrixLike,
        *,
        time: VectorLike = None,
        exposure: VectorLike = None,
        groups: VectorLike = None,
    ) -> np.ndarray:
        """The expected y of every row, or its most probable class; no time: the next step.

        Of successes out of trials it is the expected share.
        """
        if not self._of_classes:
            return self._mean(X, time, exposure, groups)
        check_is_fitted(self, "coef_path_")
        exposure_of(self.family_, exposure, 0)  # none is taken
        shares = self.predict_proba(X, time=time, groups=groups)
        return np.asarray(self.classes_[shares.argmax(axis=1)])

    # As of a classifier, but there only if the family is one of classes.
    predict_proba = available_if(_has_classes)(DriftClassifier.predict_proba)
    predict_log_proba = available_if(_has_classes)(DriftClassifier.predict_log_proba)
    decision_function = available_if(_has_classes)(DriftClassifier.decision_function)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._of_classes:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.positive_only = self.family in FAMILIES and self._described().positive
        return tags
