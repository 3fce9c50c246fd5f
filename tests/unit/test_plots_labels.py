"""Labels of figures, and names of features."""

from types import SimpleNamespace

import numpy as np
import pytest

from driftglm.exceptions import DataError
from driftglm.plots.labels import apart, feature_names_of


def test_labels_are_spread_no_further_than_needed():
    wanted = np.array([0.0, 5.0, 5.0, 5.1])
    placed = apart(wanted, 1.0)
    assert np.diff(np.sort(placed)).min() >= 1.0 - 1e-12
    assert placed[0] == 0.0
    assert placed[1:].mean() == pytest.approx(wanted[1:].mean())
    assert apart(np.zeros(0), 1.0).size == 0


def test_features_have_the_names_given_or_fitted_or_numbers():
    model = SimpleNamespace(feature_names_in_=np.array(["a", "b"], dtype=object))
    assert feature_names_of(model, 2) == ["a", "b"]
    assert feature_names_of(model, 2, [1, "c"]) == ["1", "c"]
    assert feature_names_of(SimpleNamespace(), 2) == ["x0", "x1"]
    with pytest.raises(DataError, match="feature_names has 1 names but the model has 2 features"):
        feature_names_of(model, 2, ["a"])
