"""Covariates of documents from tables of their own."""

import json

import numpy as np
import pytest

from driftglm.datasets import load_text_panel
from driftglm.exceptions import DataError, DataWarning

ROWS = [
    {"id": "007", "date": "2003-05-01", "source": "beige", "text": "null"},
    {"id": "008", "date": "2004-06-30", "source": "fomc", "text": 'rates rose, "fast"\nagain'},
    {"id": "009", "date": "2004-07-01", "source": "beige", "text": "Zürich"},
]


TEXTS = [row["text"] for row in ROWS]


def write(folder, rows=ROWS):
    """The documents beside which the covariates lie."""
    lines = [json.dumps(row) for row in rows]
    (folder / "documents.jsonl").write_text("\n".join(lines), encoding="utf-8")


def test_macroeconomic_values_are_joined_by_year_or_by_month(tmp_path):
    write(tmp_path)
    (tmp_path / "macro.csv").write_text("year,UNRATE\n2003,6.0\n2004,5.5\n")
    assert load_text_panel(tmp_path).frame["UNRATE"].tolist() == [6.0, 5.5, 5.5]
    monthly = "date,UNRATE\n2003-05-31,6.1\n2004-06-01,5.6\n2004-07-15,5.5\n"
    (tmp_path / "macro.csv").write_text(monthly)
    panel = load_text_panel(tmp_path)
    assert panel.frame["UNRATE"].tolist() == [6.1, 5.6, 5.5]
    assert panel.provenance.ok


def test_periods_without_values_and_repeated_ones_are_reported(tmp_path):
    write(tmp_path)
    (tmp_path / "macro.csv").write_text("year,UNRATE\n2004,5.5\n2004,9.9\n")
    with pytest.warns(DataWarning, match="repeated rows of macro.csv: 1, .* macro.csv lacks: 1"):
        panel = load_text_panel(tmp_path)
    np.testing.assert_array_equal(panel.frame["UNRATE"], [np.nan, 5.5, 5.5])


def test_companies_are_joined_by_number_however_it_is_written(tmp_path):
    rows = [
        row | {"cik": cik} for row, cik in zip(ROWS, ["0000320193", None, "789019"], strict=True)
    ]
    write(tmp_path, rows=rows)
    (tmp_path / "companies.csv").write_text("cik,state\n789019,WA\n320193,CA\n")
    panel = load_text_panel(tmp_path)
    assert panel.frame["state"].fillna("").tolist() == ["CA", "", "WA"]
    assert list(panel.texts()) == TEXTS
    assert panel.provenance.ok


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("macro.csv", "quarter,X\n1,2\n", "macro.csv has neither a column 'year' nor"),
        ("macro.csv", "year,source\n2003,2\n", "both have the column 'source'; rename one"),
        ("macro.csv", "date,X\nsoon,2\n", "macro.csv: row 0 has the date 'soon'"),
        ("companies.csv", "name\nfirm\n", "companies.csv has no column 'cik'"),
    ],
)
def test_covariates_that_cannot_be_joined_are_refused(name, content, message, tmp_path):
    write(tmp_path, rows=[row | {"cik": 1} for row in ROWS])
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        load_text_panel(tmp_path)
