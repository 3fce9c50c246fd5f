"""Mixtures of forecasts, which averages, moving noise and uncertain predictors end in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from driftglm._typing import FloatArray
from driftglm.exceptions import DataError
from driftglm.predictive._ambiguity import ambiguity
from driftglm.predictive._checks import NUMBERS, Range
from driftglm.predictive._search import first_reaching, root
from driftglm.predictive.base import Distribution
from driftglm.predictive.bernoulli import Bernoulli
from driftglm.predictive.categorical import Categorical

_ROUNDING = 1e-6
_WEIGHTS = Range("numbers from 0 on", low=0.0)


@dataclass(frozen=True, eq=False)
class Mixture(Distribution):
    """A weighted average of distributions: each row is drawn from one part, chosen by weight.

    Parameters
    ----------
    parts
        Distributions of the same rows, all discrete or all continuous. A part with one row stands
        for all rows. A part that is a mixture is replaced by its own parts.
    weights
        (K,), or (n, K) if they differ between rows; of sum 1 (up to 1e-6, which is divided out).
        They are held as (n, K).

    Notes
    -----
    The CRPS is the weighted mean of those of the parts, less how much the parts disagree: the
    integral of sum_k weight_k (cdf_k - cdf)^2. For normal parts that has a closed form; else it is
    found by quadrature, to about 1e-9 of itself. For counts it is a sum over the range of the
    parts, after the first 256 counts an integral of smooth curves, to about 1e-8 (beta-binomial
    parts: 1e-6).

    Examples
    --------
    >>> from driftglm.predictive import Normal
    >>> Mixture((Normal(0.0, 1.0), Normal(4.0, 1.0)), [0.5, 0.5]).quantile(0.5).round(6)
    array([2.])
    """

    parts: tuple[Distribution, ...]
    weights: FloatArray

    def __post_init__(self) -> None:
        """Parts are checked, and mixtures among them opened."""
        parts = tuple(self.parts)
        if not parts:
            raise DataError("A mixture has no parts; at least one is needed.")
        n_rows = max(part.n_rows for part in parts)
        parts = tuple(
            part.take(np.zeros(n_rows, dtype=int)) if part.n_rows == 1 else part for part in parts
        )
        if (rows := {part.n_rows for part in parts}) != {n_rows}:
            raise DataError(f"Parts have {sorted(rows)} rows; all must have the same number, or 1.")
        if len({part.discrete for part in parts}) > 1:
            raise DataError("Some parts are discrete and some are not; a mixture needs one kind.")
        weights = _checked_weights(self.weights, n_rows, len(parts))
        flat: list[Distribution] = []
        shares: list[FloatArray] = []
        for part, weight in zip(parts, weights.T, strict=True):
            inner = part.parts if isinstance(part, Mixture) else (part,)
            own = part.weights if isinstance(part, Mixture) else np.ones((n_rows, 1))
            flat.extend(inner)
            shares.append(weight[:, None] * own)
        object.__setattr__(self, "parts", tuple(flat))
        object.__setattr__(self, "weights", np.concatenate(shares, axis=1))

    @property
    def discrete(self) -> bool:  # type: ignore[override]
        """Whether the parts are."""
        return self.parts[0].discrete

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.parts[0].n_rows

    @property
    def mean(self) -> FloatArray:
        """Weighted mean of the means."""
        return self._average([part.mean for part in self.parts])

    @property
    def variance(self) -> FloatArray:
        """Mean of the variances, and variance of the means."""
        mean = self.mean
        return self._average([part.variance + (part.mean - mean) ** 2 for part in self.parts])

    def collapsed(self) -> Distribution:
        """The one Bernoulli or Categorical that a mixture of such is; else the mixture itself."""
        tables = [part.probabilities for part in self.parts if isinstance(part, Categorical)]
        if len(tables) == len(self.parts) and len({table.shape for table in tables}) == 1:
            return Categorical(np.einsum("nk,knc->nc", self.weights, np.stack(tables)))
        if all(isinstance(part, Bernoulli) for part in self.parts):
            return Bernoulli(np.clip(self.mean, 0.0, 1.0))
        return self

    def pmf(self, y: ArrayLike) -> FloatArray:
        """Probability of y, if the parts are discrete."""
        if not self.discrete:
            raise DataError("The parts are continuous: y has a density, pdf, and no probability.")
        return self.pdf(y)

    def brier(self, y: ArrayLike) -> FloatArray:
        """Brier score, if the parts have one."""
        one = self.collapsed()
        if not isinstance(one, Bernoulli | Categorical):
            raise DataError("The parts are not all Bernoulli or all Categorical: no Brier score.")
        return one.brier(y)

    def take(self, rows: ArrayLike | slice) -> Self:
        """The distribution of some rows."""
        chosen = self._chosen(rows)
        parts = tuple(part.take(chosen) for part in self.parts)
        return type(self)(parts, self.weights[chosen])

    def _average(self, of_parts: Sequence[FloatArray]) -> FloatArray:
        """Weighted mean over parts; a part without weight may be infinite or NaN."""
        total = np.zeros(of_parts[0].shape)
        for values, weight in zip(of_parts, self.weights.T, strict=True):
            total += np.where(weight > 0, weight * np.where(weight > 0, values, 0.0), 0.0)
        return total

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self._average([part._cdf(y) for part in self.parts])  # noqa: SLF001

    def _log_prob(self, y: FloatArray) -> FloatArray:
        total = np.full(y.shape, -np.inf)
        for part, weight in zip(self.parts, self.weights.T, strict=True):
            some = np.where(weight > 0, part._log_prob(y), -np.inf)  # noqa: SLF001
            total = np.logaddexp(total, some + np.log(np.where(weight > 0, weight, 1.0)))
        return total

    def _quantile(self, levels: FloatArray) -> FloatArray:
        low = np.full((len(levels), self.n_rows), np.inf)
        high = -low
        for part, weight in zip(self.parts, self.weights.T, strict=True):
            own = part._quantile(levels)  # noqa: SLF001
            low = np.minimum(low, np.where(weight > 0, own, np.inf))
            high = np.maximum(high, np.where(weight > 0, own, -np.inf))
        if self.discrete:
            return first_reaching(self, levels, low, high, np.floor(0.5 * (low + high)))
        return root(self, levels, low, high)

    def _draws(self, n_draws: int, rng: np.random.Generator) -> FloatArray:
        steps = np.cumsum(self.weights, axis=1)[:, :-1]
        places = rng.uniform(size=(n_draws, self.n_rows))
        chosen = np.stack([(steps <= place[:, None]).sum(axis=1) for place in places])
        out = np.empty(chosen.shape)
        for k, part in enumerate(self.parts):
            draw, row = np.nonzero(chosen == k)
            if len(row):
                out[draw, row] = part.take(row)._draws(1, rng)[0]  # noqa: SLF001
        return out

    def _crps(self, y: FloatArray) -> FloatArray:
        each = self._average([part._crps(y) for part in self.parts])  # noqa: SLF001
        return each - ambiguity(self.parts, self.weights)


def _checked_weights(weights: ArrayLike, n_rows: int, n_parts: int) -> FloatArray:
    given = np.asarray(weights, dtype=np.float64)
    if given.shape not in {(n_parts,), (n_rows, n_parts)}:
        raise DataError(
            f"weights have shape {given.shape}; allowed are ({n_parts},) and "
            f"({n_rows}, {n_parts}), for {n_parts} parts of {n_rows} rows."
        )
    _WEIGHTS.check("weights", given)
    totals = given.sum(axis=-1, keepdims=True)
    if (np.abs(totals - 1.0) > _ROUNDING).any():
        raise DataError(f"weights sum to {totals.ravel()[:3]} (the first rows); allowed is 1.")
    return np.broadcast_to(given / totals, (n_rows, n_parts))


def over_normal(
    make: Callable[[FloatArray], Distribution],
    mean: ArrayLike,
    variance: ArrayLike,
    n_nodes: int = 21,
) -> Mixture:
    """The forecast when a predictor eta is uncertain: make(eta), averaged over eta.

    Parameters
    ----------
    make
        Turns eta, one number a row, into a distribution.
    mean, variance
        Of eta, which is normal. Rows with variance 0 are make(mean) exactly.
    n_nodes
        Number of values of eta that are tried, those of Gauss-Hermite quadrature; odd.

    Notes
    -----
    Moments and the log score are accurate with few nodes. The cdf is smooth only if neighbouring
    nodes make distributions that overlap: a count of a million with a variance of 1 in log(rate)
    needs another way (a Gamma of the rate, say), not more nodes.

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm.predictive import Poisson
    >>> over_normal(lambda eta: Poisson(np.exp(eta)), [1.0], [0.5]).mean.round(6)
    array([3.490343])
    """
    if n_nodes < 1 or n_nodes % 2 == 0:
        raise DataError(f"n_nodes is {n_nodes}; allowed are odd numbers from 1 on.")
    center, spread = np.broadcast_arrays(
        np.atleast_1d(np.asarray(mean, dtype=np.float64)),
        np.atleast_1d(np.asarray(variance, dtype=np.float64)),
    )
    NUMBERS.check("mean", center)
    Range("finite numbers from 0 on", low=0.0).check("variance", spread)
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    # The node in the middle is 0 up to rounding, and carries all where nothing is uncertain.
    nodes[n_nodes // 2] = 0.0
    alone = np.eye(n_nodes)[n_nodes // 2]
    shares = np.where(spread[:, None] > 0, weights / weights.sum(), alone)
    return Mixture(tuple(make(center + np.sqrt(spread) * node) for node in nodes), shares)
