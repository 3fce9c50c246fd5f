"""Training rows: which are used, how they are cut and joined, what they are centred by."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from driftglm.data.matrices import dense
from driftglm.exceptions import DataError
from driftglm.families import family_named
from driftglm.fitting.reading import Given, Reading, read_vectors
from driftglm.fitting.rows import rows_in_memory

TIME = [0, 0, 1, 1, 2, 2]
X = np.arange(12.0).reshape(6, 2) ** 2


def make(matrix=X, weights=None, family="gaussian", **how):
    reading = Reading(family_named(family), "Estimator", **how)
    given = Given(np.arange(6.0), TIME, weights)
    return rows_in_memory(matrix, read_vectors(reading, given, 6), reading, None)


def test_rows_without_weight_are_left_out_and_their_step_remains():
    rows = make(weights=[1, 1, 1, 1, 0, 0])
    assert rows.X.shape == (4, 2)
    assert rows.n_timesteps == 3
    assert rows.take(rows.codes < 2).n_timesteps == 2


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_cut_at_a_step_and_joined_again_are_the_same(kind):
    rows, reading = make(kind(X)), Reading(family_named("gaussian"), "Estimator")
    later = read_vectors(reading, Given(np.arange(6.0), TIME), 6).take(rows.codes == 2)
    again = rows.before(2).extended(kind(X)[4:], later)
    assert_array_equal(dense(again.X), X)
    assert_array_equal(again.y, rows.y)
    assert_array_equal(again.codes, rows.codes)
    assert again.n_timesteps == 3


def test_a_cut_without_rows_is_refused():
    with pytest.raises(DataError, match="a fit needs some"):
        make().before(0)


def test_a_quadratic_family_is_fitted_to_a_centred_target():
    rows = make()
    assert_allclose(rows.target.mean(), 0.0, atol=1e-12)
    assert not rows.offset.any()
    counts = make(family="poisson")
    assert_array_equal(counts.target, counts.y)
    assert_allclose(counts.offset, counts.scale.center)


def test_steps_that_move_are_centred_by_their_own_mean():
    y = np.array([0.0, 0.1, 9.0, 9.1, 20.0, 20.1])
    reading = Reading(family_named("gaussian"), "Estimator")
    rows = rows_in_memory(X, read_vectors(reading, Given(y, TIME), 6), reading, None)
    share, variance = rows.per_step_shares()
    assert (share > 0.99).all()
    assert variance > 50
