"""Several responses fitted to one design: what ties them together.

Responses (the classes of a softmax, the words of a text) are separate Poisson regressions once
every row has a free log-rate mu_n in their common offset. Given mu they do not interact; given
them mu has a closed form, and at that value the Poisson objective is the multinomial one up to a
constant:

    max over mu of  sum_nk [y_nk (eta_nk + mu_n) - exp(eta_nk + mu_n)]
        = sum_nk y_nk log softmax(eta_n)_k + sum_n N_n (log N_n - 1),   N_n = sum_k y_nk.

So raising each response's objective in turn and refreshing mu raises the multinomial objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import xlogy

from driftglm._typing import FloatArray
from driftglm.objective import State


class Coupling(Protocol):
    """What happens between passes over the responses."""

    @property
    def constant(self) -> float:
        """Added to the sum of the responses' objectives."""

    def settle(self, states: Sequence[State]) -> None:
        """Bring the common part of every response in step; the joint objective must not fall."""

    def arrays(self) -> tuple[FloatArray, ...]:
        """What `settle` changes beside the states."""


@dataclass(frozen=True)
class Uncoupled:
    """A single response: nothing to do."""

    constant: float = 0.0

    def settle(self, states: Sequence[State]) -> None:
        """Nothing."""

    def arrays(self) -> tuple[FloatArray, ...]:
        """Nothing."""
        return ()


@dataclass(frozen=True)
class Softmax:
    """Rows share a log-rate so that expected counts add up to the counts seen.

    Parameters
    ----------
    offsets
        The responses' offsets (n_rows,), changed in place.
    totals, weights
        (n_rows,) N_n and the rows' weights.
    tilts
        The responses' tilts (n_rows,) (see `driftglm.families.multinomial`), changed in place;
        none: Jensen's bound.
    """

    offsets: tuple[FloatArray, ...]
    totals: FloatArray
    weights: FloatArray
    tilts: tuple[FloatArray, ...] = ()

    @property
    def constant(self) -> float:
        """Turns the sum of Poisson objectives into log softmax."""
        return float(np.sum(self.weights * (self.totals - xlogy(self.totals, self.totals))))

    def settle(self, states: Sequence[State]) -> None:
        """mu_n = log N_n - log sum_k E[exp(eta_nk)], the expectation tilted."""
        log_total, rates = _log_total(states, self.tilts or [np.zeros(1)] * len(states))
        if self.tilts:
            log_total = self._tilt(states, log_total, rates)
        change = np.log(self.totals) - log_total
        for state in states:
            state.eta += change
            state.log_likelihood = None
        for offset in self.offsets:
            np.add(offset, change, out=offset)

    def arrays(self) -> tuple[FloatArray, ...]:
        """Offsets and tilts."""
        return self.offsets + self.tilts

    def _tilt(
        self, states: Sequence[State], log_total: FloatArray, rates: list[FloatArray]
    ) -> FloatArray:
        """Move the tilts to the shares, row by row where that tightens the bound."""
        shares = [np.exp(rate - log_total) for rate in rates]
        new_total, _ = _log_total(states, shares)
        old, new = log_total.copy(), new_total.copy()
        for state, tilt, share in zip(states, self.tilts, shares, strict=True):
            old += 0.5 * tilt**2 * state.eta_variance
            new += 0.5 * share**2 * state.eta_variance
        better = new < old
        for tilt, share in zip(self.tilts, shares, strict=True):
            tilt[better] = share[better]
        return np.where(better, new_total, log_total)


def _log_total(
    states: Sequence[State], tilts: Sequence[FloatArray]
) -> tuple[FloatArray, list[FloatArray]]:
    """log sum_k of the tilted expectations, and their logarithms."""
    pairs = zip(states, tilts, strict=True)
    rates = [state.eta + (0.5 - tilt) * state.eta_variance for state, tilt in pairs]
    top = np.max(rates, axis=0)
    return top + np.log(sum(np.exp(rate - top) for rate in rates)), rates
