"""The share of a family's loss that is explained."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import r2_score

from driftglm import DriftPoissonRegressor, DriftRegressor
from driftglm.exceptions import DataError


def test_scores_are_checked_and_are_those_of_scikit_learn(family_rows):
    X, y, time = family_rows("gaussian")
    model = DriftRegressor().fit(X, y, time=time)
    weights = np.linspace(0.1, 2.0, 240)
    found = model.score(X, y, time=time, sample_weight=weights)
    prediction = model.predict(X, time=time)
    assert_allclose(found, r2_score(y, prediction, sample_weight=weights), rtol=1e-12)
    assert model.score(X, y[:, None], time=time) == model.score(X, y, time=time)
    for bad in (np.where(np.arange(240) == 3, np.nan, y), y[:100]):
        with pytest.raises(ValueError, match=r"NaN|inconsistent"):
            model.score(X, bad, time=time)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(model.score(X[:1], y[:1], time=time[:1]))


def test_counts_that_are_all_zero_are_not_explained_perfectly(family_rows):
    X, y, time = family_rows("poisson")
    model = DriftPoissonRegressor().fit(X, y, time=time)
    assert model.score(X, np.zeros(240), time=time) == 0.0
    with pytest.raises(DataError, match="counts must lie between"):
        model.score(X, np.where(np.arange(240) == 3, -1, y), time=time)
