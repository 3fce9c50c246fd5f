"""Models of a formula such as "y ~ x1 + C(state) + x2:x3", read by the package formulaic."""

from __future__ import annotations

import importlib
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from driftglm._typing import VectorLike
from driftglm.estimators import DriftRegressor
from driftglm.estimators.time_column import split_time
from driftglm.exceptions import DataError

INTERCEPT = "Intercept"


class FormulaModel(BaseEstimator):  # type: ignore[misc]
    """An estimator whose features are the right side of a formula; made by `from_formula`.

    Parameters
    ----------
    formula
        In the words of formulaic: "y ~ x1 + C(state) + x2:x3".
    estimator
        Any estimator of this package; None: `DriftRegressor()`. Its `time` may name a column of the
        frame, which then need not be in the formula. The intercept is the estimator's own.

    Attributes
    ----------
    estimator_ : fitted; `summary()` is its
    """

    def __init__(self, formula: str, estimator: BaseEstimator | None = None) -> None:
        self.formula = formula
        self.estimator = estimator

    def fit(self, frame: pd.DataFrame, y: object = None, *, time: VectorLike = None) -> Self:
        """Fit to the rows of a frame that has both sides of the formula."""
        del y  # the formula says what it is
        model: Any = clone(DriftRegressor() if self.estimator is None else self.estimator)
        package = formulaic()
        try:
            sides = package.model_matrix(self.formula, frame, na_action="raise")
        except Exception as error:  # formulaic has errors of its own
            raise DataError(
                f"the formula {self.formula!r:.80} cannot be used ({error})."
            ) from error
        if not hasattr(sides, "lhs"):
            raise DataError(
                f"the formula {self.formula!r:.80} has no left side; write y ~ x1 + x2."
            )
        target = pd.DataFrame(sides.lhs)
        if target.shape[1] != 1:
            raise DataError(
                f"the left side of {self.formula!r:.80} has {target.shape[1]} columns; one number "
                "a row is needed. Make a column of 0 and 1 of two classes first."
            )
        self.spec_ = sides.rhs.model_spec
        labels = self._times(frame, time, model)
        self.estimator_ = model.fit(_features(sides.rhs), np.ravel(target), time=labels)
        return self

    def predict(self, frame: pd.DataFrame, *, time: VectorLike = None) -> np.ndarray:
        """Predictions of new rows, with the categories of training."""
        check_is_fitted(self, "estimator_")
        try:
            found = self.spec_.get_model_matrix(frame, na_action="raise")
        except Exception as error:  # formulaic has errors of its own
            raise DataError(
                f"the formula {self.formula!r:.80} cannot be used ({error})."
            ) from error
        labels = self._times(frame, time, self.estimator_)
        return np.asarray(self.estimator_.predict(_features(found), time=labels))

    def summary(self) -> pd.DataFrame:
        """The estimator's table of features."""
        check_is_fitted(self, "estimator_")
        return pd.DataFrame(self.estimator_.summary())

    @staticmethod
    def _times(frame: pd.DataFrame, time: VectorLike, model: Any) -> Any:
        return split_time(frame, time, model.time, model.freq)[1]


def from_formula(
    formula: str,
    frame: pd.DataFrame,
    estimator: BaseEstimator | None = None,
    *,
    time: VectorLike = None,
) -> FormulaModel:
    """A model of a formula, fitted to a frame.

    Needs formulaic, the extra ``driftglm[formula]``. Gaps are an error. The model cannot be saved:
    here a formula may hold any Python, which files of this package do not. Formulas of the command
    line (``driftglm fit --formula``) hold none, and their models can be saved.

    Examples
    --------
    >>> import pandas as pd
    >>> from driftglm import DriftRegressor
    >>> frame = pd.DataFrame({"year": [1, 1, 1, 2, 2, 2], "x": [0, 1, 2, 0, 1, 2.0]})
    >>> frame["kind"] = list("abbaab")
    >>> frame["y"] = 2 * frame["x"] + (frame["kind"] == "b")
    >>> model = from_formula("y ~ x + kind", frame, DriftRegressor(time="year", prior="fixed"))
    >>> sorted(model.summary()["feature"])
    ['kind[T.b]', 'x']
    """
    return FormulaModel(formula, estimator).fit(frame, time=time)


def _features(matrix: Any) -> pd.DataFrame:
    """The columns of a model matrix but the intercept's."""
    frame = pd.DataFrame(matrix)
    frame = frame.drop(columns=[name for name in frame.columns if name == INTERCEPT])
    if frame.shape[1] == 0:
        raise DataError("the formula has no feature on its right side; write y ~ x1 + x2.")
    return frame


def formulaic() -> Any:
    """The package; DataError that says how to get it."""
    try:
        return importlib.import_module("formulaic")
    except ImportError as error:
        raise DataError(
            "formulas need the package formulaic; pip install formulaic, or 'driftglm[formula]'."
        ) from error
