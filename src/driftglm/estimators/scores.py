"""How good predictions are, as `score` tells."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from driftglm._typing import FloatArray, VectorLike
from driftglm._warnings import warn
from driftglm.data.checks import check_weights
from driftglm.families import Family

LEAST_ROWS = 2


def share_explained(
    family: Family, y: ArrayLike, prediction: FloatArray, sample_weight: VectorLike
) -> float:
    """The share of the family's loss explained: R^2, or D^2."""
    two = family.takes_trials and np.ndim(y) > 1
    target = np.asarray(y if two else column_or_1d(y), dtype=np.float64)
    assert_all_finite(target, input_name="y")
    check_consistent_length(target, prediction)
    target = family.read_target(target, None)
    family.check_target(target)
    weights = check_weights(sample_weight, len(target))
    if len(target) < LEAST_ROWS:
        warn("a score needs two rows or more; it is not defined for one.", UndefinedMetricWarning)
        return float("nan")
    null = np.full(len(target), family.average(target, weights))
    losses = [family.prediction_loss(target, mean) for mean in (prediction, null)]
    residual, total = (float(np.average(loss, weights=weights)) for loss in losses)
    if total == 0.0:  # as scikit-learn has it where y is constant
        return 1.0 if residual == 0.0 else 0.0
    return 1.0 - residual / total
