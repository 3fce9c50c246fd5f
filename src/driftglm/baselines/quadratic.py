"""Penalised weighted least squares, the inner problem of every baseline.

Free columns (intercept, always-in) are taken out exactly, by Frisch and Waugh: with U an
orthonormal basis of sqrt(w) Z, the penalised coefficients of

    minimise 1/2 |sqrt(w) (y - X beta - Z gamma)|^2 + penalty(beta)

are those of the same problem without Z after both y and X are projected on the complement of U.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.linear_model import Lasso

from driftglm._typing import FloatArray, Matrix
from driftglm.baselines.columns import is_sparse, to_dense
from driftglm.baselines.gram import row_products, scaled_rows
from driftglm.baselines.problem import Problem, Solution, Squares
from driftglm.baselines.strength import sklearn_penalty

DIRECT = 4000
"""Systems up to this size are factorised; larger ones are solved by conjugate gradients."""
DENSE_LIMIT = 50_000_000
"""Largest matrix (in numbers) that may be made dense to project free columns out of it."""
N_ALTERNATIONS = 500
RANK = 1e-10
MANY_COLUMNS = 500
"""From so many columns on a lasso descends along those that can matter alone."""


Data = tuple[Matrix, FloatArray, FloatArray | None]
"""Columns, target and weights as scikit-learn takes them."""


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
        self.X: Any = scaled_rows(problem.X, self.root)
        self.free = problem.free * self.root[:, None]
        self.target = target * self.root
        vectors, singular, _ = scipy.linalg.svd(self.free, full_matrices=False)
        # Collinear free columns (an always-in constant, say) span no more than one of them.
        self.basis = vectors[:, singular > RANK * singular.max(initial=0.0)]

    def project(self, rows: FloatArray) -> FloatArray:
        """What the free columns cannot explain of (n_rows,) or (n_rows, k)."""
        return np.asarray(rows - self.basis @ (self.basis.T @ rows))

    def free_coefficients(self, beta: FloatArray) -> FloatArray:
        """The best coefficients of the free columns given the others."""
        if self.free.shape[1] == 0:
            return np.zeros(0)
        return np.asarray(scipy.linalg.lstsq(self.free, self.target - self.X @ beta, cond=RANK)[0])

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
    """1/2 |residual|^2 + strength / 2 |beta|^2, by the smaller of the two normal equations.

    With `many`, one eigendecomposition serves all strengths; else each has its own Cholesky
    factorisation, which is an order of magnitude cheaper for a single one.
    """

    def __init__(self, problem: Problem, squares: Squares, *, many: bool = False) -> None:
        super().__init__(problem, squares, many=many)
        n_rows, n_features = self.X.shape
        self.dual = n_rows < n_features
        self.eigen: tuple[FloatArray, FloatArray] | None = None
        self.matrix: FloatArray | None = None
        y = self.project(self.target)
        if min(n_rows, n_features) > DIRECT:
            self.right = np.asarray(y @ self.X)
        elif self.dual:
            # Projected from both sides: X X' without what the free columns explain.
            self.matrix, self.right = self.project(self.project(row_products(self.X)).T), y
        else:
            gram = row_products(self.X.T.tocsr() if is_sparse(self.X) else self.X.T)
            explained = np.asarray(self.basis.T @ self.X)
            self.matrix = np.asarray(gram - explained.T @ explained)
            self.right = np.asarray(y @ self.X)

    @staticmethod
    def penalty(beta: FloatArray, strength: float) -> float:
        """strength / 2 |beta|^2."""
        return 0.5 * strength * float(beta @ beta)

    def solve(self, strength: float, start: Solution, tol: float) -> Solution:
        """The unique minimum."""
        if self.matrix is None:
            return self._iterate(strength, start, tol)
        inner = self._direct(self.matrix, strength)
        # The rounding errors of a projection are the free columns' again: project once more.
        beta = np.asarray(self.project(inner) @ self.X) if self.dual else inner
        return Solution(beta, self.free_coefficients(beta))

    def _direct(self, matrix: FloatArray, strength: float) -> FloatArray:
        if not self.many:
            shifted = matrix + strength * np.eye(matrix.shape[0])
            return np.asarray(scipy.linalg.solve(shifted, self.right, assume_a="pos"))
        if self.eigen is None:
            self.eigen = scipy.linalg.eigh(matrix)
        values, vectors = self.eigen
        # Rounding may leave tiny negative eigenvalues, which a weak strength would magnify.
        shrunk = (vectors.T @ self.right) / (np.maximum(values, 0.0) + strength)
        return np.asarray(vectors @ shrunk)

    def _iterate(self, strength: float, start: Solution, tol: float) -> Solution:
        n_features = self.X.shape[1]

        def product(beta: FloatArray) -> FloatArray:
            return np.asarray(self.project(self.X @ beta) @ self.X + strength * beta)

        operator = LinearOperator((n_features, n_features), matvec=product, dtype=np.float64)
        beta, failed = cg(operator, self.right, x0=start.beta, rtol=0.1 * tol, maxiter=2000)
        return Solution(beta, self.free_coefficients(beta), converged=failed == 0)


class LassoQuadratic(Quadratic):
    """1/2 |residual|^2 + strength |beta|_1, by scikit-learn's coordinate descent."""

    def __init__(self, problem: Problem, squares: Squares, *, many: bool = False) -> None:
        X = problem.X
        # By columns, as coordinate descent goes through them; else every fit would convert.
        problem = replace(problem, X=X.tocsc()) if is_sparse(X) else problem
        super().__init__(problem, squares, many=many)
        others = problem.free.shape[1] > int(problem.intercept)
        too_large = bool(is_sparse(X) and np.prod(X.shape) > DENSE_LIMIT)
        self.projecting, self.alternating = others and not too_large, others and too_large
        # An intercept alone is centred by scikit-learn itself, which keeps a sparse X sparse.
        self.centering = problem.intercept and not self.projecting
        if self.projecting:
            self.complement = np.asfortranarray(self.project(to_dense(self.X)))
        self.model = Lasso(warm_start=True, fit_intercept=self.centering)

    @staticmethod
    def penalty(beta: FloatArray, strength: float) -> float:
        """strength |beta|_1."""
        return strength * float(np.abs(beta).sum())

    def solve(self, strength: float, start: Solution, tol: float) -> Solution:
        """A minimum (the fitted values are unique, the coefficients nearly always)."""
        weight = float(self.squares[1].sum())
        alpha = sklearn_penalty("Lasso", strength, weight if self.centering else self.root.size)
        self.model.set_params(**alpha, tol=tol, max_iter=20_000)
        self.model.coef_ = start.beta.copy()
        if self.alternating:
            return self._alternate(start, tol)
        converged = self._descend(np.zeros(self.root.size))
        beta = np.asarray(self.model.coef_, dtype=np.float64).copy()
        return Solution(beta, self.free_coefficients(beta), converged)

    def _alternate(self, start: Solution, tol: float) -> Solution:
        """Lasso given the free columns, free columns given the lasso, until both stand still.

        Both also fit the intercept, so that they meet only where the other columns overlap.
        """
        beta, gamma = start.beta, self.free_coefficients(start.beta)
        size = float(np.linalg.norm(self.project(self.target)))
        for _ in range(N_ALTERNATIONS):
            others = gamma.copy()
            others[: int(self.centering)] = 0.0
            converged = self._descend(self.problem.free @ others)
            beta = np.asarray(self.model.coef_, dtype=np.float64).copy()
            old, gamma = gamma, self.free_coefficients(beta)
            if np.linalg.norm(self.free @ (gamma - old)) <= np.sqrt(tol) * 0.1 * size:
                return Solution(beta, gamma, converged)
        return Solution(beta, gamma, converged=False)

    def _descend(self, explained: FloatArray) -> bool:
        """Coordinate descent on the residual target; whether it reached its tolerance."""
        data: Data = self.X, self.target - self.root * explained, None
        if self.projecting:
            data = self.complement, self.project(self.target), None
        elif self.centering:
            target, weights = self.squares
            data = self.problem.X, target - explained, weights
        few_columns = self.X.shape[1] < MANY_COLUMNS
        return _fitted(self.model, *data) if few_columns else self._descend_on_some(*data)

    def _descend_on_some(self, X: Matrix, y: FloatArray, weights: FloatArray | None) -> bool:
        """Descend along some columns, add those whose gradient exceeds the penalty, repeat.

        The optimum is the same, at a fraction of the time where most coefficients are zero.
        """
        model, coef = self.model, np.asarray(self.model.coef_, dtype=np.float64)
        weigh = np.ones(y.size) if weights is None else weights
        limit = float(model.alpha * weigh.sum())
        chosen = coef != 0
        gradient = self._gradient(X[:, chosen] @ coef[chosen], X, y, weigh)
        chosen |= gradient > limit
        while True:
            converged = True
            if chosen.any():
                few = X[:, chosen]
                model.set_params(precompute=not is_sparse(X) and few.shape[1] < y.size)
                model.coef_ = coef[chosen]
                converged = _fitted(model, few, y, weights)
                coef = np.zeros(X.shape[1])
                coef[chosen] = model.coef_
                gradient = self._gradient(few @ model.coef_, X, y, weigh)
            missing = (gradient > limit * (1.0 + model.tol)) & ~chosen
            if not missing.any():
                model.coef_ = coef
                return converged
            # Not all at once: the steepest ones explain much of what the others would.
            most = np.sort(gradient[missing])[::-1][: max(10, int(chosen.sum()))]
            chosen |= missing & (gradient >= most[-1])

    def _gradient(
        self, eta: FloatArray, X: Matrix, y: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """(n_columns,) |slope| of the loss along every column, the intercept at its best."""
        columns: Any = X
        residual = y - eta
        if self.centering:
            residual = residual - np.average(residual, weights=weights)
        return np.asarray(np.abs((weights * residual) @ columns))


def _fitted(model: Lasso, X: Matrix, y: FloatArray, weights: FloatArray | None) -> bool:
    """Fit; whether the tolerance was reached."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SklearnConvergenceWarning)
        model.fit(X, y, sample_weight=weights)
    return not any(issubclass(w.category, SklearnConvergenceWarning) for w in caught)
