"""The rows' side of a pass."""

import numpy as np

from driftglm.design import ColumnDesign
from driftglm.solvers.rowstate import update_order


def test_features_are_updated_by_falling_correlation_whatever_their_unit(rng):
    target = rng.normal(size=200)
    # Correlations of about .2, .9, 0, -.5; the unit must not matter, the sign neither.
    X = np.column_stack([share * target + rng.normal(size=200) for share in (0.2, 2.0, 0.0, -0.6)])
    X = np.column_stack([X * [100.0, 0.01, 10.0, 1.0], np.zeros(200)])
    design = ColumnDesign.from_matrix(X, np.sort(rng.integers(0, 4, 200)), 4)[0]
    order = update_order(design, target, design.squares(np.ones(200)))
    assert order.tolist() == [1, 3, 0, 2, 4]
