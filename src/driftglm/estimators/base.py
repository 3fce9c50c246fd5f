"""What all estimators of rows share: parameters, fit, update, and the shapes of what was fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from driftglm._threads import n_threads
from driftglm._typing import FloatArray, MatrixLike, VectorLike
from driftglm._warnings import warn
from driftglm.estimators.contrasts import Contrasts
from driftglm.estimators.diagnosis import Diagnosis
from driftglm.estimators.draws import JointDraws, sampling_of, seed_of
from driftglm.estimators.export import Exports
from driftglm.estimators.forecasts import Forecasts
from driftglm.estimators.group_effects import GroupEffects
from driftglm.estimators.kinds import KindsOfFeatures
from driftglm.estimators.linear_predictor import LinearPredictor
from driftglm.estimators.parameters import Registered
from driftglm.estimators.said import Said, stacked
from driftglm.estimators.scores import share_explained
from driftglm.estimators.seasons import Seasonal
from driftglm.estimators.stopped import stopped_early
from driftglm.estimators.time_column import require_time, split_time, warn_timeless
from driftglm.estimators.trust import Trust
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning, TimeError
from driftglm.families import Family
from driftglm.files import Storable
from driftglm.fitting.averaged import Averaged
from driftglm.fitting.extrapolation import Extrapolation
from driftglm.fitting.fit import Fitted, Plan, fit_given, fit_more
from driftglm.fitting.fits import Fit, Step
from driftglm.fitting.modes import SOLVERS
from driftglm.fitting.outcome import Forecaster, Outcome
from driftglm.fitting.reading import Given, Reading
from driftglm.fitting.settings import NoiseName, Seasonality, Settings
from driftglm.fitting.starts import Init
from driftglm.fitting.worker_rows import IN_THIS_PROCESS, Workers
from driftglm.plots.labels import Features, Names
from driftglm.priors import Learned, PathPrior, Prior, prior_named
from driftglm.registry import PRIORS
from driftglm.solvers import StopReason
from driftglm.solvers.sampling import Sampling

Extrapolate = Literal["auto", "average", "forecast", "hold"]


def prior_of(prior: str | Prior | type[Prior]) -> Prior:
    """A prior as an object, from its name or itself."""
    if isinstance(prior, type):
        name = prior.__name__
        raise TypeError(f"prior is the class {name}; pass an object of it: prior={name}().")
    return prior_named(prior) if isinstance(prior, str) else prior


@dataclass(kw_only=True, eq=False, repr=False)
class DriftEstimator(
    Seasonal,
    Said,
    GroupEffects,
    LinearPredictor,
    JointDraws,
    Forecasts,
    Contrasts,
    Diagnosis,
    Exports,
    KindsOfFeatures,
    Trust,
    Storable,
    BaseEstimator,
):
    """Base of the estimators; see `DriftRegressor` for the parameters."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prior": [Registered(PRIORS, classes=True), Prior],
        "solver": [StrOptions(set(SOLVERS))],
        "inference": [StrOptions({"variational", "sampling"}), Sampling],
        "extrapolate": [StrOptions({"auto", "average", "forecast", "hold"})],
        "fit_intercept": ["boolean"],
        "always_in": ["array-like", str, Integral, None],
        "static": ["array-like", str, Integral, None],
        "feature_groups": [Mapping, None],
        "init": [StrOptions({"auto", "lasso-one", "lasso-all", "ridge-all", "zero"})],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "keep_data": ["boolean"],
        "freq": [str, Interval(Integral, 1, None, closed="left"), None],
        "seasonality": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left"), None],
        "time": [str, None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    # scikit-learn reads parameters off the signature of `__init__`, which `dataclass` writes.
    prior: str | PathPrior | Learned = "learned"
    solver: Literal["auto", "block", "lbfgs"] = "auto"
    inference: Literal["variational", "sampling"] | Sampling = "variational"
    extrapolate: Extrapolate = "auto"
    fit_intercept: bool = True
    always_in: Features = None
    static: Features = None
    feature_groups: Mapping[str, Features] | None = None
    init: Init = "auto"
    n_starts: int = 1
    keep_data: bool = False
    freq: str | int | None = None
    seasonality: Seasonality = "auto"
    time: str | None = None
    max_iter: int = 1000
    tol: float = 1e-4
    verbose: bool = False
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    # ----------------------------------------------- what the estimators differ in

    def _described(self) -> Family:
        """The family, as it is registered."""
        raise TypeError(f"{type(self).__name__} does not say which family it is for.")

    @property
    def family_name(self) -> str:
        """The name of the family of y."""
        return self._described().name

    def _noise_param(self) -> str | float:
        """The noise or dispersion asked for: "auto", "constant", "drift" or a number."""
        return "auto"

    # -------------------------------------------------------------------- fitting

    def _plan(self, workers: Workers = IN_THIS_PROCESS) -> Plan:
        """What the parameters ask for."""
        prior, noise = prior_of(self.prior), self._noise_param()
        reading = Reading(
            family=self._described(),
            owner=type(self).__name__,
            posterior=prior.posterior,
            noise_asked=noise != "auto",
            n_directions=prior.n_directions,
            intercept=self.fit_intercept,
            always_in=self.always_in,
            static=self.static,
            feature_groups=self.feature_groups,
            class_weight=getattr(self, "class_weight", None),
            freq=self.freq,
            threads=n_threads(self.n_jobs),
            verbose=bool(self.verbose),
        )
        settings = Settings(
            prior=prior,
            solver=self.solver,
            init=self.init,
            n_starts=self.n_starts,
            max_iter=self.max_iter,
            tol=self.tol,
            noise=cast("NoiseName", noise) if isinstance(noise, str) else float(noise),
            verbose=bool(self.verbose),
            seasonality=self.seasonality,
            sampling=sampling_of(self.inference),
            seed=seed_of(self.random_state),
            threads=n_threads(self.n_jobs),
        )
        return Plan(reading, settings, self.extrapolate, self.get_params(), workers)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: VectorLike = None,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
        n_workers: int | None = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : (n_rows, n_features) array, sparse matrix or frame; a Dask array, a list of delayed
            partitions or a folder of shards is fitted on Dask workers
        y : (n_rows,) numbers, or labels of classes; a class may be missing in some timesteps
        time : (n_rows,) integers, dates, Periods or an ordered Categorical; None: one timestep
        sample_weight : (n_rows,), a row of weight 2 counts as two rows
        groups : (n_rows,) ids of what rows have in common, a firm, a person, a day: such rows share
            an effect (`group_effects_`), and are no independent witnesses
        n_workers : processes of a local cluster to fit on, unless a Dask client is active; None:
            rows in this process are fitted in it, others on the active client
        checkpoint : a file to go on from if the fit is interrupted; removed when it is done
        """
        given = Given(y, time, sample_weight, groups=groups)
        return self._fit_given(X, given, Workers(n_workers, checkpoint))

    def _fit_given(self, X: MatrixLike, given: Given, workers: Workers) -> Self:
        """The common part of every `fit`."""
        require_time(X, given.time, self.time)
        X, time = split_time(X, given.time, self.time, self.freq)
        given = replace(given, time=time)
        if workers.wanted(X):
            self._refuse_workers()
            self.__dict__.pop("feature_names_in_", None)
        self._report(fit_given(self, X, given, self._plan(workers)))
        return self

    def _refuse_workers(self) -> None:
        if self.keep_data:
            raise DataError(
                "keep_data=True keeps all rows in the model and these are on workers; leave it "
                "False, and fit again when there are new rows."
            )

    def update(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: ArrayLike,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
    ) -> Self:
        """Append rows of new timesteps and fit again, starting from the present fit.

        Needs a model fitted with `keep_data=True`; every label must lie after the last training
        step. With the learned prior the fit goes on from the present posterior; with the
        paper's priors it is a new search, since zero paths could not come back otherwise.
        New rows may lack classes but not bring new ones.
        """
        return self._update(X, Given(y, time, sample_weight, groups=groups))

    def _update(self, X: MatrixLike, given: Given) -> Self:
        """The common part of every `update`."""
        check_is_fitted(self, "coef_path_")
        if self._rows is None:
            raise DataError(
                "the model has not kept its training data and cannot be updated; "
                "fit it with keep_data=True."
            )
        if self._axis.is_single:
            raise TimeError(
                "the model was fitted without time and has no step to add to; "
                "fit it with time= to update it later."
            )
        require_time(X, given.time, self.time)
        X, time = self._split(X, given.time)
        given = replace(given, time=time)
        reason = StopReason(self.stop_reason_)
        ended = self.objective_history_, self.optimality_, reason
        outcome, classes = Outcome(self._forecasters, *ended), getattr(self, "classes_", None)
        before = Fitted(
            outcome,
            self._axis,
            self.family_,
            classes,
            self._rows,
            self.extrapolate_,
            self._notes,
            self._history,
            self._group_labels,
        )
        self._report(fit_more(self, X, given, self._plan(), before))
        return self

    def _report(self, fitted: Fitted) -> None:
        """Fitted attributes in the user's units and column order."""
        outcome = fitted.outcome
        # An earlier fit may have been of another family, or with another prior.
        for name in ("classes_", "rate_"):
            self.__dict__.pop(name, None)
        self._forecasters, self._history = outcome.forecasters, fitted.history
        self._checks, self._notes = outcome.checks, fitted.notes
        self._group_labels = fitted.group_labels
        self._axis, self.family_ = fitted.axis, fitted.family
        self._rows = fitted.rows if self.keep_data else None
        self.n_features_in_ = fitted.rows.always_in.size
        if fitted.classes is not None:
            self.classes_ = fitted.classes
        self.timesteps_ = fitted.axis.labels
        self.coef_path_ = stacked([fit.coef_path() for fit in self._fits])
        self.intercept_path_ = stacked([fit.intercept_path() for fit in self._fits])
        self.inclusion_probability_ = stacked([fit.inclusion() for fit in self._fits], axis=0)
        self.drift_probability_ = stacked([fit.drift_probability() for fit in self._fits], axis=0)
        self.effect_probability_ = stacked([fit.effect_probability() for fit in self._fits], axis=0)
        self.autocorrelation_ = stacked([fit.autocorrelation() for fit in self._fits], axis=0)
        self.objective_history_, self.optimality_ = outcome.history, outcome.optimality
        self.stop_reason_, self.converged_ = outcome.reason.value, outcome.converged
        self.n_iter_ = outcome.n_iter
        if outcome.rate is not None:
            self.rate_ = outcome.rate
        self.extrapolate_: Extrapolation = fitted.extrapolate
        self.seasonality_ = fitted.cycle or None
        self._set_coef()
        if not self.converged_:
            warn(stopped_early(outcome, self.tol), ConvergenceWarning)
        if (said := self.columns_said()) is not None:
            warn(said, DataWarning)
        self._warn_of_draws()

    def columns_said(self, feature_names: Names = None) -> str | None:
        """What `fit` warns of: columns that cannot be told from something else; None if none."""
        check_is_fitted(self, "coef_path_")
        return self._notes.warning(self._names(feature_names))

    def _set_coef(self) -> None:
        """The coefficients `predict(X)` uses, in the shape of a regressor or of a classifier."""
        self.coef_: FloatArray
        self.intercept_: FloatArray | float
        steps = self._next_steps()
        if self.family_.target == "classes":
            self.coef_ = np.array([step.coef for step in steps])
            self.intercept_ = np.array([step.intercept for step in steps])
        else:
            self.coef_, self.intercept_ = steps[0].coef.copy(), steps[0].intercept

    def _next_steps(self) -> Sequence[Step]:
        """The step after the last, of every response."""
        return self._forecaster.steps(self._next_code, hold=self._holds)

    @property
    def _fits(self) -> tuple[Fit, ...]:
        """What the first forecaster says of every response."""
        return self._forecaster.fits

    @property
    def _forecaster(self) -> Forecaster:
        """What predicts: the only forecaster, or the average of several."""
        if self._history is None:
            return self._forecasters[0]
        return Averaged.of(self._forecasters, self._history)

    @property
    def noise_(self) -> float:
        """Noise variance or dispersion of the step to predict; 1 where the family has none."""
        check_is_fitted(self, "coef_path_")
        if self.family_.has_noise or self.family_.shape_range is None:
            return float(self._forecaster.noise_at(self._next_code)[0])
        return float(self._forecaster.shape_at(self._next_code))

    @property
    def _holds(self) -> bool:
        return self.extrapolate_ == "hold"

    @property
    def _next_code(self) -> int:
        """The step after the last; without time there is but one step."""
        return self._axis.n_timesteps - int(self._axis.is_single)

    # -------------------------------------------------------------- prediction

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: VectorLike = None,
        sample_weight: VectorLike = None,
        groups: VectorLike = None,
    ) -> float:
        """R^2 of the predictions, or their accuracy if they are classes."""
        self._check_score(X, time)
        return self._score(y, self.predict(X, time=time, groups=groups), sample_weight)

    def _check_score(self, X: MatrixLike, time: VectorLike) -> None:
        """Whoever knows y knows when it was: refuse a lacking column, warn of no time at all."""
        check_is_fitted(self, "coef_path_")
        require_time(X, time, self.time)
        warn_timeless(self._axis, time, self.time)

    def _score(self, y: ArrayLike, prediction: np.ndarray, sample_weight: VectorLike) -> float:
        """Accuracy of classes, else the share of the family's loss explained: R^2, or D^2."""
        if self.family_.target == "classes":
            return float(accuracy_score(y, prediction, sample_weight=sample_weight))
        return share_explained(self.family_, y, prediction, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
