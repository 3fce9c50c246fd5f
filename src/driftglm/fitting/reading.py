"""What a user gave to `fit`, checked once: the same for rows in memory and rows on workers."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from driftglm._typing import BoolArray, FloatArray, IntArray, VectorLike
from driftglm._warnings import warn
from driftglm.data.checks import check_numbers, check_weights, log_exposure, per_row
from driftglm.data.features import Names, feature_mask, listed
from driftglm.data.groups import check_groups, read_groups
from driftglm.data.kinds import Kinds, read_kinds
from driftglm.data.timesteps import Freq, TimeAxis, fit_axis
from driftglm.exceptions import DataError, DataWarning
from driftglm.families import Family, family_named

TWO = 2
LEAST_WEIGHT, MOST_WEIGHT = 1.0 - 1e-9, 1e18
"""Of all rows together; weights that add up to one may do so up to rounding only."""
UNEVEN = 1e9
"""Weights of one fit that differ by more than this factor are worth a warning."""
PER_ROW = ("y", "codes", "weights", "exposure")
"""What `Vectors` and `Rows` have one number a row of."""
OF_GROUPS = ("group", "occasion")
"""The same where rows belong together."""


@dataclass(frozen=True)
class Given:
    """What a user gave to `fit`, beside X."""

    y: Any
    time: VectorLike = None
    sample_weight: VectorLike = None
    exposure: VectorLike = None
    trials: VectorLike = None
    groups: VectorLike = None


@dataclass(frozen=True)
class Reading:
    """How an estimator wants its rows read.

    Parameters
    ----------
    family
        The distribution of y, as it is registered.
    owner
        The estimator to name in messages.
    posterior, noise_asked
        Whether the fit is a posterior, and whether the user wants noise estimated, or gave it.
    n_directions
        Shared directions, at most.
    intercept
        Whether there is an intercept.
    always_in, static
        Names, positions or masks of columns.
    feature_groups
        Columns of every kind of feature that has a hyperprior of its own, by its name.
    class_weight
        As in scikit-learn.
    freq
        Length of a step.
    threads
        How many may work on X.
    verbose
        Say where the workers' dashboard is.
    """

    family: Family
    owner: str
    posterior: bool = True
    noise_asked: bool = False
    n_directions: int = 0
    intercept: bool = True
    always_in: Any = None
    static: Any = None
    feature_groups: Any = None
    class_weight: Any = None
    freq: Freq = None
    threads: int = 1
    verbose: bool = False

    def mask(self, argument: str, n_features: int, names: Names) -> BoolArray:
        """Which columns `always_in` or `static` mean."""
        return feature_mask(getattr(self, argument), n_features, names, argument)

    def kinds(self, n_features: int, names: Names) -> Kinds | None:
        """Which columns `feature_groups` means; None: they are all of one kind."""
        if self.feature_groups is not None and not self.posterior:
            raise DataError(
                "feature_groups gives every kind of feature mixture weights of its own, which only "
                "the learned prior has; use prior='learned', or leave feature_groups out."
            )
        return read_kinds(self.feature_groups, n_features, names)


@dataclass(frozen=True)
class Vectors:
    """What has one number a row, and what was learned of it.

    Parameters
    ----------
    y
        Numbers the family understands; classes as 0, 1, ...
    codes
        Steps on `axis`.
    weights, exposure
        Weights (rows of weight zero are to be left out), and logs of exposures.
    family
        The variant of the family that these rows are fitted with.
    classes
        Labels of the classes; None where y is numbers.
    group, occasion
        Number of every row's group, and of the step in which its effect is drawn; None where rows
        do not belong together. `group_labels` are what users call the groups.
    """

    y: FloatArray
    codes: IntArray
    weights: FloatArray
    exposure: FloatArray
    axis: TimeAxis
    family: Family
    classes: np.ndarray | None = None
    group: IntArray | None = None
    occasion: IntArray | None = None
    group_labels: np.ndarray | None = None

    @property
    def row_fields(self) -> tuple[str, ...]:
        """What has one number a row."""
        return PER_ROW if self.group is None else PER_ROW + OF_GROUPS

    @property
    def has_weight(self) -> BoolArray:
        """Rows that carry weight."""
        return self.weights > 0

    def take(self, keep: BoolArray) -> Vectors:
        """Some of the rows, on the same axis."""
        found = {name: getattr(self, name)[keep] for name in self.row_fields}
        return dataclasses.replace(self, **found)

    def for_rows(self) -> dict[str, Any]:
        """What `Rows` have in common with this, by name."""
        n_groups = 0 if self.group_labels is None else int(self.group_labels.size)
        found = {name: getattr(self, name) for name in ("family", *PER_ROW, *OF_GROUPS)}
        return {**found, "n_groups": n_groups}


def read_vectors(
    reading: Reading,
    given: Given,
    n_rows: int,
    *,
    axis: TimeAxis | None = None,
    classes: np.ndarray | None = None,
    group_labels: np.ndarray | None = None,
) -> Vectors:
    """Check what has one number a row.

    `axis`, `classes` and `group_labels` are those of a fit to be updated.
    """
    y = np.asarray(given.y)
    if reading.family.target == "classes":
        if given.trials is not None:
            raise DataError(
                f"family {reading.family.name!r} takes no trials; use family='beta-binomial' for "
                "successes out of trials."
            )
        classes = _find_classes(y) if classes is None else classes
        target = class_numbers(y, classes)
    weights = check_weights(_weights(reading, y, given.sample_weight), n_rows)
    if axis is None:
        axis, codes = fit_axis(given.time, n_rows, reading.freq)
    else:
        codes = axis.encode(given.time, n_rows)
    family = _settled(reading, classes)
    if classes is None:
        check_numbers(y)
        target = family.read_target(y.astype(np.float64), trials_of(given.trials, n_rows))
        family.check_target(target)
        weights = _informed(weights, family.empty(target))
    check_enough(weights, family)
    _warn_of_uneven(weights)
    if family.link == "log" and not target[weights > 0].any():
        warn(
            "every count is zero: how far below one the rate lies is not in the data, and what is "
            "predicted is next to nothing.",
            DataWarning,
        )
    exposure = exposure_of(family, given.exposure, n_rows)
    found = Vectors(target, codes, weights, exposure, axis, family, classes)
    if given.groups is None:
        return found
    if not reading.posterior:
        raise DataError(
            "groups= is for the learned prior, which knows how uncertain things are; use "
            "prior='learned', or leave groups out."
        )
    labels, group = read_groups(given.groups, n_rows, group_labels)
    check_groups(group[weights > 0], codes[weights > 0], new=group_labels is None)
    return dataclasses.replace(found, group=group, occasion=codes, group_labels=labels)


def exposure_of(family: Family, exposure: VectorLike, n_rows: int) -> FloatArray:
    """The logarithm of the exposure, for families that take one; zeros where none is given."""
    if exposure is not None and not family.takes_exposure:
        raise DataError(f"family {family.name!r} takes no exposure; leave it out.")
    return log_exposure(exposure, n_rows)


def trials_of(trials: VectorLike, n_rows: int) -> FloatArray | None:
    """Trials as numbers, one a row; None if there are none."""
    return None if trials is None else per_row(trials, n_rows, "trials", "number")


def _informed(weights: FloatArray, empty: BoolArray) -> FloatArray:
    """Weights without those of rows that say nothing."""
    if not empty.any():
        return weights
    warn(f"{int(empty.sum())} rows have no trials and are left out.", DataWarning)
    return check_weights(np.where(empty, 0.0, weights), weights.size)


def check_enough(weights: FloatArray, family: Family, *, noise_given: bool = True) -> None:
    """Raise DataError if rows weigh less than one row together, or more than could be counted.

    With next to nothing eta, its logarithm or logit goes anywhere; of normal errors nothing is
    learned, unless the user gave the noise: what counts then is weights over noise.
    """
    if family.quadratic and noise_given:
        return
    total = float(weights.sum())
    cure = (
        "A row of weight 2 counts as two rows: multiply the weights so that they add up to the "
        "number of rows they stand for."
    )
    if total < LEAST_WEIGHT:
        raise DataError(
            f"the sample weights add up to {total:.3g}, less than one row, from which family "
            f"{family.name!r} can learn nothing. {cure}"
        )
    if total > MOST_WEIGHT:
        raise DataError(
            f"the sample weights add up to {total:.3g}, more rows than numbers can tell from "
            f"infinitely many. {cure}"
        )


def _warn_of_uneven(weights: FloatArray) -> None:
    """Say so where rows weigh so differently that the lightest are lost in rounding errors."""
    some = weights[weights > 0]
    if some.size and some.max() > UNEVEN * some.min():
        n_orders = np.log10(some.max()) - np.log10(some.min())
        warn(
            f"sample weights differ by {n_orders:.0f} orders of magnitude: what is predicted "
            "where light rows alone lie depends on rounding errors of the heavy ones. A row of "
            "weight 2 counts as two rows; leave out rows that weigh next to nothing.",
            DataWarning,
        )


def _settled(reading: Reading, classes: np.ndarray | None) -> Family:
    """The variant of a family that suits the prior and the number of classes."""
    family = reading.family
    if classes is not None:
        other = family.more_classes if classes.size > TWO else family.two_classes
        family = family if other is None else family_named(other)
        if classes.size > TWO and not family.coupled:
            raise DataError(
                f"y has {classes.size} classes and family {family.name!r} is for two; merge "
                "classes, or use family='multinomial'."
            )
        family = family.for_classes(classes.size)
    return family.for_fit(posterior=reading.posterior, noise_asked=reading.noise_asked)


def _find_classes(y: np.ndarray) -> np.ndarray:
    check_classification_targets(y)
    classes = np.unique(y)
    if classes.size < TWO:
        raise DataError(
            f"y has one class only ({classes.tolist()[0]!r}); a classifier needs 2 or "
            "more, so there is nothing to learn from these rows."
        )
    return classes


def class_numbers(y: np.ndarray, classes: np.ndarray) -> FloatArray:
    """Positions in `classes`, as numbers."""
    known = np.isin(y, classes)
    if not known.all():
        raise DataError(
            f"y has the class {y[~known][:1].tolist()[0]!r}, which the model was not fitted "
            f"with; it knows {listed([repr(each) for each in classes.tolist()])}. Fit again to add "
            "a class."
        )
    return np.searchsorted(classes, y).astype(np.float64)


def _weights(reading: Reading, y: np.ndarray, sample_weight: VectorLike) -> VectorLike:
    """Weights of the rows; those of classes multiply what the user gave."""
    if reading.class_weight is None:
        return sample_weight
    by_class = np.asarray(compute_sample_weight(reading.class_weight, y))
    return by_class * check_weights(sample_weight, len(y))
