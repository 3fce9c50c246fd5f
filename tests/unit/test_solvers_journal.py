"""Snapshots of solvers: written as plain values and arrays, and read back."""

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from driftglm.exceptions import DataError
from driftglm.objective import SharedState
from driftglm.solvers.coupling import Softmax
from driftglm.solvers.journal import decode, encode, share_again, shared_arrays


def test_what_was_encoded_comes_back(rng):
    shared = SharedState(rng.normal(size=2), np.eye(2), np.eye(2), np.zeros(2), 0.5, 0.1)
    arrays = {}
    snapshot = {"shared": shared, "history": [1.0, np.float64(2.5)], "pair": (1, None)}
    plain = json.loads(json.dumps(encode(snapshot, arrays)))
    found = decode(plain, arrays)
    assert found["history"] == [1.0, 2.5]
    assert found["pair"] == [1, None]
    assert (found["shared"].variance, found["shared"].divergence) == (0.5, 0.1)
    assert_array_equal(found["shared"].mean, shared.mean)
    found["shared"].mean[:] = 7.0
    assert not (decode(plain, arrays)["shared"].mean == 7.0).any()


def test_other_classes_are_refused():
    with pytest.raises(DataError, match="none of its parts"):
        decode({"kind": "Path", "items": {}}, {})


def test_what_couples_responses_is_copied_and_put_back(rng):
    coupling = Softmax((rng.normal(size=3), rng.normal(size=3)), np.ones(3), np.ones(3))
    before = shared_arrays(coupling)
    first = coupling.offsets[0].copy()
    coupling.offsets[0][:] = 0.0
    share_again(coupling, before)
    assert_array_equal(coupling.offsets[0], first)
