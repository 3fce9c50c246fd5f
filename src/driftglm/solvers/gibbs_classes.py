"""Draws for several classes: one chain a class, taken in turn.

Given the other classes a class is logistic, measured from the logarithm of what their exponentials
add up to (Held and Holmes 2006). What all classes have in common is in no likelihood: constant
parts without a prior, those of intercepts and always-in columns, are kept from wandering off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from driftglm._typing import FloatArray
from driftglm.solvers.gibbs import Chain


@dataclass
class ClassChains:
    """The chains of all classes of a response, which share a generator of random numbers."""

    chains: Sequence[Chain]
    _common: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self._common = np.mean([chain.fit.intercept_mean for chain in self.chains], axis=(0, 2))
        laws = [chain.law for chain in self.chains]
        if len(laws) < 2 or not laws[0][1].size:  # noqa: PLR2004
            return
        # Features of all classes share the weights, whose prior the first class has.
        counts = np.sum([law[1] for law in laws], axis=0)
        with np.errstate(divide="ignore"):
            log_counts = np.log(counts)
        for chain, law in zip(self.chains, laws, strict=True):
            chain.law = law[0], counts, log_counts, *law[3:]

    def sweep(self, sums: Sequence[FloatArray]) -> None:
        """Draw everything once, class by class."""
        for j, chain in enumerate(self.chains):
            if len(self.chains) > 1:
                others = [other.state.eta for i, other in enumerate(self.chains) if i != j]
                chain.rest = np.asarray(logsumexp(others, axis=0))
            chain.sweep(sums[j])
        if len(self.chains) > 1:
            self._settle()

    def _levels(self) -> FloatArray:
        """(L,) mean level of every intercept over the classes."""
        paths = [chain.state.intercepts for chain in self.chains]
        return np.asarray(np.mean(paths, axis=(0, 2)))

    def _settle(self) -> None:
        """Bring levels back to where they were in the mean; no probability of a class changes."""
        moved = self._levels() - self._common
        for chain in self.chains:
            state, some = chain.state, chain.bound.intercepts
            state.intercepts = state.intercepts - moved[:, None]
            state.levels = state.levels - moved
            state.eta -= moved @ some.columns
