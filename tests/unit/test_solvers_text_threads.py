"""Chunks of words in threads."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from driftglm._threads import n_threads
from driftglm.solvers.text_threads import chunks, in_order, run_chunks


def test_chunks_cover_every_word_once_and_errors_come_through():
    for n_words in (1, 5, 64, 65, 5000):
        parts = chunks(n_words)
        assert [a for a, _ in parts[1:]] == [b for _, b in parts[:-1]]
        assert (parts[0][0], parts[-1][1]) == (0, n_words)
        assert len(parts) <= 64
    assert n_threads(None) == 1
    assert n_threads(-1) >= 1
    assert_allclose(in_order(np.ones((4, 2))), [4, 4])

    def broken(_chunk, _first, _last):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_chunks(broken, 10, 2)
