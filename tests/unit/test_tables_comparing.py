"""Steps as they are typed."""

import pytest

from driftglm.exceptions import DataError
from driftglm.tables.comparing import parse_steps


def test_steps_are_lists_and_ranges_of_numbers_or_periods():
    assert parse_steps("2003, 2005:2007", None) == [2003, 2005, 2006, 2007]
    assert parse_steps("2000:2010", 5) == [2000, 2005, 2010]
    months = parse_steps("2004-11:2005-02", "M")
    assert [str(month) for month in months] == ["2004-11", "2004-12", "2005-01", "2005-02"]
    for text in ("", ",", "a", "2003:", "1:2:3"):
        with pytest.raises(DataError):
            parse_steps(text, None)
