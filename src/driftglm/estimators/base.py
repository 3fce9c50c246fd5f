"""What all estimators share: validate, build the objective, solve, report, predict by step."""

from __future__ import annotations

import dataclasses
import sys
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._typing import FloatArray
from driftglm.data.features import feature_mask
from driftglm.data.timesteps import fit_axis
from driftglm.estimators.rows import Rows, warn_of_dull_columns
from driftglm.estimators.starts import Init, start_paths
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning
from driftglm.families import Family
from driftglm.objective import Noise, Objective, State
from driftglm.priors import Exact, Fixed, PathPrior, PathStats, Penalty, Variational
from driftglm.priors.adaptive import RATE_LIMIT, AdaptivePrior
from driftglm.solvers import BlockSolver, LBFGSSolver, Solver, SolverResult, StopReason

PRIORS: dict[str, Callable[[], PathPrior]] = {
    "exact": Exact,
    "variational": Variational,
    "fixed": Fixed,
}
SOLVERS: dict[str, Callable[[], Solver]] = {
    "auto": BlockSolver,
    "block": BlockSolver,
    "lbfgs": LBFGSSolver,
}
Extrapolate = Literal["auto", "forecast", "hold", "validate"]
N_RATE_ROUNDS = 5
N_VALIDATION_STEPS = 3


class DriftEstimator(BaseEstimator):
    """Base of the estimators; see `DriftRegressor` for the parameters."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "prior": [StrOptions(set(PRIORS)), PathPrior],
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

    # ---------------------------------------------------------------- fitting

    def _family(self) -> Family:
        raise TypeError(f"{type(self).__name__} does not say which family it is for.")

    def _noise(self, reference: float) -> Noise:
        return Noise(given=1.0, reference=reference)

    def _fit_rows(self, X: Any, y: Any, time: Any, sample_weight: Any) -> Self:
        """The common part of every `fit`."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, y_numeric=True, ensure_min_samples=2
        )
        names = getattr(self, "feature_names_in_", None)
        weights = check_weights(sample_weight, y.size)
        axis, codes = fit_axis(time, y.size, self.freq)
        self._family().check_target(y)
        warn_of_dull_columns(X, names, intercept=self.fit_intercept)
        kept = weights > 0
        rows = Rows(
            X=X if kept.all() else X[np.flatnonzero(kept)],
            y=y[kept].astype(np.float64),
            codes=codes[kept],
            weights=weights[kept],
            n_timesteps=axis.n_timesteps,
            always_in=feature_mask(self.always_in, X.shape[1], names, "always_in"),
            static=feature_mask(self.static, X.shape[1], names, "static"),
            intercept=self.fit_intercept,
        )
        self._axis = axis
        self.timesteps_ = axis.labels
        self._solve(rows)
        self._choose_extrapolation(X, y, time, weights)
        return self

    def _solve(self, rows: Rows) -> None:
        prior = PRIORS[self.prior]() if isinstance(self.prior, str) else self.prior
        if self.n_starts > 1 and prior.sparse:
            raise DataError(
                f"n_starts={self.n_starts} needs a prior whose starts can be ranked; the "
                "objective of the paper's priors always prefers the emptier model. "
                "Choose one start with init=."
            )
        design, order = rows.design()
        objective = Objective(
            design=design,
            family=self._family(),
            prior=prior,
            levels=rows.levels(order),
            noise=self._noise(rows.reference),
            y=rows.y[order],
            weights=rows.weights[order],
            static=rows.static[~rows.always_in],
        )
        kind: Init = self.init
        if kind == "auto" and prior.sparse:
            kind = "lasso-one"  # as in the paper
        beta = start_paths(kind, rows.start_data(), design.n_timesteps)
        objective, result = self._maximise(objective, objective.start(beta))
        self._report(rows, objective, result)

    def _maximise(self, objective: Objective, state: State) -> tuple[Objective, SolverResult]:
        """Solve; with rate="estimate", alternate with empirical Bayes on the nonzero paths."""
        solver = SOLVERS[self.solver]()
        progress = _progress_line if self.verbose else None
        options: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol, "progress": progress}
        result = solver.solve(objective, state, **options)
        prior = objective.prior
        if not (isinstance(prior, AdaptivePrior) and prior.rate == "estimate"):
            return objective, result
        for _ in range(N_RATE_ROUNDS):
            old = prior.tau
            moving = result.state.beta[~objective.static]
            prior = prior.with_estimated_rate(PathStats.of(moving), objective.design.n_timesteps)
            objective = dataclasses.replace(objective, prior=prior)
            result = solver.solve(objective, result.state, **options)
            if abs(prior.tau - old) <= 1e-3 * max(1.0, abs(old)):
                break
        if abs(prior.tau) >= RATE_LIMIT:
            warnings.warn(
                f"rate='estimate' ended at its limit {prior.tau:g}: the nonzero paths favour "
                f"{'the strongest' if prior.tau > 0 else 'no'} autocorrelation. This is common "
                "and harmless; pass a number for rate to silence it.",
                DataWarning,
                stacklevel=6,
            )
        return objective, result

    def _report(self, rows: Rows, objective: Objective, result: SolverResult) -> None:
        """Fitted attributes in the user's units and column order."""
        state, n_steps = result.state, rows.n_timesteps
        ordinary = ~rows.always_in
        n_features = ordinary.size
        self.coef_path_ = np.zeros((n_steps, n_features))
        self.coef_path_[:, ordinary] = state.beta.T
        first = int(rows.intercept)
        self.coef_path_[:, rows.always_in] = state.level_mean[first:].T
        self._always_in_means = rows.always_in_means
        level = state.level_mean[0] if rows.intercept else np.zeros(n_steps)
        self.intercept_path_ = level - self.coef_path_[:, rows.always_in] @ self._always_in_means
        alive = objective.alive(state.beta)
        self.inclusion_probability_ = np.ones(n_features)
        self.inclusion_probability_[ordinary] = alive.astype(np.float64)
        penalty = objective.penalty(state.beta)
        self.autocorrelation_ = np.full(n_features, np.nan)
        self.autocorrelation_[ordinary] = _autocorrelation(penalty, alive, objective.static)
        self.autocorrelation_[rows.always_in] = state.level_law[first:, 1]
        self._level = _LevelForecast.of(state, rows)
        self.objective_history_ = result.history
        self.optimality_ = result.optimality
        self.stop_reason_ = result.reason.value
        self.converged_ = result.reason is StopReason.CONVERGED
        self.n_iter_ = result.n_iter
        if isinstance(objective.prior, AdaptivePrior):
            self.rate_ = objective.prior.tau
        if objective.family.has_noise:
            self.noise_variance_ = float(state.noise)
        if not self.converged_:
            warnings.warn(
                f"stopped after {result.n_iter} iterations ({result.reason.value}) with optimality "
                f"{result.optimality:.2g} > tol={self.tol:g}; raise max_iter or tol. Slow "
                "convergence is usual for a feature close to the threshold of being kept.",
                ConvergenceWarning,
                stacklevel=5,
            )

    # ----------------------------------------------------------- extrapolation

    def _choose_extrapolation(self, X: Any, y: FloatArray, time: Any, weights: FloatArray) -> None:
        """Settle how steps after the last are predicted, and set `coef_` and `intercept_`."""
        choice: Extrapolate = self.extrapolate
        if choice == "validate":
            choice = self._validated_extrapolation(X, y, time, weights)
        self.extrapolate_ = "hold" if choice == "auto" else choice
        if self._axis.is_single:
            self.coef_, self.intercept_ = self.coef_path_[0].copy(), float(self.intercept_path_[0])
        else:
            self.coef_, self.intercept_ = self._coefficients(self._axis.n_timesteps)

    def _validated_extrapolation(
        self, X: Any, y: FloatArray, time: Any, weights: FloatArray
    ) -> Extrapolate:
        """Hold or forecast, by squared error one step ahead on the last training steps."""
        _, codes = fit_axis(time, y.size, self.freq)
        seen = np.unique(codes)
        errors = {"hold": 0.0, "forecast": 0.0}
        for step in seen[2:][-N_VALIDATION_STEPS:]:
            past, now = np.flatnonzero(codes < step), np.flatnonzero(codes == step)
            model = clone(self).set_params(extrapolate="hold", verbose=False)
            model.set_params(always_in=self._mask("always_in"), static=self._mask("static"))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                model.fit(X[past], y[past], time=codes[past], sample_weight=weights[past])
            for choice in errors:
                model.extrapolate_ = choice
                residual = y[now] - model.predict(X[now], time=codes[now])
                errors[choice] += float(weights[now] @ residual**2)
        return "forecast" if errors["forecast"] < errors["hold"] else "hold"

    def _mask(self, argument: str) -> np.ndarray:
        names = getattr(self, "feature_names_in_", None)
        return feature_mask(getattr(self, argument), self.n_features_in_, names, argument)

    def _coefficients(self, code: int) -> tuple[FloatArray, float]:
        """Coefficients and intercept of a step, which may lie after the last."""
        n_steps = self._axis.n_timesteps
        if code < n_steps:
            return self.coef_path_[code], float(self.intercept_path_[code])
        if self.extrapolate_ == "hold":
            return self.coef_path_[-1].copy(), float(self.intercept_path_[-1])
        ahead = code - n_steps + 1
        always_in = self._level.always_in
        rho = np.where(np.isnan(self.autocorrelation_), 0.0, self.autocorrelation_)
        coef = self.coef_path_[-1] * rho**ahead
        level, coef[always_in] = self._level.ahead(ahead)
        return coef, level - float(coef[always_in] @ self._always_in_means)

    # -------------------------------------------------------------- prediction

    def _linear_predictor(self, X: Any, time: Any) -> FloatArray:
        """eta of every row, with the coefficients of its own step (or of the next one)."""
        check_is_fitted(self, "coef_path_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if time is None:
            return np.asarray(X @ self.coef_).ravel() + self.intercept_
        codes = self._axis.encode(time, X.shape[0])
        eta = np.empty(X.shape[0])
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            coef, intercept = self._coefficients(int(code))
            eta[rows] = np.asarray(X[rows] @ coef).ravel() + intercept
        return eta

    @property
    def coef_std_path_(self) -> FloatArray:
        """Posterior standard deviations; the paper's priors give a mode, which has none."""
        raise AttributeError(
            f"a fit with prior={self.prior!r} is a posterior mode and has no standard deviations; "
            "coef_path_ and inclusion_probability_ (0 or 1) are what it can say."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclasses.dataclass(frozen=True)
class _LevelForecast:
    """Levels after the last step: their flat part plus deviations that fade with rho."""

    flat: FloatArray
    last: FloatArray
    rho: FloatArray
    intercept: bool
    always_in: np.ndarray

    @classmethod
    def of(cls, state: State, rows: Rows) -> _LevelForecast:
        rho = state.level_law[:, 1]
        # The posterior mean of the flat part: weights proportional to D^-1 1.
        ends = np.ones_like(state.level_mean)
        ends[:, 1:-1] = 1.0 - rho[:, None]
        flat = (ends * state.level_mean).sum(axis=1) / ends.sum(axis=1)
        moving = (state.level_law[:, 0] > 0).astype(np.float64)
        return cls(flat, state.level_mean[:, -1], rho * moving, rows.intercept, rows.always_in)

    def ahead(self, n: int) -> tuple[float, FloatArray]:
        paths = self.flat + (self.last - self.flat) * self.rho**n
        return (float(paths[0]), paths[1:]) if self.intercept else (0.0, paths)


def _autocorrelation(penalty: Penalty, alive: np.ndarray, static: np.ndarray) -> FloatArray:
    """Posterior mean lag-1 correlation; 1 for static paths, NaN for zero ones."""
    out = np.where(alive, penalty.mean_rho, np.nan)
    out[alive & static] = 1.0
    return out


def check_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Weights as floats, one a row, none negative, not all zero."""
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        return np.full(n_rows, float(sample_weight))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise DataError(
            f"sample_weight has shape {weights.shape} but X has {n_rows} rows; "
            "pass one weight per row (1-d; sample_weight.shape == (n_samples,))."
        )
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise DataError(
            f"sample_weight is {weights[row]} at row {row}; weights must be finite and not "
            "negative. Use 0 to leave a row out."
        )
    if not weights.any():
        raise DataError("every sample weight is zero; at least one row must count.")
    return weights


def _progress_line(iteration: int, objective: float, n_alive: int) -> None:
    """One rewritten line on stderr."""
    sys.stderr.write(f"\rdriftglm: pass {iteration}, objective {objective:.6g}, {n_alive} paths ")
    sys.stderr.flush()
