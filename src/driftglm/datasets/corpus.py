"""Documents with dates and covariates, whose texts are read only when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from driftglm._typing import IntArray
from driftglm.datasets.provenance import Provenance
from driftglm.exceptions import DataError, TimeError

# Texts of the rows at ascending positions, one at a time.
Reader: TypeAlias = Callable[[IntArray], Iterator[str]]


@dataclass(frozen=True)
class Documents:
    """The texts of some rows; each pass reads them anew, so that two passes need no more memory."""

    positions: IntArray
    reader: Reader = field(repr=False)

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[str]:
        return self.reader(self.positions)


@dataclass(frozen=True, eq=False)
class TextCorpus:
    """Rows of a corpus and a way to their texts.

    Parameters
    ----------
    frame
        A row a document, with a datetime column `date`; index 0, 1, 2, ...
    provenance
        Record of what was read, dropped and checked.
    documents
        The texts of these rows: an iterable with a length, for steps that pass over them more
        than once.

    Examples
    --------
    >>> frame = pd.DataFrame({"date": pd.to_datetime(["2003-05-01", "2004-06-01"])})
    >>> notes = Documents(np.arange(2), lambda rows: map("note {}".format, rows))
    >>> corpus = TextCorpus(frame, Provenance("two notes", 2, 2), notes)
    >>> list(corpus.select(frame["date"].dt.year == 2004).texts())
    ['note 1']
    >>> corpus.timesteps("Y")
    PeriodIndex(['2003', '2004'], dtype='period[Y-DEC]', name='date')
    """

    frame: pd.DataFrame
    provenance: Provenance
    documents: Documents = field(repr=False)

    def __len__(self) -> int:
        return len(self.frame)

    def texts(self) -> Iterator[str]:
        """Texts in the order of the rows, one in memory at a time."""
        return iter(self.documents)

    def select(self, rows: ArrayLike) -> TextCorpus:
        """Corpus of the rows where the mask `rows` is true; `provenance` stays that of the whole.

        Parameters
        ----------
        rows
            One boolean a row, such as `corpus.frame["year"] < 2003`.
        """
        mask = np.asarray(rows)
        if mask.dtype != np.bool_ or mask.shape != (len(self),):
            raise DataError(
                f"rows has shape {mask.shape} and type {mask.dtype}; pass one boolean for each of "
                f"the {len(self)} rows, such as corpus.frame['year'] < 2003."
            )
        texts = Documents(self.documents.positions[mask], self.documents.reader)
        return replace(self, frame=self.frame[mask].reset_index(drop=True), documents=texts)

    def timesteps(self, freq: str = "Y") -> pd.PeriodIndex:
        """Period of `freq` in which each document is dated: what estimators take as `time`."""
        try:
            return pd.DatetimeIndex(self.frame["date"]).to_period(freq)
        except ValueError as error:
            raise TimeError(
                f"freq={freq!r} is no pandas period alias; pass one such as 'Y', 'Q' or 'M'."
            ) from error
