"""What baselines do with family="text": counts and effects instead of X and y."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from driftglm._typing import FloatArray, IntArray, MatrixLike, VectorLike
from driftglm._warnings import warn
from driftglm.baselines.parameters import Parameters
from driftglm.baselines.text import Documents, TextKind, TextPenalty, next_log_likelihood
from driftglm.baselines.tuning import Chain, Params, choose, warn_at_edge
from driftglm.data.frames import check_matrix
from driftglm.data.timesteps import fit_axis
from driftglm.estimators.time_column import split_time
from driftglm.exceptions import ConvergenceWarning, DataError
from driftglm.fitting.text_data import column_names, read_counts
from driftglm.fitting.text_fit import TextFit, TextStep

Found = TypeVar("Found")


def _is_text(model: TextMethods) -> bool:
    """For `available_if`."""
    if model.family != "text":
        raise AttributeError(
            f"documents have a likelihood with family='text', not {model.family!r}."
        )
    return True


class TextMethods(Parameters):
    """Fit, tune and score on documents; mixed into the baselines."""

    _text_kind: ClassVar[TextKind]
    window: int | None
    patience: Any

    @abstractmethod
    def tunable_params(self) -> dict[str, float | None]:
        """Parameters given as numbers, those still to be chosen as None."""

    def _given(self) -> Params:
        """All parameters if none is left to be chosen, else nothing."""
        known = {name: x for name, x in self.tunable_params().items() if x is not None}
        return known if len(known) == len(self.tunable_params()) else {}

    def _chosen(
        self, chains: Iterator[Iterator[tuple[Params, Found]]], error: Callable[[Found], float]
    ) -> Params:
        """The parameters of the candidate of least error."""
        errors = (((params, error(found)) for params, found in chain) for chain in chains)
        choice = choose(errors, patience=lambda: self.patience)
        if choice.at_edge:
            warn_at_edge(type(self).__name__, choice.params)
        return choice.params

    # ------------------------------------------------------------------ fitting

    def _fit_text(self, docs: Documents) -> None:
        """Choose what is None on the last step, then fit."""
        params, penalty = self._given(), self._penalty()
        if not params:
            past, now = docs.held_out()
            chains = penalty.chains(penalty.contexts(past), self.tunable_params())
            params = self._chosen(chains, lambda fit: -float(next_log_likelihood(fit, now).sum()))
        result = penalty.fit(penalty.contexts(docs), params)
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

    def _read_time(self, time: VectorLike, n_rows: int) -> IntArray:
        """The step of every row; sets timesteps_."""
        self._axis, codes = fit_axis(time, n_rows, self.freq)
        self.timesteps_ = self._axis.labels
        return codes

    def _split_time(self, X: MatrixLike, time: VectorLike) -> tuple[Any, Any]:
        """New rows and their times, if these are in a column."""
        freq = self._axis.freq if self._axis.kind == "period" else self.freq
        return split_time(X, time, self.time, freq)

    def _read_text(self, counts: MatrixLike, effects: MatrixLike, time: VectorLike) -> Documents:
        if self.always_in is not None:
            raise DataError("always_in does not apply to family='text'; leave it out.")
        names, table = column_names(counts), read_counts(counts, None)
        self._words = [f"w{j}" for j in range(table.shape[1])] if names is None else names
        check_matrix(effects)
        rows = validate_data(self, effects, accept_sparse="csr", dtype=np.float64)
        return Documents(table, rows, self._read_time(time, table.shape[0]))

    def _read_new(self, X: MatrixLike) -> Any:
        """New rows of X, or new effects: a validated matrix."""
        check_matrix(X)
        return validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)

    def _read_new_text(self, counts: MatrixLike, effects: MatrixLike) -> Documents:
        """Documents to be scored; their steps are not asked for here."""
        table = read_counts(counts, self._words)
        return Documents(table, self._read_new(effects), np.zeros(table.shape[0], dtype=np.int64))

    def _text_chains(self, docs: Documents, new: Documents) -> Iterator[Chain]:
        """Log-likelihoods of new documents by every candidate."""
        penalty = self._penalty()
        for chain in penalty.chains(penalty.contexts(docs), self.tunable_params()):
            yield ((params, next_log_likelihood(result, new)) for params, result in chain)

    # --------------------------------------------------------------- prediction

    @available_if(_is_text)
    def document_log_likelihood(
        self, counts: MatrixLike, effects: MatrixLike, time: VectorLike = None
    ) -> FloatArray:
        """(n_docs,) log-likelihood of every document's tokens."""
        check_is_fitted(self, "background_")
        effects, time = self._split_time(effects, time)
        docs = self._read_new_text(counts, effects)
        out = np.empty(docs.codes.size)
        for members, step in self._at_steps(time, out.size):
            out[members] = step.log_likelihoods(docs.counts[members], docs.effects[members])
        return out

    @available_if(_is_text)
    def log_prob(self, effects: MatrixLike, time: VectorLike = None) -> FloatArray:
        """(n_docs, V) log probabilities of the words."""
        check_is_fitted(self, "background_")
        effects, time = self._split_time(effects, time)
        rows = self._read_new(effects)
        out = np.empty((rows.shape[0], self.background_.size))
        for members, step in self._at_steps(time, rows.shape[0]):
            for part, found in step.log_probabilities(rows[members]):
                out[members[part]] = found
        return out

    def _at_steps(self, time: VectorLike, n_docs: int) -> Iterator[tuple[IntArray, TextStep]]:
        """Documents by step; all but ridge over time have one set of coefficients."""
        last = self._text_fit.n_timesteps - 1
        if time is None or last == 0:
            yield np.arange(n_docs), TextStep(self.background_, self.coef_)
            return
        codes = np.minimum(self._axis.encode(time, n_docs), last)
        for code in np.unique(codes):
            yield np.flatnonzero(codes == code), self._text_fit.step(int(code), forecast=False)
