"""A column found by name, and what a target is."""

import pandas as pd
import pytest

from driftglm.exceptions import DataWarning
from driftglm.tables import Table
from driftglm.tables.columns import near, target


@pytest.mark.parametrize(
    ("values", "family", "why"),
    [
        (["up", "down", "up"], "binomial", "the target has 2 classes"),
        ([True, False, True], "binomial", "the target has 2 classes"),
        ([0, 1, 1], "binomial", "the target has two values"),
        ([0.5, 1.5, 2.5], "gaussian", "the target is numbers"),
        (list(range(12)), "gaussian", "use family poisson"),
    ],
)
def test_the_family_is_guessed_and_the_reason_given(values, family, why):
    table = Table(pd.DataFrame({"y": values}))
    _, found, reason = target(table, "y", "auto")
    assert found == family
    assert why in reason


def test_near_names_are_found_whatever_their_case():
    assert near("PRICE", ["size", "Price"]) == "did you mean 'Price'?"
    assert near("zzz", ["a", "b"]) == "its columns are 'a', 'b'."


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a_target_of_one_value_is_spoken_of(family):
    table = Table(pd.DataFrame({"y": [3, 3, 3]}))
    with pytest.warns(DataWarning, match="the target 'y' is 3 in every row: it teaches nothing"):
        target(table, "y", family)
