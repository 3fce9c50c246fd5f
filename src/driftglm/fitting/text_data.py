"""Documents become contexts: counts and effects read, checked and collapsed; a background."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_array

from driftglm._typing import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from driftglm.data.matrices import dense, divided, refuse_broken, squares
from driftglm.design import ColumnDesign
from driftglm.exceptions import DataError
from driftglm.fitting.text_bursts import (
    Bursts,
    Lengths,
    discounted,
    estimate_bursts,
    sums_at,
    word_moments,
)
from driftglm.solvers.text_problem import (
    TextProblem,
    WordCounts,
    add_documents,
    counts_by_word,
    squared_shares,
)

Background = Literal["step", "all"]
Words: TypeAlias = Sequence[str] | NDArray[Any]


def read_counts(counts: MatrixLike, words: Words | None) -> csr_array:
    """Counts (docs, V), whole or not, none negative.

    The columns of a frame are matched to `words` by name: those the model does not know are
    ignored, those that are missing count as zero.
    """
    names = column_names(counts)
    table = read_table(counts)
    refuse_negative(*lowest_count(table))
    if words is None:
        return table
    if names is not None and list(names) != list(words):
        known = {name: j for j, name in enumerate(names)}
        found = [(j, known[word]) for j, word in enumerate(words) if word in known]
        if not found:
            raise DataError(
                f"counts has the columns {', '.join(map(repr, names[:3]))}, ... and none of them "
                "is a word of the model; name the columns by the vocabulary."
            )
        here, there = np.array(found).T
        entries = (np.ones(here.size), (there, here))
        return csr_array(table @ csr_array(entries, shape=(table.shape[1], len(words))))
    if table.shape[1] != len(words):
        raise DataError(
            f"counts has {table.shape[1]} columns but the vocabulary has {len(words)} words; "
            "pass one column per word, in the order of the vocabulary."
        )
    return table


def read_table(counts: MatrixLike) -> csr_array:
    """Numbers, none of them missing or infinite."""
    refuse_broken(counts, "counts")
    sparse = getattr(counts, "sparse", None)
    with suppress(AttributeError, TypeError):
        # A pandas frame of sparse columns is read without filling it; others have no such matrix.
        counts = counts if sparse is None else sparse.to_coo().tocsr()
    table = csr_array(check_array(counts, accept_sparse="csr", dtype=np.float64))
    table.sum_duplicates()
    return table


def lowest_count(table: csr_array) -> tuple[float, int]:
    """The lowest count that is stored, and the row it is in."""
    if not table.nnz:
        return 0.0, 0
    row = int(np.searchsorted(table.indptr, table.data.argmin(), side="right")) - 1
    return float(table.data.min()), row


def refuse_negative(lowest: float, document: int) -> None:
    """Stop where a count is below zero."""
    if lowest < 0:
        raise DataError(
            f"counts has {lowest:g} in document {document}; counts are 0 or more. "
            "Pass term frequencies, not weights such as centred tf-idf."
        )


def column_names(table: object) -> list[str] | None:
    """Names of a frame's columns, if it is one and they are strings."""
    columns = getattr(table, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    return names if all(isinstance(name, str) for name in names) else None


class Worth(NamedTuple):
    """Counts by word, tokens of every context, and counts by bundle where workers have them."""

    counts: WordCounts
    totals: FloatArray
    remote: Sequence[Any] = ()


@dataclass(frozen=True)
class Contexts:
    """Documents with equal step and effects, added up; sorted by step.

    Parameters
    ----------
    counts
        (n_contexts, V), a csr_array if they are here.
    effects
        (n_contexts, F), dense or sparse as given.
    codes
        (n_contexts,) step of every context.
    member
        (n_docs,) context of every document; -1 where it has no tokens.
    lengths
        How many documents every context has, and how long they are.
    squares
        (n_contexts, V) sums of count^2 / tokens over the documents, which say how bursty they are;
        None where nobody asks.
    """

    counts: Any
    effects: Any
    codes: IntArray
    member: IntArray
    lengths: Lengths
    squares: Any = None

    @property
    def totals(self) -> FloatArray:
        """Tokens of every context."""
        return np.asarray(self.counts.sum(axis=1), dtype=np.float64).ravel()

    @property
    def n_words(self) -> int:
        """V."""
        return int(self.counts.shape[1])

    def by_word(self) -> WordCounts:
        """Counts as the solvers take them."""
        return counts_by_word(self.counts)

    def log_background(self, n_timesteps: int, kind: Background, smoothing: float) -> FloatArray:
        """(T, V) log of smoothed word shares."""
        return log_background(self.counts, self.codes, n_timesteps, kind, smoothing)

    def bursts(self) -> Bursts | None:
        """How bursty documents are, as far as contexts of several tell."""
        if self.squares is None or not (self.lengths.count > 1).any():
            return None
        squares = counts_by_word(self.squares)
        return estimate_bursts(word_moments(self.by_word(), squares, self.lengths))

    def worth(self, bursts: Bursts | None) -> Worth:
        """Counts as the solvers take them, of as many tokens as they are worth."""
        counts = self.by_word()
        if bursts is None:
            return Worth(counts, self.totals, self.remote)
        counts = discounted(counts, bursts.contexts(self.lengths), bursts.words)
        return Worth(counts, sums_at(counts[1], counts[2], self.codes.size), self.remote)

    @property
    def remote(self) -> Sequence[Any]:
        """Counts by bundle of words where workers have them; none here."""
        return ()

    def before(self, step: int) -> Contexts:
        """A source of the contexts before a step."""
        return self.of_steps(np.arange(int(self.codes.max(initial=0)) + 1) < step)

    def of_step(self, step: int) -> Contexts:
        """The contexts of one step."""
        return self.of_steps(np.arange(int(self.codes.max(initial=0)) + 1) == step)

    def of_steps(self, keep: BoolArray) -> Contexts:
        """The contexts of some steps; steps keep their numbers."""
        chosen = np.flatnonzero(keep[self.codes])
        counts, effects = self.counts[chosen], self.effects[chosen]
        squares = None if self.squares is None else self.squares[chosen]
        facts = self.codes[chosen], np.empty(0, int), self.lengths.take(chosen)
        return Contexts(counts, effects, *facts, squares)


def collapse(
    counts: csr_array, effects: Matrix, codes: IntArray, *, bursts: bool = False
) -> Contexts:
    """Add up the counts of documents that share step and effects: exact for this model.

    What says how `bursts` of words vary documents is kept if it is asked for.
    """
    tokens = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
    chosen, member = find_contexts(effects, codes, tokens > 0)
    added = add_documents(counts, member, chosen.size)
    lengths = Lengths.of(tokens, member, chosen.size)
    squares = add_documents(squared_shares(counts, tokens), member, chosen.size) if bursts else None
    return Contexts(added, effects[chosen], codes[chosen], member, lengths, squares)


def find_contexts(effects: Any, codes: IntArray, full: BoolArray) -> tuple[IntArray, IntArray]:
    """The first document of every context, and the context of every document that is `full`."""
    rows = csr_array(effects)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    ends, indices, values = rows.indptr, rows.indices, rows.data
    seen: dict[tuple[int, bytes, bytes], int] = {}
    first: list[int] = []
    member = np.full(codes.size, -1, dtype=np.int64)
    # By step, so that contexts come out sorted by it.
    for n in np.argsort(codes, kind="stable"):
        if not full[n]:
            continue
        part = slice(ends[n], ends[n + 1])
        key = int(codes[n]), indices[part].tobytes(), values[part].tobytes()
        member[n] = seen.setdefault(key, len(seen))
        if member[n] == len(first):
            first.append(int(n))
    return np.array(first, dtype=np.int64), member


def log_background(
    counts: csr_array, codes: IntArray, n_timesteps: int, kind: Background, smoothing: float
) -> FloatArray:
    """(T, V) log of smoothed word shares, of every step or of all documents.

    A step without tokens takes the background of the step before it, or after it at the start.
    """
    if kind == "all":
        total = np.asarray(counts.sum(axis=0), dtype=np.float64).ravel()
        return log_shares(total, n_timesteps, smoothing)
    sums = np.zeros((n_timesteps, counts.shape[1]))
    for t in np.unique(codes):
        sums[t] = np.asarray(counts[np.flatnonzero(codes == t)].sum(axis=0)).ravel()
    return log_shares(sums, n_timesteps, smoothing)


def log_shares(sums: FloatArray, n_timesteps: int, smoothing: float) -> FloatArray:
    """(T, V) log of smoothed shares, from the words' sums of all documents (V,) or (T, V)."""
    if sums.ndim == 1:
        total = sums + smoothing
        return np.tile(np.log(total / total.sum()), (n_timesteps, 1))
    seen = np.flatnonzero(sums.any(axis=1))
    before = np.searchsorted(seen, np.arange(n_timesteps), side="right") - 1
    sums = sums[seen[np.maximum(before, 0)]] + smoothing
    return np.asarray(np.log(sums / sums.sum(axis=1, keepdims=True)))


def varying(contexts: Contexts, kind: Background | None) -> BoolArray:
    """(F,) effects that differ between contexts which share a background.

    With a background per step, an effect that is the same for all documents of each step cannot
    be told from the background. Under a given background (`kind` None) every effect counts that
    is not zero throughout.
    """
    effects = contexts.effects
    if kind is None:
        return np.asarray(abs(effects).sum(axis=0)).ravel() > 0
    out = np.zeros(effects.shape[1], dtype=np.bool_)
    steps = contexts.codes if kind == "step" else np.zeros_like(contexts.codes)
    for t in np.unique(steps):
        part = effects[np.flatnonzero(steps == t)]
        out |= dense(part.min(axis=0)).ravel() < dense(part.max(axis=0)).ravel()
    return out


def effect_design(
    contexts: Contexts, n_timesteps: int, kind: Background | None, unit: FloatArray
) -> ColumnDesign:
    """Effects in the units of the fit; `kind` says about which mean, None about zero."""
    scaled = divided(contexts.effects, unit)
    design, _ = ColumnDesign.from_matrix(scaled, contexts.codes, n_timesteps)
    if kind is None:
        return design
    return design.centered(contexts.totals, np.ones(n_timesteps) if kind == "step" else None)


def effect_units(contexts: Contexts) -> FloatArray:
    """(F,) 1 for indicators, the token-weighted standard deviation for other effects."""
    effects, weights = contexts.effects, contexts.totals
    squared = squares(effects)
    mean = np.asarray(weights @ effects).ravel() / weights.sum()
    second = np.asarray(weights @ squared).ravel() / weights.sum()
    binary = np.asarray(abs(effects - squared).sum(axis=0)).ravel() == 0
    deviation = np.sqrt(np.maximum(second - mean**2, 0.0))
    unit = np.where(deviation > 1e-9 * np.sqrt(second), deviation, np.sqrt(second))
    return np.where(binary | (unit == 0), 1.0, unit)


def text_problem(
    contexts: Contexts, background: FloatArray, design: ColumnDesign, bursts: Bursts | None = None
) -> TextProblem:
    """What the solvers take.

    A word whose counts are divided has its background divided too: its rate is not another one.
    """
    base = np.ascontiguousarray(background.T)
    if bursts is not None:
        base -= np.log(bursts.words)[:, None]
    worth = contexts.worth(bursts)
    return TextProblem(design, worth.counts, base, worth.totals, worth.remote)
