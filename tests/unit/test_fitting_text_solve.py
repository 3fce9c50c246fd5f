"""From contexts to a fit of text."""

import numpy as np
from numpy.testing import assert_allclose

from driftglm.fitting.text_solve import largest_distance


def test_the_largest_distance_is_that_of_centred_effects_zeros_included(text_world, rng):
    contexts, _, problem = text_world(rng)
    away = contexts.effects - problem.design.mean.T[contexts.codes]
    found = largest_distance(problem.design)
    seen = np.abs(away).max(axis=0)
    # A zero counts in every step, whether a context has it there or not.
    assert_allclose(found, np.maximum(seen, np.abs(problem.design.center).max(axis=1)))
    assert (found >= seen).all()
