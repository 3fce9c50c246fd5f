"""A model of a table: what it learned, in one sentence; what is refused."""

import pandas as pd
import pytest

from driftglm.exceptions import DataError
from driftglm.tables import Table, TableSpec, fit_table
from driftglm.tables.model import learned_sentence


def summary(*rows):
    columns = ["feature", "kind", "coef_first", "coef_last", "coef_next"]
    return pd.DataFrame(
        [[name, kind, coef, coef, coef] for name, kind, coef in rows], columns=columns
    )


def test_features_are_counted_once_and_those_that_drift_are_named():
    table = summary(
        ("a", "drifting", 1.0), ("b", "static", 1.0), ("c", "zero", 0.1), ("a", "sign-flip", 1.0)
    )
    said = learned_sentence(table)
    assert said == "2 of 3 features matter, most of all a, b; 1 drifts (a), 1 is constant."


def test_a_coefficient_of_exactly_zero_matters_to_nobody():
    said = learned_sentence(summary(("a", "static", 0.0)))
    assert said.startswith("None of 1 features matters")


@pytest.mark.parametrize(
    ("spec", "family", "message"),
    [
        ({"target": "y"}, "auto", "both a target and a time column are needed"),
        ({"target": "y", "time": "t", "exposure": "e"}, "gaussian", "exposures belong to counts"),
    ],
)
def test_what_cannot_be_fitted_is_refused(spec, family, message):
    frame = pd.DataFrame({"t": [1, 1, 2, 2], "e": [1, 2, 1, 2], "x": [0.0, 1, 2, 3.5]})
    frame["y"] = [1, 2, 3, 5]
    with pytest.raises(DataError, match=message):
        fit_table(Table(frame), TableSpec(**spec), family=family)
