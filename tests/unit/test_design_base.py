"""Blocks of features that kernels work on."""

import numpy as np
from numpy.testing import assert_array_equal

from driftglm.design import UpdateBlock


def test_a_block_of_all_features_hands_out_the_arrays_themselves():
    block, array = UpdateBlock(np.arange(3), None, None, None), np.arange(3.0)
    assert block.take(array) is array
    assert block.take_all((array,))[0] is array
    block.put_back()
    assert_array_equal(array, [0.0, 1.0, 2.0])


def test_what_a_kernel_changes_in_a_block_is_put_back():
    block = UpdateBlock(np.arange(2), None, None, None, np.array([2, 0]))
    one, two = np.arange(3.0), np.zeros((3, 2))
    assert_array_equal(block.take(one), [2.0, 0.0])
    first, second = block.take_all((one, two))
    first[0], second[1] = 9.0, 5.0
    assert_array_equal(one, [0.0, 1.0, 2.0])
    block.put_back()
    assert_array_equal(one, [0.0, 1.0, 9.0])
    assert_array_equal(two, [[5.0, 5.0], [0.0, 0.0], [0.0, 0.0]])
