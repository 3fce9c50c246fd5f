"""What a model finds where there is nothing to find: the data, shuffled."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _num_samples

from driftglm import plots
from driftglm._progress import counted
from driftglm._typing import IntArray, MatrixLike, VectorLike
from driftglm.data.timesteps import fit_axis
from driftglm.estimators.statements import MOVING, OUTSIDE
from driftglm.evaluation.contestants import take
from driftglm.exceptions import ConvergenceWarning, DataError, DataWarning

SHUFFLES = ("outcome", "time")


@dataclass(frozen=True)
class PermutationCheck:
    """What was found in the data, and in the data shuffled.

    Parameters
    ----------
    counts
        One row a fit: shuffle ("none", "outcome" or "time"), number, features, included, drifting
        and undecided (of the included ones).
    features
        One row a feature: how often it was included with y shuffled, and called drifting with the
        time labels shuffled, as shares of the shuffles.

    Examples
    --------
    >>> from driftglm import DriftRegressor
    >>> from driftglm.evaluation import permutation_check
    >>> from driftglm.simulate import simulate_panel
    >>> panel = simulate_panel(n_features=4, n_active=1, n_timesteps=3, rows_per_step=40)
    >>> check = permutation_check(DriftRegressor(), panel.X, panel.y, panel.time, n_shuffles=2)
    >>> list(check.table().index), len(check.features)
    (['none', 'outcome', 'time'], 4)
    """

    counts: pd.DataFrame
    features: pd.DataFrame

    def table(self) -> pd.DataFrame:
        """By shuffle: means over fits, and the most of any."""
        by = self.counts.groupby("shuffle", sort=False)
        means = by[["included", "drifting", "undecided"]].mean()
        most = by[["included", "drifting"]].max().add_prefix("most ")
        return means.join(most)

    def sentence(self) -> str:
        """What chance alone would find, in one or two sentences."""
        table = self.table()
        total = int(self.counts["features"].iloc[0])

        def mean(shuffle: str, column: str) -> float:
            return float(table[column].to_numpy(dtype=float)[list(table.index).index(shuffle)])

        return (
            f"{mean('none', 'included'):.0f} of {total} features are included; with y shuffled "
            f"inside steps {mean('outcome', 'included'):.1f} are, on average. "
            f"{mean('none', 'drifting'):.0f} drift; with the time labels shuffled "
            f"{mean('time', 'drifting'):.1f} do, of {mean('time', 'included'):.1f} included."
        )

    def plot(self) -> Any:
        """Features found in every shuffle, beside those found in the data, as a Figure."""
        return plots.plot_permutations(self.counts)


def permutation_check(
    model: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    time: ArrayLike,
    groups: VectorLike = None,
    *,
    n_shuffles: int = 20,
    fit_params: Mapping[str, ArrayLike] | None = None,
    verbose: bool | None = None,
) -> PermutationCheck:
    """How many features a model would call included, or drifting, by chance.

    The model is fitted to the data, to data with y shuffled inside every step (nothing may be
    included), and to data with shuffled time labels (nothing may drift).

    Parameters
    ----------
    model : a drift model of rows, fitted or not; it is cloned
    X, y, time : all rows, as given to `fit`; y may have two columns, successes and failures
    groups : (n_rows,) ids of rows that belong together: the days of hours, the persons of a panel.
        Whole groups are shuffled then. Without it a shuffle destroys the dependence of such rows,
        which is what misleads a model, and the check comes out too well. y of a group goes to
        another group's rows, the same one at every step where all groups have the same rows. Time
        labels are shuffled among the steps of a group, or among groups that have one step each
    n_shuffles : of either kind
    fit_params : further vectors that `fit` takes, such as sample_weight or exposure; they go
        together with y
    verbose : whether to show progress on stderr; by default on a terminal

    Notes
    -----
    Forecasts are not averaged in these fits, which changes nothing of what is said about features.

    Examples
    --------
    >>> import numpy as np
    >>> from driftglm import DriftRegressor
    >>> from driftglm.evaluation import permutation_check
    >>> rng = np.random.default_rng(0)
    >>> year = np.repeat(np.arange(2001, 2007), 50)
    >>> X = rng.normal(size=(300, 20))
    >>> y = X[:, 0] + rng.normal(size=300)
    >>> check = permutation_check(DriftRegressor(), X, y, year, n_shuffles=2)
    >>> bool(check.table()["included"]["none"] >= 1.0)
    True
    """
    if isinstance(model, Pipeline) or not hasattr(model, "extrapolate"):
        raise DataError(
            f"model is a {type(model).__name__}; pass a drift model of rows, such as "
            "DriftRegressor, and X as it sees it."
        )
    if n_shuffles < 1:
        raise DataError(f"n_shuffles={n_shuffles}; pass 1 or more.")
    model = clone(model).set_params(extrapolate="forecast")
    units = _units(groups, _num_samples(X))
    vectors: dict[str, Any] = {"y": y, **(fit_params or {})}
    tasks = [("none", 0), *((kind, k) for kind in SHUFFLES for k in range(n_shuffles))]
    shown = counted(tasks, len(tasks), "shuffling", verbose=verbose)
    return _gathered(tasks, list(_fits(model, (X, vectors, time), units, shown)))


def _fits(
    model: BaseEstimator, data: tuple[Any, dict[str, Any], Any], units: IntArray, tasks: Any
) -> Iterator[tuple[list[str], np.ndarray]]:
    """Names and kinds of the features, one fit a task; see `_fitted`."""
    X, vectors, time = data
    n_rows = units.size
    _, codes = fit_axis(time, n_rows, getattr(model, "freq", None))
    for kind, number in tasks:
        rng = np.random.default_rng([SHUFFLES.index(kind) if kind != "none" else 2, number])
        rows, labels = np.arange(n_rows), np.arange(n_rows)
        if kind == "outcome":
            rows = shuffled_outcomes(codes, units, rng)
        elif kind == "time":
            labels = shuffled_labels(codes, units, rng)
        given = {name: take(values, rows) for name, values in vectors.items()}
        yield _fitted(model, X, given, take(time, labels))


def _units(groups: VectorLike, n_rows: int) -> IntArray:
    """A number a group; every row is its own without groups."""
    if groups is None:
        return np.arange(n_rows)
    ids = np.asarray(groups)
    if ids.shape != (n_rows,):
        raise DataError(f"groups has shape {ids.shape} but X has {n_rows} rows; pass one id a row.")
    if pd.isna(ids).any():
        raise DataError("groups has missing ids; give every row one.")
    return np.unique(ids, return_inverse=True)[1].ravel()


def shuffled_outcomes(codes: IntArray, units: IntArray, rng: np.random.Generator) -> IntArray:
    """(n_rows,) the row whose y each row gets: one of the same step, whole units in a new order."""
    rank = rng.permutation(int(units.max()) + 1)
    out = np.empty(codes.size, dtype=np.int64)
    # Both orders are stable: rows of a unit stay in their order.
    out[np.lexsort((units, codes))] = np.lexsort((rank[units], codes))
    return out


def shuffled_labels(codes: IntArray, units: IntArray, rng: np.random.Generator) -> IntArray:
    """(n_rows,) the row whose time label each row gets.

    Labels change places among the steps of a unit, and among units that have one step each.
    """
    blocks, first, block = np.unique(
        np.column_stack([units, codes]), axis=0, return_index=True, return_inverse=True
    )
    steps = np.bincount(blocks[:, 0])
    owner = np.where(steps[blocks[:, 0]] > 1, blocks[:, 0], -1)
    by_owner = np.lexsort((np.arange(owner.size), owner))
    order = np.lexsort((rng.random(owner.size), owner))
    source = np.empty(owner.size, dtype=np.int64)
    source[by_owner] = order
    return np.asarray(first[source][block.ravel()])


def _fitted(
    model: BaseEstimator, X: MatrixLike, given: dict[str, Any], time: Any
) -> tuple[list[str], np.ndarray]:
    """Names of the features, and their kinds, (p,) or (classes, p)."""
    y = given.pop("y")
    with warnings.catch_warnings():
        for category in (DataWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        fitted = clone(model).fit(X, y, time=time, **given)
    names = fitted._names(None)  # noqa: SLF001 (as its summary does)
    table = fitted.summary(feature_names=list(map(str, range(len(names)))))
    kinds = np.empty((len(table) // len(names), len(names)), dtype=object)
    place = np.repeat(np.arange(len(kinds)), len(names))
    kinds[place, table["feature"].astype(np.int64)] = table["kind"]
    return names, kinds


def _gathered(
    tasks: list[tuple[str, int]], found: list[tuple[list[str], np.ndarray]]
) -> PermutationCheck:
    rows, chance = [], {kind: np.zeros(len(found[0][0])) for kind in SHUFFLES}
    n_each = sum(kind == "outcome" for kind, _ in tasks)
    for (kind, number), (names, kinds) in zip(tasks, found, strict=True):
        included = (~np.isin(kinds, OUTSIDE)).any(axis=0)
        moving = np.isin(kinds, MOVING).any(axis=0)
        undecided = (kinds == "undecided").any(axis=0) & ~moving
        counts = included.sum(), moving.sum(), undecided.sum()
        rows.append((kind, number, len(names), *map(int, counts)))
        if kind != "none":
            chance[kind] += (included if kind == "outcome" else moving) / n_each
    columns = ["shuffle", "number", "features", "included", "drifting", "undecided"]
    features = pd.DataFrame(
        {
            "feature": found[0][0],
            "included_by_chance": chance["outcome"],
            "drifting_by_chance": chance["time"],
        }
    )
    return PermutationCheck(pd.DataFrame(rows, columns=columns), features)
