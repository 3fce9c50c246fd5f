"""A fitted text model without its data: coefficients of every step, and of those after the last."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_softmax

from driftglm._typing import FloatArray, Matrix
from driftglm.data.matrices import squares
from driftglm.solvers.text_learned import TextPosterior
from driftglm.solvers.text_mode import TextMode

N_ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class Uncertainty:
    """What is not known about the words' log rates in a step.

    With variances v_iw and effects measured from c_i, the log rate of word w has the variance
    `constant_w` + sum_i (`linear_iw` f_i + `square_iw` f_i^2).
    """

    constant: FloatArray
    linear: FloatArray
    square: FloatArray

    @classmethod
    def of(cls, variance: FloatArray, center: FloatArray, n_effects: int) -> Uncertainty:
        """From variances (F', V) and centers (F',), of which the first `n_effects` are given."""
        known = variance[:n_effects]
        linear = -2.0 * center[:n_effects, None] * known
        return cls(np.einsum("i,iw->w", center**2, variance), linear, known)

    def half(self, effects: Matrix) -> FloatArray:
        """(n, V) half the variance of every log rate."""
        found = np.asarray(effects @ self.linear) + np.asarray(squares(effects) @ self.square)
        return np.asarray(0.5 * np.maximum(found + self.constant, 0.0))


class WordProbabilities:
    """What can be said of documents once their words have probabilities."""

    @abstractmethod
    def log_probabilities(self, effects: Matrix) -> Iterator[tuple[slice, FloatArray]]:
        """Rows and their (n, V) log probabilities, a few hundred rows at a time."""

    def log_likelihoods(self, counts: Matrix, effects: Matrix) -> FloatArray:
        """(n_docs,) log-likelihood of documents."""
        out = np.zeros(effects.shape[0])
        for part, found in self.log_probabilities(effects):
            out[part] = np.asarray(counts[part].multiply(found).sum(axis=1)).ravel()
        return out


@dataclass(frozen=True)
class TextStep(WordProbabilities):
    """The model of one step.

    Parameters
    ----------
    background
        (V,) log rates of a document whose effects are all zero, up to a constant.
    coef
        (F, V)
    uncertainty
        Of a forecast: what is not known, and is integrated out.
    """

    background: FloatArray
    coef: FloatArray
    uncertainty: Uncertainty | None = None

    def log_probabilities(self, effects: Matrix) -> Iterator[tuple[slice, FloatArray]]:
        """Rows and their (n, V) log probabilities, a few hundred rows at a time."""
        for start in range(0, effects.shape[0], N_ROWS_AT_ONCE):
            part = slice(start, start + N_ROWS_AT_ONCE)
            eta = np.asarray(effects[part] @ self.coef) + self.background
            if self.uncertainty is not None:
                # E[exp(eta)]: of two words with equal means the less certain is expected more.
                eta += self.uncertainty.half(effects[part])
            yield part, log_softmax(eta, axis=1)


@dataclass(frozen=True)
class TextFit:
    """Common part of both kinds of fit.

    A path of the background's own, if there is one, is the last of the F' paths: that of an effect
    which is 0 for all documents and measured from -1.

    Parameters
    ----------
    base
        (T, V) background before its drift and the effects' means are taken into account.
    center
        (T, F') what is taken off every effect.
    unit
        (F',) what effects were divided by inside the fit.
    n_effects
        F, the number of effects given.
    """

    base: FloatArray
    center: FloatArray
    unit: FloatArray
    n_effects: int

    posterior_known: ClassVar[bool] = False
    """Whether coefficients are uncertain."""

    def std_path(self) -> FloatArray | None:
        """(T, F, V) posterior standard deviations; None for a mode."""
        return None

    @property
    def n_timesteps(self) -> int:
        """Number of training steps."""
        return int(self.base.shape[0])

    @abstractmethod
    def _paths(self) -> FloatArray:
        """(V, F', T) in the units of the fit."""

    @abstractmethod
    def _ahead(self, n_steps: int) -> tuple[FloatArray, FloatArray | None]:
        """(V, F') forecast and its variance, in the units of the fit."""

    @abstractmethod
    def _inclusion(self) -> FloatArray:
        """(V, F') probability of not being zero."""

    def inclusion(self) -> FloatArray:
        """(F, V) probability of not being zero."""
        return np.ascontiguousarray(self._inclusion()[:, : self.n_effects].T)

    def coef_path(self) -> FloatArray:
        """(T, F, V) in the user's units."""
        paths = self._paths()[:, : self.n_effects].transpose(2, 1, 0)
        return np.asarray(np.ascontiguousarray(paths) / self.unit[: self.n_effects, None])

    def background(self) -> FloatArray:
        """(T, V) log rates, up to a constant, of a document whose effects are all zero."""
        taken = np.einsum("ti,wit->tw", self.center / self.unit, self._paths())
        return np.asarray(self.base - taken)

    def step(self, code: int, *, forecast: bool, base: FloatArray | None = None) -> TextStep:
        """The model of a step, which may lie after the last; `base` (V,) is for its own."""
        last = self.n_timesteps - 1
        if code > last and forecast:
            coef, variance = self._ahead(code - last)
        else:
            coef, variance = self._paths()[:, :, min(code, last)], None
        coef, center = (coef / self.unit).T, self.center[min(code, last)]
        own = self.base[min(code, last)] if base is None else base
        background = own - np.einsum("i,iw->w", center, coef)
        if variance is None:
            return TextStep(background, coef[: self.n_effects])
        uncertainty = Uncertainty.of((variance / self.unit**2).T, center, self.n_effects)
        return TextStep(background, coef[: self.n_effects], uncertainty)


@dataclass(frozen=True)
class PosteriorTextFit(TextFit):
    """Posteriors under the learned prior."""

    posterior_known: ClassVar[bool] = True
    posterior: TextPosterior
    n_jobs: int | None = None

    def _paths(self) -> FloatArray:
        return self.posterior.mean

    def _ahead(self, n_steps: int) -> tuple[FloatArray, FloatArray | None]:
        mean, variance = self.posterior.ahead(n_steps, self.n_jobs)
        return mean, variance

    def _inclusion(self) -> FloatArray:
        """As far as a path's data could tell it from zero."""
        return self.posterior.inclusion()

    def std_path(self) -> FloatArray | None:
        """(T, F, V) posterior standard deviations."""
        variance = self.posterior.variance[:, : self.n_effects].transpose(2, 1, 0)
        return np.asarray(np.sqrt(variance) / self.unit[: self.n_effects, None])


@dataclass(frozen=True)
class ModeTextFit(TextFit):
    """A mode: no uncertainty."""

    mode: TextMode

    def _paths(self) -> FloatArray:
        return self.mode.beta

    def _ahead(self, n_steps: int) -> tuple[FloatArray, FloatArray | None]:
        """The chain's mean reversion, E[rho]^n; a lasso has no chain and holds."""
        last = self.mode.beta[:, :, -1]
        if not self.mode.mean_rho.size:
            return last, None
        return np.asarray(last * self.mode.mean_rho**n_steps), None

    def _inclusion(self) -> FloatArray:
        """0 or 1: whether a path is exactly zero."""
        return np.asarray(self.mode.beta.any(axis=2), dtype=np.float64)
