"""Counts of words that are in Dask's hands: read, checked and added up where they are.

Blocks of documents and words become, for every bundle of words, its counts in every context. No
worker, nor the client, ever holds all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from operator import add, attrgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack

from driftglm._typing import FloatArray, IntArray
from driftglm.distributed.client import Future
from driftglm.distributed.text import Bundle, TextEngine
from driftglm.exceptions import DataError
from driftglm.solvers.text_problem import (
    WordCounts,
    add_documents,
    counts_by_word,
    squared_shares,
)

Reader = Callable[[Future], "Block"]
"""Reads and checks one block."""


class Facts(NamedTuple):
    """What the client needs to know about a block.

    Its shape, the tokens of every document, the lowest count and the row it is in, and the names
    of the words if it has any.
    """

    shape: tuple[int, int]
    totals: FloatArray
    lowest: tuple[float, int]
    names: list[str] | None


class Block(NamedTuple):
    """A block by word."""

    table: csc_array
    facts: Facts

    @classmethod
    def of(cls, table: csr_array, lowest: tuple[float, int], names: list[str] | None) -> Block:
        """From documents and words."""
        totals = np.asarray(table.sum(axis=1), dtype=np.float64).ravel()
        return cls(csc_array(table), Facts(table.shape, totals, lowest, names))


def _piece(
    block: Block, words: slice, member: IntArray, n_contexts: int, tokens: FloatArray | None = None
) -> csr_array:
    """Sums of some words by context: of counts, or of their squares over `tokens`."""
    table = block.table[:, words]
    summed = table if tokens is None else squared_shares(table, tokens)
    return add_documents(summed, member, n_contexts)


def _merge(n_across: int, *pieces: csr_array) -> WordCounts:
    """Pieces of all blocks, those of the same documents side by side, the others added up."""
    rows = [hstack(pieces[k : k + n_across]) for k in range(0, len(pieces), n_across)]
    return counts_by_word(reduce(add, rows))


def _step_sums(counts: WordCounts, codes: IntArray, n_timesteps: int) -> FloatArray:
    """(T, v) sums of every word's counts by step."""
    starts, contexts, values = counts
    sums = np.zeros((n_timesteps, starts.size - 1))
    word = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    np.add.at(sums, (codes[contexts], word), values)
    return sums


def _first_contexts(counts: WordCounts, n_contexts: int) -> WordCounts:
    """Counts of some words in the first contexts alone."""
    starts, contexts, values = counts
    inside = contexts < n_contexts
    before = np.concatenate([[0], np.cumsum(inside)])
    return before[starts], contexts[inside], values[inside]


def first_contexts(engine: TextEngine, counts: list[Future], n_contexts: int) -> list[Future]:
    """Counts of every bundle in the first contexts alone, cut where they are."""
    return [engine.submit(_first_contexts, each, n_contexts) for each in counts]


def _inner_contexts(counts: WordCounts, first: int, last: int) -> csc_array:
    """(last - first, v) counts of some words in consecutive contexts."""
    starts, contexts, values = counts
    inside = (contexts >= first) & (contexts < last)
    before = np.concatenate([[0], np.cumsum(inside)])
    entries = values[inside], contexts[inside] - first, before[starts]
    return csc_array(entries, shape=(last - first, starts.size - 1))


def fetch_contexts(engine: TextEngine, counts: list[Future], first: int, last: int) -> csr_array:
    """(last - first, V) counts of consecutive contexts, brought here from all bundles."""
    found = engine.gather([engine.submit(_inner_contexts, each, first, last) for each in counts])
    return csr_array(hstack(found))


class RemoteCounts:
    """Counts (docs, V) as blocks on workers, in rows of blocks.

    Parameters
    ----------
    engine
        Whose workers have them.
    grid
        Delayed tables: a list of rows, each a list of blocks side by side.
    read
        Reads a block.
    """

    ndim = 2

    def __init__(self, engine: TextEngine, grid: list[list[Future]], read: Reader) -> None:
        self.engine = engine
        tables = [engine.client.compute(row) for row in grid]
        self.blocks = [[engine.submit(read, table) for table in row] for row in tables]
        del tables  # the workers may forget what was read
        self.facts: list[list[Facts]] = [
            engine.gather([engine.submit(attrgetter("facts"), block) for block in row])
            for row in self.blocks
        ]
        _check_grid(self.facts)
        above, beside = self.facts[0], [row[0] for row in self.facts]
        self.starts = np.cumsum([0] + [block.shape[0] for block in beside])
        """First document of every row of blocks, and how many there are in all."""
        self._words = np.cumsum([0] + [block.shape[1] for block in above])
        self.shape = int(self.starts[-1]), int(self._words[-1])
        known = all(block.names is not None for block in above)
        self.columns = [name for block in above for name in block.names or ()] if known else None

    @property
    def totals(self) -> FloatArray:
        """(n_docs,) tokens of every document."""
        return np.concatenate([np.sum([b.totals for b in row], axis=0) for row in self.facts])

    def by_context(
        self, member: IntArray, n_contexts: int, *, squared: bool = False
    ) -> list[Future]:
        """Counts by word of every bundle, or sums of their squares over a document's tokens.

        The blocks are not needed afterwards.
        """
        totals, share = self.totals, self.engine.share
        rows = [slice(first, last) for first, last in pairwise(self.starts)]
        parts: list[tuple[Any, ...]] = [(share(member[row]), n_contexts) for row in rows]
        if squared:
            parts = [(*part, share(totals[row])) for part, row in zip(parts, rows, strict=True)]
        return [self._bundle(bundle, parts) for bundle in self.engine.bundles(self.shape[1])]

    def _bundle(self, bundle: Bundle, parts: list[tuple[Any, ...]]) -> Future:
        pieces, across = [], 0
        for row, part in zip(self.blocks, parts, strict=True):
            across = 0
            for block, (start, end) in zip(row, pairwise(self._words), strict=True):
                first, last = max(bundle.first, start), min(bundle.last, end)
                if first < last:
                    words = slice(int(first - start), int(last - start))
                    pieces.append(self.engine.submit(_piece, block, words, *part))
                    across += 1
        return self.engine.submit(_merge, across, *pieces)


def step_sums(
    engine: TextEngine, counts: list[Future], codes: IntArray, n_timesteps: int
) -> FloatArray:
    """(T, V) sums of every word's counts by step; `codes` are the contexts' steps."""
    steps = engine.share(codes)
    found = engine.gather([engine.submit(_step_sums, each, steps, n_timesteps) for each in counts])
    return np.concatenate(found, axis=1)


def _check_grid(facts: list[list[Facts]]) -> None:
    for row in facts:
        for k, block in enumerate(row):
            if block.shape[0] != row[0].shape[0]:
                raise DataError(
                    f"block {k} of counts has {block.shape[0]} documents and the first one "
                    f"{row[0].shape[0]}; every block holds some of the words of all documents."
                )
            if block.shape[1] != facts[0][k].shape[1]:
                raise DataError("blocks of counts below each other differ in their columns.")
