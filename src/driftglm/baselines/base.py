"""What the baselines share: reading data, choosing the strength, predicting, scoring."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._typing import BoolArray, FloatArray, Matrix, MatrixLike, VectorLike
from driftglm._warnings import warn
from driftglm.baselines.family_loss import TEXT, FamilyLoss, has_classes
from driftglm.baselines.quadratic import SMALL
from driftglm.baselines.rows import Rows, check_exposure
from driftglm.baselines.text_methods import TextMethods
from driftglm.baselines.tuning import LONG, SHORT, Chain, Params, Patience
from driftglm.data.checks import check_weights, refuse_masked
from driftglm.data.features import feature_mask
from driftglm.data.frames import check_matrix, check_target
from driftglm.data.matrices import far_columns, taken_off
from driftglm.estimators.scores import share_explained
from driftglm.estimators.time_column import require_time, split_time
from driftglm.exceptions import ConvergenceWarning, DataError
from driftglm.families import family_named
from driftglm.families.base import CERTAIN
from driftglm.files import Storable

N_CLASSES = 2


@dataclass(frozen=True)
class Linear:
    """A fitted linear predictor for the step after the last, in the user's units."""

    coef: FloatArray
    intercept: float

    def eta(self, X: Matrix) -> FloatArray:
        """Linear predictor of every row, without offset."""
        return np.asarray(X @ self.coef).ravel() + self.intercept


def _has_classes(model: Baseline) -> bool:
    """For `available_if`: only classes have probabilities."""
    if not has_classes(model.family):
        raise AttributeError(f"family {model.family!r} has no classes and no probabilities.")
    return True


class Baseline(TextMethods, Storable, BaseEstimator):
    """Base of the baselines; see `LassoAll` for the parameters."""

    converged_: bool

    # ------------------------------------------------------------ what differs

    window: int | None = None
    """How many steps are used, up to the last that has rows; None: all."""

    @property
    def patience(self) -> Patience | None:
        """When a search ends whose candidates are clearly behind the best; None: never."""
        if self.family == TEXT:
            return SHORT
        return LONG if self.n_features_in_ > SMALL else None

    @abstractmethod
    def _chains(self, rows: Rows, X_new: Matrix) -> Iterator[Chain]:
        """Candidates fitted to `rows` and their linear predictors for the next step's rows."""

    @abstractmethod
    def _fit_chosen(self, rows: Rows, params: Params) -> None:
        """Fit with settled parameters; set coef_ and intercept_."""

    def tunable_params(self) -> dict[str, float | None]:
        """Parameters given as numbers, those still to be chosen as None."""
        return {"strength": self.strength}

    # ----------------------------------------------------------------- fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: VectorLike = None,
        sample_weight: VectorLike = None,
        exposure: VectorLike = None,
    ) -> Self:
        """Fit the model, choosing the strength first if it is None.

        Parameters
        ----------
        X : (n_rows, n_features) array, sparse matrix or frame
        y : (n_rows,) numbers, counts or two classes, as the family wants them
        time : (n_rows,) integers, dates, Periods or an ordered Categorical; None: one timestep
        sample_weight : (n_rows,), a row of weight 2 counts as two rows
        exposure : (n_rows,) what the mean is proportional to, for families that take one

        With family="text" X is word counts (n_docs, V) and y the documents' effects (n_docs, F).
        """
        X, y, time = self._timed(X, y, time)
        if self.family == TEXT:
            if sample_weight is not None or exposure is not None:
                raise DataError(
                    "sample_weight and exposure do not apply to family='text'; "
                    "a document's counts are its weight."
                )
            self._fit_text(self._read_text(X, y, time))
            return self
        rows = self._read(X, y, time, sample_weight, exposure)
        rows, far = self._nearer(rows)
        self._fit_chosen(rows, self._given() or self._tuned(rows))
        if far is not None:
            self._move_back(far)
        return self

    def _nearer(self, rows: Rows) -> tuple[Rows, FloatArray | None]:
        """Rows whose columns lie about zero, where an intercept takes up what is taken off."""
        far = far_columns(rows.X) if self.fit_intercept else None
        return dataclasses.replace(rows, X=taken_off(rows.X, far)), far

    def tuning_chains(
        self,
        X: MatrixLike,
        y: ArrayLike,
        X_new: MatrixLike,
        *,
        time: VectorLike = None,
        sample_weight: VectorLike = None,
        exposure: VectorLike = None,
        exposure_new: VectorLike = None,
        y_new: ArrayLike | None = None,
    ) -> Iterator[Chain]:
        """Predictions of the next step's rows by every candidate, in chains of falling strength.

        Fits share their work along a chain (warm starts, one factorisation), so that a whole
        chain costs little more than its weakest fit. Candidates are made as they are asked for:
        a chain may be left early.

        Yields
        ------
        iterator of (dict, ndarray)
            Parameters for `set_params`, and the mean predicted for every row of `X_new` (the
            probability of `classes_[1]`, for two classes). With family="text" the log-likelihood
            of every document, for which `y_new`, the new documents' effects, is needed.
        """
        self._validate_params()
        X, y, time = self._timed(X, y, time)
        if self.family == TEXT:
            if y_new is None:
                raise DataError("y_new is None; pass the effects of the new documents.")
            docs = self._read_text(X, y, time)
            yield from self._text_chains(docs, self._read_new_text(X_new, y_new))
            return
        rows, far = self._nearer(self._read(X, y, time, sample_weight, exposure))
        new = taken_off(self._read_new(self._split_time(X_new, None)[0]), far)
        offset = check_exposure(exposure_new, self.family, new.shape[0])
        for chain in self._chains(rows, new):
            yield ((params, self._loss.mean(eta + offset)) for params, eta in chain)

    def _timed(self, X: Any, y: Any, time: VectorLike) -> tuple[Any, Any, Any]:
        """X and y (of text: the effects) without a column of times, and the times."""
        given = y if self.family == TEXT else X
        require_time(given, time, self.time)
        rest, time = split_time(given, time, self.time, self.freq)
        return (X, rest, time) if self.family == TEXT else (rest, y, time)

    def _tuned(self, rows: Rows) -> Params:
        """The candidate of least error on the last step when fitted to the earlier ones."""
        past, now = rows.held_out()

        def error(eta: FloatArray) -> float:
            losses = self._loss.family.prediction_loss(now.y, self._loss.mean(eta + now.offset))
            return float(np.average(losses, weights=now.weights))

        return self._chosen(self._chains(past, now.X), error)

    def _read(self, X: MatrixLike, y: ArrayLike, time: VectorLike, *others: VectorLike) -> Rows:
        """Validated rows that carry weight; `others` are sample weights and exposure."""
        numeric = not has_classes(self.family)
        reading = {"accept_sparse": "csr", "dtype": np.float64, "ensure_min_samples": 2}
        family = self._loss.family
        reading["multi_output"] = family.takes_trials and np.ndim(y) > 1
        check_matrix(X)
        refuse_masked(y, "y")
        if numeric:
            check_target(y)
        X, y = validate_data(self, X, y, **reading, y_numeric=numeric)
        n_rows = np.shape(y)[0]
        weights = check_weights(others[0], n_rows)
        offset = check_exposure(others[1], self.family, n_rows)
        codes = self._read_time(time, n_rows)
        if numeric:
            target = family.read_target(np.asarray(y, dtype=np.float64), None)
        else:
            target = self._encode(np.asarray(y))
        self._loss.check(target)
        rows = Rows(X, target, weights, offset, codes)
        return rows if (weights > 0).all() else rows.take(weights > 0)

    def _encode(self, y: np.ndarray) -> FloatArray:
        """Two classes as 0 and 1."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size != N_CLASSES:
            shown = ", ".join(str(c) for c in self.classes_[:5])
            raise DataError(
                f"y has {self.classes_.size} classes or class values ({shown}); "
                f"family={self.family!r} needs exactly two. "
                "Only binary classification is supported: merge or drop classes."
            )
        return codes.astype(np.float64)

    def _always_in(self) -> BoolArray:
        """Mask of the columns that are not penalised."""
        names = getattr(self, "feature_names_in_", None)
        return feature_mask(self.always_in, self.n_features_in_, names, "always_in")

    def _report(self, linear: Linear) -> None:
        """coef_ and intercept_ in scikit-learn's shapes: (1, p) and (1,) for a classifier."""
        classes = has_classes(self.family)
        self.coef_ = linear.coef[None, :] if classes else linear.coef
        self.intercept_: Any = np.asarray([linear.intercept]) if classes else linear.intercept
        if not self.converged_:
            warn(
                f"{type(self).__name__} stopped before its tolerance {self.tol:g} was reached; "
                "raise max_iter or tol, scale the columns (standardize=True), or raise strength.",
                ConvergenceWarning,
            )

    def _move_back(self, far: FloatArray) -> None:
        """The intercept at x = 0 of the columns as they were given."""
        self.intercept_ = self.intercept_ - self.coef_ @ far

    # -------------------------------------------------------------- prediction

    @property
    def _loss(self) -> FamilyLoss:
        return FamilyLoss.named(self.family)

    def _eta(self, X: MatrixLike, time: VectorLike) -> FloatArray:
        """Linear predictor of every row; the coefficients are the same at every step."""
        check_is_fitted(self, "coef_")
        X, _ = self._split_time(X, time)
        linear = Linear(np.ravel(self.coef_), float(np.ravel(self.intercept_)[0]))
        return linear.eta(self._read_new(X))

    def predict(
        self, X: MatrixLike, *, time: VectorLike = None, exposure: VectorLike = None
    ) -> np.ndarray:
        """Predicted mean of every row; for two classes, the more probable class."""
        if self.family == TEXT:
            raise DataError("predict does not apply to family='text'; use log_prob.")
        eta = self._eta(X, time)
        offset = check_exposure(exposure, self.family, eta.size)
        if has_classes(self.family):
            return np.asarray(self.classes_[np.argmax(self._probabilities(eta), axis=1)])
        return self._loss.mean(eta + offset)

    def _probabilities(self, eta: FloatArray) -> FloatArray:
        return self._loss.family.probabilities(eta, CERTAIN)

    @available_if(_has_classes)
    def predict_proba(self, X: MatrixLike, *, time: VectorLike = None) -> FloatArray:
        """(n_rows, 2) probabilities of `classes_`."""
        return self._probabilities(self._eta(X, time))

    @available_if(_has_classes)
    def decision_function(self, X: MatrixLike, *, time: VectorLike = None) -> FloatArray:
        """Linear predictor; positive for `classes_[1]`."""
        return self._eta(X, time)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        time: VectorLike = None,
        sample_weight: VectorLike = None,
    ) -> float:
        """The share of the family's loss explained, accuracy of classes, likelihood of a text."""
        require_time(y if self.family == TEXT else X, time, self.time)
        if self.family == TEXT:
            return float(self.document_log_likelihood(X, y, time=time).sum())
        prediction = self.predict(X, time=time)
        if has_classes(self.family):
            return float(accuracy_score(y, prediction, sample_weight=sample_weight))
        return share_explained(self._loss.family, y, prediction, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        if has_classes(self.family):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags(poor_score=True)
            text = bool(self.family == TEXT)
            tags.target_tags.positive_only = not text and family_named(self.family).positive
            tags.target_tags.two_d_labels = text
        return tags
