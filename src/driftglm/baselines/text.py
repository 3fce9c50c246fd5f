"""The baselines for text: ridge and lasso around a background of word shares.

They minimise

    - sum_nw c_nw log p(w | f_n) + strength / 2 sum beta' A beta     (ridge, ridge over time)
    - sum_nw c_nw log p(w | f_n) + strength sum |beta|               (lasso)

with p(w | f) proportional to exp(background_w + sum_i (f_i - mean_i) beta_iw). The background is
that of the last training step (-one, -ts) or of all training documents (-all), smoothed as in
`driftglm.estimators.text.DriftTextModel`; it is the intercept. Ridge is the Fixed prior of that
model; the lasso updates coefficients in the same way, with soft thresholds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.baselines.columns import to_dense
from driftglm.baselines.rows import to_hold_out
from driftglm.baselines.strength import fixed_scale
from driftglm.baselines.tuning import Params
from driftglm.exceptions import DataError
from driftglm.fitting.text_data import Background, Contexts, collapse, log_background
from driftglm.fitting.text_fit import ModeTextFit
from driftglm.fitting.text_solve import TextResult, TextSettings, solve_text
from driftglm.priors import Fixed
from driftglm.solvers.text_mode import TextMode

SMOOTHING = 0.5
RIDGE_STRENGTHS = np.geomspace(100.0, 0.1, 10)
"""One over the variance of a coefficient, whose natural size is that of a log rate."""
CHAIN_STRENGTHS = np.geomspace(30.0, 0.3, 5)
CHAIN_CORRELATIONS = (0.5, 0.9, 0.98, 0.995)
LASSO_STRENGTHS = np.geomspace(1.0, 1e-4, 17)
"""Relative to the smallest strength at which every coefficient is zero."""
TUNING_TOL, TUNING_PASSES = 0.05, 8
FLAT = 1e-5
"""A pass that raises the objective by less than this per token, or by 10 `tol`, is the last."""
PASSES_PER_STEP = 10
"""A reweighting step of the other families, of which `max_iter` allows so many, is worth several
passes over all words."""

TextChain = Iterator[tuple[Params, TextResult]]


@dataclass(frozen=True)
class TextKind:
    """Which penalty, on which documents."""

    penalty: Literal["ridge", "lasso"]
    rows: Literal["one", "all", "ts"]

    @property
    def background(self) -> Background:
        """Of every step, or of all documents."""
        return "all" if self.rows == "all" else "step"


@dataclass(frozen=True)
class Documents:
    """Validated documents; `codes` are steps of the time axis."""

    counts: Any
    effects: Any
    codes: IntArray

    def __post_init__(self) -> None:
        if self.effects.shape[0] != self.counts.shape[0]:
            raise DataError(
                f"effects has {self.effects.shape[0]} rows but counts has {self.counts.shape[0]} "
                "documents; pass one row per document."
            )

    def take(self, keep: BoolArray) -> Documents:
        """Some of them."""
        chosen = np.flatnonzero(keep)
        return Documents(*(part[chosen] for part in vars(self).values()))

    def held_out(self) -> tuple[Documents, Documents]:
        """Earlier documents and the last step's; within one step every fifth one is held out."""
        last = to_hold_out(self.codes)
        return self.take(~last), self.take(last)


@dataclass(frozen=True)
class TextPenalty:
    """A text baseline with what its class and parameters say about the fit.

    `tol` bounds the objective, which a coefficient moved by one deviation could raise by 1/2: its
    root bounds the gradients.
    """

    kind: TextKind
    window: int | None
    max_iter: int
    tol: float

    def contexts(self, docs: Documents) -> Contexts:
        """The documents a baseline uses, collapsed, in steps from 0."""
        if self.window is not None:
            docs = docs.take(docs.codes > docs.codes.max() - self.window)
        codes = docs.codes if self.kind.rows == "ts" else np.zeros_like(docs.codes)
        contexts = collapse(docs.counts, docs.effects, codes)
        if not contexts.codes.size:
            raise DataError("the documents to be fitted have no tokens; drop the step they are of.")
        return contexts

    def fit(
        self,
        contexts: Contexts,
        params: Params,
        *,
        start: TextMode | None = None,
        tuning: bool = False,
    ) -> TextResult:
        """One fit; while tuning, as precise as a ranking of candidates needs."""
        strength, kind = float(params["strength"]), self.kind.background
        n_steps = int(contexts.codes.max()) + 1
        base = log_background(contexts.counts, contexts.codes, n_steps, kind, SMOOTHING)
        most, tol = PASSES_PER_STEP * self.max_iter, float(np.sqrt(self.tol))
        settings = TextSettings(
            prior=Fixed(fixed_scale(strength), params.get("autocorrelation", 0.0)),
            by_effect=True,
            center=kind,
            max_iter=min(most, TUNING_PASSES) if tuning else most,
            tol=max(tol, TUNING_TOL) if tuning else tol,
            strength=strength if self.kind.penalty == "lasso" else 0.0,
            flat=min(10.0 * self.tol, FLAT),
        )
        return solve_text(contexts, base, settings, start=start)

    def chains(self, contexts: Contexts, given: dict[str, float | None]) -> Iterator[TextChain]:
        """Candidates from a strong penalty to a weak one, each started from the one before."""
        strength = given["strength"]
        strengths = self._strengths(contexts) if strength is None else np.asarray([strength])
        if "autocorrelation" not in given:
            yield self._chain(contexts, [{"strength": float(s)} for s in strengths])
            return
        rho = given["autocorrelation"]
        for each in CHAIN_CORRELATIONS if rho is None else (rho,):
            pairs = [{"strength": float(s), "autocorrelation": each} for s in strengths]
            yield self._chain(contexts, pairs)

    def _chain(self, contexts: Contexts, candidates: list[Params]) -> TextChain:
        start: TextMode | None = None
        for params in candidates:
            result = self.fit(contexts, params, start=start, tuning=True)
            assert isinstance(result.fit, ModeTextFit)  # noqa: S101 (never the learned prior)
            start = result.fit.mode
            yield params, result

    def _strengths(self, contexts: Contexts) -> FloatArray:
        if self.kind.penalty == "ridge":
            return CHAIN_STRENGTHS if self.kind.rows == "ts" else RIDGE_STRENGTHS
        # At zero expected counts are rank one, and centred effects are orthogonal to them.
        totals, effects = contexts.totals, contexts.effects
        mean = np.asarray(totals @ effects).ravel() / totals.sum()
        words = np.asarray(contexts.counts.sum(axis=0)).ravel()
        gradient = to_dense(contexts.counts.T @ effects) - np.outer(words, mean)
        return np.asarray(LASSO_STRENGTHS * max(float(np.abs(gradient).max()), 1e-12))


def next_log_likelihood(result: TextResult, docs: Documents) -> FloatArray:
    """(n_docs,) of documents of the step after the last: the last coefficients are held."""
    last = result.fit.step(result.fit.n_timesteps - 1, forecast=False)
    return last.log_likelihoods(docs.counts, docs.effects)
