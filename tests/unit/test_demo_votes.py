"""The demo's table of votes is the one described, and its features say who voted about what."""

import hashlib
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from build_demo_data import FLAGS, main_issue, votes_table

from driftglm.demo import load_votes, run
from driftglm.demo.votes import COUNTRIES, ISSUES, OTHER, ballots, feature_names, provenance


def test_the_table_in_the_package_is_the_one_described():
    facts = provenance()
    data = files("driftglm.demo").joinpath("votes.csv.gz").read_bytes()
    assert len(data) < 300_000
    assert hashlib.sha256(data).hexdigest() == facts["sha256"]
    table = load_votes()
    assert list(table) == ["year", "country", "issue", "yes", "votes"]
    assert (len(table), int(table["votes"].sum())) == (facts["rows"], facts["votes"])
    assert [int(table["year"].min()), int(table["year"].max())] == facts["years"]
    assert not table.duplicated(["year", "country", "issue"]).any()
    assert ((table["yes"] >= 0) & (table["yes"] <= table["votes"]) & (table["votes"] > 0)).all()
    assert set(table["country"]) == set(COUNTRIES.values())
    assert set(table["issue"]) == {*ISSUES, OTHER}
    assert set(run.TEST) <= set(table["year"])
    assert min(run.TEST) == run.DEV + 1


def test_what_is_known_of_three_countries_is_in_the_table():
    table = load_votes()
    about = table[table["issue"] == run.ISSUE].set_index(["country", "year"])
    share = about["yes"] / about["votes"]
    assert share["Russia", 1990] > 0.9
    assert share["Russia", 1991] < 0.5
    assert not set(share["South Africa"].index) & set(range(1975, 1994))
    assert share["South Africa"].loc[:1973].max() < 0.5 < share["South Africa"].loc[1994:].min()
    assert share["United States"].loc[:1979].mean() > 3 * share["United States"].loc[2004:].mean()


def test_the_first_issue_of_the_order_counts():
    flags = dict.fromkeys(FLAGS, "0") | {"colonialism": "1", "Palestinian conflict": "1"}
    assert main_issue("".join(flags.values())) == "Palestinian conflict"
    assert main_issue("100100") == "human rights"
    assert main_issue("000000") == OTHER


def test_cells_of_other_countries_and_earlier_years_are_left_out_and_equal_ones_added():
    rows = [
        (1969, "US", "000010", 1, 2),
        (1970, "US", "000010", 1, 2),
        (1970, "US", "000110", 3, 4),
        (1970, "NO", "000010", 5, 6),
    ]
    cells = pd.DataFrame(rows, columns=["year", "country_code", "combo", "sum", "count"])
    found = votes_table(cells)
    assert found.to_numpy().tolist() == [[1970, "United States", "Palestinian conflict", 4, 6]]


def test_a_cell_is_a_row_of_yes_and_one_of_no_with_its_votes_as_weights():
    table = pd.DataFrame(
        {
            "year": [1990, 1991],
            "country": ["Russia", "Japan"],
            "issue": ["human rights", OTHER],
            "yes": [3, 2],
            "votes": [5, 2],
        }
    )
    found = ballots(table)
    names = np.array(feature_names())
    assert found.y.tolist() == ["yes", "no or abstain", "yes"]
    assert found.weights.tolist() == [3.0, 2.0, 2.0]
    assert found.year.tolist() == [1990, 1990, 1991]
    on = [set(names[np.flatnonzero(row)]) for row in found.X.toarray()]
    assert on[0] == on[1] == {"Russia", "human rights", "Russia: human rights"}
    assert on[2] == {"Japan"}
    assert found.X.indices.dtype == np.int32


def test_all_votes_of_the_table_are_in_the_rows():
    table, rows = load_votes(), ballots(load_votes())
    yes = rows.y == "yes"
    assert rows.weights[yes].sum() == table["yes"].sum()
    assert rows.weights.sum() == table["votes"].sum()
    assert rows.X.shape[1] == len(rows.names) == 19 + 6 + 19 * 6
    assert (rows.weights > 0).all()


def test_scikit_learn_takes_the_rows():
    from sklearn.linear_model import LogisticRegression

    rows = ballots(load_votes())
    model = LogisticRegression(solver="liblinear").fit(rows.X, rows.y, sample_weight=rows.weights)
    share = model.predict_proba(rows.X)[:, 1] @ rows.weights / rows.weights.sum()
    assert share == pytest.approx(np.average(rows.y == "yes", weights=rows.weights), abs=0.01)
