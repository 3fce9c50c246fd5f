"""The candidate of least error, and when a search may end early."""

import numpy as np
import pytest

from driftglm.baselines.tuning import SHORT, choose, warn_at_edge
from driftglm.exceptions import DataError, DataWarning


def test_a_chain_is_left_once_it_is_clearly_behind_if_candidates_are_dear():
    seen = []

    def chain(errors):
        for k, error in enumerate(errors):
            seen.append(k)
            yield {"k": k}, error

    errors = [3.0, 2.0, 1.0, 1.1, 1.2, 1.3, 0.1]
    assert choose([chain(errors)]).params == {"k": 6}
    seen.clear()
    choice = choose([chain(errors)], patience=lambda: SHORT)
    assert choice.params == {"k": 2}
    assert seen == [0, 1, 2, 3, 4, 5]
    assert not choice.at_edge
    assert choose([chain([3.0, 2.0, 1.0])]).at_edge
    assert choose([chain([1.0, 2.0, 3.0])]).at_edge
    assert not choose([chain([3.0, 1.0, 1.0])]).at_edge
    assert choose([chain([3.0, np.nan, 2.0]), chain([5.0, 1.5])]).params == {"k": 1}


def test_no_finite_error_is_an_error_and_one_candidate_is_no_edge():
    with pytest.raises(DataError, match="no candidate strength had a finite error"):
        choose([[({"strength": 1.0}, np.nan)], []])
    assert not choose([[({"strength": 1.0}, 2.0)]]).at_edge


def test_an_edge_is_reported_with_its_values():
    with pytest.warns(DataWarning, match=r"^Model chose strength=0.3333, an end of its default"):
        warn_at_edge("Model", {"strength": 1 / 3})
