"""Text in context: word shares that depend on a document's effects, with drifting coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._typing import FloatArray, IntArray, MatrixLike, VectorLike
from driftglm._warnings import warn
from driftglm.data.frames import check_matrix
from driftglm.estimators.base import DriftEstimator, Extrapolate, prior_of
from driftglm.estimators.stopped import text_cure
from driftglm.estimators.text_export import TextExports
from driftglm.estimators.time_column import require_time, split_time
from driftglm.estimators.trust import Trust
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning
from driftglm.files import Storable
from driftglm.fitting.history import History
from driftglm.fitting.text import FittedText, TextPlan, fit_documents
from driftglm.fitting.text_averaging import AveragedTextStep
from driftglm.fitting.text_data import read_counts
from driftglm.fitting.text_fit import TextStep
from driftglm.fitting.text_solve import TextSettings
from driftglm.fitting.worker_rows import Workers
from driftglm.priors import Learned, PathPrior, Prior

N_NAMED = 3
SHARED = ("prior", "extrapolate", "freq", "time", "max_iter", "tol", "verbose", "n_jobs")
"""Parameters that mean the same as those of the estimators of rows."""


LEAST_TOKENS = 20
"""Mean tokens of a document from which some word occurs twice in some document."""


def warn_indicators(counts: Any) -> None:
    """Say so if all counts are 0 or 1, though documents are long: they may be no counts."""
    values = getattr(counts, "data", None) if hasattr(counts, "tocsr") else None
    if not isinstance(values, np.ndarray) or not values.size or values.max() > 1:
        return
    if values.sum() > LEAST_TOKENS * np.shape(counts)[0]:
        warn(
            "counts are all 0 or 1, though documents have many words; they seem to say whether a "
            "word occurs, not how often. Pass counts: RankedVocabulary(binary=False).",
            DataWarning,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class DriftTextModel(TextExports, Trust, Storable, BaseEstimator):
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
    burstiness
        Words come in bursts: a document says less than as many independent tokens. "estimate":
        from documents that share a context, the correlation of two tokens of one document and
        what every word varies beyond it; their information is divided by these design effects.
        A number: that correlation. None: tokens are independent. "auto": "estimate" with the
        learned prior, None with the paper's.
    extrapolate
        Steps after the last: "average", "forecast", "hold" or "auto" (with the learned prior
        average from five steps on, forecast below; hold for the others). A forecast of the learned
        prior integrates over what is not known: log_prob is then that of E[exp(eta)]. The
        background is that of the last step, its path forecast or held like the coefficients. The
        average mixes forecast and held effects, and, unless `background` says what it is, the
        backgrounds of the last, of recent and of all steps, by the probability that each gave to
        the last two steps before it had seen them. It takes two more fits.
    freq
        Length of a timestep, as in `DriftRegressor`.
    time
        A column of effects, which must be a frame then, that holds the times; no effect itself.
    max_iter, tol
        Most passes over all words. A mode has converged when no coefficient would move by more than
        `tol` posterior standard deviations or a pass raises the objective by less than 10 `tol`^2
        per token, the learned prior when a pass raises the bound by less than 0.1 `tol` per token
        and no log probability will move by more than about `tol`; a large fit stops before that,
        with `stop_reason_` "moving".
    verbose
        Show progress on standard error.
    n_jobs
        Threads that update words; results are the same to the last digit for any number.

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
    burstiness_ : correlation of two tokens of one document, as estimated or given; 0 for none
    word_burstiness_ : (V,) how many times more a word varies than that; 1 for none
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
        "vocabulary": ["array-like", None],
        "center": ["boolean"],
        "fit_intercept": ["boolean", StrOptions({"auto"})],
        "burstiness": [
            StrOptions({"auto", "estimate"}),
            Interval(Real, 0, 1, closed="left"),
            None,
        ],
        **{name: DriftEstimator._parameter_constraints[name] for name in SHARED},  # noqa: SLF001
    }

    background: ArrayLike = "step"
    smoothing: float = 0.5
    tie: Literal["effect", "path"] = "effect"
    prior: str | PathPrior | Learned = "learned"
    vocabulary: Iterable[object] | None = None
    center: bool = True
    fit_intercept: bool | Literal["auto"] = "auto"
    burstiness: Literal["auto", "estimate"] | float | None = "auto"
    extrapolate: Extrapolate = "auto"
    freq: str | int | None = None
    time: str | None = None
    max_iter: int = 1000
    tol: float = 1e-3
    verbose: bool = False
    n_jobs: int | None = None

    # ---------------------------------------------------------------- fitting

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        counts: MatrixLike,
        effects: MatrixLike,
        *,
        time: VectorLike = None,
        n_workers: int | None = None,
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        counts : (n_docs, V) array, sparse matrix or frame of term frequencies; or a dask array, or
            a list of delayed tables of all documents and some words each, side by side
        effects : (n_docs, F) array, sparse matrix or frame
        time : (n_docs,) integers, dates, Periods or an ordered Categorical; None: one timestep
        n_workers : update words on the workers of the active Dask client, or else on so many local
            processes; counts of Dask always are, other counts only if this is given
        checkpoint : path of a file that an interrupted fit leaves and the same call goes on from

        Documents without tokens say nothing and are left out; a step without documents takes the
        background of the step before it, and its coefficients from the steps around it.
        """
        require_time(effects, time, self.time)
        effects, time = split_time(effects, time, self.time, self.freq)
        warn_indicators(counts)
        workers = Workers(n_workers, checkpoint)
        self._report(fit_documents(self, counts, effects, time, self._plan(), workers))
        return self

    def _plan(self) -> TextPlan:
        """What the parameters ask for."""
        prior = prior_of(self.prior)
        if isinstance(self.prior, str):
            prior = prior.for_text()
        settings = TextSettings(
            prior=prior,
            by_effect=self.tie == "effect",
            max_iter=self.max_iter,
            tol=0.1 * self.tol if prior.posterior else self.tol,
            n_jobs=self.n_jobs,
            flat=10.0 * self.tol**2,
            intercept=self._has_intercept(prior),
        )
        burstiness = self.burstiness
        if burstiness == "auto":
            burstiness = "estimate" if prior.posterior else None
        return TextPlan(
            background=self.background,
            smoothing=self.smoothing,
            center=self.center,
            settings=settings,
            burstiness=burstiness,
            extrapolate=self.extrapolate,
            vocabulary=self.vocabulary,
            freq=self.freq,
            verbose=bool(self.verbose),
            owner=type(self).__name__,
            params=self.get_params(),
        )

    def _has_intercept(self, prior: Prior) -> bool:
        """Whether the background has a path of its own; never a given one, nor the paper's."""
        if self.fit_intercept == "auto":
            return isinstance(self.background, str) and prior.posterior
        return bool(self.fit_intercept)

    def _report(self, fitted: FittedText) -> None:
        """Fitted attributes in the user's units."""
        result = fitted.result
        self._axis, self.timesteps_ = fitted.axis, fitted.axis.labels
        self._fit, self.vocabulary_ = result.fit, fitted.words
        self.base_background_, self.n_contexts_ = fitted.base, fitted.n_contexts
        bursts = fitted.bursts
        self.burstiness_ = 0.0 if bursts is None else bursts.correlation
        self.word_burstiness_ = np.ones(fitted.words.size) if bursts is None else bursts.words
        self.extrapolate_, self._text_forecasters = fitted.extrapolate, fitted.forecasters
        self.coef_path_ = result.fit.coef_path()
        self.background_ = result.fit.background()
        self.inclusion_probability_ = result.fit.inclusion()
        self.objective_history_, self.n_iter_ = result.run.history, result.run.n_iter
        self.stop_reason_, self.converged_ = result.run.reason.value, result.run.converged
        self.__dict__.pop("rate_", None)
        if result.rate is not None:
            self.rate_ = result.rate
        silent = np.flatnonzero(~result.varies)
        if silent.size:
            names = self._effect_names()
            shown = ", ".join(repr(names[i]) for i in silent[:N_NAMED])
            warn(
                f"{silent.size} effects ({shown}{', ...' if silent.size > N_NAMED else ''}) do not "
                "vary among documents that share a background and cannot be told from it; their "
                "coefficients are zero. With background='all' they can say how steps differ.",
                DataWarning,
            )
        if not self.converged_:
            warn(
                f"stopped after {self.n_iter_} passes ({self.stop_reason_}) before tol="
                f"{self.tol:g} was reached; {text_cure(self.stop_reason_)}",
                ConvergenceWarning,
            )

    # -------------------------------------------------------------- prediction

    def _split(self, effects: MatrixLike, time: VectorLike) -> tuple[Any, Any]:
        """New effects and their times, if these are in a column."""
        freq = self._axis.freq if self._axis.kind == "period" else self.freq
        return split_time(effects, time, self.time, freq)

    def log_prob(self, effects: MatrixLike, time: VectorLike = None) -> FloatArray:
        """(n_docs, V) log probabilities of the words; no time: the step after the last."""
        check_is_fitted(self, "coef_path_")
        effects, time = self._split(effects, time)
        check_matrix(effects)
        rows = validate_data(self, effects, accept_sparse="csr", dtype=np.float64, reset=False)
        out = np.empty((rows.shape[0], self.vocabulary_.size))
        for members, step in self._by_step(self._codes(time, rows.shape[0])):
            for part, found in step.log_probabilities(rows[members]):
                out[members[part]] = found
        return out

    def document_log_likelihood(
        self, counts: MatrixLike, effects: MatrixLike, time: VectorLike = None
    ) -> FloatArray:
        """(n_docs,) log-likelihood of every document's tokens; 0 for one without tokens."""
        check_is_fitted(self, "coef_path_")
        table = read_counts(counts, self.vocabulary_)
        effects, time = self._split(effects, time)
        check_matrix(effects)
        rows = validate_data(self, effects, accept_sparse="csr", dtype=np.float64, reset=False)
        if rows.shape[0] != table.shape[0]:
            raise DataError(
                f"effects has {rows.shape[0]} rows but counts has {table.shape[0]} documents."
            )
        out = np.zeros(rows.shape[0])
        for members, step in self._by_step(self._codes(time, rows.shape[0])):
            out[members] = step.log_likelihoods(table[members], rows[members])
        return out

    def score(self, counts: MatrixLike, effects: MatrixLike, time: VectorLike = None) -> float:
        """Log-likelihood of all tokens; words out of the vocabulary are ignored."""
        return float(self.document_log_likelihood(counts, effects, time).sum())

    def perplexity(self, counts: MatrixLike, effects: MatrixLike, time: VectorLike = None) -> float:
        """exp(-log-likelihood per token)."""
        check_is_fitted(self, "coef_path_")
        total = float(read_counts(counts, self.vocabulary_).sum())
        if total == 0:
            raise DataError("counts holds no token of the vocabulary; perplexity needs one.")
        return float(np.exp(-self.score(counts, effects, time) / total))

    def _by_step(self, codes: IntArray) -> Iterator[tuple[IntArray, TextStep | AveragedTextStep]]:
        """Documents and the model of every step that occurs."""
        for code in np.unique(codes):
            yield np.flatnonzero(codes == code), self._step(int(code))

    def _step(self, code: int) -> TextStep | AveragedTextStep:
        """The model of a step, which may lie after the last."""
        if self._text_forecasters is not None:
            return self._text_forecasters.step(self._fit, code)
        return self._fit.step(code, forecast=self.extrapolate_ == "forecast")

    @property
    def _history(self) -> History | None:
        """How far every forecaster is trusted, where several are averaged."""
        return None if self._text_forecasters is None else self._text_forecasters.history

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
