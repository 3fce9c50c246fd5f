"""Penalised weighted least squares, the inner problem of every baseline.

Free columns (intercept, always-in) are taken out exactly, by Frisch and Waugh: with U an
orthonormal basis of sqrt(w) Z, the penalised coefficients of

    minimise 1/2 |sqrt(w) (y - X beta - Z gamma)|^2 + penalty(beta)

are those of the same problem without Z after both y and X are projected on the complement of U.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, cg

from driftglm._typing import FloatArray
from driftglm.baselines.gram import column_products, row_products, scaled_rows
from driftglm.baselines.krylov import ShiftedSystems
from driftglm.baselines.problem import Problem, Solution, Squares

SMALL = 600
"""Systems up to this size are factorised at once."""
DIRECT = 4000
"""Those up to this size are factorised where iterations take too long."""
MOST_VECTORS, MOST_PRODUCTS = 400, 300
"""Of a Krylov space, and of conjugate gradients, before a system is factorised."""
N_CONJUGATE = 2000
RANK = 1e-10


class Quadratic:
    """Least squares, to be solved for several strengths; here of the free columns alone.

    Weights are multiplied in, and free columns can be projected out.

    Parameters
    ----------
    problem
        Whose columns they are.
    squares
        Target and weights of the squares.
    many
        Whether several strengths will be asked for.
    """

    def __init__(self, problem: Problem, squares: Squares, *, many: bool = False) -> None:
        self.problem, self.squares, self.many = problem, squares, many
        target, weights = squares
        self.root = np.sqrt(weights)
        X: Any = scaled_rows(problem.X, self.root)
        self.X: Any = X
        self.free = problem.free * self.root[:, None]
        self.target = target * self.root
        vectors, singular, across = scipy.linalg.svd(self.free, full_matrices=False)
        # Collinear free columns (an always-in constant, say) span no more than one of them.
        kept = singular > RANK * singular.max(initial=0.0)
        self.basis = vectors[:, kept]
        self.explained = np.asarray(self.basis.T @ X)
        self._from_basis = across[kept].T / singular[kept]
        self._target_within = self.basis.T @ self.target

    def project(self, rows: FloatArray) -> FloatArray:
        """What the free columns cannot explain of (n_rows,) or (n_rows, k)."""
        return np.asarray(rows - self.basis @ (self.basis.T @ rows))

    def free_coefficients(self, beta: FloatArray) -> FloatArray:
        """The best coefficients of the free columns given the others."""
        return np.asarray(self._from_basis @ (self._target_within - self.explained @ beta))

    def solve(self, strength: float, start: Solution, tol: float) -> Solution:
        """Coefficients at a strength; `start` may speed it up and never changes the answer."""
        del strength, tol  # as under an infinite penalty
        beta = np.zeros_like(start.beta)
        return Solution(beta, self.free_coefficients(beta))

    @staticmethod
    def penalty(beta: FloatArray, strength: float) -> float:
        """What is added to the loss."""
        del beta, strength
        return 0.0


class RidgeQuadratic(Quadratic):
    """1/2 |residual|^2 + strength / 2 |beta|^2.

    Small systems: the smaller of the two normal equations, by one eigendecomposition for `many`
    strengths or one Cholesky factorisation for a single one. Larger ones: products with X alone,
    for many strengths in one Krylov space, for a single one by conjugate gradients from the start;
    where these take long, a factorisation after all.
    """

    def __init__(self, problem: Problem, squares: Squares, *, many: bool = False) -> None:
        super().__init__(problem, squares, many=many)
        n_rows, n_features = self.X.shape
        self.dual, self.size = n_rows < n_features, min(n_rows, n_features)
        self.eigen: tuple[FloatArray, FloatArray] | None = None
        self.matrix: FloatArray | None = None
        self.y = self.project(self.target)
        self.right = np.asarray(self.y @ self.X)
        self.space = ShiftedSystems(self._product, self.right) if many else None

    @staticmethod
    def penalty(beta: FloatArray, strength: float) -> float:
        """strength / 2 |beta|^2."""
        return 0.5 * strength * float(beta @ beta)

    def solve(self, strength: float, start: Solution, tol: float) -> Solution:
        """The unique minimum."""
        beta, converged = None, True
        if self.size > SMALL and self.matrix is None:
            beta = self._iterate(strength, start, tol)
        if beta is None and self.size <= DIRECT:
            beta = self._direct(strength)
        if beta is None:
            beta, converged = self._conjugate(strength, start.beta, tol, N_CONJUGATE)
        return Solution(beta, self.free_coefficients(beta), converged)

    def _product(self, beta: FloatArray) -> FloatArray:
        """X'X beta net of the free columns."""
        inner = self.explained.T @ (self.explained @ beta)
        return np.asarray((self.X @ beta) @ self.X - inner)

    def _iterate(self, strength: float, start: Solution, tol: float) -> FloatArray | None:
        """By products with X; None if that takes too many."""
        if self.space is not None:
            return self.space.solve(strength, 0.1 * tol, MOST_VECTORS)
        beta, converged = self._conjugate(strength, start.beta, tol, MOST_PRODUCTS)
        return beta if converged else None

    def _conjugate(
        self, strength: float, start: FloatArray, tol: float, most: int
    ) -> tuple[FloatArray, bool]:
        def product(beta: FloatArray) -> FloatArray:
            return self._product(beta) + strength * beta

        operator = LinearOperator((start.size, start.size), matvec=product, dtype=np.float64)
        beta, failed = cg(operator, self.right, x0=start, rtol=0.1 * tol, maxiter=most)
        return np.asarray(beta), failed == 0

    def _direct(self, strength: float) -> FloatArray:
        if self.matrix is None:
            self.matrix = self._normal_matrix()
        right = self.y if self.dual else self.right
        if not self.many:
            shifted = self.matrix + strength * np.eye(self.size)
            inner = np.asarray(scipy.linalg.solve(shifted, right, assume_a="pos"))
        else:
            if self.eigen is None:
                self.eigen = scipy.linalg.eigh(self.matrix)
            values, vectors = self.eigen
            # Rounding may leave tiny negative eigenvalues, which a weak strength would magnify.
            inner = vectors @ ((vectors.T @ right) / (np.maximum(values, 0.0) + strength))
        # The rounding errors of a projection are the free columns' again: project once more.
        return np.asarray(self.project(inner) @ self.X) if self.dual else np.asarray(inner)

    def _normal_matrix(self) -> FloatArray:
        """The smaller of X X' and X'X, without what the free columns explain."""
        if self.dual:
            return self.project(self.project(row_products(self.X)).T)
        return np.asarray(column_products(self.X) - self.explained.T @ self.explained)
