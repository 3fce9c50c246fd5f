"""One pass over some chunks of words, as a function of what it is given, here or elsewhere.

Given the contexts' log-rates words do not see each other. So a pass over a chunk needs what all
words share (fixed inputs), what has changed since the last pass, and the counts, background and
state of the words; and it can be made in this process or wherever the words are: by a `WordEngine`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.priors.mixture import Tables
from driftglm.solvers.text_mode_kernel import ModePass, sweep_words_inplace
from driftglm.solvers.text_posterior_kernel import Paths, update_words_inplace
from driftglm.solvers.text_problem import TextProblem, WordCounts
from driftglm.solvers.text_rates import Effects
from driftglm.solvers.text_threads import run_chunks

INCLUDED = 0.5


@dataclass(frozen=True)
class Words:
    """Some words: first and last of every chunk, their counts by word, background (V, T)."""

    chunks: Sequence[tuple[int, int]]
    counts: WordCounts
    background: FloatArray

    @classmethod
    def of(cls, problem: TextProblem) -> Words:
        """All words of a problem."""
        return cls(problem.chunks, problem.counts, problem.background)


@dataclass(frozen=True)
class FixedInputs:
    """What a fit with the learned prior never changes.

    Parameters
    ----------
    effects, order, groups, reach
        As `driftglm.solvers.text_learned.LearnedTextSolver` has them.
    start
        (K,) probabilities of the components before the first pass.
    count_included
        Whether included paths are to be counted.
    """

    effects: Effects
    order: IntArray
    groups: IntArray
    reach: FloatArray
    start: FloatArray
    count_included: bool

    def start_paths(self, n_words: int) -> Paths:
        """Every path at zero."""
        n_effects, n_steps = self.effects[2].shape[0], self.effects[2].shape[1] - 1
        mean, variance, h, b = (np.zeros((n_words, n_effects, n_steps)) for _ in range(4))
        phi = np.tile(self.start, (n_words, n_effects, 1))
        return mean, variance, h, b, phi, np.zeros((n_words, n_effects))


@dataclass(frozen=True)
class PosteriorPass:
    """What a pass needs: the components' tables and variances (K,), log weights, log-rates."""

    tables: Tables
    variances: FloatArray
    log_pi: FloatArray
    log_rate: FloatArray


@dataclass(frozen=True)
class PosteriorReport:
    """By chunk (the first axis): expected counts (C, N), sums of phi (C, F, K), (C, 2) numbers.

    `included` (C,) are the paths that are probably not zero, if they were to be counted. `moved`
    (C,) is how far the pass has moved the log rate of a word at most, by one effect.
    """

    expected: FloatArray
    members: FloatArray
    numbers: FloatArray
    included: IntArray
    moved: FloatArray


class WordPosteriors(Protocol):
    """Posteriors of all words, wherever they are."""

    def update(self, inputs: PosteriorPass) -> PosteriorReport:
        """One pass over all words."""

    def keep(self, components: BoolArray) -> None:
        """Forget all components but these."""

    def put(self, paths: Paths) -> None:
        """Go on from here."""

    def paths(self) -> Paths:
        """Where they have come to."""


class WordEngine(Protocol):
    """Somebody else who has the words and makes the passes."""

    def posteriors(self, problem: TextProblem, fixed: FixedInputs) -> WordPosteriors:
        """Every word's path at zero."""

    def sweep(
        self,
        problem: TextProblem,
        order: IntArray,
        inputs: ModePass,
        beta: FloatArray,
        log_rate: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """As `sweep_chunks_inplace`, over all words of the problem."""


def inclusion(variances: FloatArray, h: FloatArray, phi: FloatArray) -> FloatArray:
    """(V, F) probability that a path is not zero, as far as its data could tell.

    A component whose variance the path's information cannot tell from zero counts as zero.
    """
    told = h.sum(axis=2)[:, :, None] * variances > 1.0
    return np.asarray((phi * told).sum(axis=2))


def update_chunks_inplace(
    words: Words, fixed: FixedInputs, inputs: PosteriorPass, paths: Paths, n_jobs: int | None
) -> PosteriorReport:
    """Update every word's posterior once."""
    n_chunks, n_effects = len(words.chunks), paths[0].shape[1]
    expected = np.zeros((n_chunks, inputs.log_rate.size))
    members = np.zeros((n_chunks, n_effects, inputs.variances.size))
    numbers, included = np.zeros((n_chunks, 2)), np.zeros(n_chunks, dtype=np.int64)
    moved = np.zeros(n_chunks)
    components = (inputs.tables, inputs.log_pi, fixed.groups, fixed.reach)
    rows, shared = (words.background, inputs.log_rate), (fixed.effects, fixed.order)

    def update(c: int, first: int, last: int) -> None:
        out, before = (expected[c], members[c], numbers[c]), paths[0][first:last].copy()
        update_words_inplace((first, last), shared, words.counts, rows, components, paths, out)
        change = np.abs(paths[0][first:last] - before).max(axis=(0, 2), initial=0.0)
        moved[c] = np.max(change * fixed.reach, initial=0.0)
        if fixed.count_included:
            found = inclusion(inputs.variances, paths[2][first:last], paths[4][first:last])
            included[c] = int((found > INCLUDED).sum())

    run_chunks(update, words.chunks, n_jobs)
    return PosteriorReport(expected, members, numbers, included, moved)


def sweep_chunks_inplace(
    words: Words,
    shared: tuple[Effects, IntArray],
    inputs: ModePass,
    beta: FloatArray,
    log_rate: FloatArray,
    n_jobs: int | None,
) -> tuple[FloatArray, FloatArray]:
    """Update every word's mode once; `shared` are the effects and the order to update them in.

    Returns, by chunk, expected counts (C, N), and (C, 2) the sum of counts times eta and the
    largest gradient met.
    """
    expected = np.zeros((len(words.chunks), log_rate.size))
    numbers = np.zeros((len(words.chunks), 2))
    rows = (words.background, log_rate)

    def update(c: int, first: int, last: int) -> None:
        out = (expected[c], numbers[c])
        sweep_words_inplace((first, last), shared, words.counts, rows, inputs, beta, out)

    run_chunks(update, words.chunks, n_jobs)
    return expected, numbers
