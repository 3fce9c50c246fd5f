"""A fitted text model without its data: coefficients of every step, and of those after the last."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_softmax

from driftglm._typing import FloatArray
from driftglm.solvers.text_learned import TextPosterior
from driftglm.solvers.text_mode import TextMode

N_ROWS_AT_ONCE = 512


def log_probabilities(
    base: FloatArray, coef: FloatArray, effects: Any
) -> Iterator[tuple[slice, FloatArray]]:
    """Rows and their (n, V) log probabilities, a few hundred rows at a time."""
    for start in range(0, effects.shape[0], N_ROWS_AT_ONCE):
        part = slice(start, start + N_ROWS_AT_ONCE)
        yield part, log_softmax(np.asarray(effects[part] @ coef) + base, axis=1)


def log_likelihoods(base: FloatArray, coef: FloatArray, counts: Any, effects: Any) -> FloatArray:
    """(n_docs,) log-likelihood of documents of one step."""
    out = np.zeros(effects.shape[0])
    for part, found in log_probabilities(base, coef, effects):
        out[part] = np.asarray(counts[part].multiply(found).sum(axis=1)).ravel()
    return out


@dataclass(frozen=True)
class TextFit:
    """Common part of both kinds of fit.

    Parameters
    ----------
    base
        (T, V) background before the effects' means are accounted for.
    center
        (T, F) what is taken off every effect.
    unit
        (F,) what effects were divided by inside the fit.
    """

    base: FloatArray
    center: FloatArray
    unit: FloatArray

    @property
    def n_timesteps(self) -> int:
        """Number of training steps."""
        return int(self.base.shape[0])

    @abstractmethod
    def _paths(self) -> FloatArray:
        """(V, F, T) in the units of the fit."""

    @abstractmethod
    def _ahead(self, n_steps: int) -> FloatArray:
        """(V, F) forecast, in the units of the fit."""

    @abstractmethod
    def inclusion(self) -> FloatArray:
        """(F, V) probability of not being zero."""

    def coef_path(self) -> FloatArray:
        """(T, F, V) in the user's units."""
        paths = np.ascontiguousarray(self._paths().transpose(2, 1, 0))
        return np.asarray(paths / self.unit[:, None])

    def background(self) -> FloatArray:
        """(T, V) log rates, up to a constant, of a document whose effects are all zero."""
        return np.asarray(self.base - np.einsum("ti,tiw->tw", self.center, self.coef_path()))

    def step(self, code: int, *, forecast: bool) -> tuple[FloatArray, FloatArray]:
        """Background (V,) and coefficients (F, V) of a step, which may lie after the last."""
        last = self.n_timesteps - 1
        if code > last and forecast:
            coef = (self._ahead(code - last) / self.unit).T
        else:
            coef = self._paths()[:, :, min(code, last)].T / self.unit[:, None]
        at = min(code, last)
        return self.base[at] - np.einsum("i,iw->w", self.center[at], coef), coef


@dataclass(frozen=True)
class PosteriorTextFit(TextFit):
    """Posteriors under the learned prior."""

    posterior: TextPosterior
    n_jobs: int | None = None

    def _paths(self) -> FloatArray:
        return self.posterior.mean

    def _ahead(self, n_steps: int) -> FloatArray:
        return self.posterior.ahead(n_steps, self.n_jobs)

    def inclusion(self) -> FloatArray:
        """As far as a path's data could tell it from zero."""
        return np.ascontiguousarray(self.posterior.inclusion().T)

    def std_path(self) -> FloatArray:
        """(T, F, V) posterior standard deviations."""
        deviation = np.sqrt(self.posterior.variance.transpose(2, 1, 0))
        return np.asarray(deviation / self.unit[:, None])


@dataclass(frozen=True)
class ModeTextFit(TextFit):
    """A mode: no uncertainty."""

    mode: TextMode

    def _paths(self) -> FloatArray:
        return self.mode.beta

    def _ahead(self, n_steps: int) -> FloatArray:
        """The chain's mean reversion, E[rho]^n; a lasso has no chain and holds."""
        last = self.mode.beta[:, :, -1]
        if not self.mode.mean_rho.size:
            return last
        return np.asarray(last * self.mode.mean_rho**n_steps)

    def inclusion(self) -> FloatArray:
        """0 or 1: whether a path is exactly zero."""
        return np.asarray(self.mode.beta.any(axis=2), dtype=np.float64).T.copy()
