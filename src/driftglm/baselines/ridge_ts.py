"""Ridge over time: every coefficient a chain with one global strength and autocorrelation."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray, Matrix, MatrixLike, VectorLike
from driftglm.baselines.base import Baseline, Linear
from driftglm.baselines.columns import SplitColumns, column_scale, divided
from driftglm.baselines.gaussian_chain import GaussianChain, InterceptDynamics
from driftglm.baselines.parameters import Parameters
from driftglm.baselines.problem import Problem
from driftglm.baselines.quadratic import DIRECT
from driftglm.baselines.rows import Rows
from driftglm.baselines.strength import fixed_scale
from driftglm.baselines.text import TextKind
from driftglm.baselines.tuning import SHORT, Chain, Params, Patience
from driftglm.estimators import DriftGLM, DriftRegressor
from driftglm.exceptions import ConvergenceWarning, DataWarning
from driftglm.families import Family
from driftglm.priors import Fixed

AUTOCORRELATIONS = (0.3, 0.6, 0.8, 0.9, 0.95, 0.99)
STRENGTHS = np.geomspace(1e5, 1e-5, 21)
"""Relative to the mean squared length of a row."""
COARSE_AUTOCORRELATIONS = (0.5, 0.9, 0.98)
COARSE_STRENGTHS = np.geomspace(1e5, 1e-5, 11)
"""Where every candidate is a search of its own."""
N_TUNING_PASSES = 100


@dataclasses.dataclass(repr=False, eq=False)
class RidgeTS(Baseline):
    """Ridge over time: the chain prior of the paper with one variance and autocorrelation for all.

    Minimises ``sum w loss + strength / 2 sum_i beta_i' A beta_i`` over the paths ``beta_i``,
    where A has ones on its diagonal and -rho / (1 + rho^2) beside it. This is the prior
    `driftglm.priors.Fixed`; the intercept and the always-in columns are paths of their own (a
    flat part and AR(1) deviations), and the step after the last is predicted with the last
    coefficients. Gaussian fits to at most 4,000 rows are solved exactly in dual form; the others
    are ``DriftGLM`` with that prior.

    Parameters
    ----------
    strength, autocorrelation
        Strength of the penalty and rho in [0, 1). What is None is chosen by fitting the steps
        before the last and scoring on the last.
    family, fit_intercept, always_in, standardize, freq
        As in `LassoAll`.
    max_iter, tol
        Of the drift model's solver, where one is used.

    Attributes
    ----------
    converged_, n_iter_ : how the solver ended
    coef_path_ : (T, p)
    intercept_path_ : (T,)
    coef_, intercept_ : those of the step after the last
    strength_, autocorrelation_ : given or chosen
    noise_variance_ : what the Gaussian loss was divided by: the variance of y about its steps'
        means and the always-in columns

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> year = np.repeat(np.arange(2001, 2005), 50)
    >>> X = rng.normal(size=(200, 2))
    >>> y = (year - 2000) * X[:, 0] + 0.1 * rng.normal(size=200)
    >>> model = RidgeTS(strength=0.1, autocorrelation=0.9).fit(X, y, time=year)
    >>> model.coef_path_[:, 0].round(1).tolist()
    [1.0, 2.0, 3.0, 3.9]
    """

    _text_kind: ClassVar[TextKind] = TextKind("ridge", "ts")
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Parameters._parameter_constraints,  # noqa: SLF001
        "autocorrelation": [Interval(Real, 0, 1, closed="left"), None],
    }

    autocorrelation: float | None = None
    max_iter: int = dataclasses.field(default=1000, kw_only=True)
    tol: float = dataclasses.field(default=1e-3, kw_only=True)

    @property
    def patience(self) -> Patience:
        """Its fits take longer than those of all others together."""
        return SHORT

    def tunable_params(self) -> dict[str, float | None]:
        """Parameters given as numbers, those still to be chosen as None."""
        return {"strength": self.strength, "autocorrelation": self.autocorrelation}

    # ------------------------------------------------------------------ fitting

    def _fit_chosen(self, rows: Rows, params: Params) -> None:
        scale, noise = self._scale(rows), self._noise(rows)
        self.strength_, self.autocorrelation_ = params["strength"], params["autocorrelation"]
        if self._loss.family.quadratic:
            self.noise_variance_ = noise
        if self._is_exact(rows):
            path, intercepts = self._chain(rows, scale).paths(params, len(self.timesteps_))
            self.converged_, self.n_iter_ = True, 1
        else:
            model = self._fitted(rows, params, scale, max_iter=self.max_iter)
            path, intercepts = model.coef_path_, model.intercept_path_
            self.converged_, self.n_iter_ = model.converged_, model.n_iter_
        self.coef_path_, self.intercept_path_ = path / scale, intercepts
        self._report(Linear(self.coef_path_[-1].copy(), float(intercepts[-1])))

    def _move_back(self, far: FloatArray) -> None:
        super()._move_back(far)
        self.intercept_path_ = self.intercept_path_ - self.coef_path_ @ far

    def _is_exact(self, rows: Rows) -> bool:
        return self._loss.family.quadratic and rows.y.size <= DIRECT

    def _scale(self, rows: Rows) -> FloatArray:
        """What every column is divided by."""
        scale = column_scale(rows.X, rows.weights) if self.standardize else np.ones(rows.X.shape[1])
        return np.where(self._always_in(), 1.0, scale)

    def _fitted(self, rows: Rows, params: Params, scale: FloatArray, *, max_iter: int) -> Any:
        """The drift model with the Fixed prior these parameters mean."""
        noise = self._noise(rows)
        prior = Fixed(fixed_scale(params["strength"], noise), params["autocorrelation"])
        model = DriftGLM(
            family=self.family,
            prior=prior,
            # A noise that was estimated along with the paths would change what a strength means.
            noise=noise if self._mode_family().has_noise else "auto",
            fit_intercept=self.fit_intercept,
            always_in=self._always_in(),
            max_iter=max_iter,
            tol=self.tol,
        )
        # Codes are steps already; a model fitted without time keeps its single step.
        time = None if len(self.timesteps_) == 1 else rows.codes
        data: dict[str, Any] = {"time": time, "sample_weight": rows.weights}
        if self._loss.family.takes_exposure:
            data["exposure"] = np.exp(rows.offset)
        with _silent():
            return model.fit(divided(rows.X, scale), rows.y, **data)

    def _mode_family(self) -> Family:
        """The variant that a search for a mode takes if nothing is said of its noise."""
        return self._loss.family.for_fit(posterior=False, noise_asked=False)

    # ------------------------------------------------------------------- tuning

    def _chains(self, rows: Rows, X_new: Matrix) -> Iterator[Chain]:
        scale, exact = self._scale(rows), self._is_exact(rows)
        rhos: tuple[float, ...] = AUTOCORRELATIONS if exact else COARSE_AUTOCORRELATIONS
        if self.autocorrelation is not None:
            rhos = (float(self.autocorrelation),)
        elif np.unique(rows.codes).size == 1:
            rhos = (0.9,)  # one step: nothing to be correlated with
        if self.strength is not None:
            strengths = np.asarray([float(self.strength)])
        else:
            strengths = self._row_length(rows, scale) * (STRENGTHS if exact else COARSE_STRENGTHS)
        eta = self._primal(rows, X_new, scale)
        if exact:
            eta = self._chain(rows, scale).predictor(self._split(X_new, scale))
        for rho in rhos:
            pairs = ({"strength": float(s), "autocorrelation": rho} for s in strengths)
            yield ((params, eta(params)) for params in pairs)

    def _row_length(self, rows: Rows, scale: FloatArray) -> float:
        X = divided(rows.X, scale)[:, np.flatnonzero(~self._always_in())]
        free = np.ones((len(rows.y), int(self.fit_intercept)))
        arrays = X, free, rows.y, rows.weights, rows.offset
        return max(Problem(*arrays, self._loss, self.fit_intercept).row_length(), 1e-12)

    def _primal(
        self, rows: Rows, X_new: Matrix, scale: FloatArray
    ) -> Callable[[Params], FloatArray]:
        new = divided(X_new, scale)

        def eta(params: Params) -> FloatArray:
            model = self._fitted(rows, params, scale, max_iter=N_TUNING_PASSES)
            return Linear(np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])).eta(new)

        return eta

    def _chain(self, rows: Rows, scale: FloatArray) -> GaussianChain:
        """The exact solution for any strength and autocorrelation."""
        squares, noise = self._squares(rows), self._noise(rows)
        dynamics = self._dynamics(squares, noise)
        return GaussianChain(self._split(rows.X, scale), squares, dynamics, noise)

    def _squares(self, rows: Rows) -> Rows:
        """The rows of a quadratic loss as those of squared errors."""
        target, curvature = self._loss.working(rows.y, rows.offset)
        weights = rows.weights * curvature
        return dataclasses.replace(rows, y=target - rows.offset, weights=weights)

    def _split(self, X: Matrix, scale: FloatArray) -> SplitColumns:
        return SplitColumns.of(divided(X, scale), self._always_in(), intercept=self.fit_intercept)

    def _noise(self, rows: Rows) -> float:
        """What loss and penalty are divided by; 1 for families without noise.

        It changes no path; it tells the intercept's dynamics how much of the steps' means is noise.
        """
        family = self._mode_family()
        if family.quadratic:
            return self._noise_variance(self._squares(rows), float(rows.weights.sum()))
        if not family.has_noise:
            return 1.0
        offset = rows.offset + family.center(rows.y, rows.weights, rows.offset)
        return family.noise_scale(rows.y, rows.weights, offset)[0]

    def _noise_variance(self, rows: Rows, total_weight: float) -> float:
        """Variance of y about its steps' means and the always-in columns."""
        steps, which = np.unique(rows.codes, return_inverse=True)
        columns = self._always_in_columns(rows)
        if self.fit_intercept:
            columns = np.hstack([np.eye(steps.size)[which], columns])
        root = np.sqrt(rows.weights)
        coef = np.linalg.lstsq(columns * root[:, None], rows.y * root, rcond=None)[0]
        n_spare = max(rows.y.size - columns.shape[1], 1)
        residual = rows.weights @ (rows.y - columns @ coef) ** 2 * rows.y.size
        variance = float(residual / total_weight / n_spare)
        # An exact fit has no noise to speak of; a speck of y's size keeps all ratios finite.
        return max(variance, 1e-10 * float(np.mean(rows.y**2)), 1e-20)

    def _always_in_columns(self, rows: Rows) -> FloatArray:
        return SplitColumns.of(rows.X, self._always_in(), intercept=False).free

    def _dynamics(self, rows: Rows, noise: float) -> InterceptDynamics:
        """How far the intercepts move, by a drift model of nothing but intercepts."""
        columns = self._always_in_columns(rows)
        n_intercepts = columns.shape[1] + int(self.fit_intercept)
        if n_intercepts == 0 or np.unique(rows.codes).size == 1:
            return InterceptDynamics(np.zeros(n_intercepts), np.zeros(n_intercepts))
        if columns.shape[1] == 0:
            columns = np.zeros((rows.y.size, 1))
        model = DriftRegressor(
            prior=Fixed(),
            fit_intercept=self.fit_intercept,
            always_in=np.ones(columns.shape[1], dtype=bool),
            noise=noise,
        )
        with _silent():
            model.fit(columns, rows.y, time=rows.codes, sample_weight=rows.weights)
        # The intercept at the columns' means is what moves: x = 0 may lie far outside the data.
        mean = np.average(columns, axis=0, weights=rows.weights)
        intercept = model.intercept_path_ + model.coef_path_ @ mean
        paths = np.column_stack([intercept, model.coef_path_])
        first = 1 - int(self.fit_intercept)
        return InterceptDynamics.of_paths(paths[:, first : first + n_intercepts])

    # --------------------------------------------------------------- prediction

    def _eta(self, X: MatrixLike, time: VectorLike) -> FloatArray:
        """Linear predictor of every row with the coefficients of its own step (or the next)."""
        check_is_fitted(self, "coef_")
        X, time = self._split_time(X, time)
        if time is None:
            return super()._eta(X, None)
        new = self._read_new(X)
        # A step after the last holds the last coefficients.
        codes = np.minimum(self._axis.encode(time, new.shape[0]), len(self.timesteps_) - 1)
        eta = np.empty(new.shape[0])
        for code in np.unique(codes):
            rows = np.flatnonzero(codes == code)
            eta[rows] = new[rows] @ self.coef_path_[code] + self.intercept_path_[code]
        return eta


@contextmanager
def _silent() -> Iterator[None]:
    """Unconverged fits are reported once, by the baseline; empty columns are no one's fault."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DataWarning)
        yield
