"""Words of a text model over Dask workers.

Words are cut into bundles of the same chunks that threads update in one process, and sums over
chunks are taken in the same order: a fit has the same digits for any number of workers.

Every task is a pure function of its arguments, and every argument is a task or part of one, known
to the scheduler. The posteriors of a bundle after a pass are the result of a task whose arguments
are the words' counts, the message of the pass and the result of the pass before; they stay on
the workers. Dask does again what a worker that died takes with it, to the last digit. Paths of
a mode, an order of magnitude smaller, stay with the client and go along with every pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.distributed.client import Client, Future, Tasks
from driftglm.solvers.text_engine import (
    FixedInputs,
    PosteriorPass,
    PosteriorReport,
    Words,
    sweep_chunks_inplace,
    update_chunks_inplace,
)
from driftglm.solvers.text_mode_kernel import ModePass
from driftglm.solvers.text_posterior_kernel import Paths
from driftglm.solvers.text_problem import TextProblem, WordCounts
from driftglm.solvers.text_rates import Effects
from driftglm.solvers.text_threads import chunks

BUNDLES_PER_THREAD = 2
"""Two, so that a worker that is slow, or comes later, can be helped or help."""
SMALL = 100_000
"""Bytes. To send less to every worker is faster than to have it passed on between them."""


class Bundle(NamedTuple):
    """Consecutive chunks of words that travel together; `chunks` count from `first`."""

    first: int
    last: int
    chunks: Sequence[tuple[int, int]]

    @property
    def words(self) -> slice:
        """Where its words are among all."""
        return slice(self.first, self.last)


def bundles(n_words: int, n_bundles: int) -> list[Bundle]:
    """All chunks in at most so many bundles of about equal size."""
    parts = chunks(n_words)
    ends = np.linspace(0, len(parts), min(n_bundles, len(parts)) + 1).round().astype(int)
    out = []
    for a, b in pairwise(ends):
        first = parts[a][0]
        inside = [(start - first, end - first) for start, end in parts[a:b]]
        out.append(Bundle(first, parts[b - 1][1], inside))
    return out


# ------------------------------------------------------------------ what workers do


class Message(NamedTuple):
    """What the client says at the start of a pass; `remaining` of the last pass's components."""

    inputs: PosteriorPass
    remaining: BoolArray | None


class Updated(NamedTuple):
    """A bundle after a pass; without a report where a fit goes on."""

    paths: Paths
    report: PosteriorReport | None


class Sweep(NamedTuple):
    """What the client says at the start of a pass over modes."""

    order: IntArray
    inputs: ModePass
    log_rate: FloatArray


def _update(words: Words, fixed: FixedInputs, message: Message, before: Updated | None) -> Updated:
    """Posteriors after a pass, in new arrays: those before may be asked for again."""
    if before is None:
        paths = fixed.start_paths(words.background.shape[0])
    else:
        paths = _of_components((part.copy() for part in before.paths), message.remaining)
    return Updated(paths, update_chunks_inplace(words, fixed, message.inputs, paths, None))


def _of_components(paths: Iterable[FloatArray], components: BoolArray | None) -> Paths:
    """The same paths with the probabilities phi of some components; None: of all."""
    mean, variance, h, b, phi, divergence = paths
    phi = phi if components is None else np.ascontiguousarray(phi[:, :, components])
    return mean, variance, h, b, phi, divergence


def _sweep(
    words: Words, effects: Effects, message: Sweep, penalties: FloatArray, beta: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Modes after a pass, expected counts and numbers by chunk."""
    beta = beta.copy()
    inputs, shared = (penalties, *message.inputs[1:]), (effects, message.order)
    return beta, *sweep_chunks_inplace(words, shared, inputs, beta, message.log_rate, None)


# ---------------------------------------------------------------- what the client does


class TextEngine(Tasks):
    """Has words updated by the workers of a client.

    Parameters
    ----------
    client
        Where tasks go.
    """

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self.n_bundles = BUNDLES_PER_THREAD * max(sum(client.nthreads().values()), 1)
        self._words: tuple[TextProblem, list[Future]] | None = None
        self._effects: tuple[TextProblem, Future] | None = None

    def send(self, message: Message | Sweep, log_rate: FloatArray) -> Future:
        """A message for all bundles, of which `log_rate` is most: small ones go with each task."""
        return message if log_rate.nbytes <= SMALL else self.share(message)

    def bundles(self, n_words: int) -> list[Bundle]:
        """Which bundles words are in."""
        return bundles(n_words, self.n_bundles)

    def words(self, problem: TextProblem) -> list[Future]:
        """Counts and background of every bundle, on the workers."""
        if self._words is None or self._words[0] is not problem:
            bundles = self.bundles(problem.n_words)
            counts = problem.remote or [_counts(problem, bundle) for bundle in bundles]
            pairs = zip(bundles, counts, strict=True)
            sent = [
                self.submit(Words, bundle.chunks, part, problem.background[bundle.words])
                for bundle, part in pairs
            ]
            self._words = problem, sent
        return self._words[1]

    # ------------------------------------------------------------ for the solvers

    def posteriors(self, problem: TextProblem, fixed: FixedInputs) -> DaskPosteriors:
        """Every word's path at zero."""
        return DaskPosteriors(self, problem, fixed)

    def sweep(
        self,
        problem: TextProblem,
        order: IntArray,
        inputs: ModePass,
        beta: FloatArray,
        log_rate: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """One pass over all modes: `beta` is changed."""
        penalties = inputs[0]
        message = self.send(Sweep(order, (penalties[:0], *inputs[1:]), log_rate), log_rate)
        if self._effects is None or self._effects[0] is not problem:
            self._effects = problem, self.share(problem.effects())
        bundles = self.bundles(problem.n_words)
        tasks = [
            self.submit(
                _sweep,
                words,
                self._effects[1],
                message,
                penalties if penalties.shape[0] == 1 else penalties[bundle.words],
                beta[bundle.words],
            )
            for words, bundle in zip(self.words(problem), bundles, strict=True)
        ]
        found = self.gather(tasks)
        for bundle, (moved, _, _) in zip(bundles, found, strict=True):
            beta[bundle.words] = moved
        return np.concatenate([f[1] for f in found]), np.concatenate([f[2] for f in found])


def _counts(problem: TextProblem, bundle: Bundle) -> WordCounts:
    """Counts of a bundle's words, from those of all words in this process."""
    starts, contexts, values = problem.counts
    ends = starts[bundle.first : bundle.last + 1]
    part = slice(ends[0], ends[-1])
    return ends - ends[0], contexts[part], values[part]


class DaskPosteriors:
    """The words' posteriors, which stay on the workers until the fit ends."""

    def __init__(self, engine: TextEngine, problem: TextProblem, fixed: FixedInputs) -> None:
        self.engine, self.n_words = engine, problem.n_words
        self.bundles = engine.bundles(problem.n_words)
        self.words, self.fixed = engine.words(problem), engine.share(fixed)
        self.now: list[Future | None] = [None] * len(self.words)
        self.remaining: BoolArray | None = None

    def update(self, inputs: PosteriorPass) -> PosteriorReport:
        """One pass over all words."""
        engine = self.engine
        message = engine.send(Message(inputs, self.remaining), inputs.log_rate)
        after = [
            engine.submit(_update, words, self.fixed, message, before)
            for words, before in zip(self.words, self.now, strict=True)
        ]
        reports = engine.gather([engine.submit(attrgetter("report"), each) for each in after])
        self.now, self.remaining = after, None
        fields = zip(*(vars(report).values() for report in reports), strict=True)
        return PosteriorReport(*map(np.concatenate, fields))

    def keep(self, components: BoolArray) -> None:
        """Forget all components but these, from the next pass on."""
        self.remaining = components

    def put(self, paths: Paths) -> None:
        """Go on from here."""
        self.remaining = None
        parts = [tuple(part[bundle.words] for part in paths) for bundle in self.bundles]
        self.now = [self.engine.submit(Updated, part, None) for part in parts]

    def paths(self) -> Paths:
        """Where they have come to, one bundle after the other."""
        whole: list[FloatArray] = []
        for bundle, each in zip(self.bundles, self.now, strict=True):
            (found,) = self.engine.gather([self.engine.submit(attrgetter("paths"), each)])
            whole = whole or [np.empty((self.n_words, *part.shape[1:])) for part in found]
            for target, part in zip(whole, found, strict=True):
                target[bundle.words] = part
        return _of_components(whole, self.remaining)
