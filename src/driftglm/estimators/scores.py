"""How good predictions are, as `score` tells."""

from __future__ import annotations

from typing import Any

import numpy as np

from driftglm._typing import FloatArray
from driftglm.families import Family


def share_explained(family: Family, y: Any, prediction: FloatArray, sample_weight: Any) -> float:
    """The share of the family's loss explained: R^2, or D^2."""
    target = np.asarray(y, dtype=np.float64)
    weights = np.ones(target.size) if sample_weight is None else np.asarray(sample_weight)
    null = np.full(target.size, np.average(target, weights=weights))
    losses = [family.prediction_loss(target, mean) for mean in (prediction, null)]
    left, all_of_it = (float(np.average(loss, weights=weights)) for loss in losses)
    if all_of_it == 0.0:  # as scikit-learn has it where y is constant
        return 1.0 if left == 0.0 else 0.0
    return 1.0 - left / all_of_it
