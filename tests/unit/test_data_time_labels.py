"""What time labels are refused, and how the message helps."""

import datetime as dt
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest

from driftglm.data.time_labels import read_labels
from driftglm.data.timesteps import fit_axis
from driftglm.exceptions import TimeError

NEW_YORK = ZoneInfo("America/New_York")
LETTERS = list("abcdef")


def fit(time, freq=None):
    return fit_axis(time, len(time), freq)


def ordered(values, categories):
    return pd.Categorical(values, categories=categories, ordered=True)


def test_labels_lose_their_container_and_keep_their_values():
    assert read_labels(pd.Series([1996.0, 1997.0], index=[7, 7]), 2).tolist() == [1996, 1997]
    local = read_labels([dt.datetime(2020, 1, 1, 23, tzinfo=NEW_YORK)], 1)
    assert local[0] == pd.Timestamp("2020-01-01 23:00")


# What is no label


@pytest.mark.parametrize(
    ("time", "kind"),
    [
        (["2001", "2002"], r"string labels \('2001' in row 0\)"),
        (np.array(["2001"]), r"string labels \('2001' in row 0\)"),
        (pd.Series(["2001"]), r"string labels \('2001' in row 0\)"),
        (pl.Series(["2001"]), r"string labels \('2001' in row 0\)"),
        (pd.Categorical(["b", "a"]), r"unordered Categorical labels \('b' in row 0\)"),
        ([True, False], "boolean labels"),
        (np.array([True]), "boolean labels"),
        (pd.array([True], dtype="boolean"), "boolean labels"),
        (np.array([5], dtype="timedelta64[D]"), "timedelta64 labels"),
        ([dt.timedelta(1)], "timedelta labels"),
        ([1j], "complex labels"),
        ([[2001], [2002]], "list labels"),
        (pd.MultiIndex.from_tuples([(2001, 1)]), "tuple labels"),
    ],
)
def test_other_kinds_are_refused_with_the_way_out(time, kind):
    with pytest.raises(
        TimeError, match=rf"time holds {kind}.*allowed.*ordered=True.*pd\.to_datetime and freq"
    ):
        fit(time)


@pytest.mark.parametrize(
    ("time", "freq", "row", "count"),
    [
        ([2001, None, 2002, None], None, 1, 2),
        ([2001, np.nan, pd.NA], None, 1, 2),
        ([None, None], None, 0, 2),
        (np.array([2001.0, np.nan]), None, 1, 1),
        (np.ma.array([2001, 2002], mask=[False, True]), None, 1, 1),
        (pd.Series([2001, None], dtype="Int64"), None, 1, 1),
        (pl.Series([2001, None]), None, 1, 1),
        (pl.Series([None, dt.date(2000, 1, 1)]), "Y", 0, 1),
        ([dt.date(2000, 1, 1), pd.NaT], "Y", 1, 1),
        (np.array(["2000-01-01", "NaT"], dtype="datetime64[D]"), "Y", 1, 1),
        (pd.PeriodIndex(["2000-01", None], freq="M"), None, 1, 1),
        (ordered(["a", None], LETTERS), None, 1, 1),
        (["2001", None], None, 1, 1),
    ],
)
def test_missing_labels_are_counted(time, freq, row, count):
    with pytest.raises(
        TimeError, match=rf"missing in {count} of {len(time)} rows, first in row {row};.*Drop"
    ):
        fit(time, freq)


@pytest.mark.parametrize(
    ("time", "row"),
    [
        ([2001, "2002"], 1),
        (["2001", "2002", 2003], 2),
        ([2001, 2002.0, "2003", 2004], 2),
        ([2001, True], 1),
        ([2001, dt.date(2002, 1, 1)], 1),
        ([dt.date(2002, 1, 1), dt.date(2003, 1, 1), 2001], 2),
        ([pd.Period("2000-01", "M"), dt.date(2002, 1, 1)], 1),
        ([pd.Period("2000-01", "M"), pd.Period("2001", "Y")], 1),
        ([2001] * 50 + [dt.timedelta(1)] + [2001] * 50, 50),
    ],
)
def test_mixed_labels_are_refused_naming_the_first_at_odds(time, row):
    with pytest.raises(TimeError, match=rf"in row {row}, a label of type .*one type.*Convert"):
        fit(time, "Y")


@pytest.mark.parametrize(
    "time",
    [
        np.ones((3, 1), dtype=int),
        np.ones((1, 3), dtype=int),
        pd.DataFrame({"year": [1, 2, 3]}),
        pl.DataFrame({"year": [1, 2, 3]}),
        2001,
        "abc",
        {1, 2, 3},
    ],
)
def test_only_one_dimension_is_allowed(time):
    with pytest.raises(TimeError, match=r"time has shape \(.*one-dimensional.*ravel\(\)"):
        fit_axis(time, 3)


@pytest.mark.parametrize(("time", "n_rows"), [([1, 2], 3), ([1, 2, 3], 2), ([], 2), ([], 0)])
def test_length_must_match_and_not_be_zero(time, n_rows):
    with pytest.raises(TimeError, match=rf"has {len(time)} labels for {n_rows} rows; exactly one"):
        fit_axis(time, n_rows)


# pandas 2.2 fails an assertion of its own here, without a reason.
@pytest.mark.newest
def test_unreadable_dates_are_refused_with_the_reason():
    with pytest.raises(TimeError, match=r"in row 0\) cannot be read: .*multiplier.*to_datetime"):
        fit(np.array([1, 2], dtype="datetime64[25s]"), "Y")
