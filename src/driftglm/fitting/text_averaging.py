"""How much history a text model trusts: backgrounds and effects that predicted earlier steps.

One fit gives several forecasters. The next step's background is that of the last step, of recent
ones or of all; effects move on as they did, or are held. Weights are found as for rows
(`history.py`), from the probabilities that the tokens of a step had before it was seen. Words are
mixed by probability: one that the last step did not use is not ruled out by a forecaster that
remembers it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from driftglm._typing import FloatArray, Matrix
from driftglm.exceptions import DataWarning
from driftglm.fitting.averaging import LEAST_BEFORE
from driftglm.fitting.history import History, StepScores
from driftglm.fitting.progress import Origins
from driftglm.fitting.text_data import Contexts
from driftglm.fitting.text_fit import TextFit, TextStep, WordProbabilities

N_ORIGINS = 2
"""Steps that the forecasters of a text model are judged by: every one takes a fit from scratch."""
FADING = 0.5
"""What a step counts in the recent background, compared with the next one."""
HOWS = ("forecast", "held")
BASES = ("last step", "recent steps", "all steps")
PRIOR_ROWS = 0.5
"""Rows that the prior of the weights is worth to every forecaster."""


@dataclass(frozen=True)
class AveragedTextStep(WordProbabilities):
    """A step after the last: forecasters of the words, each with its probability."""

    steps: tuple[TextStep, ...]
    weights: FloatArray

    @property
    def coef(self) -> FloatArray:
        """(F, V) expected coefficients."""
        coefs = np.array([step.coef for step in self.steps])
        return np.asarray(np.einsum("k,kfw->fw", self.weights, coefs))

    def log_probabilities(self, effects: Matrix) -> Iterator[tuple[slice, FloatArray]]:
        """Rows and their (n, V) log probabilities, a few hundred rows at a time."""
        for parts in zip(*(step.log_probabilities(effects) for step in self.steps), strict=True):
            logs = np.array([log for _, log in parts])
            yield parts[0][0], logsumexp(logs, axis=0, b=self.weights[:, None, None])


@dataclass(frozen=True)
class TextForecasters:
    """What may be said of a step after the last.

    `bases` (B, V) are backgrounds it may have; `history` says how far to trust which.
    """

    bases: FloatArray
    history: History

    @classmethod
    def start(cls, bases: FloatArray) -> TextForecasters:
        """Before any step was predicted."""
        prior = dict.fromkeys(names_of(bases), PRIOR_ROWS)
        return cls(bases, History.start(prior))

    def step(self, fit: TextFit, code: int) -> TextStep | AveragedTextStep:
        """The model of a step; after the last that of the mixture."""
        if code < fit.n_timesteps:
            return fit.step(code, forecast=False)
        return AveragedTextStep(tuple(self.steps(fit, code)), self.history.current)

    def steps(self, fit: TextFit, code: int) -> list[TextStep]:
        """The forecasters' models of a step after the last."""
        pairs = [(base, how == "forecast") for base in self.bases for how in HOWS]
        return [fit.step(code, forecast=forecast, base=base) for base, forecast in pairs]


def names_of(bases: FloatArray) -> list[str]:
    """What the forecasters are called."""
    if len(bases) == 1:
        return list(HOWS)
    return [f"{base}, {how}" for base in BASES for how in HOWS]


def backgrounds(contexts: Contexts, base: FloatArray, smoothing: float) -> FloatArray:
    """(3, V) log shares that the next step may have: of the last, of recent and of all steps."""
    n_steps = base.shape[0]
    seen = np.bincount(contexts.codes, minlength=n_steps) > 0
    weights = np.where(seen, FADING ** np.arange(n_steps)[::-1], 0.0)
    recent = logsumexp(base, axis=0, b=(weights / weights.sum())[:, None])
    return np.array([base[-1], recent, contexts.log_background(n_steps, "all", smoothing)[-1]])


AsOf = tuple[TextFit, FloatArray]
"""A fit to the contexts before a step, and the backgrounds that the step may have."""


def judged(
    contexts: Contexts,
    bases: FloatArray,
    fit_before: Callable[[int], AsOf],
    *,
    verbose: bool = False,
) -> TextForecasters:
    """The forecasters, with weights from the last steps that were predicted."""
    forecasters = TextForecasters.start(bases)
    seen = np.unique(contexts.codes)
    origins = seen[LEAST_BEFORE:][-N_ORIGINS:]
    shown = Origins([int((contexts.codes < code).sum()) for code in origins]) if verbose else None
    for n_done, code in enumerate(origins):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            fit, known = fit_before(int(code))
        then = TextForecasters(known, forecasters.history)
        n_before = int(np.searchsorted(seen, code))
        found = _scores(then.steps(fit, int(code)), contexts.of_step(int(code)), n_before)
        history = forecasters.history.then(found)
        forecasters = TextForecasters(bases, history)
        if shown is not None:
            shown.done(n_done + 1)
    return forecasters


def _scores(steps: list[TextStep], now: Contexts, n_before: int) -> StepScores:
    """Log probabilities of the tokens of a step, a row a context and word that occurs in it."""
    counts = now.counts.tocsr()
    columns = []
    for step in steps:
        found = np.empty(counts.nnz)
        for part, logs in step.log_probabilities(now.effects):
            first, last = counts.indptr[part.start], counts.indptr[min(part.stop, counts.shape[0])]
            inside = np.diff(counts.indptr[part.start : part.stop + 1])
            rows = np.repeat(np.arange(inside.size), inside)
            found[first:last] = logs[rows, counts.indices[first:last]]
        columns.append(found)
    return StepScores.of(int(now.codes[0]), n_before, np.column_stack(columns), counts.data)
