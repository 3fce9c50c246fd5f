"""Words of a streamed corpus, ranked anew at every origin, in one pass and one matrix."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from driftglm._progress import counted
from driftglm._typing import IntArray, VectorLike
from driftglm._warnings import warn
from driftglm.datasets import TextCorpus
from driftglm.exceptions import DataError, DataWarning
from driftglm.experiments.settings import ALL, Settings
from driftglm.files import DamagedFileError, load, save
from driftglm.text import RankedVocabulary


@dataclass(frozen=True)
class WordCounts:
    """Counts of every word that has one of the ranks asked for at some origin.

    Parameters
    ----------
    counts
        (documents, words) occurrences; words in the order of their characters.
    words
        Names of the columns.
    chosen
        Columns of the words ranked first to last in *all* documents, in the order of ranks.
    """

    counts: sp.csr_matrix
    words: tuple[str, ...]
    chosen: IntArray

    def with_columns(self, extra: pd.DataFrame | None = None) -> sp.csr_array:
        """The counts as numbers, and further columns after them."""
        # Indices are shared with the counts: at full size a copy of them is 100 MB.
        parts = self.counts.data.astype(np.float64), self.counts.indices, self.counts.indptr
        words = sp.csr_array(parts, shape=self.counts.shape)
        if extra is None:
            return words
        columns = sp.csr_array(np.asarray(extra, dtype=np.float64))
        return sp.csr_array(sp.hstack([words, columns], format="csr"))

    def selector(
        self, variant: str, settings: Settings, *, binary: bool = True, n_extra: int = 0
    ) -> WordSelector:
        """The step of a pipeline that picks the words of a variant."""
        columns = self.chosen if variant == ALL else None
        return WordSelector(*ranks_of(settings), binary, n_extra, columns)


class WordSelector(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Chooses words by their rank in the documents it is fitted to, or given columns.

    Parameters
    ----------
    first, last
        Ranks chosen, both included; of words as frequent as each other the left column comes first.
    binary
        Whether a word is 0 or 1, or its count.
    n_extra
        Number of columns at the end that are no words and stay as they are.
    columns
        Columns to choose, whatever their rank.
    """

    def __init__(
        self,
        first: int = 1,
        last: int | None = None,
        binary: bool = True,
        n_extra: int = 0,
        columns: IntArray | None = None,
    ) -> None:
        self.first = first
        self.last = last
        self.binary = binary
        self.n_extra = n_extra
        self.columns = columns

    def fit(self, X: sp.csr_array, y: VectorLike = None) -> Self:
        """Rank the words by their occurrences in these documents, unless columns are given."""
        del y
        if self.columns is not None:
            self.columns_ = np.asarray(self.columns)
            return self
        n_words = X.shape[1] - self.n_extra
        totals = np.asarray(X.sum(axis=0)).ravel()[:n_words]
        ranked = np.argsort(-totals, kind="stable")[self.first - 1 : self.last]
        self.columns_ = ranked[totals[ranked] > 0]
        if not self.columns_.size:
            raise DataError(
                f"the {X.shape[0]} training documents hold no word of rank {self.first} or beyond; "
                "choose smaller ranks, or later years."
            )
        return self

    def transform(self, X: sp.csr_array) -> sp.csr_array:
        """The words chosen, then the extra columns."""
        words = X[:, self.columns_]
        if self.binary:
            words = (words > 0).astype(np.float64)
        if not self.n_extra:
            return sp.csr_array(words)
        return sp.csr_array(sp.hstack([words, X[:, X.shape[1] - self.n_extra :]], format="csr"))


def ranks_of(settings: Settings) -> tuple[int, int]:
    """Ranks of resolved settings."""
    if settings.ranks is None:
        raise DataError("ranks are still open; use Settings.resolved first.")
    return settings.ranks


def count_words(
    corpus: TextCorpus,
    years: IntArray,
    settings: Settings,
    *,
    store: Path | None = None,
    verbose: bool | None = None,
) -> WordCounts:
    """Rank and count the words of a corpus in two passes over its texts, year by year.

    After every year the words of the ranks asked for are noted; the matrix has all of them, so that
    the ranking of any origin can be made again from its training rows alone. Memory holds the
    distinct words and the matrix.

    Parameters
    ----------
    corpus
        Documents, in any order of years.
    years
        Year of every document.
    settings
        Resolved settings: ranks, and the years at which a training set ends.
    store
        File to store the matrix in, and to read it from if it is there.
    verbose
        Whether to show progress on stderr; by default on a terminal.
    """
    if store is not None and (found := _stored(store, len(corpus))) is not None:
        return found
    first, last = ranks_of(settings)
    needed, overall = _ranked_words(corpus, years, settings, verbose=verbose)
    # One word a document: all as frequent as each other, so that columns are sorted by name.
    columns = RankedVocabulary(first=1, last=None, binary=False, dtype=np.int32).fit(needed)
    texts = counted(corpus.texts(), len(corpus), "counting words", verbose=verbose)
    matrix = columns.transform(texts)
    positions = columns.vocabulary_
    chosen = np.array([positions[word] for word in overall[first - 1 : last]], dtype=np.int64)
    result = WordCounts(matrix, tuple(positions), chosen)
    if store is not None:
        _store(store, result)
    return result


def counted_words(counts: sp.csr_matrix, words: Sequence[str], settings: Settings) -> WordCounts:
    """Words that are counted already, those ranked in all documents marked."""
    first, last = ranks_of(settings)
    # Of words as frequent as each other the first by name comes first, as when texts are counted.
    order = np.argsort(np.asarray(words, dtype=object), kind="stable")
    counts = sp.csr_matrix(counts)[:, order]
    totals = np.asarray(counts.sum(axis=0, dtype=np.int64)).ravel()
    ranked = np.argsort(-totals, kind="stable")[first - 1 : last]
    chosen = ranked[totals[ranked] > 0]
    if not chosen.size:
        raise DataError(f"{counts.shape[1]} words are counted, none of rank {first} or beyond.")
    return WordCounts(counts, tuple(str(words[i]) for i in order), chosen.astype(np.int64))


def _ranked_words(
    corpus: TextCorpus, years: IntArray, settings: Settings, *, verbose: bool | None
) -> tuple[list[str], list[str]]:
    """Words of the ranks up to the last at any origin, and of all documents by rank."""
    first, last = ranks_of(settings)
    ranking = RankedVocabulary(first=first, last=last)
    needed: set[str] = set()
    overall: list[str] = []
    ends = _last_training_years(settings, years)
    of_years = ((y, text) for y in np.unique(years) for text in corpus.select(years == y).texts())
    counted_texts = counted(of_years, len(corpus), "ranking words", verbose=verbose)
    for year, group in groupby(counted_texts, key=lambda pair: pair[0]):
        ranking.partial_fit(text for _, text in group)
        if year in ends:
            ranked = sorted(ranking.word_counts_.items(), key=lambda item: (-item[1], item[0]))
            overall = [word for word, _ in ranked[:last]]
            needed.update(overall)
    if len(overall) < first:
        raise DataError(
            f"the documents hold {len(overall)} distinct words, none of rank {first}; choose "
            "smaller ranks."
        )
    if len(overall) < last:
        warn(
            f"the documents hold {len(overall)} distinct words: ranks {first} to {len(overall)} "
            f"are used, not to {last}.",
            DataWarning,
        )
    return sorted(needed), overall


def _last_training_years(settings: Settings, years: IntArray) -> set[int]:
    """Last years with documents before the dev year and before every test year, and of all."""
    known = np.unique(years)
    tests: Sequence[int] = (settings.dev or 0, *(settings.test or ()))
    ends = {int(known[known < year][-1]) for year in tests if (known < year).any()}
    return ends | {int(known[-1])}


def _store(path: Path, words: WordCounts) -> None:
    """Matrix and words in one file that appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    matrix = words.counts
    arrays = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
    names = np.frombuffer(json.dumps(words.words).encode(), dtype=np.uint8)
    save(path, {}, arrays | {"chosen": words.chosen, "words": names})


def _stored(path: Path, n_documents: int) -> WordCounts | None:
    """What `_store` wrote; None if it is not there or damaged, so that it is made again."""
    try:
        parts = load(path)[1]
        names = tuple(json.loads(parts["words"].tobytes()))
        shape = n_documents, len(names)
        matrix = sp.csr_matrix((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    except (OSError, ValueError, KeyError, DamagedFileError):
        return None
    return WordCounts(matrix, names, parts["chosen"])
