"""Documents with covariates become word counts and effects, and a text model of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_datetime64_any_dtype

from driftglm.data.timesteps import Freq
from driftglm.datasets.corpus import TextCorpus
from driftglm.estimators import DriftTextModel
from driftglm.exceptions import DataError
from driftglm.tables.cells import refuse_spoilt
from driftglm.tables.columns import column, is_number_column, numbers
from driftglm.tables.encoder import MANY_LEVELS, fit_words
from driftglm.tables.reading import Table, as_strings


def effects_of(frame: pd.DataFrame, names: Sequence[str] | None, source: str) -> pd.DataFrame:
    """What is known about documents as numbers: one column a number, a level or a listed item.

    Of two levels that exclude each other the rarer one has a column.

    Parameters
    ----------
    frame
        A row a document.
    names
        The columns to use; None: all but `id` and `date`.
    source
        Name of the table for messages.
    """
    chosen = [n for n in frame.columns if n not in {"id", "date"}] if names is None else names
    parts: dict[str, np.ndarray] = {}
    table = Table(frame, source)
    for name in chosen:
        values = column(table, name, "effect")
        if is_datetime64_any_dtype(values):
            raise DataError(f"column {name!r:.60} holds dates, which are no effect; leave it out.")
        if is_number_column(values):
            cure = "fill it in, or leave it out of --effects."
            parts[name] = numbers(table, values, name, cure)
        else:
            parts |= _indicators(table, values, name)
    if not parts:
        raise DataError(f"{source} has no column beside id and date; effects are needed.")
    return pd.DataFrame(parts)


def _indicators(table: Table, values: pd.Series, name: str) -> dict[str, np.ndarray]:
    """One column of zeros and ones for each level or listed item of a column."""
    if not any(isinstance(value, list | tuple | set | np.ndarray) for value in values):
        refuse_spoilt(table, values, name, "or leave the column out of --effects.")
    items = [_items(value) for value in values]
    counts = Counter(level for row in items for level in row)
    levels = sorted(counts)
    if len(levels) == 2 and all(len(row) == 1 for row in items):  # noqa: PLR2004
        # The other of two is its opposite; with both, neither could be told.
        levels = [min(levels[::-1], key=counts.__getitem__)]
    if len(levels) > MANY_LEVELS:
        raise DataError(
            f"column {name!r:.60} has {len(levels)} different values, more than {MANY_LEVELS}; "
            "name the columns to use with --effects."
        )
    return {f"{name}={level}": np.array([float(level in row) for row in items]) for level in levels}


def fit_documents(
    corpus: TextCorpus,
    *,
    freq: Freq,
    effects: Sequence[str] | None = None,
    vocabulary: tuple[int, int | None] | None = None,
    verbose: bool = False,
    **params: Any,
) -> DriftTextModel:
    """Count words, read effects and fit a `DriftTextModel`.

    Parameters
    ----------
    corpus
        From `driftglm.datasets.load_text_panel`.
    freq
        Length of a step, e.g. "Y".
    effects
        Columns of covariates; None: all.
    vocabulary
        First and last frequency rank of words to count; None: those that suit the corpus.
    verbose
        Show on standard error how far the fit is; no part of the model.
    **params
        Passed to `DriftTextModel`.
    """
    rows = effects_of(corpus.frame, effects, corpus.provenance.what)
    words = fit_words(corpus.documents, vocabulary, binary=False)
    counts = words.transform(corpus.documents)
    names = words.get_feature_names_out().tolist()
    model = DriftTextModel(vocabulary=names, freq=freq, verbose=verbose, **params)
    model.fit(counts, rows, time=corpus.frame["date"].to_numpy())
    model.set_params(verbose=False)
    return model


def _items(value: object) -> list[str]:
    """Levels of one document: none if missing, several if it is a list."""
    if isinstance(value, list | tuple | set | np.ndarray):
        return [str(item) for item in value]
    found = as_strings(pd.Series([value], dtype=object))[0]
    return [] if found is None else [found]
