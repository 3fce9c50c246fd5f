"""From validated rows to an Objective: which columns are paths, which are levels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from driftglm._jit import kernel
from driftglm._threads import each, ranges
from driftglm._typing import BoolArray, FloatArray, IntArray
from driftglm.data.checks import LARGEST, SMALLEST
from driftglm.design import ColumnDesign, Design, leading_directions
from driftglm.estimators.starts import Init, StartData, start_paths
from driftglm.exceptions import DataError, DataWarning
from driftglm.families import Family
from driftglm.objective import Levels

SHOWN = 5
COLUMNS_PER_DIRECTION, ROWS_PER_DIRECTION = 20, 10
ROUNDING = 1e-12


@dataclass(frozen=True)
class Rows:
    """Validated training rows and what each column is.

    Parameters
    ----------
    X
        (n_rows, n_features), dense or CSR.
    codes
        Step of every row, 0..n_timesteps - 1.
    family
        The distribution of y.
    exposure
        (n_rows,) the part of eta the user gave: the log of the exposure, or zeros.
    own
        (n_timesteps,) the share of a step's own mean in what is taken off a column there, the
        rest being the mean over all rows; None: 0.
    always_in, static
        Masks over the columns.
    intercept
        Whether a level path is fitted beside the features.
    threads
        How many may work on the design.
    """

    X: Any
    y: FloatArray
    codes: IntArray
    weights: FloatArray
    n_timesteps: int
    always_in: BoolArray
    static: BoolArray
    intercept: bool
    family: Family
    exposure: FloatArray
    own: FloatArray | None = None
    threads: int = 1

    def take(self, keep: BoolArray) -> Rows:
        """Some of the rows, on an axis that ends with the last step that has one."""
        kept = np.flatnonzero(keep)
        codes = self.codes[kept]
        return replace(
            self,
            X=self.X[kept],
            y=self.y[kept],
            codes=codes,
            weights=self.weights[kept],
            exposure=self.exposure[kept],
            n_timesteps=int(codes.max()) + 1,
        )

    def extended(
        self,
        X: Any,
        y: FloatArray,
        codes: IntArray,
        weights: FloatArray,
        exposure: FloatArray,
    ) -> Rows:
        """These rows followed by later ones."""
        kept = np.flatnonzero(weights > 0)
        stack = sp.vstack if sp.issparse(self.X) or sp.issparse(X) else np.vstack
        both: Any = stack([self.X, X[kept]])
        return replace(
            self,
            X=both.tocsr() if hasattr(both, "tocsr") else both,
            y=np.concatenate([self.y, y[kept]]),
            codes=np.concatenate([self.codes, codes[kept]]),
            weights=np.concatenate([self.weights, weights[kept]]),
            exposure=np.concatenate([self.exposure, exposure[kept]]),
            n_timesteps=max(self.n_timesteps, int(codes.max()) + 1),
        )

    def column_sums(self) -> FloatArray:
        """(n_features,) sums of the columns."""
        return np.asarray(self.X.sum(axis=0), dtype=np.float64).ravel()

    @property
    def center(self) -> float:
        """What the intercept takes up before the fit: eta of the mean; 0 without an intercept."""
        if not self.intercept:
            return 0.0
        return self.family.center(self.y, self.weights, self.exposure)

    @property
    def target(self) -> FloatArray:
        """What is fitted: y, without its mean if eta can do without it as well.

        Digits are lost beside a large level.
        """
        return self.y - self.center if self.family.quadratic else self.y

    @property
    def offset(self) -> FloatArray:
        """What is in eta before levels and paths."""
        return np.zeros(self.y.size) if self.family.quadratic else self.exposure + self.center

    @property
    def reference(self) -> float:
        """The variance of eta the model has to explain."""
        return self.family.reference(self.y, self.weights, self.exposure + self.center)

    @property
    def ordinary(self) -> Any:
        """The columns whose paths may be zero."""
        return self.X[:, np.flatnonzero(~self.always_in)] if self.always_in.any() else self.X

    @property
    def always_in_means(self) -> FloatArray:
        """(T, n_always_in): what is taken off, so that columns do not compete with the level.

        The mean of all rows: a feature that is always in has a law like the level's and is not
        driven to any size by it, and what its mean does from step to step is worth knowing.
        """
        columns = self._always_in_columns()
        if not self.intercept:
            return np.zeros((self.n_timesteps, columns.shape[1]))
        design, order = ColumnDesign.from_matrix(columns, self.codes, self.n_timesteps)
        return design.centered(self._exposed[order]).mean.T

    @property
    def _exposed(self) -> FloatArray:
        """Weights for the mean of a column: counts with exposure are rates with weights."""
        return self.weights * np.exp(self.exposure)

    def _always_in_columns(self) -> FloatArray:
        chosen = self.X[:, np.flatnonzero(self.always_in)]
        return np.asarray(chosen.toarray() if hasattr(chosen, "toarray") else chosen)

    def design(self) -> tuple[Design, IntArray]:
        """The ordinary columns as they are, and the order of the design's rows."""
        return ColumnDesign.from_matrix(
            self.ordinary, self.codes, self.n_timesteps, compact=True, threads=self.threads
        )

    def centered(self, design: Design, order: IntArray) -> Design:
        """The same, centred if there is an intercept."""
        return design.centered(self._exposed[order], self.own) if self.intercept else design

    def directions(self, design: Design, unit: FloatArray, most: int) -> FloatArray:
        """(n_features, R) leading directions of the ordinary columns, in the user's units.

        `most` directions at most, with so many columns and rows (by weight) for each: of a few
        columns every one can be judged by itself.
        """
        count = n_directions(most, design.n_features, float(self.weights.sum()))
        if count < 1:
            return np.zeros((design.n_features, 0))
        return np.asarray(self._leading(design, unit, count) / unit[:, None])

    def _leading(self, design: Design, unit: FloatArray, count: int) -> FloatArray:
        rows = self.ordinary, self.codes, design.mean
        return leading_directions(*rows, unit, count, self.weights, self.threads)

    def own_means(self) -> tuple[FloatArray, float]:
        """How far each step's level is its own, W / (1 / variance + W), and the variance.

        `variance` is that of the steps' levels beyond chance (DerSimonian and Laird's estimate)
        and W what a step's rows say about its level. Where levels move, what a column's mean
        does from step to step cannot be told from what the level does; a column that competes
        with the level for it can be given any coefficient.
        """
        target, weights = self._working_response(by_step=False)
        total = np.bincount(self.codes, weights, self.n_timesteps)
        seen = total > 0
        mean = np.bincount(self.codes, weights * target, self.n_timesteps)[seen] / total[seen]
        within = target - self._step_means(target, weights)
        n_free = float(self.weights.sum()) - int(seen.sum())
        noise = float(np.sum(weights * within**2)) / n_free if n_free > 0 else np.inf
        share = np.zeros(self.n_timesteps)
        if not 0.0 < noise < np.inf or seen.sum() < 2:  # noqa: PLR2004
            return share, 0.0
        precision = total[seen] / noise
        overall = float(np.sum(precision * mean) / precision.sum())
        excess = float(np.sum(precision * (mean - overall) ** 2)) - (seen.sum() - 1)
        spread = float(precision.sum() - np.sum(precision**2) / precision.sum())
        variance = max(excess / spread, 0.0)
        share[seen] = variance * precision / (1.0 + variance * precision)
        return share, variance

    def levels(self, order: IntArray) -> Levels:
        """Intercept first, then the always-in columns, rows in the design's order."""
        chosen = self._always_in_columns()
        columns = (chosen - self.always_in_means[self.codes]).T
        # A column of one value leaves rounding errors, which are no feature.
        columns[np.abs(columns).max(axis=1) <= ROUNDING * np.abs(chosen).max(axis=0)] = 0.0
        static = self.static[self.always_in]
        if self.intercept:
            columns = np.vstack([np.ones(self.y.size), columns])
            static = np.concatenate([[False], static])
        square = np.average(columns**2, axis=1, weights=self.weights)
        scale = self.reference / np.where(square > 0, square, 1.0)
        return Levels(np.ascontiguousarray(columns[:, order]), static, scale)

    @property
    def default_start(self) -> Init:
        """Where the search for a mode begins unless the user says."""
        return "lasso-one"

    def start_paths(self, kind: Init) -> FloatArray:
        """Starting paths of the ordinary columns."""
        return start_paths(kind, self.start_data(), self.n_timesteps)

    def start_data(self) -> StartData:
        """Rows for a starting fit: steps' means and always-in features taken out of y."""
        target, weights = self._working_response(by_step=True)
        columns = self._always_in_columns()
        if self.intercept:
            target = target - self._step_means(target, weights)
            parts = [z - self._step_means(z, weights) for z in columns.T]
            columns = np.column_stack(parts or [columns])
        if columns.shape[1]:
            root = np.sqrt(weights)
            coef = np.linalg.lstsq(columns * root[:, None], target * root, rcond=None)[0]
            target = target - columns @ coef
        return StartData(self.ordinary, target, self.codes, weights, self.intercept)

    def _working_response(self, *, by_step: bool) -> tuple[FloatArray, FloatArray]:
        """A target for least squares and its weights: a scoring step from the (steps') mean."""
        if self.family.quadratic:
            return self.target, self.weights
        eta = self.offset
        if self.intercept and by_step:
            for step in np.unique(self.codes):
                rows = self.codes == step
                eta[rows] = self.exposure[rows] + self.family.center(
                    self.y[rows], self.weights[rows], self.exposure[rows]
                )
        certain = np.zeros(1)
        curvature = self.family.curvature(self.y, eta, certain, self.weights)
        return self.family.score(self.y, eta, certain, self.weights) / curvature, curvature

    def _step_means(self, column: FloatArray, weights: FloatArray) -> FloatArray:
        """The mean of a row's step, for every row."""
        total = np.bincount(self.codes, weights, self.n_timesteps)
        sums = np.bincount(self.codes, weights * column, self.n_timesteps)
        return np.asarray((sums / np.where(total > 0, total, 1.0))[self.codes])


def n_directions(most: int, n_features: int, weight: float) -> int:
    """How many directions so many columns and rows (by weight) are enough for."""
    # Weights that add up to a whole number may do so up to rounding only.
    n_rows = int(weight * (1.0 + ROUNDING))
    return min(most, n_features // COLUMNS_PER_DIRECTION, n_rows // ROWS_PER_DIRECTION)


def check_columns(X: Any, names: Any, *, intercept: bool, threads: int = 1) -> None:
    """Warn of columns that say nothing: zero or one value everywhere. Refuse extreme ones."""
    low, high = column_ranges(X, threads) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))
    check_ranges(low, high, names, intercept=intercept)


def check_ranges(low: FloatArray, high: FloatArray, names: Any, *, intercept: bool) -> None:
    """The same, from the least and the largest value of every column."""
    size = np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
    extreme = (size > LARGEST) | ((size > 0) & (size < SMALLEST))
    if extreme.any():
        raise DataError(
            f"{int(extreme.sum())} of {size.size} columns ({_listed(extreme, names)}) have values "
            f"of size {size[extreme][0]:.3g}; sizes from {SMALLEST:g} to {LARGEST:g} can be "
            "squared. Change their unit."
        )
    constant = low == high
    zero = constant & (high == 0)
    if zero.any():
        warnings.warn(
            f"{int(zero.sum())} of {zero.size} columns are zero in every row "
            f"({_listed(zero, names)}); their coefficients are 0. Drop them to silence this.",
            DataWarning,
            stacklevel=6,
        )
    if intercept and (constant & ~zero).any():
        warnings.warn(
            f"{int((constant & ~zero).sum())} columns have one value in every row "
            f"({_listed(constant & ~zero, names)}) and cannot be told from the intercept; "
            "drop them, or set fit_intercept=False.",
            DataWarning,
            stacklevel=6,
        )


@kernel
def _ranges(
    indices: IntArray, data: FloatArray, n_columns: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Least and largest stored entry of every column, and how many there are."""
    low, high = np.full(n_columns, np.inf), np.full(n_columns, -np.inf)
    counts = np.zeros(n_columns, dtype=np.int64)
    for k in range(indices.shape[0]):
        i = indices[k]
        low[i], high[i] = min(low[i], data[k]), max(high[i], data[k])
        counts[i] += 1
    return low, high, counts


def column_ranges(X: Any, threads: int = 1) -> tuple[FloatArray, FloatArray]:
    """Least and largest value of every column of a CSR matrix, zeros included.

    The matrix's own methods sort all its entries by column first, twice.
    """
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    parts: list[tuple[FloatArray, FloatArray, IntArray]] = []
    each(
        lambda a, b: parts.append(_ranges(X.indices[a:b], X.data[a:b], X.shape[1])),
        ranges(X.nnz, threads) or [(0, 0)],
        threads,
    )
    low = np.min([part[0] for part in parts], axis=0, initial=np.inf)
    high = np.max([part[1] for part in parts], axis=0, initial=-np.inf)
    counts = np.sum([part[2] for part in parts], axis=0)
    some_zero = counts < X.shape[0]
    return np.where(some_zero, np.minimum(low, 0.0), low), np.where(
        some_zero, np.maximum(high, 0.0), high
    )


def _listed(mask: BoolArray, names: Any) -> str:
    found = np.flatnonzero(mask)
    shown = [repr(str(names[i])) if names is not None else str(i) for i in found[:SHOWN]]
    return ", ".join(shown) + (", ..." if found.size > SHOWN else "")
