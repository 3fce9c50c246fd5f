"""Text in context: word shares that depend on a document's effects, with drifting coefficients."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._jit import announce_compilation
from driftglm._typing import FloatArray, IntArray
from driftglm.data.timesteps import TimeAxis, fit_axis
from driftglm.estimators.base import Extrapolate, prior_of
from driftglm.estimators.parameters import Registered
from driftglm.estimators.text_export import TextExports
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning
from driftglm.files import Storable
from driftglm.fitting.checkpoint import Checkpoint, Fingerprint, resuming_advice
from driftglm.fitting.text_data import (
    Background,
    Contexts,
    column_names,
    read_counts,
)
from driftglm.fitting.text_fit import TextStep
from driftglm.fitting.text_remote import (
    add_up,
    check_counts,
    gathered,
    locate,
    word_engine,
)
from driftglm.fitting.text_solve import TextResult, TextSettings, solve_text
from driftglm.priors import Learned, PathPrior, Prior
from driftglm.registry import PRIORS
from driftglm.solvers.coupling import Alone
from driftglm.solvers.text_engine import WordEngine

N_VALIDATION_STEPS = 2
N_NAMED = 3


class DriftTextModel(TextExports, Storable, BaseEstimator):
    """Word counts given effects of the document, the effects' coefficients drifting over time.

    A token of a document with effects f at step t is word w with probability

        p(w | f, t) proportional to exp(background_tw + sum_i f_i beta_iwt),

    a SAGE-like model: the background says how often words are used at a step, effects (places,
    sources, authors, prices) say how documents deviate from it. Every (effect, word) pair has a
    coefficient path over time.

    Parameters
    ----------
    background
        "step": log of the smoothed word shares of every step; "all": of all training documents;
        or an array (V,) or (T, V) of log rates.
    smoothing
        Added to every word's count, per step (or once for "all"), before the logarithm.
    tie
        "effect": all words of an effect share its scale and autocorrelation (with the learned
        prior: the weights of the mixture), as in the paper. "path": every (effect, word) path on
        its own (with the learned prior: one set of weights for all).
    prior
        "learned", "exact", "variational", "fixed" or an object of `driftglm.priors`.
    vocabulary
        Names of the words, one per column of counts; the columns' names if counts is a frame.
    center
        Take off every effect's token-weighted mean, of each step for background="step", of all
        documents for "all"; never done under a given background. The background is the average
        over the step's documents, so that effects must be deviations from it: without, the source
        of half of all tokens would have to undo what the background already says. An effect that
        is the same for all documents of each step says nothing beside a background per step; its
        coefficients are exactly zero, with a warning.
    fit_intercept
        Give the background of every word a path of its own, with the same prior as the effects
        (and weights of its own). Shares are averages over documents of all kinds, and the log of
        an average is not the average of logs: a word that only one source uses needs it. With
        background="all" it is how the background drifts. "auto": with the learned prior, unless
        the background is given.
    extrapolate
        Steps after the last: "forecast", "hold", "auto" (forecast for the learned prior, hold for
        the others) or "validate" (the better on the last training steps). A forecast of the
        learned prior integrates over what is not known: log_prob is then that of E[exp(eta)]. The
        background is that of the last step, its path forecast or held like the coefficients.
    freq
        Length of a timestep, as in `DriftRegressor`.
    max_iter, tol
        Most passes over all words. A mode has converged when no coefficient is pulled by more than
        `tol` posterior standard deviations or a pass raises the objective by less than 10 `tol`^2
        per token, the learned prior when a pass raises the bound by less than 0.1 `tol` per token.
    verbose
        Show progress on standard error.
    n_jobs
        Threads that visit words; results are the same to the last digit for any number.

    Attributes
    ----------
    coef_path_ : (T, F, V)
    background_ : (T, V) log rates of a document whose effects are all zero, up to a constant
    base_background_ : (T, V) as estimated or given, before the effects' means were taken off
    timesteps_ : (T,) labels
    vocabulary_ : (V,) words
    inclusion_probability_ : (F, V) posterior probability of not being zero; 0 or 1 for a mode
    objective_history_ : never falls; the bound or the (floored) log posterior after every pass,
        without the multinomial coefficients
    converged_, n_iter_, stop_reason_ : how the solver ended
    rate_ : the rate of the paper's priors, given or estimated
    n_contexts_ : number of different (step, effects) among the documents

    Examples
    --------
    >>> from driftglm import DriftTextModel
    >>> from driftglm.simulate import simulate_text
    >>> text = simulate_text(n_words=40, n_effects=2, random_state=0)
    >>> model = DriftTextModel().fit(text.counts, text.effects, time=text.time)
    >>> model.coef_path_.shape == (6, 2, 40)
    True
    >>> model.score(text.counts_next, text.effects_next) < 0
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "background": [StrOptions({"step", "all"}), "array-like"],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "tie": [StrOptions({"effect", "path"})],
        "prior": [Registered(PRIORS), Prior, type],  # a class is refused with advice
        "vocabulary": ["array-like", None],
        "center": ["boolean"],
        "fit_intercept": ["boolean", StrOptions({"auto"})],
        "extrapolate": [StrOptions({"auto", "forecast", "hold", "validate"})],
        "freq": [str, Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "n_jobs": [Integral, None],
    }

    def __init__(  # noqa: PLR0913
        self,
        *,
        background: Any = "step",
        smoothing: float = 0.5,
        tie: Literal["effect", "path"] = "effect",
        prior: str | PathPrior | Learned = "learned",
        vocabulary: Any = None,
        center: bool = True,
        fit_intercept: bool | Literal["auto"] = "auto",
        extrapolate: Extrapolate = "auto",
        freq: str | int | None = None,
        max_iter: int = 200,
        tol: float = 1e-3,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.background = background
        self.smoothing = smoothing
        self.tie = tie
        self.prior = prior
        self.vocabulary = vocabulary
        self.center = center
        self.fit_intercept = fit_intercept
        self.extrapolate = extrapolate
        self.freq = freq
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.n_jobs = n_jobs

    # ---------------------------------------------------------------- fitting

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        counts: Any,
        effects: Any,
        *,
        time: Any = None,
        n_workers: int | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        counts : (n_docs, V) array, sparse matrix or frame of term frequencies; or a dask array, or
            a list of delayed tables of all documents and some words each, side by side
        effects : (n_docs, F) array, sparse matrix or frame
        time : (n_docs,) integers, dates, Periods or an ordered Categorical; None: one timestep
        n_workers : visit words on the workers of the active Dask client, or else on so many local
            processes; counts of Dask always are, other counts only if this is given
        checkpoint : path of a file that an interrupted fit leaves and the same call goes on from

        Documents without tokens say nothing and are left out; a step without documents takes the
        background of the step before it, and its coefficients from the steps around it.
        """
        announce_compilation(sys.stderr)
        advice = resuming_advice(checkpoint)
        with word_engine(counts, n_workers, advice, verbose=self.verbose) as engine:
            counts = locate(counts, engine, self.extrapolate)
            self.vocabulary_ = self._words(counts)
            table = check_counts(counts, self.vocabulary_)
            rows = validate_data(self, gathered(effects), accept_sparse="csr", dtype=np.float64)
            if rows.shape[0] != table.shape[0]:
                raise DataError(
                    f"effects has {rows.shape[0]} rows but counts has {table.shape[0]} documents; "
                    "pass one row per document."
                )
            axis, codes = fit_axis(gathered(time), table.shape[0], self.freq)
            contexts = add_up(table, rows, codes)
            if not contexts.codes.size:
                raise DataError("no document has a token; at least one count must be positive.")
            file: Checkpoint | None = None
            if checkpoint is not None:
                file = Checkpoint.at(checkpoint, self._fingerprint(contexts, axis))
            self._fit_contexts(contexts, axis, engine, file)
        if file is not None:
            file.remove()
        return self

    def _fingerprint(self, contexts: Contexts, axis: TimeAxis) -> Fingerprint:
        """What a checkpoint is good for: this model, these parameters and documents."""
        facts = {"n_contexts": contexts.codes.size, "n_words": contexts.n_words}
        base, _ = self._base(contexts, axis.n_timesteps)
        by_step = np.bincount(contexts.codes, contexts.totals, axis.n_timesteps)
        weighed = np.asarray(contexts.effects.T @ contexts.totals).ravel()
        sums = [by_step, weighed, base.sum(axis=0)]
        return Fingerprint.of(type(self).__name__, self.get_params(), facts, sums)

    def _words(self, counts: Any) -> np.ndarray:
        given = self.vocabulary if self.vocabulary is not None else column_names(counts)
        n_words = int(np.shape(counts)[1]) if given is None and np.ndim(counts) != 1 else 0
        words = (
            [f"w{j}" for j in range(n_words)] if given is None else [str(word) for word in given]
        )
        if len(set(words)) < len(words):
            raise DataError("vocabulary names a word twice; words must differ.")
        return np.asarray(words, dtype=object)

    def _fit_contexts(
        self,
        contexts: Contexts,
        axis: TimeAxis,
        engine: WordEngine | None = None,
        file: Checkpoint | None = None,
    ) -> None:
        base, center = self._base(contexts, axis.n_timesteps)
        prior = self._prior()
        settings = TextSettings(
            prior=prior,
            by_effect=self.tie == "effect",
            center=center,
            max_iter=self.max_iter,
            tol=0.1 * self.tol if prior.posterior else self.tol,
            n_jobs=self.n_jobs,
            flat=10.0 * self.tol**2,
            intercept=self._has_intercept(prior),
            engine=engine,
        )
        result = solve_text(
            contexts,
            base,
            settings,
            progress=_progress_line if self.verbose else None,
            journal=None if file is None else file.next_stage(Alone()),
        )
        if self.verbose:
            sys.stderr.write("\n")
        self._axis, self.timesteps_, self._fit = axis, axis.labels, result.fit
        self.base_background_, self.n_contexts_ = base, int(contexts.codes.size)
        self._report(result)
        self._choose_extrapolation(contexts, engine, file)

    def _prior(self) -> Prior:
        found = prior_of(self.prior)
        return found.for_text() if isinstance(self.prior, str) else found

    def _has_intercept(self, prior: Prior) -> bool:
        """Whether the background has a path of its own; never a given one, nor the paper's."""
        if self.fit_intercept == "auto":
            return isinstance(self.background, str) and prior.posterior
        return bool(self.fit_intercept)

    def _base(self, contexts: Contexts, n_steps: int) -> tuple[FloatArray, Background | None]:
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

    def _report(self, result: TextResult) -> None:
        self.coef_path_ = result.fit.coef_path()
        self.background_ = result.fit.background()
        self.inclusion_probability_ = result.fit.inclusion()
        self.objective_history_, self.n_iter_ = result.run.history, result.run.n_iter
        self.stop_reason_ = result.run.reason.value
        self.converged_ = result.run.converged
        self.__dict__.pop("rate_", None)
        if result.rate is not None:
            self.rate_ = result.rate
        silent = np.flatnonzero(~result.varies)
        if silent.size:
            names = self._effect_names()
            shown = ", ".join(repr(names[i]) for i in silent[:N_NAMED])
            warnings.warn(
                f"{silent.size} effects ({shown}{', ...' if silent.size > N_NAMED else ''}) do not "
                "vary among documents that share a background and cannot be told from it; their "
                "coefficients are zero. With background='all' they can say how steps differ.",
                DataWarning,
                stacklevel=5,
            )
        if not self.converged_:
            warnings.warn(
                f"stopped after {self.n_iter_} passes ({self.stop_reason_}) before tol="
                f"{self.tol:g} was reached; raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    # ----------------------------------------------------------- extrapolation

    def _choose_extrapolation(
        self, contexts: Contexts, engine: WordEngine | None, file: Checkpoint | None
    ) -> None:
        choice: str = self.extrapolate
        if choice == "validate":
            choice = self._validated(contexts, engine, file)
        if choice == "auto":
            choice = "forecast" if self._fit.posterior_known else "hold"
        self.extrapolate_ = choice

    def _validated(
        self, contexts: Contexts, engine: WordEngine | None, file: Checkpoint | None
    ) -> str:
        """Hold or forecast, by the likelihood one step ahead on the last training steps."""
        seen = np.unique(contexts.codes)
        gains = 0.0
        for step in seen[2:][-N_VALIDATION_STEPS:]:
            past = contexts.of_steps(np.arange(seen[-1] + 1) < step)
            now = contexts.of_steps(np.arange(seen[-1] + 1) == step)
            model = clone(self).set_params(extrapolate="hold", verbose=False)
            model.vocabulary_ = self.vocabulary_
            n_past = int(past.codes.max()) + 1
            if not isinstance(self.background, str) and np.ndim(self.background) > 1:
                model.set_params(background=np.asarray(self.background)[:n_past])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                axis = TimeAxis("integer", 0, n_past, 1)
                model._fit_contexts(past, axis, engine, file)  # noqa: SLF001
            for choice, sign in (("forecast", 1.0), ("hold", -1.0)):
                model.extrapolate_ = choice
                found = model._log_likelihood(now.counts, now.effects, now.codes)  # noqa: SLF001
                gains += sign * float(found.sum())
        return "auto" if seen.size < 3 else "forecast" if gains > 0 else "hold"  # noqa: PLR2004

    # -------------------------------------------------------------- prediction

    def log_prob(self, effects: Any, time: Any = None) -> FloatArray:
        """(n_docs, V) log probabilities of the words; no time: the step after the last."""
        check_is_fitted(self, "coef_path_")
        rows = validate_data(self, effects, accept_sparse="csr", dtype=np.float64, reset=False)
        out = np.empty((rows.shape[0], self.vocabulary_.size))
        for members, step in self._by_step(self._codes(time, rows.shape[0])):
            for part, found in step.log_probabilities(rows[members]):
                out[members[part]] = found
        return out

    def document_log_likelihood(self, counts: Any, effects: Any, time: Any = None) -> FloatArray:
        """(n_docs,) log-likelihood of every document's tokens; 0 for one without tokens."""
        check_is_fitted(self, "coef_path_")
        table = read_counts(counts, self.vocabulary_)
        rows = validate_data(self, effects, accept_sparse="csr", dtype=np.float64, reset=False)
        if rows.shape[0] != table.shape[0]:
            raise DataError(
                f"effects has {rows.shape[0]} rows but counts has {table.shape[0]} documents."
            )
        return self._log_likelihood(table, rows, self._codes(time, rows.shape[0]))

    def score(self, counts: Any, effects: Any, time: Any = None) -> float:
        """Log-likelihood of all tokens; words out of the vocabulary are ignored."""
        return float(self.document_log_likelihood(counts, effects, time).sum())

    def perplexity(self, counts: Any, effects: Any, time: Any = None) -> float:
        """exp(-log-likelihood per token)."""
        check_is_fitted(self, "coef_path_")
        total = float(read_counts(counts, self.vocabulary_).sum())
        if total == 0:
            raise DataError("counts holds no token of the vocabulary; perplexity needs one.")
        return float(np.exp(-self.score(counts, effects, time) / total))

    def _log_likelihood(self, table: Any, rows: Any, codes: IntArray) -> FloatArray:
        out = np.zeros(codes.size)
        for members, step in self._by_step(codes):
            out[members] = step.log_likelihoods(table[members], rows[members])
        return out

    def _by_step(self, codes: IntArray) -> Iterator[tuple[IntArray, TextStep]]:
        """Documents and the model of every step that occurs."""
        for code in np.unique(codes):
            forecast = self.extrapolate_ == "forecast"
            yield np.flatnonzero(codes == code), self._fit.step(int(code), forecast=forecast)

    # ---------------------------------------------------------------- reporting

    @property
    def coef_std_path_(self) -> FloatArray:
        """(T, F, V) posterior standard deviations; a mode has none."""
        check_is_fitted(self, "coef_path_")
        if (found := self._fit.std_path()) is not None:
            return found
        raise AttributeError(
            f"a fit with prior={self.prior!r} is a posterior mode and has no standard deviations."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _progress_line(iteration: int, objective: float, n_alive: int) -> None:
    """One rewritten line on stderr."""
    sys.stderr.write(f"\rdriftglm: pass {iteration}, objective {objective:.8g}, {n_alive} kept ")
    sys.stderr.flush()
