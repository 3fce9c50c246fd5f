"""The estimator of a family."""

from driftglm import DriftClassifier, DriftGLM, DriftPoissonRegressor
from driftglm.estimators.named import estimator_for


def test_a_family_has_its_own_estimator_or_the_general_one():
    assert type(estimator_for("poisson", max_iter=7)) is DriftPoissonRegressor
    assert estimator_for("poisson", max_iter=7).max_iter == 7
    assert type(estimator_for("multinomial")) is DriftClassifier
    other = estimator_for("gamma", tol=0.5)
    assert type(other) is DriftGLM
    assert (other.family, other.tol) == ("gamma", 0.5)
