"""The first picture of a page: what the model says, step by step, of rows that anyone knows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftglm._typing import FloatArray
from driftglm.estimators.base import DriftEstimator
from driftglm.exceptions import DataError
from driftglm.report.encode import floats

MOST = 8
"""As many lines as the page has colours."""


@dataclass(frozen=True, eq=False)
class Story:
    """Some rows, predicted at every training step; for `write_report(story=...)`.

    Parameters
    ----------
    title, caption
        Heading of the picture, and what is said below it.
    what
        What is predicted, for the axis.
    names
        Of the rows, at most eight.
    rows
        (names, features) columns of X.
    observed
        (names, steps) what was seen, NaN where nothing was; None: nothing is shown. Lines are
        dotted where nothing was seen.
    marks
        Step -> what happened in it, as short as possible; drawn as vertical lines.

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.report import Story
    >>> story = Story("Two houses", "Small and large.", "price", ["small", "large"], np.eye(2))
    >>> list(story.names), story.rows.shape
    (['small', 'large'], (2, 2))
    """

    title: str
    caption: str
    what: str
    names: Sequence[str]
    rows: FloatArray
    observed: FloatArray | None = None
    marks: Mapping[Any, str] = field(default_factory=dict)

    def content(self, model: DriftEstimator) -> dict[str, Any]:
        """What the page takes: predictions, their 90 % intervals, and what was seen."""
        self._check(model)
        n_steps = len(model.timesteps_)
        X = np.repeat(np.asarray(self.rows, dtype=np.float64), n_steps, axis=0)
        time = np.tile(model.timesteps_, len(self.names))
        shares = model.family_.target == "classes"
        with warnings.catch_warnings():
            # Columns are in the order of training.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            line = _line(model, X, time, shares=shares)
            reach = None
            if model._forecaster.posterior:  # noqa: SLF001
                reach = np.asarray(model.predict_interval(X, time=time))
        seen = None if self.observed is None else floats(self.observed)
        return {
            "title": str(self.title),
            "caption": str(self.caption),
            "what": str(self.what),
            "names": [str(name) for name in self.names],
            "steps": [str(label) for label in model.timesteps_],
            "share": shares,
            "line": floats(line),
            "lower": None if reach is None else floats(reach[:, 0]),
            "upper": None if reach is None else floats(reach[:, 1]),
            "observed": seen,
            "marks": self._marks(model),
        }

    def _marks(self, model: DriftEstimator) -> list[dict[str, Any]]:
        """Position and words of every mark, in the order of steps."""
        places = {label: k for k, label in enumerate(list(model.timesteps_))}
        unknown = [label for label in self.marks if label not in places]
        if unknown:
            raise DataError(
                f"a story marks the step {unknown[0]!r}, which is none of those trained on "
                f"({model.timesteps_[0]} to {model.timesteps_[-1]})."
            )
        found = sorted((places[label], str(text)) for label, text in self.marks.items())
        return [{"t": place, "text": text} for place, text in found]

    def _check(self, model: DriftEstimator) -> None:
        n, n_steps = len(self.names), len(model.timesteps_)
        if not 1 <= n <= MOST or n_steps == 1:
            raise DataError(
                f"a story of {n} rows over {n_steps} steps; 1 to {MOST} rows and two steps or "
                "more can be drawn."
            )
        if model.family_.coupled:
            raise DataError("a story shows one number a row; this model has several classes.")
        if np.shape(self.rows) != (n, model.n_features_in_):
            raise DataError(
                f"the rows of a story have shape {np.shape(self.rows)}; ({n}, "
                f"{model.n_features_in_}) is needed, a row a name and the columns of training."
            )
        if self.observed is not None and np.shape(self.observed) != (n, n_steps):
            raise DataError(
                f"what was observed has shape {np.shape(self.observed)}; ({n}, {n_steps}) is "
                "needed, NaN where there is nothing."
            )


def _line(model: Any, X: FloatArray, time: Any, *, shares: bool) -> FloatArray:
    """Means, or probabilities of the second of two classes."""
    found = model.predict_proba(X, time=time)[:, 1] if shares else model.predict(X, time=time)
    return np.asarray(found, dtype=np.float64)
