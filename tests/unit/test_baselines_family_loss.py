"""A family as a loss of eta: its derivatives and the squares that touch it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm.baselines.family_loss import BaselineFamily, FamilyLoss, has_classes
from driftglm.exceptions import DataError

ETA, Y = np.array([-1.2, 0.3, 2.0]), np.array([0.0, 1.0, 1.0])


@pytest.mark.parametrize("name", ["gaussian", "binomial", "poisson"])
def test_slope_and_curvature_are_those_of_the_loss(name):
    loss, step = FamilyLoss.named(name), 1e-5
    up, down = loss.value(Y, ETA + step), loss.value(Y, ETA - step)
    assert_allclose(loss.slope(Y, ETA), (up - down) / (2 * step), rtol=1e-6)
    bend = (loss.slope(Y, ETA + step) - loss.slope(Y, ETA - step)) / (2 * step)
    assert_allclose(loss.curvature(Y, ETA), bend, rtol=1e-6)


@pytest.mark.parametrize("name", ["gaussian", "binomial", "poisson"])
def test_working_squares_have_the_slope_of_the_loss(name):
    loss = FamilyLoss.named(name)
    target, weights = loss.working(Y, ETA)
    assert_allclose(weights * (ETA - target), loss.slope(Y, ETA))
    assert_allclose(weights, loss.curvature(Y, ETA))


def test_a_row_that_is_certain_still_has_a_curvature_and_errors_name_the_family():
    assert FamilyLoss.named("binomial").curvature(np.ones(1), np.array([800.0]))[0] > 0
    with pytest.raises(DataError, match=r"family='poisson': y is -1\.0 at row 0"):
        FamilyLoss.named("poisson").check(np.array([-1.0]))


def test_text_is_allowed_and_families_of_several_responses_are_not():
    allowed = BaselineFamily()
    assert allowed.is_satisfied_by("text")
    assert allowed.is_satisfied_by("poisson")
    assert not allowed.is_satisfied_by("multinomial")
    assert [has_classes(name) for name in ("text", "gaussian", "binomial")] == [False, False, True]
