"""What a user gave becomes an outcome: the one way through every fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from driftglm._typing import IntArray, Matrix, MatrixLike
from driftglm.data.checks import refuse_masked
from driftglm.data.frames import check_matrix, check_target
from driftglm.data.timesteps import TimeAxis
from driftglm.exceptions import DataError, TimeError
from driftglm.families import Family
from driftglm.fitting.averaging import Averaging, with_history
from driftglm.fitting.checkpoint import Checkpoint, Fingerprint
from driftglm.fitting.extrapolation import Extrapolation, settled
from driftglm.fitting.fit_rows import fit_rows
from driftglm.fitting.fits import Fit, PosteriorFit
from driftglm.fitting.history import History
from driftglm.fitting.identity import ColumnNotes
from driftglm.fitting.outcome import Outcome
from driftglm.fitting.progress import AVERAGING
from driftglm.fitting.reading import Given, Reading, Vectors, check_enough, read_vectors
from driftglm.fitting.row_order import as_given, in_own_order, may_be_sorted
from driftglm.fitting.rows import Rows, rows_in_memory
from driftglm.fitting.sampling_checks import check_sampling
from driftglm.fitting.seasonality import settled_cycle
from driftglm.fitting.settings import Settings
from driftglm.fitting.worker_rows import IN_THIS_PROCESS, Workers, rows_on_workers

X_FORMAT: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
"""What X may be, as scikit-learn checks it."""
INCLUDED = 0.5
"""Of many columns, those more likely than this not to be zero are compared with each other."""


@dataclass(frozen=True)
class Plan:
    """What an estimator's parameters ask for.

    Parameters
    ----------
    reading, settings
        How rows are read, and how they are fitted.
    extrapolate
        How steps after the last are predicted: as named, or "auto".
    params
        Those of the estimator, for the fingerprint of a checkpoint.
    workers
        Where, and with which checkpoint.
    """

    reading: Reading
    settings: Settings
    extrapolate: str
    params: Mapping[str, object]
    workers: Workers = IN_THIS_PROCESS


@dataclass(frozen=True)
class Fitted:
    """What an estimator keeps of a fit.

    Parameters
    ----------
    outcome
        The forecasters, and how the solver ended.
    axis, family, classes
        The steps, the variant of the family, and the labels of its classes (None: numbers).
    rows
        The training rows.
    extrapolate
        "average", "forecast" or "hold".
    notes
        What there is to say against columns.
    history
        How much every forecaster is trusted, where several are averaged.
    group_labels
        What users call the groups of rows, where rows belong together.
    cycle
        Steps a cycle where there are seasons, else 0.
    """

    outcome: Outcome
    axis: TimeAxis
    family: Family
    classes: np.ndarray | None
    rows: Rows
    extrapolate: Extrapolation
    notes: ColumnNotes
    history: History | None = None
    group_labels: np.ndarray | None = None
    cycle: int = 0


def fit_given(estimator: BaseEstimator, X: MatrixLike, given: Given, plan: Plan) -> Fitted:
    """Read, check and fit what a user gave to an estimator."""
    reading, workers = plan.reading, plan.workers
    if workers.wanted(X):
        with rows_on_workers(X, given, reading, workers) as (far, vectors):
            if far.names is not None:
                estimator.feature_names_in_ = far.names
            return _fitted(far, vectors, plan)
    X, y = checked(estimator, X, given.y, reading, reset=True)
    vectors = read_vectors(reading, dataclasses.replace(given, y=y), len(y))
    rows = rows_in_memory(X, vectors, reading, getattr(estimator, "feature_names_in_", None))
    return _fitted(rows, vectors, plan)


def fit_more(
    estimator: BaseEstimator, X: MatrixLike, given: Given, plan: Plan, before: Fitted
) -> Fitted:
    """Fit the rows of an earlier fit and later ones, going on from that fit."""
    X, y = checked(estimator, X, given.y, plan.reading, reset=False)
    given, axis = dataclasses.replace(given, y=y), before.axis
    later = read_vectors(
        plan.reading,
        given,
        len(y),
        axis=axis,
        classes=before.classes,
        group_labels=before.group_labels,
    )
    check_later(before, later)
    _check_same_groups(before, later)
    rows = before.rows.extended(X, later)
    axis = dataclasses.replace(axis, n_timesteps=rows.n_timesteps)
    # A mode is searched anew: zero paths could not come back otherwise.
    earlier = before if before.outcome.forecasters[0].posterior else None
    return _fitted(rows, dataclasses.replace(later, axis=axis), plan, earlier)


def checked(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike, reading: Reading, *, reset: bool
) -> tuple[Matrix, np.ndarray]:
    """X and y as scikit-learn wants them; names and number of columns are set or compared."""
    numeric = reading.family.target == "numbers"
    check_matrix(X)
    refuse_masked(y, "y")
    if numeric:
        check_target(y)
    checks = {"y_numeric": numeric, "reset": reset, "ensure_min_samples": 2 if reset else 1}
    checks["multi_output"] = reading.family.takes_trials and np.ndim(y) > 1
    valid: tuple[Matrix, np.ndarray] = validate_data(estimator, X, y, **checks, **X_FORMAT)
    return valid


def _ordered(rows: Rows, plan: Plan, file: Checkpoint | None) -> tuple[Rows, IntArray | None]:
    """Rows in an order of their own, and the place each had; None: they stay as they are.

    Draws of a sampler go by rows: the same seed stays the same draws. And a fit that was begun on
    workers, where rows stay as they are, may go on here.
    """
    own = plan.settings.sampling is None and may_be_sorted(rows)
    own = own if file is None else file.settle_order(own=own)
    return in_own_order(rows) if own else (rows, None)


def _fitted(rows: Rows, vectors: Vectors, plan: Plan, before: Fitted | None = None) -> Fitted:
    _check_noise(vectors.family, plan.settings)
    noise_given = plan.settings.given_noise is not None
    check_enough(rows.weights, vectors.family, noise_given=noise_given)
    check_sampling(rows, vectors.family, plan.settings)
    path = plan.workers.checkpoint
    file = None if path is None else Checkpoint.at(path, _fingerprint(rows, plan))
    n_seen = np.unique(rows.codes).size
    prior = plan.settings.prior
    given = getattr(prior, "weights", None) is not None
    kind = {"posterior": prior.posterior, "given_weights": given}
    choice = settled(plan.extrapolate, n_seen, **kind)
    asked = choice if plan.settings.seasonality == "auto" else plan.extrapolate
    cycle = settled_cycle(plan.settings, vectors.axis, n_seen, asked)
    choice = "average" if cycle else choice
    used, order = _ordered(rows, plan, file)
    used = used.shared() if choice == "average" else used
    earlier = None if before is None else before.outcome.forecasters[0]
    follows = AVERAGING if choice == "average" else ""
    settings = dataclasses.replace(plan.settings, follows=follows)
    outcome, history = fit_rows(used, settings, earlier=earlier, checkpoint=file), None
    if choice == "average":
        known = None
        same = before is not None and type(before.family) is type(vectors.family)
        if before is not None and before.history is not None and same:
            known = before.outcome.forecasters, before.history
        averaging = Averaging(plan.settings, file, cycle)
        outcome, history = with_history(used, outcome, averaging, known)
    if file is not None:
        file.remove()
    outcome = dataclasses.replace(outcome, checks=as_given(outcome.checks, order))
    read = vectors.axis, vectors.family, vectors.classes
    fits = outcome.forecasters[0].fits
    notes = _notes(rows, fits, plan.settings)
    return Fitted(outcome, *read, rows, choice, notes, history, vectors.group_labels, cycle)


def _notes(rows: Rows, fits: Sequence[Fit], settings: Settings) -> ColumnNotes:
    """What there is to say against columns."""
    included = np.any([fit.inclusion() >= INCLUDED for fit in fits], axis=0)
    alone = any(isinstance(fit, PosteriorFit) and fit.joint is None for fit in fits)
    alone = alone and settings.sampling is None
    return ColumnNotes.of(rows, fits[0].sizes, included, alone=alone)


def _check_noise(family: Family, settings: Settings) -> None:
    """Whether the family has the noise, or the dispersion, that is asked for."""
    if settings.given_noise is not None and not family.has_dispersion:
        raise DataError(
            f"family {family.name!r} has no noise variance or dispersion to be given; "
            "leave it to 'auto'."
        )
    if settings.noise == "drift":
        _check_drift(family, settings)
    _check_shape(settings.given_noise, family)


def _check_drift(family: Family, settings: Settings) -> None:
    """Whether the noise may move."""
    if not family.noise_drifts:
        raise DataError(
            f"noise='drift' is for noise variances and family {family.name!r} has none; "
            "leave it to 'auto'."
        )
    if not settings.prior.posterior:
        raise DataError(
            "noise='drift' averages over what the noise may be, which a posterior mode does not; "
            "use prior='learned', or noise='constant'."
        )


def _check_shape(given: float | None, family: Family) -> None:
    """Whether a dispersion that the user gave is one of the family's."""
    if given is None or family.has_noise or family.shape_range is None:
        return
    low, high = family.shape_range
    if not low <= given <= high:
        raise DataError(
            f"noise={given:g}, the dispersion of family {family.name!r} ({family.noise_meaning}); "
            f"it lies between {low:g} and {high:g}."
        )


def _fingerprint(rows: Rows, plan: Plan) -> Fingerprint:
    """What a checkpoint is good for: this estimator, these parameters and data."""
    vectors = rows.y, rows.weights, rows.exposure, rows.codes * rows.y.T
    sums = [rows.column_sums(), *(each.sum() for each in vectors)]
    if rows.group is not None:
        sums.append(float(rows.group @ (rows.codes + 1.0)))
    return Fingerprint.of(plan.reading.owner, plan.params, {"n_rows": len(rows.y)}, sums)


def _check_same_groups(before: Fitted, later: Vectors) -> None:
    """Whether an update says of its rows what the fit said of the first ones."""
    if (before.group_labels is None) != (later.group is None):
        have, lack = ("the fit", "the update") if later.group is None else ("the update", "the fit")
        raise DataError(
            f"{have} has groups and {lack} has none; give groups= to both, or to neither."
        )


def check_later(before: Fitted, later: Vectors) -> None:
    """Whether rows belong to steps that an update may add."""
    codes, n_steps, last = later.codes, before.axis.n_timesteps, before.axis.labels[-1]
    if (codes < n_steps).any():
        raise TimeError(
            f"row {int(np.argmax(codes < n_steps))} belongs to a step the model has seen "
            f"(it knows steps up to {last}); update takes later steps only. "
            "To change the past, fit again."
        )
    n_seen = np.unique(before.rows.codes).size + np.unique(codes).size
    if int(codes.max()) + 1 > 2 * n_seen:
        raise TimeError(
            f"the new rows reach {int(codes.max()) + 1 - n_steps} steps beyond the last one, "
            f"{last}; steps without data may be as many as those with data. "
            "Check the labels against those of fit."
        )
