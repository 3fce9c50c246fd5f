"""Validated rows as a source of a fit: which columns are paths, which are intercepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from driftglm._typing import BoolArray, FloatArray, IntArray, Matrix
from driftglm.data.features import Names
from driftglm.data.kinds import Kinds
from driftglm.data.matrices import dense, nearer, squares
from driftglm.design import ColumnDesign, Design, RowSample
from driftglm.design.directions import chosen_rows
from driftglm.exceptions import DataError
from driftglm.families import Family
from driftglm.families.base import Scale
from driftglm.fitting.coefficients import Step
from driftglm.fitting.column_checks import check_ranges, column_ranges
from driftglm.fitting.equal_rows import equal_rows
from driftglm.fitting.reading import OF_GROUPS, PER_ROW, Reading, Vectors
from driftglm.fitting.starts import Init, StartData, start_paths, step_means
from driftglm.objective import Groups, Intercepts

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
        (n_rows,) the part of the linear predictor eta the user gave: the log of the exposure, or
        zeros.
    per_step_share
        (n_timesteps,) by which mixture of means columns are centred (see `View`).
    always_in, static
        Masks over the columns.
    intercept
        Whether an intercept path is fitted beside the features.
    kinds
        Sets of columns with a hyperprior of their own; None: they are all of one.
    threads
        How many may work on the design.
    ranges
        Least and largest value of every column, (n_features,) each, where they are known.
    laid_out
        What `design` gives, where it was made before, for several fits.
    place
        (n_rows,) row of the design that stands for a row, where equal rows were merged.
    group, occasion, n_groups
        Number of every row's group and of the step in which its effect is drawn, None where rows do
        not belong together, and how many groups there are.

    Attributes
    ----------
    scale : how large things are before the fit
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
    per_step_share: FloatArray | None = None
    threads: int = 1
    ranges: tuple[FloatArray, FloatArray] | None = None
    laid_out: tuple[Design, IntArray] | None = None
    place: IntArray | None = None
    group: IntArray | None = None
    occasion: IntArray | None = None
    n_groups: int = 0
    kinds: Kinds | None = None
    scale: Scale = field(init=False)

    def __post_init__(self) -> None:
        given = self.y, self.weights, self.exposure
        object.__setattr__(self, "scale", self.family.scale(*given, intercept=self.intercept))

    @property
    def row_fields(self) -> tuple[str, ...]:
        """What has one number a row, beside X."""
        return PER_ROW if self.group is None else PER_ROW + OF_GROUPS

    def row_groups(self, order: IntArray) -> Groups | None:
        """Which rows belong together, rows in the design's order; None: none do."""
        if self.group is None or self.occasion is None:
            return None
        stride = int(self.occasion.max()) + 1
        keys, cell = np.unique((self.group * stride + self.occasion)[order], return_inverse=True)
        group = keys // stride
        constant = np.unique(group).size < keys.size
        anew = keys.size < order.size
        if not constant and not anew:
            return None  # every row is a group of its own
        return Groups(cell.ravel().astype(np.int64), group, self.n_groups, keys, constant, anew)

    @property
    def groups_recur(self) -> bool:
        """Whether a group is there in more than one step."""
        if self.group is None or self.occasion is None:
            return False
        pairs = np.unique(np.column_stack([self.group, self.occasion]), axis=0)
        return bool(np.unique(pairs[:, 0]).size < len(pairs))

    def ungrouped(self) -> Rows:
        """The same rows, taken for independent."""
        return replace(self, group=None, occasion=None, n_groups=0)

    def responses(self) -> list[Rows]:
        """The rows of every regression to be fitted: one, or one a class."""
        return [replace(self, y=y) for y in self.family.responses(self.y)]

    def before(self, step: int) -> Rows:
        """A source of the rows before a step; whoever asks for it closes it."""
        if self.laid_out is None:
            return self.take(self.codes < step)
        raw, order = self.laid_out
        if self.place is not None:
            order = np.argsort(self.codes, kind="stable")
        chosen = order[: int(np.count_nonzero(self.codes < step))]
        if not chosen.size:
            raise DataError(f"there is no row before step {step}; a fit needs some.")
        n_steps = int(self.codes[chosen].max()) + 1
        inherited = {f.name: getattr(self, f.name) for f in fields(Rows) if f.init}
        changed: dict[str, Any] = {name: getattr(self, name)[chosen] for name in self.row_fields}
        changed |= {"X": None, "n_timesteps": n_steps, "per_step_share": None, "ranges": None}
        design, own = cast("ColumnDesign", raw).before(n_steps), np.arange(chosen.size)
        if self.place is not None:
            position = np.empty(self.codes.size, dtype=np.int64)
            position[chosen] = own
            own = position[self.laid_out[1][: design.n_rows]]
            changed["place"] = self.place[chosen]
        changed["laid_out"] = design, own
        return EarlierRows(**(inherited | changed), whole=self, chosen=chosen)

    def shared(self) -> Rows:
        """The same rows, their columns laid out once for several fits."""
        merged = self.merged()
        return replace(merged, laid_out=merged.design())

    def merged(self) -> Rows:
        """The same rows for a posterior: equal ones are one row of the design."""
        family = self.family
        single = not family.quadratic and not family.coupled and self.group is None
        if self.laid_out is not None or not single:
            return self
        targets = [] if family.takes_shares else list(np.atleast_2d(self.y.T))
        found = equal_rows(self.X, self.codes, [self.exposure, *targets])
        if found is None:
            return self
        first, place = found
        kept = self.ordinary[first], self.codes[first], self.n_timesteps
        design, _ = ColumnDesign.from_matrix(*kept, compact=True, threads=self.threads)
        return replace(self, laid_out=(design, first), place=place)

    def design_weights(self, order: IntArray) -> FloatArray:
        """Weights of the design's rows, which are those of `order`."""
        if self.place is None:
            return self.weights[order]
        return np.asarray(np.bincount(self.place, self.weights, order.size), dtype=np.float64)

    def design_target(self, order: IntArray) -> FloatArray:
        """What the design's rows are fitted to; the mean of shares that were merged."""
        if self.place is None or not self.family.takes_shares:
            return self.target[order]
        sums = np.bincount(self.place, self.weights * self.target, order.size)
        return np.asarray(sums / self.design_weights(order))

    def constant(self) -> Rows:
        """The same rows for coefficients that do not move."""
        return replace(self, static=np.ones_like(self.static))

    def pooled(self) -> Rows:
        """The same rows in one step."""
        raw, order = self.design()
        return replace(
            self,
            codes=np.zeros_like(self.codes),
            n_timesteps=1,
            per_step_share=None,
            laid_out=(cast("ColumnDesign", raw).pooled(), order),
        )

    def step_moments(self, code: int, steps: Sequence[Step]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of eta for the rows of a step, (n, R), with any coefficients."""
        X = self.X[np.flatnonzero(self.codes == code)]
        squared, near = squares(X), nearer(X)[1] is None
        means = [step.mean_of(X) for step in steps]
        variances = [step.variance_of(X, squared, near=near) for step in steps]
        return np.column_stack(means), np.column_stack(variances)

    def close(self) -> None:
        """Free what is held elsewhere; nothing is."""

    def take(self, keep: BoolArray) -> Rows:
        """Some of the rows, on an axis that ends with the last step that has one."""
        chosen = np.flatnonzero(keep)
        if not chosen.size:
            raise DataError("no row is left of these; a fit needs some.")
        return replace(
            self,
            **{name: getattr(self, name)[chosen] for name in ("X", *self.row_fields)},
            n_timesteps=int(self.codes[chosen].max()) + 1,
            per_step_share=None,  # it was computed from all rows, as were the ranges
            ranges=None,
            laid_out=None,
            place=None,
        )

    def extended(self, X: Matrix, later: Vectors) -> Rows:
        """These rows followed by later ones."""
        used, n_steps = np.flatnonzero(later.has_weight), int(later.codes.max()) + 1
        later = later.take(later.has_weight)
        stack = sp.vstack if sp.issparse(self.X) or sp.issparse(X) else np.vstack
        both: Any = stack([self.X, X[used]])
        pairs = {name: (getattr(self, name), getattr(later, name)) for name in self.row_fields}
        joined: dict[str, Any] = {name: np.concatenate(pair) for name, pair in pairs.items()}
        if later.group_labels is not None:
            joined["n_groups"] = int(later.group_labels.size)
        return replace(
            self,
            family=later.family,
            X=both.tocsr() if hasattr(both, "tocsr") else both,
            **joined,
            n_timesteps=max(self.n_timesteps, n_steps),
            ranges=None,
            laid_out=None,
            place=None,
        )

    def column_sums(self) -> FloatArray:
        """(n_features,) sums of the columns."""
        return np.asarray(self.X.sum(axis=0), dtype=np.float64).ravel()

    @property
    def column_ranges(self) -> tuple[FloatArray, FloatArray]:
        """(n_features,) least and largest value of every column."""
        return column_ranges(self.X) if self.ranges is None else self.ranges

    @property
    def target(self) -> FloatArray:
        """Fitted: y, centred where only y - eta matters. A large mean costs digits."""
        return self.y - self._null_eta if self._is_difference else self.y

    @property
    def offset(self) -> FloatArray:
        """What is in eta before intercepts and paths."""
        center = self._null_eta
        return np.zeros_like(center) if self._is_difference else center

    @property
    def _is_difference(self) -> bool:
        """Whether y - eta is all that matters of both: normal errors, and Student's."""
        return self.family.link == "identity"

    @property
    def _null_eta(self) -> FloatArray:
        """(n_rows,) eta if nothing explains y."""
        return self.exposure + self.scale.center

    @property
    def ordinary(self) -> Any:
        """The columns whose paths may be zero."""
        return self.X[:, np.flatnonzero(~self.always_in)] if self.always_in.any() else self.X

    @property
    def path_kinds(self) -> IntArray | None:
        """The kind of every ordinary column; None: they are all of one."""
        return None if self.kinds is None else self.kinds.codes[~self.always_in]

    @property
    def always_in_means(self) -> FloatArray:
        """(T, n_always_in): what always-in columns are centred by, the mean of all rows.

        They are not centred by step: their prior is the intercept's, which does not inflate their
        coefficients, so what their means do from step to step can be used.
        """
        columns = self._always_in_columns()
        if not self.intercept:
            return np.zeros((self.n_timesteps, columns.shape[1]))
        design, order = ColumnDesign.from_matrix(columns, self.codes, self.n_timesteps)
        return design.centered(self._exposed(self.weights[order], order)).mean.T

    def _exposed(self, weights: FloatArray, rows: IntArray) -> FloatArray:
        """Weights for the mean of a column: counts with exposure are rates with weights."""
        return np.asarray(weights * np.exp(self.exposure[rows]))

    def _always_in_columns(self) -> FloatArray:
        return dense(self.X[:, np.flatnonzero(self.always_in)])

    def design(self) -> tuple[Design, IntArray]:
        """The ordinary columns as they are, and the order of the design's rows."""
        if self.laid_out is not None:
            return self.laid_out
        return ColumnDesign.from_matrix(
            self.ordinary, self.codes, self.n_timesteps, compact=True, threads=self.threads
        )

    def centered(self, design: Design, order: IntArray) -> Design:
        """The same, centred if there is an intercept."""
        if not self.intercept:
            return design
        weights = self._exposed(self.design_weights(order), order)
        return design.centered(weights, self.per_step_share)

    def sample(self) -> RowSample:
        """What the shared directions are found from."""
        return RowSample(self.ordinary, self.codes, self.weights, threads=self.threads)

    def per_step_shares(self) -> tuple[FloatArray, float]:
        """The share of its own mean by which each step is centred, and the variance it comes from.

        `variance` is that of the steps' intercepts beyond chance (DerSimonian and Laird's
        estimate). The share is W / (1 / variance + W), with W the information of a step's rows
        about its intercept: where intercepts move, a column whose mean moves too could otherwise
        take their place with any coefficient.
        """
        target, weights = self._working_response(by_step=False)
        total = np.bincount(self.codes, weights, self.n_timesteps)
        seen = total > 0
        mean = np.bincount(self.codes, weights * target, self.n_timesteps)[seen] / total[seen]
        within = target - step_means(target, self.codes, weights)
        n_free = float(self.weights.sum()) - int(seen.sum())
        noise = float(np.sum(weights * within**2)) / n_free if n_free > 0 else np.inf
        share = np.zeros(self.n_timesteps)
        if not 0.0 < noise < np.inf or not seen.sum() > 1:
            return share, 0.0
        precision = total[seen] / noise
        overall = float(np.sum(precision * mean) / precision.sum())
        excess = float(np.sum(precision * (mean - overall) ** 2)) - (seen.sum() - 1)
        reach = float(precision.sum() - np.sum(precision**2) / precision.sum())
        variance = max(excess / reach, 0.0)
        share[seen] = variance * precision / (1.0 + variance * precision)
        return share, variance

    def intercepts(self, order: IntArray) -> Intercepts:
        """Intercept first, then the always-in columns, rows in the design's order."""
        chosen = self._always_in_columns()
        columns = (chosen - self.always_in_means[self.codes]).T
        # A column of one value leaves rounding errors, which are no feature.
        columns[np.abs(columns).max(axis=1) <= ROUNDING * np.abs(chosen).max(axis=0)] = 0.0
        static = self.static[self.always_in]
        if self.intercept:
            columns = np.vstack([np.ones(self.codes.size), columns])
            static = np.concatenate([[False], static])
        square = np.average(columns**2, axis=1, weights=self.weights)
        scale = self.scale.reference / np.where(square > 0, square, 1.0)
        return Intercepts(np.ascontiguousarray(columns[:, order]), static, scale)

    @property
    def default_start(self) -> Init:
        """Where the search for a mode begins unless the user says."""
        return "lasso-one"

    def start_paths(self, kind: Init) -> FloatArray:
        """Starting paths of the ordinary columns."""
        if kind in {"zero", "auto"}:
            return np.zeros((int((~self.always_in).sum()), self.n_timesteps))
        return start_paths(kind, self.start_data(), self.n_timesteps)

    def start_data(self) -> StartData:
        """Rows for a starting fit: steps' means and always-in features taken out of y."""
        target, weights = self._working_response(by_step=True)
        columns = self._always_in_columns()
        if self.intercept:
            target = target - step_means(target, self.codes, weights)
            parts = [z - step_means(z, self.codes, weights) for z in columns.T]
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
        eta = self._null_eta
        if self.intercept and by_step:
            for step in np.unique(self.codes):
                rows = self.codes == step
                given = self.y[rows], self.weights[rows], self.exposure[rows]
                eta[rows] = self.exposure[rows] + self.family.center(*given)
        start = self.family.shape_start(self.y, self.weights, self._null_eta)
        family = self.family.at(np.full(1, self.scale.noise), start)
        score, curvature = family.working(self.y, eta, self.weights)
        return score / curvature, curvature


@dataclass(frozen=True)
class EarlierRows(Rows):
    """Rows of a source before a step: they share its columns, and `X` itself is None.

    `chosen` are those rows in the `whole`, sorted by step.
    """

    whole: Rows = field(kw_only=True)
    chosen: IntArray = field(kw_only=True)

    @property
    def ordinary(self) -> Any:
        """The columns whose paths may be zero."""
        return self.whole.ordinary[self.chosen]

    def _always_in_columns(self) -> FloatArray:
        columns: FloatArray = self.whole._always_in_columns()[self.chosen]  # noqa: SLF001
        return columns

    def sample(self) -> RowSample:
        """What the shared directions are found from."""
        rows = chosen_rows(self.codes)
        X = self.whole.X[self.chosen[rows]]
        X = X[:, np.flatnonzero(~self.always_in)] if self.always_in.any() else X
        known = self.codes[rows], self.weights[rows]
        return RowSample(X, *known, chosen=True, threads=self.threads)


def rows_in_memory(X: Matrix, vectors: Vectors, reading: Reading, names: Names) -> Rows:
    """Rows whose X is an array or a CSR matrix in this process."""
    ranges, weighted = column_ranges(X), vectors.has_weight
    check_ranges(*ranges, names, intercept=reading.intercept)
    return Rows(
        X=X if weighted.all() else X[np.flatnonzero(weighted)],
        **vectors.take(weighted).for_rows(),
        n_timesteps=vectors.axis.n_timesteps,
        always_in=reading.mask("always_in", X.shape[1], names),
        static=reading.mask("static", X.shape[1], names),
        kinds=reading.kinds(X.shape[1], names),
        intercept=reading.intercept,
        threads=reading.threads,
        ranges=ranges if weighted.all() else None,
    )
