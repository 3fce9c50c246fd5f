"""What has one number a row is read once, and wrong input is named."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from driftglm.exceptions import DataError
from driftglm.families import family_named
from driftglm.fitting.reading import Given, Reading, class_numbers, exposure_of, read_vectors


def reading(family="gaussian", **how):
    return Reading(family_named(family), "Estimator", **how)


def test_classes_become_numbers_and_choose_the_family():
    y = np.array(["b", "a", "c", "b"])
    found = read_vectors(reading("binomial"), Given(y, [1, 1, 2, 3]), 4)
    assert_array_equal(found.y, [1.0, 0.0, 2.0, 1.0])
    assert found.classes.tolist() == ["a", "b", "c"]
    assert found.family.name == "multinomial"
    assert_array_equal(found.codes, [0, 0, 1, 2])


def test_class_weights_multiply_what_the_user_gave():
    given = Given(np.array([0, 0, 1]), sample_weight=[1.0, 2.0, 3.0])
    found = read_vectors(reading("binomial", class_weight={0: 2.0, 1: 0.0}), given, 3)
    assert_array_equal(found.weights, [2.0, 4.0, 0.0])
    assert_array_equal(found.take(found.has_weight).weights, [2.0, 4.0])


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: read_vectors(reading("binomial"), Given(np.ones(3)), 3), "y has one class only"),
        (lambda: class_numbers(np.array(["z"]), np.array(["a", "b"])), "y has the class 'z'"),
        (lambda: exposure_of(family_named("gaussian"), [1.0], 1), "takes no exposure"),
    ],
)
def test_what_cannot_be_read_is_refused(call, match):
    with pytest.raises(DataError, match=match):
        call()


def test_masks_come_from_the_parameter_of_that_name():
    how = reading(always_in=["a"], static=[1])
    assert how.mask("always_in", 2, ["a", "b"]).tolist() == [True, False]
    assert how.mask("static", 2, ["a", "b"]).tolist() == [False, True]
