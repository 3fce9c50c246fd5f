"""Ridge regressions of many strengths from one growing Krylov space.

The spaces span(b, A b, A^2 b, ...) of A and of A + strength I are the same. So one set of Lanczos
vectors Q, with Q' A Q = T tridiagonal, serves every strength: the coefficients are Q y with
(T + strength I) y = |b| e_1. A strong penalty needs few vectors, a weaker one adds to them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from driftglm._typing import FloatArray

CHECK_EVERY = 4
EXHAUSTED = 1e-13
"""What is left of a vector, relative to the matrix, where the space holds the solution exactly."""


class ShiftedSystems:
    """(A + strength I) x = right for any strength, A symmetric and not negative.

    Parameters
    ----------
    product
        x -> A x.
    right
        (n,), the right-hand side.
    """

    def __init__(self, product: Callable[[FloatArray], FloatArray], right: FloatArray) -> None:
        self.product = product
        self.length = float(np.linalg.norm(right))
        self.vectors = np.empty((32, right.size))
        self.diagonal: list[float] = []
        self.beside: list[float] = []
        self.done = self.length == 0.0
        if not self.done:
            self.vectors[0] = right / self.length

    def solve(self, strength: float, tol: float, most: int) -> FloatArray | None:
        """Solution with a residual of at most tol |right|; None if `most` vectors do not do."""
        if self.length == 0.0:
            return np.zeros(self.vectors.shape[1])
        while True:
            if self.diagonal:
                within, residual = self._within(strength)
                if self.done or residual <= tol * self.length:
                    return np.asarray(within @ self.vectors[: within.size])
            if len(self.diagonal) >= most:
                return None
            for _ in range(CHECK_EVERY):
                self._extend()

    def _within(self, strength: float) -> tuple[FloatArray, float]:
        """Coordinates of the solution in the space, and the length of its residual."""
        size = len(self.diagonal)
        bands = np.zeros((2, size))
        bands[0] = np.asarray(self.diagonal) + strength
        bands[1, :-1] = self.beside[: size - 1]
        first = np.zeros(size)
        first[0] = self.length
        within = scipy.linalg.solveh_banded(bands, first, lower=True, check_finite=False)
        return within, abs(float(within[-1])) * self.beside[size - 1]

    def _extend(self) -> None:
        """One more vector, orthogonal to all before."""
        if self.done:
            return
        k = len(self.diagonal)
        if k + 1 >= len(self.vectors):
            self.vectors = np.vstack([self.vectors, np.empty_like(self.vectors)])
        known = self.vectors[: k + 1]
        new = self.product(known[k])
        self.diagonal.append(float(known[k] @ new))
        # Twice is enough: without it rounding errors bring found directions back.
        for _ in range(2):
            new = new - known.T @ (known @ new)
        left = float(np.linalg.norm(new))
        self.beside.append(left)
        self.done = left <= EXHAUSTED * max(self.diagonal) or k + 1 == new.size
        if not self.done:
            self.vectors[k + 1] = new / left
