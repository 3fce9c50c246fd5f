"""What every kind of feature adds to eta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftglm._typing import FloatArray, IntArray
from driftglm.data.kinds import Kinds
from driftglm.fitting.coefficients import Columns, SharedFit
from driftglm.objective import Problem, State


@dataclass(frozen=True)
class KindsFit:
    """Kinds of features and how much of eta each is, over the training rows.

    A kind's part of eta is the sum of its columns, less their centers, times their coefficients,
    what they have of the shared directions included.

    Parameters
    ----------
    names, codes
        As those of `Kinds`: what they are called, and (n_features,) which a column belongs to.
    size
        (n_kinds,) root mean square of the part about its mean.
    share
        (n_kinds,) its covariance with eta over the variance of eta, offsets left out. With the
        intercept's the shares add up to one; one that works against the others is negative.
    """

    names: tuple[str, ...]
    codes: IntArray
    size: FloatArray
    share: FloatArray

    @classmethod
    def of(cls, problem: Problem, state: State, columns: Columns, kinds: Kinds) -> KindsFit:
        """Taken from where a solver ended: one product with X a kind."""
        weights = problem.weights / problem.weights.sum()
        first, always_in = int(columns.has_intercept), columns.always_in
        paths = state.beta + SharedFit.of(problem, state).mean[:, None]
        levels = [
            column * problem.design.to_rows(mean)
            for column, mean in zip(problem.intercepts.columns, state.intercept_mean, strict=True)
        ]
        parts = []
        for code in range(len(kinds.names)):
            members = kinds.codes == code
            part = problem.design.eta(paths * members[~always_in, None])
            for j in np.flatnonzero(members[always_in]):
                part = part + levels[first + j]
            parts.append(part - weights @ part)
        whole = np.sum(parts, axis=0)
        if first:
            whole = whole + levels[0] - weights @ levels[0]
        variance = float(weights @ whole**2)
        together = np.array([weights @ (part * whole) for part in parts])
        size = np.sqrt([weights @ part**2 for part in parts])
        return cls(
            kinds.names, kinds.codes, size, together / variance if variance > 0 else 0.0 * size
        )
