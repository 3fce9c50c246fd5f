"""The table of weekly volatility: features know nothing of the week they predict, nor of anything after it."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from volatility import DEV, FOLDER, SPEC, TARGET, TEST, load_volatility, provenance
from volatility_features import PUBLISHED, weekly_table

from driftglm.tables import fit_encoder

CUT = pd.Timestamp("2002-05-17")  # a Friday


def prices(rng, days):
    close = 100 * np.exp(np.cumsum(0.01 * rng.normal(size=days.size)))
    spread = np.exp(0.01 * rng.uniform(0.1, 1, size=days.size))
    columns = {"High": close * spread, "Low": close / spread, "Close": close}
    return pd.DataFrame(columns | {"Volume": rng.integers(10, 99, days.size)}, index=days)


def series(seed):
    rng = np.random.default_rng(seed)
    days = pd.bdate_range("2000-01-03", "2003-12-31")
    months = pd.date_range("1999-06-01", "2003-12-01", freq="MS")
    yields = pd.DataFrame(rng.uniform(3, 9, (months.size, 2)), months, ["AAA", "BAA"])
    oil = prices(rng, days)["Close"]
    return {"sp500": prices(rng, days), "nasdaq": prices(rng, days)}, oil, yields


def mixed(before, after, cut):
    """The past of one world and the future of another."""
    return pd.concat([before[before.index <= cut], after[after.index > cut]])


def test_scrambling_the_future_changes_no_feature_known_before():
    indices, oil, yields = series(0)
    others, other_oil, other_yields = series(1)
    known = CUT - PUBLISHED - pd.offsets.MonthBegin(1) - pd.Timedelta(days=1)
    scrambled = weekly_table(
        {name: mixed(indices[name], others[name], CUT) for name in indices},
        mixed(oil, other_oil, CUT),
        mixed(yields, other_yields, known),
    )
    table = weekly_table(indices, oil, yields)
    features = [name for name in table if name != TARGET]
    week = pd.to_datetime(table["week"])
    before = week <= CUT + pd.Timedelta(days=7)
    assert before.sum() > 100
    pd.testing.assert_frame_equal(table.loc[before, features], scrambled.loc[before, features])
    # The target of the first week after the cut did change, and so did features after it.
    first = (week == CUT + pd.Timedelta(days=7)).to_numpy()
    assert (table.loc[first, TARGET] != scrambled.loc[first, TARGET]).all()
    later = (week == CUT + pd.Timedelta(days=14)).to_numpy()
    moved = [n for n in features if (table.loc[later, n] != scrambled.loc[later, n]).any()]
    assert {"vol_1w", "range_1w", "return_1w", "other_vol_1w", "oil_return_1w"} <= set(moved)


def test_a_months_yields_are_used_a_week_after_its_end():
    indices, oil, yields = series(0)
    changed = yields.copy()
    changed.loc["2002-04-01", "BAA"] += 1.0
    one, two = weekly_table(indices, oil, yields), weekly_table(indices, oil, changed)
    first = one.loc[one["spread"] != two["spread"], "week"].min()
    # April is known on the 7th of May; the Friday after is the 10th, which predicts the 17th.
    assert first == "2002-05-17"


def test_the_target_is_the_volatility_of_the_week_itself():
    indices, oil, yields = series(0)
    table = weekly_table(indices, oil, yields)
    row = table[(table["week"] == "2002-05-17") & (table["index"] == "sp500")].iloc[0]
    close = np.log(indices["sp500"]["Close"])["2002-05-10":"2002-05-17"]
    expected = 0.5 * np.log(np.mean(np.diff(close) ** 2) + 1e-8)
    assert row[TARGET] == pytest.approx(expected)
    assert row["vol_1w"] == pytest.approx(
        table[(table["week"] == "2002-05-10") & (table["index"] == "sp500")].iloc[0][TARGET]
    )


def test_the_table_is_the_one_described():
    facts = provenance()
    data = (FOLDER / "volatility.csv.gz").read_bytes()
    assert len(data) < 400_000
    assert hashlib.sha256(data).hexdigest() == facts["sha256"]
    table = load_volatility()
    assert (table.n_rows, len(table.frame.columns)) == (facts["rows"], facts["columns"])
    assert table.frame.notna().all().all()
    assert table.frame.groupby(["week", "index"]).size().max() == 1
    years = table.frame["year"].value_counts()
    assert sorted(years.index) == list(range(2000, 2019))
    assert years.min() >= 98
    assert max(TEST) == 2018
    assert min(TEST) == DEV + 1
    assert len(fit_encoder(table, SPEC).feature_names) == 43


def test_the_table_is_what_the_script_makes_of_the_series():
    pytest.importorskip("arch")
    from arch.data import default, nasdaq, sp500, wti

    table = weekly_table(
        {"sp500": sp500.load(), "nasdaq": nasdaq.load()}, wti.load()["DCOILWTICO"], default.load()
    )
    stored = load_volatility().frame
    numbers = [name for name in stored if name not in {"week", "index"}]
    assert (table["week"] == stored["week"]).all()
    np.testing.assert_allclose(table[numbers], stored[numbers], atol=1e-4)
