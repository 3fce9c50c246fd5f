"""Which places a document is about."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from driftglm.exceptions import DataError
from driftglm.experiments.us_states import FOREIGN, NO_INDICATOR, NO_PLACE, place_indicators


def places(*, skipped=None, **columns):
    """The place names of each document."""
    frame = pd.DataFrame(columns)
    found = place_indicators(frame, Counter() if skipped is None else skipped)
    assert found.shape == (len(frame), 51)
    return [set(found.columns[row > 0]) for row in found.to_numpy()]


def test_beige_book_districts_carry_their_states_by_hand():
    found = places(district=["da", "bo", "Minneapolis", 12, "ph"])
    assert found[0] == {"TX", "LA", "NM"}
    assert found[1] == {"MA", "ME", "NH", "RI", "VT", "CT"}
    assert found[2] == {"MN", "MT", "ND", "SD", "MI", "WI"}
    assert found[3] == {"AK", "AZ", "CA", "HI", "ID", "NV", "OR", "UT", "WA"}
    assert found[4] == {"DE", "NJ", "PA"}


def test_the_51st_indicator_is_the_whole_country_and_comes_with_all_states():
    frame = pd.DataFrame({"source": ["FOMC transcripts", "10-K"], "state": [None, "TX"]})
    found = place_indicators(frame, Counter())
    assert found.columns[-1] == "US"
    assert list(found.columns[:50]) == sorted(set(found.columns[:50]))
    assert found.iloc[0].sum() == 51
    assert found.iloc[1].sum() == 1
    assert found.loc[1, "US"] == 0
    for told in ({"district": ["su"]}, {"states": ["US"]}, {"states": ["all"]}):
        assert len(places(**told)[0]) == 51


def test_states_are_read_from_text_and_lists_and_come_before_everything_else():
    found = places(
        states=["TX, la", np.array(["NY", "NJ"]), None, ""],
        district=["bo", "bo", "bo", None],
        source=["fomc", "fomc", "fomc", "10-k"],
        state=["CA", "CA", "CA", "CA"],
    )
    assert found == [
        {"TX", "LA"},
        {"NY", "NJ"},
        {"MA", "ME", "NH", "RI", "VT", "CT"},
        {"CA"},
    ]


def test_richmond_has_no_indicator_for_the_district_of_columbia_and_it_is_counted():
    skipped = Counter()
    found = places(skipped=skipped, district=["ri", None], source=["beige", "other"])
    assert found == [{"MD", "NC", "SC", "VA", "WV"}, set()]
    assert skipped[NO_INDICATOR] == 1
    assert skipped[NO_PLACE] == 1


def test_companies_abroad_have_no_place_and_are_counted():
    skipped = Counter()
    assert places(skipped=skipped, state=["A6", "tx"]) == [set(), {"TX"}]
    assert skipped[FOREIGN] == 1


@pytest.mark.parametrize("told", [{"states": ["Texas"]}, {"district": ["xx"]}])
def test_unknown_places_are_an_error_that_names_the_document(told):
    with pytest.raises(DataError, match="document 0 has the"):
        places(**told)
