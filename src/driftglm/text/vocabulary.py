"""The words whose frequency rank lies in a range, counted in documents that are streamed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from driftglm._warnings import warn
from driftglm.exceptions import DataError, DataWarning
from driftglm.files import Storable
from driftglm.text.rows import SparseRows

# Runs of letters and digits, those of one letter included; `\w` would take in the underscore.
LETTERS_AND_DIGITS = r"[^\W_]+"
MOST_NGRAMS = 5
LONGEST_PATH, MOST_BLANKS = 255, 5
Document = str | bytes | Path


class RankedVocabulary(TransformerMixin, Storable, BaseEstimator):
    r"""Sparse word indicators, or counts, for the words of certain frequency ranks.

    The most frequent word of the *training* documents, all occurrences counted, has rank 1. Words
    as frequent as each other are ranked in the order of their characters, so that the result does
    not depend on the order of documents. Column j is the word of rank `first + j`.

    Documents are read one at a time: lists, iterators of texts and file paths need memory for the
    distinct words and for the matrix, not for the texts.

    Parameters
    ----------
    first, last
        First and last rank used, both included; `last=None` means all from `first` on. The
        defaults leave out the words that every report has, and those that hardly any has.
    binary
        Whether values are 1 for a word that occurs; else the number of its occurrences.
    input
        "content": documents are texts (str, or bytes in UTF-8). "filename": they are paths of
        text files in UTF-8. Bytes that are no UTF-8 become the replacement character.
    lowercase
        Whether texts are lower-cased first.
    token_pattern
        Regular expression of a word; by default a run of letters and digits, so that neither
        punctuation nor the `#` that stands for numbers in tokenised corpora is a word. `r"\S+"`
        takes every token of a tokenised text as it stands.
    tokenizer
        Function from a text to its words, instead of `token_pattern`.
    dtype
        Type of the values; the estimators compute with float64 and need no copy of it.
    ngrams
        Longest run of words that counts as one: 2 adds pairs such as "interest rate", ranked among
        the words.
    stop_words
        Words to leave out before ranking and pairing: "english" (scikit-learn's list) or a list.

    Attributes
    ----------
    vocabulary_ : dict
        Word -> column.
    word_counts_ : Counter
        Occurrences of every word of the training documents, of any rank.
    n_documents_ : int
        Number of training documents.

    Examples
    --------
    >>> from driftglm.text import RankedVocabulary
    >>> reports = ["the risk of the loss", "the risk", "a loss"]
    >>> words = RankedVocabulary(first=2, last=3).fit(reports)
    >>> words.get_feature_names_out()
    array(['loss', 'risk'], dtype=object)
    >>> words.transform(["Risk, risk and more risk"]).toarray()
    array([[0., 1.]])
    """

    def __init__(  # noqa: PLR0913, PLR0917 (scikit-learn's way)
        self,
        first: int = 101,
        last: int | None = 10101,
        binary: bool = True,
        input: Literal["content", "filename"] = "content",  # noqa: A002 (scikit-learn's name)
        lowercase: bool = True,
        token_pattern: str = LETTERS_AND_DIGITS,
        tokenizer: Callable[[str], list[str]] | None = None,
        dtype: DTypeLike = np.float64,
        ngrams: int = 1,
        stop_words: Literal["english"] | Collection[str] | None = None,
    ) -> None:
        self.first = first
        self.last = last
        self.binary = binary
        self.input = input
        self.lowercase = lowercase
        self.token_pattern = token_pattern
        self.tokenizer = tokenizer
        self.dtype = dtype
        self.ngrams = ngrams
        self.stop_words = stop_words

    def fit(self, raw_documents: Iterable[Document], y: object = None) -> RankedVocabulary:
        """Count the words of all training documents and rank them.

        Raises
        ------
        DataError
            If there are no documents, or fewer words than `first`.
        """
        self.word_counts_: Counter[str] = Counter()
        self.n_documents_ = 0
        self.partial_fit(raw_documents, y)
        self._rank()
        return self

    def partial_fit(self, raw_documents: Iterable[Document], y: object = None) -> RankedVocabulary:
        """Count the words of a further batch; ranks are those of all batches together.

        Ranking waits until the vocabulary is asked for, and so does the complaint about too few
        words: the first batches may well hold too few.
        """
        del y
        self._check_parameters()
        # Counted apart: a batch that fails half-way leaves no trace and can be passed again.
        counts: Counter[str] = Counter()
        n_documents = 0
        for words in self._word_lists(raw_documents):
            counts.update(words)
            n_documents += 1
        if not hasattr(self, "word_counts_"):
            self.word_counts_, self.n_documents_ = Counter(), 0
        self.word_counts_.update(counts)
        self.n_documents_ += n_documents
        self._vocabulary: dict[str, int] | None = None
        return self

    def transform(self, raw_documents: Iterable[Document]) -> csr_matrix:
        """Matrix (documents, words), a row a document; unknown words are ignored."""
        vocabulary = self.vocabulary_
        rows = SparseRows(keep_counts=not self.binary)
        for words in self._word_lists(raw_documents):
            # A set is filled twice as fast as a Counter.
            distinct: Collection[str] = set(words) if self.binary else Counter(words)
            known = sorted((w for w in distinct if w in vocabulary), key=vocabulary.__getitem__)
            counts = [distinct[word] for word in known] if isinstance(distinct, Counter) else ()
            rows.append([vocabulary[word] for word in known], counts)
        return rows.matrix(len(vocabulary), self.dtype)

    def fit_transform(self, raw_documents: Iterable[Document], y: object = None) -> csr_matrix:
        """`fit`, then `transform` of the same documents, which are read twice."""
        if isinstance(raw_documents, Iterator):
            raise DataError(
                f"fit_transform got a {type(raw_documents).__name__}, which is used up after one "
                "pass, and ranks are known only after it. Pass a list or corpus.documents, or call "
                "fit and transform with an iterator each."
            )
        return self.fit(raw_documents, y).transform(raw_documents)

    @property
    def vocabulary_(self) -> dict[str, int]:
        """Word -> column, in the order of ranks."""
        check_is_fitted(self)
        if self._vocabulary is None:
            self._rank()
        return self._vocabulary or {}

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """The words, in the order of the columns."""
        del input_features  # texts have no feature names
        return np.array(list(self.vocabulary_), dtype=object)

    def _rank(self) -> None:
        n_words = len(self.word_counts_)
        last = n_words if self.last is None else self.last
        found = f"{self.n_documents_} training documents hold {n_words} distinct words"
        if n_words < self.first:
            raise DataError(
                f"{found}, none of which has rank first={self.first}; pass more documents or a "
                "smaller first, and see that token_pattern finds the words."
            )
        if n_words < last:
            warn(
                f"{found}: ranks {self.first} to {n_words} are used, not to last={last}. Pass "
                "last=None to keep all words from first on.",
                DataWarning,
            )
        ranked = sorted(self.word_counts_.items(), key=lambda item: (-item[1], item[0]))
        chosen = islice(ranked, self.first - 1, last)
        self._vocabulary = {word: column for column, (word, _) in enumerate(chosen)}

    def _word_lists(self, raw_documents: Iterable[Document]) -> Iterator[list[str]]:
        """Words of each document, in order; documents are not stored."""
        if isinstance(raw_documents, str | bytes | Path):
            raise DataError(
                f"documents are a single {type(raw_documents).__name__}; pass a list or an "
                "iterator of documents, [document] for one."
            )
        analyze = CountVectorizer(
            input=self.input,
            decode_error="replace",
            lowercase=self.lowercase,
            # CountVectorizer warns of a pattern that a tokenizer makes useless.
            token_pattern=None if self.tokenizer is not None else self.token_pattern,
            tokenizer=self.tokenizer,
            ngram_range=(1, self.ngrams),
            stop_words=self.stop_words
            if isinstance(self.stop_words, str | None)
            else list(self.stop_words),
        ).build_analyzer()
        for row, document in enumerate(raw_documents):
            self._check_document(document, row)
            try:
                yield analyze(document)
            except OSError as error:
                raise DataError(
                    f"document {row}, the file {_named(document)}, cannot be read "
                    f"({error.strerror}); pass paths of text files, or input='content' for texts."
                ) from error

    def _check_document(self, document: object, row: int) -> None:
        is_path = self.input == "filename"
        if not isinstance(document, (str, Path) if is_path else (str, bytes)):
            wanted = "a path (str or Path)" if is_path else "a text (str or bytes)"
            raise DataError(
                f"document {row} is {document!r:.60} of type {type(document).__name__}; each must "
                f"be {wanted} with input={self.input!r}. Drop or fill missing ones."
            )

    def _check_parameters(self) -> None:
        ranks = [self.first] if self.last is None else [self.first, self.last]
        whole = all(isinstance(rank, Integral) and not isinstance(rank, bool) for rank in ranks)
        if not whole or not 1 <= ranks[0] <= ranks[-1]:
            raise DataError(
                f"first={self.first!r}, last={self.last!r}; whole numbers with 1 <= first <= last "
                "are allowed, or last=None."
            )
        if not isinstance(self.ngrams, Integral) or not 1 <= self.ngrams <= MOST_NGRAMS:
            raise DataError(f"ngrams={self.ngrams!r}; a whole number from 1 to 5 is allowed.")
        if isinstance(self.stop_words, str) and self.stop_words != "english":
            raise DataError(f"stop_words={self.stop_words!r:.40}; 'english' or a list of words.")
        if self.input not in {"content", "filename"}:
            raise DataError(f"input={self.input!r}; 'content' and 'filename' are allowed.")

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "n_documents_", 0) > 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _named(path: object) -> str:
    """A path as messages show it; what is too long or wordy for one is a text, and not shown."""
    text = str(path)
    is_text = len(text) > LONGEST_PATH or text.count(" ") > MOST_BLANKS
    return f"(a text of {len(text)} letters)" if is_text else repr(text)
