"""A model of a table: the encoder of its columns and the estimator fitted to them, together."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from driftglm._typing import FloatArray, MatrixLike
from driftglm._warnings import warn
from driftglm.estimators.named import estimator_for
from driftglm.estimators.statements import counted
from driftglm.exceptions import DataError, DataWarning
from driftglm.families import family_named
from driftglm.files import Storable
from driftglm.fitting.identity import unsaid
from driftglm.registry import FAMILIES
from driftglm.tables.cells import refuse_empty
from driftglm.tables.columns import column, numbers, read_times, target
from driftglm.tables.encoder import TableEncoder, TableSpec, encode
from driftglm.tables.expressions import with_computed
from driftglm.tables.preparing import prepared
from driftglm.tables.reading import Table, as_strings

N_NAMED = 3
LEAST_ROWS = 2
_CURES = {
    "weights": "weights are numbers, 0 or more.",
    "exposure": "exposures are positive numbers.",
    "trials": "trials are whole numbers.",
}


@dataclass(frozen=True)
class Training:
    """What an estimator is fitted with."""

    X: MatrixLike
    y: np.ndarray
    time: ArrayLike
    family: str
    why: str
    weights: FloatArray | None
    exposure: FloatArray | None
    date_format: str | None = None
    groups: np.ndarray | None = None

    @property
    def extras(self) -> dict[str, Any]:
        """Arguments of `fit` that not every table gives."""
        given: dict[str, np.ndarray | None] = {"sample_weight": self.weights}
        given |= {"exposure": self.exposure, "groups": self.groups}
        return {name: values for name, values in given.items() if values is not None}


@dataclass(frozen=True, eq=False)
class TableModel(Storable):
    """An estimator that takes tables; made by `fit_table`.

    Parameters
    ----------
    encoder
        Turns rows into features.
    estimator
        Fitted to them; its `feature_names_in_` are the encoder's.
    """

    encoder: TableEncoder
    estimator: Any

    @property
    def classes(self) -> list[Any]:
        """Classes of the target; empty if it is a number."""
        return list(getattr(self.estimator, "classes_", []))

    def summary(self) -> pd.DataFrame:
        """The estimator's own table of features, with the levels that levels are compared with."""
        table, references = pd.DataFrame(self.estimator.summary()), self.encoder.references
        table["reference"] = [references.get(name, "") for name in table["feature"]]
        return table

    def described(self, feature: str) -> str:
        """A feature with what it is compared with: "hour=17 against hour=8"."""
        other = self.encoder.compared.get(feature)
        return feature if other is None else f"{feature} against {other}"

    def predict(
        self,
        table: Table,
        *,
        time: str | None = None,
        level: float | None = None,
        date_format: str | None = None,
    ) -> pd.DataFrame:
        """Predictions, a row a row of the table, in its order.

        Parameters
        ----------
        table
            Rows with the columns of training, in any order; a target is not needed, nor are ids of
            groups: without them every row is one of a group that was not seen.
        time
            Column of times: every row gets the coefficients of its own step. None: all rows belong
            to the step after the last.
        level
            Probability of the intervals, such as 0.9; None: no intervals.
        date_format
            How dates are written; None: as in training.

        Returns
        -------
        DataFrame
            `prediction`, with classes also `probability` (of the second of two) or
            `probability_<class>`; with `level` also `lower` and `upper`. Of successes out of
            trials all of these are shares.
        """
        spec = self.encoder.spec
        X = self.encoder.matrix(table)
        extras: dict[str, Any] = {}
        if time is not None:
            form = date_format or spec.date_format
            extras["time"] = read_times(table, time, spec.freq, form)[0]
        if spec.exposure is not None:
            extras["exposure"] = role_numbers(table, spec, "exposure")
        if spec.groups is not None and spec.groups in table.frame.columns:
            extras["groups"] = group_ids(table, spec)
        with warnings.catch_warnings():
            # The matrix has no names; the encoder has put the columns into the order of training.
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            parts = {"prediction": self.estimator.predict(X, **extras)}
            if self.classes:
                shares = self.estimator.predict_proba(X, **extras)
                parts |= self._class_columns("probability", shares)
            if level is not None:
                trials = role_numbers(table, spec, "trials")
                if trials is not None:
                    extras["trials"] = trials
                ends = self.estimator.predict_interval(X, level=level, **extras)
                # Predicted is the share of successes, and so are the ends.
                ends = ends if trials is None else ends / np.maximum(trials, 1.0)[:, None]
                for name, values in (("lower", ends[..., 0]), ("upper", ends[..., 1])):
                    parts |= self._class_columns(name, values)
        return pd.DataFrame(parts)

    def _class_columns(self, name: str, values: np.ndarray) -> dict[str, np.ndarray]:
        """Columns of the frame: one, or one a class if there are more than two."""
        if values.ndim == 1:
            return {name: values}
        if len(self.classes) == 2:  # noqa: PLR2004
            return {name: values[:, 1]}
        return {f"{name}_{label}": values[:, k] for k, label in enumerate(self.classes)}

    def sentence(self) -> str:
        """What was learned, in one sentence."""
        return learned_sentence(self.summary())


def fit_table(
    table: Table,
    spec: TableSpec,
    *,
    family: str = "auto",
    always_in: Iterable[str] = (),
    static: Iterable[str] = (),
    feature_groups: Mapping[str, Iterable[str]] | None = None,
    **params: Any,
) -> TableModel:
    """Encode the columns of a table and fit an estimator to them.

    Parameters
    ----------
    table
        The training rows, from `read_data`.
    spec
        Which column plays which part; target and time are needed.
    family
        "auto", or the name of a registered family, such as "gaussian", "binomial" (two classes or
        more) or "poisson".
    always_in, static
        Columns or features that are never dropped, or that do not drift. A column of levels stands
        for all its indicators, the text column for all its words.
    feature_groups
        Kinds of features, by name: columns or features, or patterns of their names.
    **params
        Passed to the estimator, e.g. `prior`.

    Examples
    --------
    >>> import pandas as pd
    >>> from driftglm.tables import Table, TableSpec, fit_table
    >>> frame = pd.DataFrame({"year": [1, 1, 1, 2, 2, 2], "x": [0, 1, 2, 0, 1, 2.0]})
    >>> frame["y"] = 2 * frame["x"] + 0.1 * (frame.index % 2)
    >>> model = fit_table(Table(frame), TableSpec(target="y", time="year"), prior="fixed")
    >>> model.encoder.feature_names
    ['x']
    """
    table, spec, _ = prepared(table, spec)
    encoder, X = encode(table, spec)
    params["always_in"] = encoder.positions(always_in, "always in") or None
    params["static"] = encoder.positions(static, "static") or None
    params["feature_groups"] = None if feature_groups is None else encoder.kinds(feature_groups)
    return fit_encoded(encoder, read_training(table, spec, family, X), **params)


def fit_encoded(
    encoder: TableEncoder, data: Training, *, verbose: bool = False, **params: Any
) -> TableModel:
    """Fit an estimator to features that are there already.

    With `verbose` standard error shows how far it is; that is no part of the model.
    """
    estimator = estimator_for(data.family, freq=encoder.spec.freq, verbose=verbose, **params)
    with unsaid():
        estimator.fit(data.X, data.y, time=data.time, **data.extras)
    estimator.set_params(verbose=False)
    # Set here, since a sparse matrix cannot carry names into `fit`.
    estimator.feature_names_in_ = np.array(encoder.feature_names, dtype=object)
    if (said := estimator.columns_said()) is not None:
        warn(said, DataWarning)
    # New rows are read as those of training: alone they may not tell day from month.
    spec = replace(encoder.spec, date_format=data.date_format)
    return TableModel(replace(encoder, spec=spec), estimator)


def read_training(table: Table, spec: TableSpec, family: str, X: MatrixLike) -> Training:
    """Target, times, weights, exposures and ids beside features that the caller has made."""
    if spec.target is None or spec.time is None:
        raise DataError("both a target and a time column are needed; name them.")
    if table.n_rows < LEAST_ROWS:
        raise DataError(f"{table.name} has {table.n_rows} row; {LEAST_ROWS} or more are needed.")
    if family == "auto" and spec.trials is not None:
        family = "beta-binomial"
    if spec.terms:
        table = with_computed(table, [spec.target])
    y, chosen, why = target(table, spec.target, family)
    time, found = read_times(table, spec.time, spec.freq, spec.date_format)
    if spec.exposure is not None and not family_named(chosen).takes_exposure:
        exposed = [name for name in FAMILIES if family_named(name).takes_exposure]
        raise DataError(
            f"exposures belong to counts, but the family is {chosen}; use {' or '.join(exposed)}."
        )
    if (trials := role_numbers(table, spec, "trials")) is not None:
        y = family_named(chosen).read_target(y, trials)
    weights, exposure = (role_numbers(table, spec, role) for role in ("weights", "exposure"))
    form = spec.date_format or found
    return Training(X, y, time, chosen, why, weights, exposure, form, groups=group_ids(table, spec))


def role_numbers(table: Table, spec: TableSpec, role: str) -> FloatArray | None:
    """Weights, exposures or trials of the rows; None if no column is named."""
    name = spec.roles.get(role)
    return None if name is None else numbers(table, column(table, name, role), name, _CURES[role])


def group_ids(table: Table, spec: TableSpec) -> np.ndarray | None:
    """Ids of the rows as texts; None if no column is named.

    As texts, since a table that is predicted may have numbers alone where that of training had not.
    """
    if spec.groups is None:
        return None
    values = column(table, spec.groups, "groups")
    values = values.mask(values == "")  # read as it stands, an empty cell is an empty text
    refuse_empty(table, values, spec.groups, "give every row an id, or delete these rows.")
    return np.asarray(as_strings(values), dtype=np.str_)


def learned_sentence(table: pd.DataFrame) -> str:
    """How many features of a summary matter, which most, and which of them drift."""
    total = table["feature"].nunique()
    # A column that never varies is told nothing by the data: its coefficients are exactly zero.
    coefs = table[["coef_first", "coef_last", "coef_next"]].to_numpy(dtype=np.float64)
    found = counted(table[(coefs != 0.0).any(axis=1)])
    shared = ""
    if found.shared:
        have = "has" if len(found.shared) == 1 else "have"
        shared = f" {len(found.shared)} more {have} an effect by the shared directions only."
    if not found.included:
        if shared:
            return f"None of {total} features matters by itself.{shared}"
        return f"None of {total} features matters: only the intercept of each step is predicted."
    verb = "matters" if len(found.included) == 1 else "matter"
    drift = "1 drifts" if len(found.moving) == 1 else f"{len(found.moving)} drift"
    named = f" ({', '.join(found.moving[:N_NAMED])})" if found.moving else ""
    parts = [f"{drift}{named}", _counted_as(len(found.still), "constant")]
    if found.seasonal:
        parts.insert(1, f"{len(found.seasonal)} with the season")
    if found.undecided:
        parts.append(_counted_as(len(found.undecided), "undecided"))
    top = ", ".join(found.included[:N_NAMED])
    said = f"{len(found.included)} of {total} features {verb}, most of all {top}"
    return f"{said}; {', '.join(parts)}.{shared}"


def _counted_as(n: int, what: str) -> str:
    return f"{n} {'is' if n == 1 else 'are'} {what}"
