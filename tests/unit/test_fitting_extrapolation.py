"""Who decides how steps after the last are predicted."""

import pytest

from driftglm.exceptions import DataError
from driftglm.fitting.extrapolation import settled


@pytest.mark.parametrize(("n_seen", "expected"), [(1, "forecast"), (4, "forecast"), (5, "average")])
def test_a_posterior_averages_where_there_are_steps_to_judge_by(n_seen, expected):
    assert settled("auto", n_seen, posterior=True) == expected
    assert settled("auto", n_seen, posterior=False) == "hold"


@pytest.mark.parametrize("asked", ["hold", "forecast"])
@pytest.mark.parametrize("posterior", [True, False])
def test_the_user_has_the_last_word(asked, posterior):
    assert settled(asked, 20, posterior=posterior) == asked


def test_what_gives_no_probabilities_cannot_be_averaged():
    with pytest.raises(DataError, match="use prior='learned'"):
        settled("average", 20, posterior=False)
    assert settled("average", 2, posterior=True) == "average"
    assert settled("average", 1, posterior=True) == "forecast"
    with pytest.raises(DataError, match="weights"):
        settled("average", 20, posterior=True, given_weights=True)
    assert settled("auto", 20, posterior=True, given_weights=True) == "forecast"
