"""Which loss suits which models."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge

from driftglm import DriftGLM, DriftTextModel
from driftglm.evaluation.metrics import find_metric
from driftglm.exceptions import DataError


@pytest.mark.parametrize(
    ("models", "name"),
    [
        ([Ridge()], "mse"),
        ([Ridge(), PoissonRegressor()], "poisson"),
        ([DriftGLM(family="poisson")], "poisson"),
        ([LogisticRegression(), DriftGLM(family="binomial")], "log_loss"),
        ([DriftTextModel()], "nll"),
    ],
)
def test_the_metric_is_that_of_the_models(models, name):
    assert find_metric("auto", dict(enumerate(models))).name == name


@pytest.mark.parametrize("metric", ["mse", "log_loss", "nll"])
def test_models_of_two_kinds_have_no_metric_in_common(metric):
    models = {"ridge": Ridge(), "logistic": LogisticRegression(), "text": DriftTextModel()}
    with pytest.raises(DataError, match="does not suit all models"):
        find_metric(metric, models)
    with pytest.raises(DataError, match="'text' predicts words and 'ridge' does not"):
        find_metric("auto", models)


def test_a_loss_without_a_number_names_model_and_row():
    metric = find_metric(lambda y, p: np.where(p < y, y - p, np.inf), {"a": Ridge()})
    y = np.array([3.0, 1.0])
    assert_array_equal(metric(y, np.zeros(2), "a"), y)
    with pytest.raises(DataError, match="model 'a' predicts 1 where y is 1"):
        metric(y, np.array([0.0, 1.0]), "a")
