"""What baselines do with family="text": counts and effects instead of X and y."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._typing import FloatArray
from driftglm._warnings import warn
from driftglm.baselines.text import Documents, TextKind, TextPenalty, next_log_likelihood
from driftglm.baselines.tuning import choose, warn_at_edge
from driftglm.data.timesteps import fit_axis
from driftglm.exceptions import ConvergenceWarning, DataError
from driftglm.fitting.text_data import column_names, read_counts
from driftglm.fitting.text_fit import TextFit, TextStep

Found = Iterator[tuple[dict[str, Any], FloatArray]]


def _is_text(model: Any) -> bool:
    """For `available_if`."""
    if model.family != "text":
        raise AttributeError(
            f"documents have a likelihood with family='text', not {model.family!r}."
        )
    return True


class TextMethods:
    """Fit, tune and score on documents; mixed into the baselines."""

    _text_kind: ClassVar[TextKind]
    family: str
    window: int | None
    freq: Any
    max_iter: int
    tol: float
    always_in: Any
    standardize: bool

    @abstractmethod
    def tunable_params(self) -> dict[str, Any]:
        """Parameters given as numbers, those still to be chosen as None."""

    # ------------------------------------------------------------------ fitting

    def _fit_text(
        self, counts: Any, effects: Any, time: Any, *, sample_weight: Any, exposure: Any
    ) -> None:
        """Choose what is None on the last step, then fit."""
        if sample_weight is not None or exposure is not None:
            raise DataError(
                "sample_weight and exposure do not apply to family='text'; "
                "a document's counts are its weight."
            )
        docs, penalty = self._read_text(counts, effects, time), self._penalty()
        params = self.tunable_params()
        if None in params.values():
            params = self._tune_text(penalty, docs)
        contexts = penalty.contexts(docs)
        result = penalty.fit(contexts, params)
        self._text_fit: TextFit = result.fit
        last = result.fit.step(result.fit.n_timesteps - 1, forecast=False)
        self.background_, self.coef_ = last.background, last.coef
        if self._text_kind.rows == "ts":
            self.coef_path_ = result.fit.coef_path()
        for name, value in params.items():
            setattr(self, f"{name}_", value)
        self.converged_ = result.run.converged
        self.objective_history_, self.n_iter_ = result.run.history, result.run.n_iter
        if not self.converged_:
            warn(
                f"{type(self).__name__} stopped after {self.n_iter_} passes "
                f"({result.run.reason.value}) before its tolerance {self.tol:g} was reached; raise "
                "max_iter, tol or strength.",
                ConvergenceWarning,
            )

    def _penalty(self) -> TextPenalty:
        return TextPenalty(self._text_kind, self.window, self.max_iter, self.tol)

    def _read_text(self, counts: Any, effects: Any, time: Any) -> Documents:
        if self.always_in is not None or self.standardize:
            raise DataError(
                "always_in and standardize do not apply to family='text'; scale the effects "
                "themselves if they are not indicators."
            )
        names = column_names(counts)
        table = read_counts(counts, None)
        self._words = [f"w{j}" for j in range(table.shape[1])] if names is None else names
        rows = validate_data(self, effects, accept_sparse="csr", dtype=np.float64)
        axis, codes = fit_axis(time, table.shape[0], self.freq)
        self._axis, self.timesteps_ = axis, axis.labels
        return _documents(table, rows, codes)

    def _tune_text(self, penalty: TextPenalty, docs: Documents) -> dict[str, Any]:
        past, now = docs.held_out()
        contexts = penalty.contexts(past)
        losses = (
            ((params, -float(next_log_likelihood(result, now).sum())) for params, result in chain)
            for chain in penalty.chains(contexts, self.tunable_params())
        )
        choice = choose(losses, leave=True)
        if choice.at_edge:
            warn_at_edge(type(self).__name__, choice.params)
        return choice.params

    def _text_chains(self, train: tuple[Any, Any, Any], new: tuple[Any, Any]) -> Iterator[Found]:
        """Log-likelihoods of new documents by every candidate."""
        if new[1] is None:
            raise DataError("y_new is None; pass the effects of the new documents.")
        docs, penalty = self._read_text(*train), self._penalty()
        table = read_counts(new[0], self._words)
        rows = validate_data(self, new[1], accept_sparse="csr", dtype=np.float64, reset=False)
        later = _documents(table, rows, np.zeros(table.shape[0], dtype=np.int64))
        contexts = penalty.contexts(docs)
        for chain in penalty.chains(contexts, self.tunable_params()):
            yield ((params, next_log_likelihood(result, later)) for params, result in chain)

    # --------------------------------------------------------------- prediction

    def _refuse_text(self, asked: str, instead: str) -> None:
        if self.family == "text":
            raise DataError(f"{asked} does not apply to family='text'; use {instead}.")

    @available_if(_is_text)
    def document_log_likelihood(self, counts: Any, effects: Any, time: Any = None) -> FloatArray:
        """(n_docs,) log-likelihood of every document's tokens."""
        check_is_fitted(self, "background_")
        table = read_counts(counts, self._words)
        rows = validate_data(self, effects, accept_sparse="csr", dtype=np.float64, reset=False)
        _documents(table, rows, np.zeros(table.shape[0], dtype=np.int64))
        out = np.empty(table.shape[0])
        for members, step in self._at_steps(time, out.size):
            out[members] = step.log_likelihoods(table[members], rows[members])
        return out

    @available_if(_is_text)
    def log_prob(self, effects: Any, time: Any = None) -> FloatArray:
        """(n_docs, V) log probabilities of the words."""
        check_is_fitted(self, "background_")
        rows = validate_data(self, effects, accept_sparse="csr", dtype=np.float64, reset=False)
        out = np.empty((rows.shape[0], self.background_.size))
        for members, step in self._at_steps(time, rows.shape[0]):
            for part, found in step.log_probabilities(rows[members]):
                out[members[part]] = found
        return out

    def _at_steps(self, time: Any, n_docs: int) -> Iterator[tuple[Any, TextStep]]:
        """Documents by step; all but ridge over time have one set of coefficients."""
        last = self._text_fit.n_timesteps - 1
        if time is None or last == 0:
            yield np.arange(n_docs), TextStep(self.background_, self.coef_)
            return
        codes = np.minimum(self._axis.encode(time, n_docs), last)
        for code in np.unique(codes):
            yield np.flatnonzero(codes == code), self._text_fit.step(int(code), forecast=False)


def _documents(counts: Any, effects: Any, codes: Any) -> Documents:
    if effects.shape[0] != counts.shape[0]:
        raise DataError(
            f"effects has {effects.shape[0]} rows but counts has {counts.shape[0]} documents; "
            "pass one row per document."
        )
    return Documents(counts, effects, codes)
