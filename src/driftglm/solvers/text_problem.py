"""What a text model is fitted to: counts by word, contexts by effect, a background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array
from scipy.special import logsumexp

from driftglm._typing import FloatArray, IntArray
from driftglm.design import ColumnDesign
from driftglm.solvers.text_rates import Counts, Effects
from driftglm.solvers.text_threads import chunks

WordCounts = Counts


def add_documents(counts: csr_array | csc_array, member: IntArray, n_contexts: int) -> csr_array:
    """(n_contexts, V) sums of the documents of every context; -1 is a member of none."""
    present = np.flatnonzero(member >= 0)
    entries = (np.ones(present.size), (member[present], present))
    return csr_array(csr_array(entries, shape=(n_contexts, member.size)) @ counts)


def squared_shares(counts: csr_array | csc_array, tokens: FloatArray) -> csr_array:
    """(n_docs, V) squares of the counts over the tokens of their document."""
    out = csr_array(counts, copy=True).astype(np.float64)
    out.data = out.data**2 / np.repeat(np.where(tokens > 0, tokens, 1.0), np.diff(out.indptr))
    return out


def counts_by_word(counts: csr_array) -> WordCounts:
    """Sparse counts (n_contexts, V) as the kernels take them."""
    by_word = csc_array(counts)
    by_word.sort_indices()
    starts, contexts = by_word.indptr.astype(np.int64), by_word.indices.astype(np.int64)
    return starts, contexts, by_word.data.astype(np.float64)


@dataclass(frozen=True)
class TextProblem:
    """Counts of words in contexts: documents with equal step and effects, added up.

    Parameters
    ----------
    design
        The contexts' effects, sorted by step, in the units of the fit, centred or not.
    counts
        By word.
    background
        (V, T) log rates of the words without any effect.
    totals
        (n_contexts,) tokens of every context, all positive.
    remote
        Counts by bundle of words where workers have them; `counts` are empty then.
    """

    design: ColumnDesign
    counts: WordCounts
    background: FloatArray
    totals: FloatArray
    remote: Sequence[Any] = ()

    @property
    def n_words(self) -> int:
        """V."""
        return int(self.background.shape[0])

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of all paths: words, effects, steps."""
        return self.n_words, self.design.n_features, self.design.n_timesteps

    @property
    def chunks(self) -> list[tuple[int, int]]:
        """First and last (exclusive) word of the chunks the words are updated in."""
        return chunks(self.n_words)

    def effects(self) -> Effects:
        """The arrays the kernels take."""
        design = self.design
        # One memory layout, or the kernels would be compiled again for the other.
        center = np.ascontiguousarray(design.center)
        return design.values, design.rows, design.segments, design.step_offsets, center

    def start_log_rate(self) -> FloatArray:
        """(n_contexts,) mu_n = log N_n - log sum_w exp(theta_w): no effect has a say yet."""
        return np.log(self.totals) - self.design.to_rows(logsumexp(self.background, axis=0))

    def log_likelihood(self, linear: float, log_rate: FloatArray) -> float:
        """sum c log p, from sum c (theta + mean eta) and settled log-rates.

        Without the multinomial coefficients, which depend on how documents are collapsed.
        """
        return linear + float(np.sum(self.totals * (log_rate - np.log(self.totals))))

    def settled(self, log_rate: FloatArray, expected: FloatArray) -> FloatArray:
        """The log-rates at which expected counts add up to the tokens of every context.

        `expected` (n_contexts,) is the sum over words at the present log-rates.
        """
        return np.asarray(log_rate + np.log(self.totals / expected))
