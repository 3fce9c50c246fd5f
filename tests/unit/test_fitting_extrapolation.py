"""Who decides whether coefficients are forecast or held."""

import pytest

from driftglm.fitting.extrapolation import settled


@pytest.mark.parametrize("posterior", [True, False])
def test_the_user_has_the_first_word_then_the_data_then_the_kind_of_fit(posterior):
    by_kind = "forecast" if posterior else "hold"
    assert settled("hold", lambda: "forecast", posterior=posterior) == "hold"
    assert settled("auto", lambda: "hold" if posterior else "forecast", posterior=posterior) == (
        by_kind
    )
    assert settled("validate", lambda: "hold", posterior=posterior) == "hold"
    # Too few steps to hold one out.
    assert settled("validate", lambda: None, posterior=posterior) == by_kind
