"""Documents become contexts, effects and a background."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.sparse import csr_array, csr_matrix

from driftglm.fitting.text_data import (
    effect_units,
    log_background,
    read_counts,
)


def test_units_are_one_for_indicators(text_world, rng):
    contexts, _, _ = text_world(rng)
    unit = effect_units(contexts)
    assert_allclose(unit[:2], 1.0)
    x = contexts.effects[:, 2]
    mean = np.average(x, weights=contexts.totals)
    assert_allclose(unit[2], np.sqrt(np.average((x - mean) ** 2, weights=contexts.totals)))


def test_the_background_is_the_smoothed_share_of_every_step():
    counts = csr_array([[3.0, 1.0], [0.0, 4.0], [2.0, 0.0]])
    codes = np.array([1, 1, 3])
    found = np.exp(log_background(counts, codes, 4, "step", 0.5))
    first, last = np.array([3.5, 5.5]) / 9, np.array([2.5, 0.5]) / 3
    # Steps 0 and 2 have no documents: the next one at the start, else the one before.
    assert_allclose(found, [first, first, first, last])
    assert_allclose(
        np.exp(log_background(counts, codes, 4, "all", 0.5))[2], np.array([5.5, 5.5]) / 11
    )


def test_counts_given_twice_add_up():
    doubled = csr_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 3))
    assert read_counts(doubled, None).toarray().tolist() == [[0.0, 3.0, 0.0]]
