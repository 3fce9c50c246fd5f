"""An estimator from a file is tried before it is handed out: what cannot predict is refused.

Shapes and ranges are checked record by record (`shapes`); what only shows when parts work together
shows here, and not later in the middle of somebody's work.
"""

from __future__ import annotations

import re
import warnings
from re import _constants as kinds  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np

from driftglm.exceptions import DataError
from driftglm.files import DamagedFileError

MOST_COLUMNS = 10**7
REPEATS = (kinds.MAX_REPEAT, kinds.MIN_REPEAT)
MOST_REPEATED = 1000
"""A repeat of more than so many is one without end."""


def check_estimator(model: Any) -> None:
    """Raise DamagedFileError unless a fitted estimator can predict a row of zeros."""
    n_features = getattr(model, "n_features_in_", None)
    fitted = {"coef_path_", "coef_"} & vars(model).keys()
    if n_features is None or not fitted or getattr(model, "time", None) is not None:
        return
    if isinstance(n_features, bool) or not isinstance(n_features, int | np.integer):
        raise DamagedFileError(f"its number of features is {n_features!r:.40}, no whole number")
    if not 0 < n_features <= MOST_COLUMNS:
        raise DamagedFileError(f"it has {n_features} features")
    row = np.zeros((1, int(n_features)))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found, agree = _answers(model, row)
    except DataError:
        return  # it says itself what it lacks
    except Exception as error:
        raise DamagedFileError(
            f"its parts do not work together ({type(error).__name__}: {error!s:.80})"
        ) from error
    if not agree:
        raise DamagedFileError("it has not as many classes as probabilities")
    if any(len(each) != 1 for each in found):
        raise DamagedFileError("its parts do not work together (one row has several predictions)")


def _answers(model: Any, row: np.ndarray) -> tuple[list[Any], bool]:
    """What a model predicts for a row, and whether classes and probabilities are as many."""
    found = [model.predict(row)] if callable(getattr(model, "predict", None)) else []
    if "_forecasters" in vars(model) and hasattr(model, "predict_interval"):
        found.append(model.predict_interval(row))
    classes = getattr(model, "classes_", None)
    return found, classes is None or model.predict_proba(row)[0].shape == classes.shape


def check_pattern(pattern: object) -> None:
    """Raise DamagedFileError for a pattern that could search for ever.

    A repeat inside a repeat, or two without end, can take exponential or polynomial time for a few
    letters, and nothing can stop a search. One repeat without end is enough to find words.
    """
    if not isinstance(pattern, str):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            endless = _endless(parser.parse(pattern), inside=False)
    except (re.error, RecursionError, OverflowError) as error:
        raise DamagedFileError(f"its token_pattern is none ({error})") from error
    if endless > 1:
        raise DamagedFileError(
            f"its token_pattern {pattern!r:.60} has repeats that could search for ever; only "
            "patterns with one repeat are read from files. Make the vocabulary again from its "
            "documents"
        )


def _endless(parts: Any, *, inside: bool) -> int:
    """Repeats without end in a parsed pattern; one inside another counts as two."""
    found = 0
    for kind, content in parts:
        repeats = kind in REPEATS and content[1] > 1
        found += int(repeats and (inside or content[1] > MOST_REPEATED)) * (1 + inside)
        found += 2 * int(kind is kinds.GROUPREF or (inside and kind is kinds.BRANCH))
        nested = [content] if not isinstance(content, list | tuple) else list(content)
        for each in nested:
            for part in each if isinstance(each, list) else [each]:
                if isinstance(part, parser.SubPattern):
                    found += _endless(part, inside=inside or repeats)
    return found
