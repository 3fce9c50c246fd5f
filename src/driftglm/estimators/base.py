"""What all estimators share: validate, build the objective, solve, report, predict by step."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._jit import announce_compilation
from driftglm._threads import n_threads
from driftglm._typing import FloatArray
from driftglm.data.checks import check_numbers, check_weights, log_exposure
from driftglm.data.features import feature_mask
from driftglm.data.timesteps import TimeAxis, fit_axis
from driftglm.estimators.checkpoint import Checkpoint, Fingerprint
from driftglm.estimators.export import Exports
from driftglm.estimators.fitted import Fit, PosteriorFit, Step
from driftglm.estimators.rows import Rows, check_columns
from driftglm.estimators.solving import SOLVERS, Solving
from driftglm.estimators.starts import Init
from driftglm.estimators.summary import normal_quantile, summarise
from driftglm.estimators.worker_rows import IN_THIS_PROCESS, Given, Workers, rows_on_workers
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning, TimeError
from driftglm.families import Family
from driftglm.files import Storable
from driftglm.priors import Exact, Fixed, Learned, PathPrior, Variational
from driftglm.solvers import (
    SolverResult,
    StopReason,
)

PRIORS: dict[str, Callable[[], Any]] = {
    "learned": Learned,
    "exact": Exact,
    "variational": Variational,
    "fixed": Fixed,
}
Extrapolate = Literal["auto", "forecast", "hold", "validate"]
N_VALIDATION_STEPS = 3


class DriftEstimator(Solving, Exports, Storable, BaseEstimator):
    """Base of the estimators; see `DriftRegressor` for the parameters."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prior": [StrOptions(set(PRIORS)), PathPrior, Learned],
        "solver": [StrOptions(set(SOLVERS))],
        "extrapolate": [StrOptions({"auto", "forecast", "hold", "validate"})],
        "fit_intercept": ["boolean"],
        "always_in": ["array-like", str, Integral, None],
        "static": ["array-like", str, Integral, None],
        "init": [StrOptions({"auto", "lasso-one", "lasso-all", "ridge-all", "zero"})],
        "n_starts": [Interval(Integral, 1, None, closed="left")],
        "keep_data": ["boolean"],
        "freq": [str, Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    _numeric_target: ClassVar[bool] = True

    def __init__(  # noqa: PLR0913
        self,
        *,
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
        self.prior = prior
        self.solver = solver
        self.extrapolate = extrapolate
        self.fit_intercept = fit_intercept
        self.always_in = always_in
        self.static = static
        self.init = init
        self.n_starts = n_starts
        self.keep_data = keep_data
        self.freq = freq
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---------------------------------------------------------------- fitting

    def _family(self) -> Family:
        raise TypeError(f"{type(self).__name__} does not say which family it is for.")

    def _set_target(self, y: np.ndarray) -> None:
        """Learn what has to be known of y before it can be read, e.g. its classes."""

    def _read_target(self, y: np.ndarray) -> FloatArray:
        """y as numbers the family understands."""
        check_numbers(y)
        self._family().check_target(y)
        return y.astype(np.float64)

    def _responses(self, rows: Rows) -> list[Rows]:
        """The rows of every response to be fitted."""
        return [rows]

    def _class_weights(self, y: Any, sample_weight: Any) -> Any:
        """Weights of the rows; those of classes multiply what the user gave."""
        del y
        return sample_weight

    def _prior(self) -> PathPrior | Learned:
        """The prior as an object."""
        if isinstance(self.prior, type):
            name = self.prior.__name__
            raise TypeError(f"prior is the class {name}; pass an object of it: prior={name}().")
        return PRIORS[self.prior]() if isinstance(self.prior, str) else self.prior

    def _fit_rows(
        self,
        X: Any,
        y: Any,
        time: Any,
        sample_weight: Any,
        exposure: Any = None,
        workers: Workers = IN_THIS_PROCESS,
    ) -> Self:
        """The common part of every `fit`."""
        announce_compilation(sys.stderr)
        if workers.wanted(X):
            given = Given(y, time, sample_weight, exposure)
            with rows_on_workers(self, X, given, workers) as (far, axis):
                self._fit_from(workers.checkpoint, far, axis)
            return self
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            y_numeric=self._numeric_target,
            ensure_min_samples=2,
        )
        names = getattr(self, "feature_names_in_", None)
        weights = check_weights(self._class_weights(y, sample_weight), y.size)
        axis, codes = fit_axis(time, y.size, self.freq)
        self._set_target(y)
        y = self._read_target(y)
        exposures = log_exposure(exposure, y.size)
        threads = n_threads(self.n_jobs)
        check_columns(X, names, intercept=self.fit_intercept, threads=threads)
        kept = weights > 0
        rows = Rows(
            X=X if kept.all() else X[np.flatnonzero(kept)],
            y=y[kept],
            codes=codes[kept],
            weights=weights[kept],
            family=self._family(),
            exposure=exposures[kept],
            n_timesteps=axis.n_timesteps,
            always_in=feature_mask(self.always_in, X.shape[1], names, "always_in"),
            static=feature_mask(self.static, X.shape[1], names, "static"),
            intercept=self.fit_intercept,
            threads=threads,
        )
        self._fit_from(workers.checkpoint, rows, axis)
        return self

    def _fit_from(self, checkpoint: Any, rows: Rows, axis: TimeAxis) -> None:
        """Fit validated rows, going on from a checkpoint if there is one."""
        if checkpoint is None:
            self._fit_steps(rows, axis)
            return
        file = Checkpoint.at(checkpoint, self._fingerprint(rows))
        self.__dict__["_checkpoint_"] = file
        try:
            self._fit_steps(rows, axis)
        finally:
            del self.__dict__["_checkpoint_"]
        file.remove()

    def _fingerprint(self, rows: Rows) -> Fingerprint:
        """What a checkpoint is good for: this estimator, these parameters and data."""
        vectors = rows.y, rows.weights, rows.exposure, rows.codes * rows.y
        sums = [rows.column_sums(), *(each.sum() for each in vectors)]
        return Fingerprint.of(self, {"n_rows": rows.y.size}, sums)

    def _fit_steps(self, rows: Rows, axis: TimeAxis, earlier: Sequence[Fit] = ()) -> None:
        """Fit validated rows whose codes are steps of `axis`, going on from an earlier fit."""
        self._solve(rows, earlier)
        self._axis = axis
        self.timesteps_ = axis.labels
        self._choose_extrapolation(rows)
        self._rows = rows if self.keep_data else None

    def update(self, X: Any, y: Any, *, time: Any, sample_weight: Any = None) -> Self:
        """Append rows of new timesteps and fit again, starting from the present fit.

        Needs a model fitted with `keep_data=True`; every label must lie after the last training
        step. With the learned prior the fit goes on from the present posterior; with the
        paper's priors it is a new search, since zero paths could not come back otherwise.
        """
        return self._update_rows(X, y, time, sample_weight)

    def _update_rows(
        self, X: Any, y: Any, time: Any, sample_weight: Any, exposure: Any = None
    ) -> Self:
        """The common part of every `update`."""
        check_is_fitted(self, "coef_path_")
        if self._rows is None:
            raise DataError(
                "the model has not kept its training data and cannot be updated; "
                "fit it with keep_data=True."
            )
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            y_numeric=self._numeric_target,
            reset=False,
        )
        y = self._read_target(y)
        exposures = log_exposure(exposure, y.size)
        weights = check_weights(sample_weight, y.size)
        codes = self._axis.encode(time, y.size)
        n_steps = self._axis.n_timesteps
        if self._axis.is_single:
            raise TimeError(
                "the model was fitted without time and has no step to add to; "
                "fit it with time= to update it later."
            )
        if (codes < n_steps).any():
            raise TimeError(
                f"row {int(np.argmax(codes < n_steps))} belongs to a step the model has seen "
                f"(it knows steps up to {self.timesteps_[-1]}); update takes later steps only. "
                "To change the past, fit again."
            )
        n_seen = np.unique(self._rows.codes).size + np.unique(codes).size
        if int(codes.max()) + 1 > 2 * n_seen:
            raise TimeError(
                f"the new rows reach {int(codes.max()) + 1 - n_steps} steps beyond the last one, "
                f"{self.timesteps_[-1]}; steps without data may be as many as those with data. "
                "Check the labels against those of fit."
            )
        rows = self._rows.extended(X, y, codes, weights, exposures)
        axis = dataclasses.replace(self._axis, n_timesteps=rows.n_timesteps)
        self._fit_steps(rows, axis, self._fits)
        return self

    def _solve(self, rows: Rows, earlier: Sequence[Fit] = ()) -> None:
        prior = self._prior()
        self.__dict__.pop("rate_", None)  # of an earlier fit with another prior
        responses = self._responses(rows)
        if isinstance(prior, Learned):
            result = self._learn(prior, responses, earlier)
        else:
            result = self._find_mode(prior, responses)
        self._report(result)

    @property
    def _fit(self) -> Fit:
        """The fit of the first (most often the only) response."""
        return self._fits[0]

    def _report(self, result: SolverResult) -> None:
        """Fitted attributes in the user's units and column order."""
        fits = self._fits
        self.coef_path_ = _stack([fit.coef_path() for fit in fits])
        self.intercept_path_ = _stack([fit.intercept_path() for fit in fits])
        self.inclusion_probability_ = _stack([fit.inclusion() for fit in fits], axis=0)
        self.autocorrelation_ = _stack([fit.autocorrelation() for fit in fits], axis=0)
        self.objective_history_ = result.history
        self.optimality_ = result.optimality
        self.stop_reason_ = result.reason.value
        self.converged_ = result.reason is StopReason.CONVERGED
        self.n_iter_ = result.n_iter
        self._noise_seen = float(result.state.noise)
        if not self.converged_:
            warnings.warn(
                f"stopped after {result.n_iter} iterations ({result.reason.value}) with optimality "
                f"{result.optimality:.2g} > tol={self.tol:g}; raise max_iter or tol. With "
                "the paper's priors a feature close to the threshold of being kept is often why.",
                ConvergenceWarning,
                stacklevel=8,
            )

    # ----------------------------------------------------------- extrapolation

    def _choose_extrapolation(self, rows: Rows) -> None:
        """Settle how steps after the last are predicted, and set `coef_` and `intercept_`."""
        choice: Extrapolate = self.extrapolate
        if choice == "validate":
            choice = self._validated_extrapolation(rows)
        if choice == "auto":
            choice = "forecast" if isinstance(self._fit, PosteriorFit) else "hold"
        self.extrapolate_ = choice
        steps = self._steps(self._next_code)
        self._set_coef([step.coef.copy() for step in steps], [step.intercept for step in steps])

    def _set_coef(self, coef: list[FloatArray], intercept: list[float]) -> None:
        """The coefficients `predict(X)` uses, in the shape the estimator promises."""
        self.coef_: FloatArray = coef[0]
        self.intercept_: Any = intercept[0]

    def _validated_extrapolation(self, rows: Rows) -> Extrapolate:
        """Hold or forecast, by the loss one step ahead on the last training steps."""
        errors = {"hold": 0.0, "forecast": 0.0}
        if np.unique(rows.codes).size < 3:  # noqa: PLR2004
            return "auto"  # too few steps to hold one out
        for step in np.unique(rows.codes)[2:][-N_VALIDATION_STEPS:]:
            past, now = rows.take(rows.codes < step), rows.take(rows.codes == step)
            model = clone(self).set_params(extrapolate="hold", verbose=False)
            # Codes are steps already: the user's labels, their freq and gaps play no part.
            axis = TimeAxis("integer", 0, past.n_timesteps, 1)
            self._carry_over(model)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                model._fit_steps(past, axis)  # noqa: SLF001
            for choice in errors:
                model.extrapolate_ = choice
                eta = np.column_stack(
                    [
                        np.asarray(now.X @ ahead.coef).ravel() + ahead.intercept
                        for ahead in model._steps(int(step))  # noqa: SLF001
                    ]
                )
                errors[choice] += self._loss(now, eta + now.exposure[:, None])
        return "forecast" if errors["forecast"] < errors["hold"] else "hold"

    def _carry_over(self, model: DriftEstimator) -> None:
        """Give a clone what it must know of the target before it can be fitted."""

    def _loss(self, rows: Rows, eta: FloatArray) -> float:
        """Negative log-likelihood of some rows at eta (n_rows, n_responses)."""
        family = rows.family
        return -family.log_likelihood(rows.y, eta[:, 0], np.zeros(1), rows.weights, 1.0)

    def _steps(self, code: int, *, drift: bool = True) -> list[Step]:
        """Coefficients of a step, which may lie after the last, for every response.

        Without `drift` coefficients that are held are as certain as those of the last step.
        """
        n_ahead = code - self._axis.n_timesteps + 1
        if n_ahead > 0 and self.extrapolate_ == "hold":
            last = self._axis.n_timesteps - 1
            return [fit.held(n_ahead) if drift else fit.at(last) for fit in self._fits]
        return [fit.at(code) for fit in self._fits]

    @property
    def _next_code(self) -> int:
        """The step after the last; without time there is but one step."""
        return self._axis.n_timesteps - int(self._axis.is_single)

    # -------------------------------------------------------------- prediction

    def _linear_predictor(self, X: Any, time: Any) -> FloatArray:
        """eta of every row and response, with the coefficients of its step (or of the next)."""
        check_is_fitted(self, "coef_path_")
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        eta = np.empty((X.shape[0], len(self._fits)))
        for rows, steps in self._by_step(time, X.shape[0]):
            part = X if time is None else X[rows]
            for k, step in enumerate(steps):
                eta[rows, k] = np.asarray(part @ step.coef).ravel() + step.intercept
        return eta

    def _by_step(
        self, time: Any, n_rows: int, *, drift: bool = True
    ) -> Iterator[tuple[np.ndarray, list[Step]]]:
        """Rows and coefficients of every step that occurs; no time: the next step."""
        if time is None:
            yield np.arange(n_rows), self._steps(self._next_code, drift=drift)
            return
        codes = self._axis.encode(time, n_rows)
        for code in np.unique(codes):
            yield np.flatnonzero(codes == code), self._steps(int(code), drift=drift)

    @property
    def _has_posterior(self) -> bool:
        return isinstance(self._fit, PosteriorFit)

    def _eta_moments(
        self, X: Any, time: Any, *, drift: bool = True
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the linear predictor, (n_rows, n_responses); a mode is certain."""
        if not self._has_posterior:
            mean = self._linear_predictor(X, time)
            return mean, np.zeros_like(mean)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        mean, variance = np.empty((2, X.shape[0], len(self._fits)))
        for rows, steps in self._by_step(time, X.shape[0], drift=drift):
            part = X if time is None else X[rows]
            squares = part.multiply(part) if hasattr(part, "multiply") else part * part
            for k, step in enumerate(steps):
                mean[rows, k] = np.asarray(part @ step.coef).ravel() + step.intercept
                # sum_i (x_i - c_i)^2 var_i without forming x - c
                center, v = step.center, step.coef_variance
                spread = squares @ v - 2 * (part @ (center * v)) + center**2 @ v
                variance[rows, k] = np.maximum(np.asarray(spread).ravel(), 0) + step.level_variance
                if step.joint.shape[1]:
                    shared = np.asarray(part @ step.joint) - center @ step.joint
                    variance[rows, k] += np.einsum("nr,nr->n", shared, shared)
        return mean, variance

    def _uncertain_eta(self, X: Any, time: Any) -> tuple[FloatArray, FloatArray]:
        """As `_eta_moments`, for intervals: a mode has none."""
        check_is_fitted(self, "coef_path_")
        if not self._has_posterior:
            raise DataError(
                f"a fit with prior={self.prior!r} is a posterior mode and has no intervals; "
                "use prior='learned'."
            )
        return self._eta_moments(X, time)

    # ---------------------------------------------------------------- reporting

    def coef_interval(self, level: float = 0.9) -> FloatArray:
        """Central intervals of every coefficient at every step: (2, T, p), lower and upper."""
        check_is_fitted(self, "coef_path_")
        reach = normal_quantile(level) * self.coef_std_path_
        return np.stack([self.coef_path_ - reach, self.coef_path_ + reach])

    def summary(self, feature_names: Any = None) -> pd.DataFrame:
        """One row a feature, most important first.

        Columns: feature, inclusion_probability, kind (zero, static, drifting or sign-flip),
        coef_first, coef_last, coef_next, lower and upper (90 % of coef_next; NaN for a mode),
        change (last - first), autocorrelation. Importance is the root mean square of x * beta
        over the training rows.
        """
        check_is_fitted(self, "coef_path_")
        names, steps = self._names(feature_names), self._steps(self._next_code)
        tables = [summarise(fit, step, names) for fit, step in zip(self._fits, steps, strict=True)]
        return self._join_summaries(tables)

    def _join_summaries(self, tables: list[pd.DataFrame]) -> pd.DataFrame:
        """One table of the responses' tables."""
        return tables[0]

    def _names(self, feature_names: Any) -> list[str]:
        if feature_names is None:
            feature_names = getattr(self, "feature_names_in_", None)
        if feature_names is None:
            return [f"x{i}" for i in range(self.n_features_in_)]
        names = [str(name) for name in feature_names]
        if len(names) != self.n_features_in_:
            raise DataError(
                f"feature_names has {len(names)} names but the model has {self.n_features_in_} "
                "features; pass one name per column of X."
            )
        return names

    @property
    def coef_std_path_(self) -> FloatArray:
        """(T, p) posterior standard deviations; a mode, as of the paper's priors, has none."""
        check_is_fitted(self, "coef_path_")
        if self._has_posterior:
            return _stack([cast("PosteriorFit", fit).std_path() for fit in self._fits])
        raise AttributeError(
            f"a fit with prior={self.prior!r} is a posterior mode and has no standard deviations; "
            "coef_path_ and inclusion_probability_ (0 or 1) are what it can say."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _stack(parts: list[FloatArray], axis: int = 1) -> FloatArray:
    """The array of a single response as it is; those of several along a new axis."""
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=axis)
