"""Rows on workers cannot belong together: said before a cluster is asked for."""

import numpy as np
import pytest

from driftglm import DriftRegressor
from driftglm.exceptions import DataError

da = pytest.importorskip("dask.array")


def test_groups_with_rows_on_workers_are_refused_with_what_to_do():
    X, y, ids = np.ones((8, 1)), np.arange(8.0), np.repeat([1, 2], 4)
    message = r"groups= needs all rows in one place.*without n_workers"
    with pytest.raises(DataError, match=message):
        DriftRegressor().fit(da.from_array(X, chunks=(4, 1)), y, groups=ids)
    with pytest.raises(DataError, match=message):
        DriftRegressor().fit(X, y, groups=ids, n_workers=2)
