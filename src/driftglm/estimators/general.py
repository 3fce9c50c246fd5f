"""The general estimator: drifting coefficients for any registered family."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray
from driftglm.estimators.base import DriftEstimator, Extrapolate
from driftglm.estimators.parameters import Registered
from driftglm.families import Family, family_named
from driftglm.fitting.reading import Given, exposure_of
from driftglm.fitting.starts import Init
from driftglm.fitting.worker_rows import Workers
from driftglm.priors import Learned, PathPrior
from driftglm.registry import FAMILIES


def _has_classes(model: DriftGLM) -> bool:
    """For `available_if`: only classes have probabilities."""
    if not model._of_classes:  # noqa: SLF001
        raise AttributeError(f"family {model.family!r} has no classes and no probabilities.")
    return True


class DriftGLM(DriftEstimator):
    """A generalized linear model of any family whose coefficients drift over time.

    `DriftRegressor`, `DriftClassifier` and `DriftPoissonRegressor` are its special cases, with the
    parameters and attributes that belong to them alone.

    Parameters
    ----------
    family
        The distribution of y: "gaussian", "binomial", "multinomial", "poisson", or one that was
        registered.
    noise
        Noise variance or dispersion, for families that have one: "auto" (estimated where a
        posterior needs it), "estimate" or a number.
    prior, solver, extrapolate, fit_intercept, always_in, static, init, n_starts, keep_data, freq, \
max_iter, tol, verbose, random_state, n_jobs
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
        "noise": [StrOptions({"auto", "estimate"}), Interval(Real, 0, None, closed="neither")],
    }

    def __init__(  # noqa: PLR0913
        self,
        *,
        family: str = "gaussian",
        noise: Literal["auto", "estimate"] | float = "auto",
        prior: str | PathPrior | Learned = "learned",
        solver: Literal["auto", "block", "lbfgs"] = "auto",
        extrapolate: Extrapolate = "auto",
        fit_intercept: bool = True,
        always_in: Any = None,
        static: Any = None,
        init: Init = "auto",
        n_starts: int = 1,
        keep_data: bool = False,
        freq: str | int | None = None,
        max_iter: int = 1000,
        tol: float = 1e-4,
        verbose: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            prior=prior,
            solver=solver,
            extrapolate=extrapolate,
            fit_intercept=fit_intercept,
            always_in=always_in,
            static=static,
            init=init,
            n_starts=n_starts,
            keep_data=keep_data,
            freq=freq,
            max_iter=max_iter,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.family = family
        self.noise = noise

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
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        time: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        n_workers: int | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X, time, sample_weight, n_workers, checkpoint
            As for `DriftRegressor.fit`.
        y : (n_rows,) numbers or classes, as the family wants them
        exposure : (n_rows,) what the mean is proportional to, for families that take one
        """
        given = Given(y, time, sample_weight, exposure)
        return self._fit_given(X, given, Workers(n_workers, checkpoint))

    def update(
        self, X: Any, y: Any, *, time: Any, sample_weight: Any = None, exposure: Any = None
    ) -> Self:
        """Append rows of new timesteps and fit again; see `DriftRegressor.update`."""
        return self._update(X, Given(y, time, sample_weight, exposure))

    def predict(self, X: Any, *, time: Any = None, exposure: Any = None) -> Any:
        """The expected y of every row, or its most probable class; no time: the next step."""
        if not self._of_classes:
            return self._mean(X, time, exposure)
        check_is_fitted(self, "coef_path_")
        exposure_of(self.family_, exposure, 0)  # none is taken
        p = self.predict_proba(X, time=time)
        return np.asarray(self.classes_[np.argmax(p, axis=1)])

    @available_if(_has_classes)
    def predict_proba(self, X: Any, *, time: Any = None) -> FloatArray:
        """(n_rows, K) probabilities of the classes."""
        check_is_fitted(self, "coef_path_")
        return self.family_.probabilities(*self._eta_moments(X, time))

    @available_if(_has_classes)
    def predict_log_proba(self, X: Any, *, time: Any = None) -> FloatArray:
        """Logarithm of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X, time=time)))

    @available_if(_has_classes)
    def decision_function(self, X: Any, *, time: Any = None) -> FloatArray:
        """Logits of `classes_[1]` (n_rows,), or of every class (n_rows, K)."""
        eta = self._eta_means(X, time)
        return eta if self.family_.coupled else eta[:, 0]

    def predict_interval(
        self, X: Any, time: Any = None, level: float = 0.9, *, exposure: Any = None
    ) -> FloatArray:
        """Central intervals (n_rows, 2) of y, or of the probabilities of its classes."""
        return self._interval(X, time, level, exposure)

    def score(
        self, X: Any, y: Any, *, time: Any = None, sample_weight: Any = None, exposure: Any = None
    ) -> float:
        """The share of the family's loss explained, or the accuracy of classes."""
        prediction = self.predict(X, time=time, exposure=exposure)
        if self._of_classes:
            return float(accuracy_score(y, prediction, sample_weight=sample_weight))
        return self._explained(y, prediction, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._of_classes:
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.positive_only = self.family in FAMILIES and self._described().positive
        return tags
