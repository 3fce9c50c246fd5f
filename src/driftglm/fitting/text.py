"""Documents become a fitted text model: the way of a text fit, from counts to its report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from driftglm._typing import FloatArray, MatrixLike
from driftglm.data.frames import check_matrix
from driftglm.data.timesteps import Freq, TimeAxis, fit_axis
from driftglm.exceptions import DataError
from driftglm.fitting.checkpoint import Checkpoint, Fingerprint, resuming_advice
from driftglm.fitting.extrapolation import Extrapolation, settled
from driftglm.fitting.progress import AVERAGING, Passes
from driftglm.fitting.text_averaging import TextForecasters, backgrounds, judged
from driftglm.fitting.text_bursts import Bursts
from driftglm.fitting.text_data import Background, Contexts, column_names
from driftglm.fitting.text_fit import TextFit
from driftglm.fitting.text_remote import add_up, check_counts, gathered, locate, word_engine
from driftglm.fitting.text_solve import TextResult, TextSettings, solve_text
from driftglm.fitting.worker_rows import Workers
from driftglm.solvers.coupling import Uncoupled

ROUGH = 10.0
"""At how many times the tolerance fits as of earlier steps may stop."""


@dataclass(frozen=True)
class TextPlan:
    """What a text model's parameters ask for.

    Parameters
    ----------
    background, smoothing, center
        As the estimator has them.
    settings
        How contexts are fitted; about which mean effects are taken, and by whom words are updated,
        is settled with the contexts.
    burstiness
        How bursty documents are: the correlation of two tokens, "estimate", or None.
    extrapolate
        How steps after the last are predicted: as named, or "auto".
    vocabulary
        Names of the words, if given.
    owner, params
        The estimator and its parameters, for the fingerprint of a checkpoint.
    """

    background: ArrayLike
    smoothing: float
    center: bool
    settings: TextSettings
    burstiness: str | float | None
    extrapolate: str
    vocabulary: Iterable[object] | None
    freq: Freq
    verbose: bool
    owner: str
    params: Mapping[str, object]

    def base(self, contexts: Contexts, n_steps: int) -> tuple[FloatArray, Background | None]:
        """Background (T, V), and about which mean effects are taken."""
        n_words = contexts.n_words
        if isinstance(self.background, str):
            kind: Background = "all" if self.background == "all" else "step"
            base = contexts.log_background(n_steps, kind, float(self.smoothing))
            return base, kind if self.center else None
        given = np.asarray(self.background, dtype=np.float64)
        if given.shape not in {(n_words,), (n_steps, n_words)} or not np.isfinite(given).all():
            raise DataError(
                f"background has shape {given.shape}; pass finite log rates of shape ({n_words},) "
                f"or ({n_steps}, {n_words}), or 'step' or 'all'."
            )
        return np.array(np.broadcast_to(given, (n_steps, n_words))), None

    def bursts(self, contexts: Contexts) -> Bursts | None:
        """How bursty the documents of some contexts are; None: not at all."""
        if self.burstiness is None or isinstance(self.burstiness, str):
            return None if self.burstiness is None else contexts.bursts()
        return Bursts(float(self.burstiness), np.ones(contexts.n_words))

    def of_first(self, n_steps: int) -> TextPlan:
        """The same for the first steps alone."""
        given = self.background
        if isinstance(given, str) or np.ndim(given) == 1:
            return self
        return replace(self, background=np.asarray(given)[:n_steps])


@dataclass(frozen=True)
class FittedText:
    """What an estimator keeps of a text fit.

    Parameters
    ----------
    result
        The fit, and how its solver ended.
    axis, words
        The steps, and the names of the words.
    base
        (T, V) background before its drift and the effects' means are taken into account.
    n_contexts
        How many contexts there were.
    bursts
        How bursty documents were taken to be; None: not at all.
    extrapolate
        "average", "forecast" or "hold".
    forecasters
        What is averaged.
    """

    result: TextResult
    axis: TimeAxis
    words: np.ndarray
    base: FloatArray
    n_contexts: int
    bursts: Bursts | None
    extrapolate: Extrapolation
    forecasters: TextForecasters | None = None


def fit_documents(
    estimator: BaseEstimator,
    counts: MatrixLike,
    effects: object,
    time: object,
    plan: TextPlan,
    workers: Workers,
) -> FittedText:
    """Read, check and fit what a user gave to an estimator; any of it may be a Dask collection."""
    advice = resuming_advice(workers.checkpoint)
    with word_engine(counts, workers.n_workers, advice, verbose=plan.verbose) as engine:
        located = locate(counts, engine)
        words = _words(plan.vocabulary, located)
        table = check_counts(located, words)
        given = gathered(effects)
        check_matrix(given)
        rows = validate_data(estimator, given, accept_sparse="csr", dtype=np.float64)
        if rows.shape[0] != table.shape[0]:
            raise DataError(
                f"effects has {rows.shape[0]} rows but counts has {table.shape[0]} documents; "
                "pass one row per document."
            )
        axis, codes = fit_axis(gathered(time), table.shape[0], plan.freq)
        contexts = add_up(table, rows, codes, bursts=plan.burstiness == "estimate")
        if not contexts.codes.size:
            raise DataError("no document has a token; at least one count must be positive.")
        plan = replace(plan, settings=replace(plan.settings, engine=engine))
        path = workers.checkpoint
        file = None if path is None else Checkpoint.at(path, _fingerprint(contexts, axis, plan))
        result, base, bursts = fit_contexts(contexts, axis.n_timesteps, plan, file)
        choice = _choice(plan, contexts, result.fit)
        forecasters = None
        if choice == "average":
            as_of = partial(_fit_before, contexts, plan, file)
            bases = _bases(contexts, plan, base)
            forecasters = judged(contexts, bases, as_of, verbose=plan.verbose)
    if file is not None:
        file.remove()
    n_contexts = int(contexts.codes.size)
    return FittedText(result, axis, words, base, n_contexts, bursts, choice, forecasters)


def fit_contexts(
    contexts: Contexts, n_steps: int, plan: TextPlan, file: Checkpoint | None
) -> tuple[TextResult, FloatArray, Bursts | None]:
    """Fit contexts, wherever their counts are; also the background and the bursts they have."""
    base, center = plan.base(contexts, n_steps)
    bursts = plan.bursts(contexts)
    shown = _shown(contexts, plan) if plan.verbose else None
    result = solve_text(
        contexts,
        base,
        replace(plan.settings, center=center),
        bursts=bursts,
        progress=shown,
        journal=None if file is None else file.next_stage(Uncoupled()),
    )
    if shown is not None:
        shown.end()
    return result, base, bursts


def _shown(contexts: Contexts, plan: TextPlan) -> Passes:
    """What is said of every pass over the words."""
    settings, n_tokens = plan.settings, float(contexts.totals.sum())
    if not settings.prior.posterior:
        return Passes(settings.tol**2)
    judged_too = plan.extrapolate in {"auto", "average"}
    return Passes(settings.tol * n_tokens, follows=AVERAGING if judged_too else "")


def _choice(plan: TextPlan, contexts: Contexts, fit: TextFit) -> Extrapolation:
    """How steps after the last are predicted."""
    n_seen = np.unique(contexts.codes).size
    return settled(plan.extrapolate, n_seen, posterior=fit.posterior_known)


def _bases(contexts: Contexts, plan: TextPlan, base: FloatArray) -> FloatArray:
    """(B, V) backgrounds the next step may have: one, if the user says what it is."""
    if isinstance(plan.background, str) and plan.background == "step":
        return backgrounds(contexts, base, float(plan.smoothing))
    return base[-1:]


def _fit_before(
    contexts: Contexts, plan: TextPlan, file: Checkpoint | None, step: int
) -> tuple[TextFit, FloatArray]:
    """A rough fit to the contexts before a step, and the backgrounds that step may have."""
    past = contexts.before(step)
    n_past = int(past.codes.max()) + 1
    rough = replace(plan.settings, tol=ROUGH * plan.settings.tol, flat=ROUGH * plan.settings.flat)
    quiet = replace(plan.of_first(n_past), settings=rough, verbose=False)
    result, base, _ = fit_contexts(past, n_past, quiet, file)
    return result.fit, _bases(past, plan, base)


def _fingerprint(contexts: Contexts, axis: TimeAxis, plan: TextPlan) -> Fingerprint:
    """What a checkpoint is good for: this model, these parameters and documents."""
    facts = {"n_contexts": contexts.codes.size, "n_words": contexts.n_words}
    base, _ = plan.base(contexts, axis.n_timesteps)
    by_step = np.bincount(contexts.codes, contexts.totals, axis.n_timesteps)
    by_effect = np.asarray(contexts.effects.T @ contexts.totals).ravel()
    sums = [by_step, by_effect, base.sum(axis=0)]
    return Fingerprint.of(plan.owner, plan.params, facts, sums)


def _words(vocabulary: Iterable[object] | None, counts: Any) -> np.ndarray:
    given = vocabulary if vocabulary is not None else column_names(counts)
    n_words = int(np.shape(counts)[1]) if given is None and np.ndim(counts) != 1 else 0
    words = [f"w{j}" for j in range(n_words)] if given is None else [str(word) for word in given]
    if len(set(words)) < len(words):
        raise DataError("vocabulary names a word twice; words must differ.")
    return np.asarray(words, dtype=object)
