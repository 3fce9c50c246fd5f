"""What the baselines share: reading data, choosing the strength, predicting, scoring."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._typing import BoolArray, FloatArray
from driftglm._warnings import warn
from driftglm.baselines.family_loss import TEXT, BaselineFamily, FamilyLoss, has_classes
from driftglm.baselines.rows import Rows, check_exposure
from driftglm.baselines.text_methods import TextMethods
from driftglm.baselines.tuning import Choice, choose, warn_at_edge
from driftglm.data.checks import check_weights
from driftglm.data.features import feature_mask
from driftglm.data.timesteps import fit_axis
from driftglm.estimators.scores import share_explained
from driftglm.exceptions import ConvergenceWarning, DataError
from driftglm.families import family_named
from driftglm.families.base import CERTAIN
from driftglm.files import Storable

N_CLASSES = 2
TUNING_TOL = 1e-4
"""Good enough to rank candidates; the chosen one is fitted again to the full tolerance."""


@dataclass(frozen=True)
class Linear:
    """A fitted linear predictor for the step after the last, in the user's units."""

    coef: FloatArray
    intercept: float

    def eta(self, X: Any) -> FloatArray:
        """Linear predictor of every row, without offset."""
        return np.asarray(X @ self.coef).ravel() + self.intercept


Chain = Iterator[tuple[dict[str, Any], FloatArray]]
"""Candidates from a strong penalty to a weak one: parameters, linear predictor of new rows."""


def _has_classes(model: Any) -> bool:
    """For `available_if`: only classes have probabilities."""
    if not has_classes(model.family):
        raise AttributeError(f"family {model.family!r} has no classes and no probabilities.")
    return True


class Baseline(TextMethods, Storable, BaseEstimator):
    """Base of the baselines; see `LassoAll` for the parameters."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "strength": [Interval(Real, 0, None, closed="neither"), None],
        "family": [BaselineFamily()],
        "fit_intercept": ["boolean"],
        "always_in": ["array-like", str, Integral, None],
        "standardize": ["boolean"],
        "freq": [str, Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    # ------------------------------------------------------------ what differs

    window: int | None = None
    """How many steps are used, up to the last that has rows; None: all."""

    @property
    def leaves_chains(self) -> bool:
        """Whether fits take so long that candidates clearly behind the best end a search."""
        return bool(self.family == TEXT)

    @abstractmethod
    def _chains(self, rows: Rows, X_new: Any) -> Iterator[Chain]:
        """Candidates fitted to `rows` and their linear predictors for the next step's rows."""

    @abstractmethod
    def _fit_chosen(self, rows: Rows, params: dict[str, Any]) -> None:
        """Fit with settled parameters; set coef_ and intercept_."""

    def tunable_params(self) -> dict[str, Any]:
        """Parameters given as numbers, those still to be chosen as None."""
        return {"strength": self.strength}

    # ----------------------------------------------------------------- fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, *, time: Any = None, sample_weight: Any = None, exposure: Any = None
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
        if self.family == TEXT:
            self._fit_text(X, y, time, sample_weight=sample_weight, exposure=exposure)
            return self
        rows = self._read(X, y, time, sample_weight, exposure)
        params = self.tunable_params()
        if None in params.values():
            params = self._tuned(rows).params
        self._fit_chosen(rows, params)
        return self

    def tuning_chains(
        self,
        X: Any,
        y: Any,
        X_new: Any,
        *,
        time: Any = None,
        sample_weight: Any = None,
        exposure: Any = None,
        exposure_new: Any = None,
        y_new: Any = None,
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
        if self.family == TEXT:
            yield from self._text_chains((X, y, time), (X_new, y_new))
            return
        rows = self._read(X, y, time, sample_weight, exposure)
        X_new = validate_data(self, X_new, accept_sparse="csr", dtype=np.float64, reset=False)
        offset = check_exposure(exposure_new, self.family, X_new.shape[0])
        for chain in self._chains(rows, X_new):
            yield ((params, self._mean(eta + offset)) for params, eta in chain)

    def _tuned(self, rows: Rows) -> Choice:
        """The candidate of least error on the last step when fitted to the earlier ones."""
        past, now = rows.held_out()
        family = family_named(self.family)

        def error(eta: FloatArray) -> float:
            losses = family.prediction_loss(now.y, self._mean(eta + now.offset))
            return float(np.average(losses, weights=now.weights))

        chains = self._chains(past, now.X)
        errors = (((params, error(eta)) for params, eta in chain) for chain in chains)
        choice = choose(errors, leave=self.leaves_chains)
        if choice.at_edge:
            warn_at_edge(type(self).__name__, choice.params)
        return choice

    def _read(self, X: Any, y: Any, time: Any, sample_weight: Any, exposure: Any) -> Rows:
        """Validated rows that carry weight."""
        numeric = not has_classes(self.family)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=np.float64,
            y_numeric=numeric,
            ensure_min_samples=2,
        )
        weights = check_weights(sample_weight, X.shape[0])
        offset = check_exposure(exposure, self.family, X.shape[0])
        axis, codes = fit_axis(time, X.shape[0], self.freq)
        self._axis, self.timesteps_ = axis, axis.labels
        y = y.astype(np.float64) if numeric else self._encode(y)
        self._loss.check(y)
        rows = Rows(X, y, weights, offset, codes)
        return rows if (weights > 0).all() else rows.take(weights > 0)

    def _encode(self, y: Any) -> FloatArray:
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

    def _warn_unconverged(self) -> None:
        warn(
            f"{type(self).__name__} stopped before its tolerance {self.tol:g} was reached; "
            "raise max_iter or tol, scale the columns (standardize=True), or raise strength.",
            ConvergenceWarning,
        )

    # -------------------------------------------------------------- prediction

    @property
    def _loss(self) -> FamilyLoss:
        return FamilyLoss.named(self.family)

    def _mean(self, eta: FloatArray) -> FloatArray:
        return self._loss.mean(eta)

    def _eta(self, X: Any, time: Any) -> FloatArray:
        """Linear predictor of every row; the coefficients are the same at every step."""
        del time
        check_is_fitted(self, "coef_")
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return Linear(np.ravel(self.coef_), float(np.ravel(self.intercept_)[0])).eta(X)

    def predict(self, X: Any, *, time: Any = None, exposure: Any = None) -> Any:
        """Predicted mean of every row; for two classes, the more probable class."""
        self._refuse_text("predict", "log_prob")
        eta = self._eta(X, time)
        offset = check_exposure(exposure, self.family, eta.size)
        if has_classes(self.family):
            return self.classes_[np.argmax(self._probabilities(eta), axis=1)]
        return self._mean(eta + offset)

    def _probabilities(self, eta: FloatArray) -> FloatArray:
        return family_named(self.family).probabilities(eta, CERTAIN)

    @available_if(_has_classes)
    def predict_proba(self, X: Any, *, time: Any = None) -> FloatArray:
        """(n_rows, 2) probabilities of `classes_`."""
        return self._probabilities(self._eta(X, time))

    @available_if(_has_classes)
    def decision_function(self, X: Any, *, time: Any = None) -> FloatArray:
        """Linear predictor; positive for `classes_[1]`."""
        return self._eta(X, time)

    def score(self, X: Any, y: Any, *, time: Any = None, sample_weight: Any = None) -> float:
        """The share of the family's loss explained, accuracy of classes, likelihood of a text."""
        if self.family == TEXT:
            return float(self.document_log_likelihood(X, y, time=time).sum())
        prediction = self.predict(X, time=time)
        if has_classes(self.family):
            return float(accuracy_score(y, prediction, sample_weight=sample_weight))
        return share_explained(family_named(self.family), y, prediction, sample_weight)

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
