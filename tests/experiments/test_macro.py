"""Macroeconomic variables of documents."""

import numpy as np
import pandas as pd
import pytest

from driftglm.exceptions import DataError
from driftglm.experiments.macro import macro_variables, standardised

FRENCH = """Made from CRSP.

  Average Value Weighted Returns -- Monthly
,SMALL,BIG
200401,  10.0,  -99.99
200402,  -5.0,   2.0

  Average Value Weighted Returns -- Annual
,SMALL,BIG
  2004,  1.0,  1.0

Copyright 2025 Eugene F. Fama and Kenneth R. French
"""


FACTORS = """Made from CRSP.

,Mkt-RF,RF
200401,  1.0,  0.5
200402,  1.0,  0.25

Copyright 2025 Eugene F. Fama and Kenneth R. French
"""


def test_macro_is_standardised_on_training_documents_alone():
    rng = np.random.default_rng(0)
    train = np.arange(20) < 12
    values = pd.DataFrame(rng.normal(5, 3, (20, 4)), columns=list("abcd"))
    first, _ = standardised(values, train)
    np.testing.assert_allclose(first[train].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(first[train].std(ddof=0), 1, rtol=1e-12)
    changed = values.copy()
    changed[~train] += 1000.0
    second, _ = standardised(changed, train)
    pd.testing.assert_frame_equal(first[train], second[train])
    assert not np.allclose(first[~train], second[~train])


def test_constant_and_missing_macro_values_are_noted():
    values = pd.DataFrame(
        {"flat": [0.1] * 3 + [9.0], "gone": [np.nan] * 4, "ok": [1.0, 3.0, np.nan, 5.0]}
    )
    found, notes = standardised(values, np.array([True, True, True, False]))
    assert found["ok"].tolist() == [-1.0, 1.0, 0.0, 3.0]
    assert list(found) == ["ok"]
    assert notes[0].startswith("2 macro variables have one value, or none")
    assert notes[1].startswith("1 of 4 values")


def dated(*days):
    return pd.DataFrame({"date": pd.to_datetime(days)})


def test_french_returns_are_monthly_excess_and_in_logs(tmp_path):
    (tmp_path / "french_portfolios.csv").write_text(FRENCH)
    with pytest.raises(DataError, match=r"needs french_factors\.csv"):
        macro_variables(tmp_path, dated("2004-01-05"), np.array([True]))
    (tmp_path / "french_factors.csv").write_text(FACTORS)
    frame = dated("2004-01-05", "2004-02-20")
    found = macro_variables(tmp_path, frame, np.array([True, True])).variables
    assert list(found) == ["return SMALL"]  # BIG has one value only
    raw = np.array([np.log(1.10) - np.log(1.005), np.log(0.95) - np.log(1.0025)])
    np.testing.assert_allclose(found["return SMALL"], (raw - raw.mean()) / raw.std(), rtol=1e-12)


def test_fred_growth_rates_are_log_differences_where_codes_say_so(tmp_path):
    (tmp_path / "fred.csv").write_text(
        "observation_date,GDP,UNRATE\n2004-01-01,100,6\n2004-02-01,110,5\n2004-03-01,99,4\n"
    )
    (tmp_path / "fred_codes.csv").write_text("series,code\nGDP,5\n")
    frame = dated("2004-02-09", "2004-03-09")
    found = macro_variables(tmp_path, frame, np.array([True, True])).variables
    raw = np.array([np.log(1.1), np.log(0.9)])
    np.testing.assert_allclose(found["FRED GDP"], (raw - raw.mean()) / raw.std(), rtol=1e-12)
    assert found["FRED UNRATE"].tolist() == [1.0, -1.0]


def test_a_quarterly_series_holds_through_its_quarter(tmp_path):
    (tmp_path / "fred.csv").write_text(
        "observation_date,GDP\n2004-01-01,1\n2004-04-01,2\n2004-07-01,3\n"
    )
    frame = dated("2004-03-31", "2004-04-01", "2004-09-30", "2004-10-01")
    found = macro_variables(tmp_path, frame, np.array([True] * 4))
    ranks = found.variables["FRED GDP"].rank().tolist()
    assert ranks[0] < ranks[1] < ranks[2]
    assert found.notes == (
        "1 of 4 values of macro variables are missing and count as the training mean.",
    )


def test_fred_md_follows_its_own_codes(tmp_path):
    (tmp_path / "fred_md.csv").write_text(
        "sasdate,RPI\nTransform:,5\n1/1/2004,100\n2/1/2004,110\n3/1/2004,99\n"
    )
    found = macro_variables(tmp_path, dated("2004-02-09", "2004-03-09"), np.array([True, True]))
    assert found.variables["FRED RPI"].tolist() == pytest.approx([1.0, -1.0])
    assert "FRED-MD" in found.provenance[0].what
