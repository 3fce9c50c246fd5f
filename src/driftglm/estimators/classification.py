"""Classification with drifting coefficients: logistic for two classes, softmax for more."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import norm, qmc
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils import compute_sample_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import FloatArray
from driftglm.data.checks import check_weights
from driftglm.estimators.base import DriftEstimator, Extrapolate
from driftglm.estimators.rows import Rows
from driftglm.estimators.starts import Init
from driftglm.estimators.summary import normal_quantile
from driftglm.estimators.worker_rows import Workers
from driftglm.exceptions import DataError
from driftglm.families import Binomial, Family, SoftmaxClass
from driftglm.families.multinomial import softmax_draws
from driftglm.priors import Learned, PathPrior
from driftglm.solvers.coupling import Alone, Coupling, Softmax

TWO = 2
N_DRAWS = 256
CHUNK = 2_000_000
SHOWN = 5


class DriftClassifier(ClassifierMixin, DriftEstimator):
    """Classification whose coefficients drift over time, most of them being zero.

    Two classes are a logistic regression for `classes_[1]`; more are a softmax with coefficients
    for every class.

    Parameters
    ----------
    prior, solver, extrapolate, fit_intercept, always_in, static, init, n_starts, keep_data, freq, \
max_iter, tol, verbose, random_state, n_jobs
        As for `DriftRegressor`.
    class_weight
        None, "balanced" or a dict from class to weight, as in scikit-learn; multiplies
        `sample_weight`.

    Attributes
    ----------
    classes_ : (K,)
    coef_path_ : (T, p) for two classes, (T, K, p) for more
    intercept_path_ : (T,) or (T, K)
    coef_, intercept_ : (1, p) and (1,), or (K, p) and (K,): those `predict(X)` uses
    inclusion_probability_, autocorrelation_ : (p,) or (K, p)
    and the rest as of `DriftRegressor`

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm import DriftClassifier
    >>> rng = np.random.default_rng(0)
    >>> year = np.repeat(np.arange(2001, 2009), 200)
    >>> X = rng.normal(size=(1600, 10))
    >>> eta = (year - 2004.5) * X[:, 0] + X[:, 1]
    >>> y = np.where(rng.random(1600) < 1 / (1 + np.exp(-eta)), "up", "down")
    >>> model = DriftClassifier().fit(X, y, time=year)
    >>> (model.inclusion_probability_ > 0.5).nonzero()[0].tolist()
    [0, 1]
    >>> model.predict_proba(X[:2], time=year[:2]).shape
    (2, 2)
    """

    _numeric_target: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DriftEstimator._parameter_constraints,  # noqa: SLF001
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

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
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
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
        self.class_weight = class_weight

    # ---------------------------------------------------------------- fitting

    @property
    def _binary(self) -> bool:
        return len(self.classes_) == TWO

    def _family(self) -> Family:
        if not self._binary:
            return SoftmaxClass(n_classes=len(self.classes_))
        # A posterior wants the expectation itself; a mode the bound, which never needs checking.
        return Binomial(bounded=not self._learned)

    @property
    def _learned(self) -> bool:
        return isinstance(self.prior, Learned) or (
            isinstance(self.prior, str) and self.prior == "learned"
        )

    def _carry_over(self, model: DriftEstimator) -> None:
        model.classes_ = self.classes_

    def _set_target(self, y: np.ndarray) -> None:
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if self.classes_.size < TWO:
            raise DataError(
                f"y has one class only ({self.classes_.tolist()[0]!r}); a classifier needs 2 or "
                "more, so there is nothing to learn from these rows."
            )

    def _read_target(self, y: np.ndarray) -> FloatArray:
        """Positions in `classes_`, as numbers."""
        known = np.isin(y, self.classes_)
        if not known.all():
            shown = ", ".join(repr(label) for label in self.classes_[:SHOWN].tolist())
            raise DataError(
                f"y has the class {y[~known][:1].tolist()[0]!r}, which the model was not fitted "
                f"with; it knows {shown}{', ...' if self.classes_.size > SHOWN else ''}. Fit again "
                "to add a class."
            )
        return np.searchsorted(self.classes_, y).astype(np.float64)

    def _class_weights(self, y: Any, sample_weight: Any) -> Any:
        if self.class_weight is None:
            return sample_weight
        labels = np.asarray(y).ravel()
        return self._weights_of(labels) * check_weights(sample_weight, labels.size)

    def _weights_of(self, labels: np.ndarray) -> FloatArray:
        return np.asarray(compute_sample_weight(self.class_weight, labels))

    def _responses(self, rows: Rows) -> list[Rows]:
        if isinstance(rows.family, Binomial):
            return [rows]
        members = [(rows.y == k).astype(np.float64) for k in range(len(self.classes_))]
        return [dataclasses.replace(rows, y=y) for y in members]

    def _coupling(self, problems: list[dict[str, Any]]) -> Coupling:
        if isinstance(problems[0]["family"], Binomial):
            return Alone()
        offsets = tuple(data["offset"] for data in problems)
        weights = problems[0]["weights"]
        tilts: tuple[FloatArray, ...] = ()
        if self._learned:  # a mode has next to no uncertainty to tilt
            tilts = tuple(np.zeros(weights.size) for _ in problems)
            for data, tilt in zip(problems, tilts, strict=True):
                data["family"] = dataclasses.replace(data["family"], tilt=tilt)
        return Softmax(offsets, np.ones_like(weights), weights, tilts)

    def _loss(self, rows: Rows, eta: FloatArray) -> float:
        if isinstance(rows.family, Binomial):
            return super()._loss(rows, eta)
        top = eta.max(axis=1)
        log_total = top + np.log(np.exp(eta - top[:, None]).sum(axis=1))
        chosen = eta[np.arange(rows.y.size), rows.y.astype(np.int64)]
        return float(np.sum(rows.weights * (log_total - chosen)))

    def _set_coef(self, coef: list[FloatArray], intercept: list[float]) -> None:
        self.coef_: FloatArray = np.array(coef)
        self.intercept_: Any = np.array(intercept)

    def _join_summaries(self, tables: list[pd.DataFrame]) -> pd.DataFrame:
        if self._binary:
            return tables[0]
        for label, table in zip(self.classes_, tables, strict=True):
            table.insert(0, "class", label)
        return pd.concat(tables, ignore_index=True)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        time: Any = None,
        sample_weight: Any = None,
        n_workers: int | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : (n_rows, n_features) array, sparse matrix or frame; a Dask array, a list of delayed
            partitions or a folder of shards is fitted on Dask workers
        y : (n_rows,) class labels; a class may be missing in some timesteps
        time : (n_rows,) integers, dates, Periods or an ordered Categorical; None: one timestep
        sample_weight : (n_rows,), a row of weight 2 counts as two rows
        n_workers : processes of a local cluster to fit on, unless a Dask client is active; None:
            rows in this process are fitted in it, others on the active client
        checkpoint : a file to go on from if the fit is interrupted; removed when it is done
        """
        workers = Workers(n_workers, checkpoint)
        return self._fit_rows(X, y, time, sample_weight, workers=workers)

    def update(self, X: Any, y: Any, *, time: Any, sample_weight: Any = None) -> Self:
        """Append rows of new timesteps and fit again, starting from the present fit.

        As `DriftRegressor.update`. The new rows may lack classes but not bring new ones.
        """
        if self.class_weight is None:
            return self._update_rows(X, y, time, sample_weight)
        self._read_target(np.asarray(y).ravel())  # a class not seen before has no weight either
        if self.class_weight == "balanced":
            raise DataError(
                "class_weight='balanced' depends on all rows together, those of earlier steps "
                "included, and cannot be updated; pass a dict of weights, or fit again."
            )
        return self._update_rows(X, y, time, self._class_weights(y, sample_weight))

    # -------------------------------------------------------------- prediction

    def decision_function(self, X: Any, *, time: Any = None) -> FloatArray:
        """Logits of `classes_[1]` (n_rows,), or of every class (n_rows, K)."""
        eta = self._linear_predictor(X, time)
        return eta[:, 0] if self._binary else eta

    def predict_proba(self, X: Any, *, time: Any = None) -> FloatArray:
        """Probabilities (n_rows, K), the uncertainty of the coefficients integrated out."""
        check_is_fitted(self, "coef_path_")
        mean, variance = self._eta_moments(X, time)
        if self._binary:
            sides = [Binomial().mean(sign * mean[:, 0], variance[:, 0]) for sign in (-1, 1)]
            return np.column_stack(sides)
        out = np.empty_like(mean)
        for rows, draws in self._draws(mean, variance):
            out[rows] = draws.mean(axis=0)
        return np.asarray(out / out.sum(axis=1, keepdims=True))

    def predict_log_proba(self, X: Any, *, time: Any = None) -> FloatArray:
        """Logarithm of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X, time=time)))

    def predict(self, X: Any, *, time: Any = None) -> np.ndarray:
        """The most probable class of every row."""
        p = self.predict_proba(X, time=time)
        return np.asarray(self.classes_[np.argmax(p, axis=1)])

    def predict_interval(self, X: Any, time: Any = None, level: float = 0.9) -> FloatArray:
        """Central intervals of the probabilities: (n_rows, 2), or (n_rows, K, 2)."""
        reach = normal_quantile(level)
        mean, variance = self._uncertain_eta(X, time)
        if self._binary:
            deviation = reach * np.sqrt(variance[:, 0])
            return np.column_stack([expit(mean[:, 0] - deviation), expit(mean[:, 0] + deviation)])
        out = np.empty((*mean.shape, 2))
        for rows, draws in self._draws(mean, variance):
            tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
            out[rows] = np.moveaxis(np.quantile(draws, tails, axis=0), 0, -1)
        return out

    def _draws(self, mean: FloatArray, variance: FloatArray) -> Any:
        """Chunks of rows with draws of their probabilities, the same draws for every row."""
        n_classes = mean.shape[1]
        n_draws = N_DRAWS if variance.any() else 1
        points = qmc.Sobol(n_classes, scramble=True, rng=0).random(n_draws)
        normal = norm.ppf(points)
        size = max(1, CHUNK // (n_draws * n_classes))
        for start in range(0, mean.shape[0], size):
            rows = slice(start, start + size)
            yield rows, softmax_draws(mean[rows], variance[rows], normal)

    def score(self, X: Any, y: Any, *, time: Any = None, sample_weight: Any = None) -> float:
        """Accuracy of the predictions."""
        return float(accuracy_score(y, self.predict(X, time=time), sample_weight=sample_weight))
