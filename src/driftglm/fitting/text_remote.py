"""Text models fitted on Dask workers: who is to do it, and counts that are there already."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array

from driftglm._typing import FloatArray, IntArray, Matrix, MatrixLike
from driftglm.distributed.client import Future, client_for, engine_errors
from driftglm.distributed.text import TextEngine
from driftglm.distributed.text_counts import (
    Block,
    RemoteCounts,
    fetch_contexts,
    first_contexts,
    step_sums,
)
from driftglm.exceptions import DataError
from driftglm.fitting import text_data
from driftglm.fitting.text_bursts import (
    Bursts,
    Lengths,
    discounted,
    estimate_bursts,
    sums_at,
    word_moments,
)
from driftglm.fitting.text_data import Background, Contexts, Words, Worth
from driftglm.solvers.text_problem import WordCounts

N_AXES = 2
Counts = TypeVar("Counts")


def on_workers(table: object) -> bool:
    """Whether it is a collection of Dask, or a list with one."""
    parts = table if isinstance(table, list | tuple) else [table]
    return any(hasattr(part, "__dask_graph__") for part in parts)


@contextmanager
def word_engine(
    counts: object, n_workers: int | None, advice: str, *, verbose: bool
) -> Iterator[TextEngine | None]:
    """Who updates the words: workers if counts are there or workers are asked for, else None."""
    if n_workers is None and not on_workers(counts):
        yield None
        return
    with client_for(n_workers) as client, engine_errors(client, advice):
        if verbose:
            sys.stderr.write(f"driftglm: workers' dashboard at {client.dashboard_link}\n")
        engine = TextEngine(client)
        try:
            yield engine
        finally:
            engine.close()


def gathered(table: object) -> Any:
    """Effects and time, which this process needs; they may come from Dask."""
    return table.compute() if hasattr(table, "compute") and on_workers(table) else table


def locate(counts: Counts, engine: TextEngine | None) -> Counts | RemoteCounts:
    """Counts as they are, or by block on the workers."""
    if engine is None or not on_workers(counts):
        return counts
    table = RemoteCounts(engine, _grid(counts), _read_block)
    for first, row in zip(table.starts, table.facts, strict=False):
        lowest, document = min(block.lowest for block in row)
        text_data.refuse_negative(lowest, int(first) + document)
    return table


def _grid(counts: object) -> list[list[Any]]:
    """Delayed tables in rows of blocks."""
    delayed = import_module("dask.delayed").Delayed
    parts = [counts] if isinstance(counts, delayed) else counts
    if isinstance(parts, list | tuple) and all(isinstance(part, delayed) for part in parts):
        return [list(parts)]
    if isinstance(parts, import_module("dask.array").Array) and parts.ndim == N_AXES:
        return [list(row) for row in parts.to_delayed()]
    raise DataError(
        f"counts is of type {type(counts).__name__}; for workers, pass a dask array (documents, "
        "words) or a list of delayed tables, each of some words of all documents."
    )


def _read_block(block: MatrixLike) -> Block:
    table = text_data.read_table(block)
    return Block.of(table, text_data.lowest_count(table), text_data.column_names(block))


def check_counts(counts: MatrixLike | RemoteCounts, words: Words) -> csr_array | RemoteCounts:
    """Counts whose columns are the words."""
    if not isinstance(counts, RemoteCounts):
        return text_data.read_counts(counts, words)
    if counts.shape[1] != len(words) or counts.columns not in (None, list(words)):
        raise DataError(
            f"counts has {counts.shape[1]} columns on the workers and the vocabulary "
            f"{len(words)} words; pass one column per word, in the order of the vocabulary."
        )
    return counts


def add_up(
    counts: csr_array | RemoteCounts, effects: Matrix, codes: IntArray, *, bursts: bool = False
) -> Contexts:
    """Documents with the same step and effects, wherever their counts are; see `collapse`."""
    if not isinstance(counts, RemoteCounts):
        return text_data.collapse(counts, effects, codes, bursts=bursts)
    tokens = counts.totals
    chosen, member = text_data.find_contexts(effects, codes, tokens > 0)
    words = counts.by_context(member, chosen.size)
    totals = np.zeros(chosen.size)
    np.add.at(totals, member[member >= 0], tokens[member >= 0])
    squares = counts.by_context(member, chosen.size, squared=True) if bursts else None
    lengths = Lengths.of(tokens, member, chosen.size)
    found = counts, effects[chosen], codes[chosen], member, lengths, squares
    return RemoteContexts(*found, engine=counts.engine, words=words, tokens=totals)


def _by_context(counts: WordCounts, n_contexts: int) -> FloatArray:
    """(n_contexts,) sums over some words."""
    return sums_at(counts[1], counts[2], n_contexts)


@dataclass(frozen=True)
class RemoteContexts(Contexts):
    """Contexts whose counts are on workers: `words`, as `squares`, by bundle."""

    engine: TextEngine = field(kw_only=True)
    words: list[Future] = field(kw_only=True)
    tokens: FloatArray = field(kw_only=True)

    @property
    def totals(self) -> FloatArray:
        """Tokens of every context."""
        return self.tokens

    @property
    def remote(self) -> Sequence[Any]:
        """Counts by bundle of words."""
        return self.words

    def bursts(self) -> Bursts | None:
        """How bursty documents are, as far as contexts of several tell."""
        if self.squares is None or not (self.lengths.count > 1).any():
            return None
        engine, lengths = self.engine, self.engine.share(self.lengths)
        pairs = zip(self.words, self.squares, strict=True)
        found = engine.gather([engine.submit(word_moments, *pair, lengths) for pair in pairs])
        sums, noises = (np.concatenate(parts, axis=1) for parts in zip(*found, strict=True))
        return estimate_bursts((sums, noises))

    def worth(self, bursts: Bursts | None) -> Worth:
        """Counts as the solvers take them, of as many tokens as they are worth."""
        if bursts is None:
            return super().worth(None)
        engine, n_contexts = self.engine, self.codes.size
        weights = engine.share(bursts.contexts(self.lengths))
        bundles = engine.bundles(self.n_words)
        words = [
            engine.submit(discounted, each, weights, bursts.words[bundle.words])
            for each, bundle in zip(self.words, bundles, strict=True)
        ]
        sums = engine.gather([engine.submit(_by_context, each, n_contexts) for each in words])
        return Worth(self.by_word(), np.sum(sums, axis=0), words)

    def before(self, step: int) -> RemoteContexts:
        """A source of the contexts before a step, cut on the workers."""
        count = int((self.codes < step).sum())  # contexts are sorted by step
        squares = self.squares
        if squares is not None:
            squares = first_contexts(self.engine, squares, count)
        return replace(
            self,
            effects=self.effects[:count],
            codes=self.codes[:count],
            member=np.empty(0, int),
            lengths=self.lengths.take(np.arange(count)),
            squares=squares,
            words=first_contexts(self.engine, self.words, count),
            tokens=self.tokens[:count],
        )

    def of_step(self, step: int) -> Contexts:
        """The contexts of one step, brought here: a step is judged as a whole."""
        first, last = (int(place) for place in np.searchsorted(self.codes, [step, step + 1]))
        chosen = np.arange(first, last)
        counts = fetch_contexts(self.engine, self.words, first, last)
        facts = self.codes[chosen], np.empty(0, int), self.lengths.take(chosen)
        return Contexts(counts, self.effects[chosen], *facts)

    def by_word(self) -> WordCounts:
        """None are here."""
        nothing = np.zeros(0, dtype=np.int64)
        return np.zeros(self.n_words + 1, dtype=np.int64), nothing, np.zeros(0)

    def log_background(self, n_timesteps: int, kind: Background, smoothing: float) -> FloatArray:
        """(T, V) log of smoothed word shares."""
        sums = step_sums(self.engine, self.words, self.codes, n_timesteps)
        return text_data.log_shares(
            sums if kind == "step" else sums.sum(axis=0), n_timesteps, smoothing
        )
