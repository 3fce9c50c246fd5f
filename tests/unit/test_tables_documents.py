"""What is known about documents as numbers."""

import numpy as np
import pandas as pd
import pytest

from driftglm.exceptions import DataError
from driftglm.tables.documents import effects_of


def test_numbers_stay_and_levels_and_listed_items_have_an_indicator_each():
    frame = pd.DataFrame(
        {
            "id": [1, 2, 3],
            "growth": [0.5, -1.0, 2.0],
            "source": ["fomc", "beige", "beige"],
            "states": [["TX", "LA"], [], ["TX"]],
        }
    )
    found = effects_of(frame, None, "notes")
    # Of two levels that exclude each other the rarer one has the column.
    assert list(found) == ["growth", "source=fomc", "states=LA", "states=TX"]
    expected = [[0.5, 1, 1, 1], [-1, 0, 0, 0], [2, 0, 0, 1]]
    np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (pd.to_datetime(["2004-01-01"] * 120), "holds dates, which are no effect"),
        ([f"name {k}" for k in range(120)], "120 different values, more than 100"),
    ],
)
def test_columns_that_are_no_effects_are_refused(values, said):
    with pytest.raises(DataError, match=said):
        effects_of(pd.DataFrame({"c": values}), None, "notes")
    with pytest.raises(DataError, match="no column beside id and date"):
        effects_of(pd.DataFrame({"id": [1]}), None, "notes")
