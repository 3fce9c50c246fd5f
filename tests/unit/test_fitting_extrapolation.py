"""Who decides how steps after the last are predicted."""

import pytest

from driftglm.exceptions import DataError
from driftglm.fitting.extrapolation import settled


@pytest.mark.parametrize(("n_seen", "expected"), [(1, "forecast"), (4, "forecast"), (5, "average")])
def test_a_posterior_averages_where_there_are_steps_to_judge_by(n_seen, expected):
    assert settled("auto", n_seen, 100.0, posterior=True) == expected
    assert settled("auto", n_seen, 100.0, posterior=False) == "hold"


@pytest.mark.parametrize("asked", ["hold", "forecast"])
@pytest.mark.parametrize("posterior", [True, False])
def test_the_user_has_the_last_word(asked, posterior):
    assert settled(asked, 20, 100.0, posterior=posterior) == asked


def test_what_gives_no_probabilities_cannot_be_averaged():
    with pytest.raises(DataError, match="use prior='learned'"):
        settled("average", 20, 100.0, posterior=False)
    assert settled("average", 2, 100.0, posterior=True) == "average"
    assert settled("average", 1, 100.0, posterior=True) == "forecast"
    with pytest.raises(DataError, match="weights"):
        settled("average", 20, 100.0, posterior=True, given_weights=True)
    assert settled("auto", 20, 100.0, posterior=True, given_weights=True) == "forecast"


def test_a_row_a_step_is_nothing_to_judge_by():
    assert settled("auto", 100, 100.0, posterior=True) == "forecast"
    assert settled("average", 100, 100.0, posterior=True) == "average"
