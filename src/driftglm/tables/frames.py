"""Columns of a frame as features, for pipelines of scikit-learn: what the command line does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from driftglm._warnings import warn
from driftglm.exceptions import DataError, DataWarning
from driftglm.tables.encoder import MISSING_WAYS, TableEncoder, TableSpec, fit_encoder
from driftglm.tables.frame_marks import FrameMarks, in_keywords, in_python
from driftglm.tables.layout import Layout
from driftglm.tables.reading import Table


class FrameEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Numbers as they are, an indicator a level, gaps filled; the encoder of the command line.

    Parameters
    ----------
    categorical
        Columns of numbers that stand for categories. Columns of texts are categories anyway.
    reference
        By column, the level that others are compared with; default: the most frequent one.
    rare
        Levels of fewer training rows are pooled as "(rare)", and so are levels that come later.
    missing
        Gaps: "error", "mean" (of the training rows; of categories a level "(missing)"), or
        "indicator", which also adds a feature that is 1 where a number was missing. Rows cannot be
        dropped inside a pipeline.
    drop
        Columns to leave out.
    keep
        Columns that are passed on as they are, such as that of `DriftRegressor(time="year")`; the
        result is a frame then.
    decimal, thousands
        Marks in numbers that are texts: 1.234,5 has "," and ".". None: they are guessed from all
        columns of texts, and a warning says what.

    Attributes
    ----------
    encoder_ : what was learned
    marks_ : columns of texts that are read as numbers, and the marks in them
    references_ : by feature that is an indicator, the level it is compared with

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"kind": list("aab"), "size": [1.0, None, 3.0], "year": [1, 1, 2]})
    >>> encoder = FrameEncoder(missing="mean", keep=["year"]).fit(frame)
    >>> encoder.transform(frame).columns.tolist(), encoder.references_
    (['kind=b', 'size', 'year'], {'kind=b': 'a'})
    """

    def __init__(
        self,
        *,
        categorical: Sequence[str] = (),
        reference: Mapping[str, str] | None = None,
        rare: int = 1,
        missing: str = "error",
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        decimal: str | None = None,
        thousands: str | None = None,
    ) -> None:
        self.categorical = categorical
        self.reference = reference
        self.rare = rare
        self.missing = missing
        self.drop = drop
        self.keep = keep
        self.decimal = decimal
        self.thousands = thousands

    def fit(self, X: pd.DataFrame, y: object = None) -> Self:
        """Learn levels, references and what stands for gaps."""
        del y
        if self.missing not in MISSING_WAYS or self.missing == "drop":
            raise DataError(f"missing={self.missing!r:.40}; error, mean and indicator are allowed.")
        frame = _frame(X)
        spec = TableSpec(
            categorical=tuple(self.categorical),
            drop=(*self.drop, *self.keep),
            missing=self.missing,
            reference=tuple((k, str(v)) for k, v in (self.reference or {}).items()),
            rare=self.rare,
        )
        with in_python():
            layout = Layout(decimal=self.decimal, thousands=self.thousands).checked()
            skip = frozenset(map(str, (*self.categorical, *self.drop, *self.keep)))
            self.marks_ = FrameMarks.of(frame, skip, layout)
            table = Table(self.marks_.read(frame), "the frame")
            self.encoder_: TableEncoder = fit_encoder(table, spec)
        for guess in self.marks_.said:
            warn(in_keywords(guess), DataWarning)
        self.references_ = self.encoder_.references
        self.feature_names_in_ = np.asarray(frame.columns, dtype=object)
        self.n_features_in_ = frame.shape[1]
        return self

    def transform(self, X: pd.DataFrame) -> Any:
        """Features of the rows: a matrix, or with `keep` a frame."""
        check_is_fitted(self, "encoder_")
        frame = _frame(X)
        with in_python():
            found: Any = self.encoder_.matrix(Table(self.marks_.read(frame), "the frame"))
        if not self.keep:
            return found
        names = self.encoder_.feature_names
        if issparse(found):
            sparse: Any = pd.DataFrame.sparse
            features = sparse.from_spmatrix(found, index=frame.index, columns=names)
        else:
            features = pd.DataFrame(found, index=frame.index, columns=names)
        return pd.concat([features, frame[list(self.keep)]], axis=1)

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """Names of the features, and of the columns kept."""
        del input_features
        check_is_fitted(self, "encoder_")
        return np.asarray([*self.encoder_.feature_names, *self.keep], dtype=object)


def _frame(X: Any) -> pd.DataFrame:
    """A frame of pandas, from one of polars too."""
    if isinstance(X, pd.DataFrame):
        return X
    if hasattr(X, "to_dict") and hasattr(X, "columns"):
        return pd.DataFrame({name: X[name].to_list() for name in X.columns})
    raise DataError(f"X is a {type(X).__name__}; a frame with names of columns is needed.")
