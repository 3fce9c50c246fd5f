"""When solvers end."""

import numpy as np

from driftglm.solvers.stopping import last_rise, stands_still


def test_a_history_that_moves_in_its_last_digits_stands_still():
    rising = [-1e6 + 1e-3 * k for k in range(30)]
    assert not stands_still(rising, 20)
    assert stands_still(rising + [rising[-1]] * 20, 20)
    assert not stands_still([1.0] * 20, 20)


def test_the_rise_of_a_first_pass_is_unknown():
    assert last_rise([]) == last_rise([3.0]) == np.inf
    assert last_rise([1.0, 3.5]) == 2.5
