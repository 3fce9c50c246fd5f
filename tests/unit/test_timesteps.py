import dataclasses
import datetime as dt
import pickle
import tracemalloc
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from driftglm.data.timesteps import MOST_AHEAD, TimeAxis, fit_axis
from driftglm.exceptions import TimeError
from driftglm.persistence.decoding import UNUSABLE

NEW_YORK, TOKYO = ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo")
LETTERS = list("abcdef")


def fit(time, freq=None):
    return fit_axis(time, len(time), freq)


def ordered(values, categories):
    return pd.Categorical(values, categories=categories, ordered=True)


def dates(*labels):
    return pd.to_datetime(list(labels))


def periods(*labels, freq):
    return pd.PeriodIndex(list(labels), freq=freq)


def names(axis):
    return [str(label) for label in axis.labels]


# Integers


@pytest.mark.parametrize(
    "time",
    [
        [1996, 1999, 1997],
        (1996, 1999, 1997),
        [1996.0, 1999.0, 1997.0],
        [1996, 1999.0, 1997],
        np.array([1996, 1999, 1997], dtype=np.int16),
        np.array([1996, 1999, 1997], dtype=np.uint64),
        np.array([1996, 1999, 1997], dtype=np.float16),
        np.array([1996, 1999, 1997], dtype=object),
        np.array([1996.0, 1999, np.int8(1) + np.int64(1996)], dtype=object),
        np.ma.array([1996, 1999, 1997]),
        pd.Series([1996, 1999, 1997], index=[7, 7, 0]),
        pd.Series([1996, 1999, 1997], dtype="Int64"),
        pd.Series([1996, 1999, 1997], dtype="Float64"),
        pd.Series([1996, 1999, 1997], dtype=object),
        pd.array([1996, 1999, 1997], dtype="Int32"),
        pd.Index([1996, 1999, 1997]),
        pl.Series([1996, 1999, 1997]),
        pl.Series([1996, 1999, 1997], dtype=pl.UInt16),
    ],
    ids=lambda time: f"{type(time).__module__}.{type(time).__name__}",
)
def test_integers_in_any_container_fill_the_axis(time):
    axis, codes = fit(time)
    assert_array_equal(axis.labels, [1996, 1997, 1998, 1999])
    assert axis.labels.dtype == codes.dtype == np.int64
    assert codes.tolist() == [0, 3, 1]
    assert axis.n_timesteps == 4
    assert not axis.is_single


@pytest.mark.parametrize(
    ("time", "freq", "labels", "codes"),
    [
        ([2000, 2004, 2000], 2, [2000, 2002, 2004], [0, 2, 0]),
        ([1990, 2000, 2010], np.int32(10), [1990, 2000, 2010], [0, 1, 2]),
        ([-44, -41, -43], None, [-44, -43, -42, -41], [0, 3, 1]),
        ([-3, 0, 3], 3, [-3, 0, 3], [0, 1, 2]),
        ([5], 7, [5], [0]),
        (np.array([-128, 127], dtype=np.int8), 255, [-128, 127], [0, 1]),
        (range(3), None, [0, 1, 2], [0, 1, 2]),
    ],
)
def test_integer_steps(time, freq, labels, codes):
    axis, found = fit(time, freq)
    assert axis.labels.tolist() == labels
    assert found.tolist() == codes


def test_integer_labels_cannot_be_changed_in_place():
    axis, _ = fit([1, 2])
    with pytest.raises(ValueError, match="read-only"):
        axis.labels[0] = 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        axis.start = 5


@pytest.mark.parametrize("far", [2**64 - 1, 2**62, -(2**62), 2**70])
def test_integers_that_could_overflow_are_refused(far):
    with pytest.raises(TimeError, match=rf"time is {far} in row 1, .* allowed\. Round"):
        fit([0, far])


@pytest.mark.parametrize("dtype", [np.uint64, np.int64])
def test_extreme_numpy_integers_are_refused(dtype):
    with pytest.raises(TimeError, match=rf"time is {np.iinfo(dtype).max} in row 1"):
        fit(np.array([0, np.iinfo(dtype).max], dtype=dtype))


def test_the_largest_allowed_span_does_not_wrap_round():
    with pytest.raises(TimeError, match=f"would make {2**63 - 1} timesteps of which only 2"):
        fit([-(2**62) + 1, 2**62 - 1])


@pytest.mark.parametrize(
    ("time", "value"),
    [([1996, 1996.5], "1996.5"), ([1996.0, np.inf], "inf"), ([0.0, 2.0**53], "9007199254740992")],
)
def test_floats_must_be_whole_and_exact(time, value):
    with pytest.raises(TimeError, match=rf"time is {value}.* in row 1, but whole numbers"):
        fit(time)


def test_integer_off_the_grid_is_refused_with_the_grid():
    with pytest.raises(TimeError, match=r"2003 in row 2, which is between .* 2000, 2002, 2004,"):
        fit([2000, 2002, 2003], 2)


# Datetimes


@pytest.mark.parametrize(
    "time",
    [
        [dt.datetime(2000, 1, 31), dt.datetime(2000, 3, 1)],  # noqa: DTZ001
        [dt.date(2000, 1, 31), dt.date(2000, 3, 1)],
        [dt.date(2000, 1, 31), pd.Timestamp("2000-03-01 12:00")],
        [np.datetime64("2000-01-31"), np.datetime64("2000-03-01T05")],
        np.array(["2000-01-31", "2000-03-01"], dtype="datetime64[D]"),
        np.array(["2000-01-31", "2000-03-01"], dtype="datetime64[s]"),
        np.array(["2000-01-31", "2000-03-01"], dtype="datetime64[ns]"),
        np.array(["2000-01", "2000-03"], dtype="datetime64[M]"),
        dates("2000-01-31", "2000-03-01"),
        pd.Series(dates("2000-01-31", "2000-03-01"), index=[3, 3]),
        pd.Series([dt.date(2000, 1, 31), dt.date(2000, 3, 1)]),
        pl.Series([dt.date(2000, 1, 31), dt.date(2000, 3, 1)]),
        pl.Series([dt.datetime(2000, 1, 31), dt.datetime(2000, 3, 1)]),  # noqa: DTZ001
    ],
    ids=lambda time: f"{type(time).__module__}.{type(time).__name__}",
)
def test_datetimes_in_any_container_become_filled_periods(time):
    axis, codes = fit(time, "M")
    assert isinstance(axis.labels, pd.PeriodIndex)
    assert axis.labels.freqstr == "M"
    assert names(axis) == ["2000-01", "2000-02", "2000-03"]
    assert codes.tolist() == [0, 2]
    assert codes.dtype == np.int64


@pytest.mark.parametrize(
    ("labels", "freq", "expected", "codes"),
    [
        (["1959-12-31", "1961-01-01"], "Y", ["1959", "1960", "1961"], [0, 2]),
        (["1999-06-30", "1999-07-01"], "Y-JUN", ["1999", "2000"], [0, 1]),
        (["2000-03-31", "2000-04-01"], "Q", ["2000Q1", "2000Q2"], [0, 1]),
        (
            ["2000-01-02", "2000-01-03"],
            "W",
            ["1999-12-27/2000-01-02", "2000-01-03/2000-01-09"],
            [0, 1],
        ),
        (["2000-02-28", "2000-03-01"], "D", ["2000-02-28", "2000-02-29", "2000-03-01"], [0, 2]),
        (
            ["2000-01-01 23:59", "2000-01-02 00:00"],
            "h",
            ["2000-01-01 23:00", "2000-01-02 00:00"],
            [0, 1],
        ),
        # Multiples lie on a grid counted from 1970, whatever the first label is.
        (["1995-01-01", "2009-12-31"], "10Y", ["1990", "2000"], [0, 1]),
        (["1969-12-31", "1970-01-01"], "2Y", ["1968", "1970"], [0, 1]),
        (
            ["2000-01-01 10:07", "2000-01-01 10:15"],
            "15min",
            ["2000-01-01 10:00", "2000-01-01 10:15"],
            [0, 1],
        ),
    ],
)
def test_period_aliases(labels, freq, expected, codes):
    axis, found = fit(dates(*labels), freq)
    assert names(axis) == expected
    assert found.tolist() == codes


def test_dates_far_outside_the_nanosecond_range():
    axis, codes = fit(np.array(["-0044-03-15", "-0042-10-23"], dtype="datetime64[D]"), "Y")
    assert codes.tolist() == [0, 2]
    assert axis.labels.year.tolist() == [-44, -43, -42]


@pytest.mark.parametrize(
    "time",
    [
        # 23:30 in New York is 04:30 UTC of the next day, 00:30 in Tokyo 15:30 of the day before.
        [
            dt.datetime(1999, 12, 31, 23, 30, tzinfo=NEW_YORK),
            dt.datetime(2000, 1, 1, 0, 30, tzinfo=TOKYO),
        ],
        [pd.Timestamp("1999-12-31 23:30", tz=NEW_YORK), dt.date(2000, 1, 1)],
        dates("1999-12-31 23:30", "2000-01-01 00:30").tz_localize("America/New_York"),
        pd.Series(dates("1999-12-31 23:30", "2000-01-01 00:30").tz_localize("Asia/Tokyo")),
        pl.Series(["1999-12-31 23:30", "2000-01-01 00:30"])
        .str.to_datetime()
        .dt.replace_time_zone("America/New_York"),
    ],
    ids=["list", "mixed list", "index", "series", "polars"],
)
def test_time_zones_are_dropped_at_local_wall_time(time):
    axis, codes = fit(time, "Y")
    assert names(axis) == ["1999", "2000"]
    assert codes.tolist() == [0, 1]


def test_datetimes_without_freq_are_refused():
    with pytest.raises(TimeError, match=r'2000-01-31 .* in row 0.* freq is None.*freq="Y"'):
        fit(dates("2000-01-31"))


# Periods


@pytest.mark.parametrize(
    "time",
    [
        periods("2000-01", "2000-03", freq="M"),
        pd.Series(periods("2000-01", "2000-03", freq="M"), index=[1, 1]),
        periods("2000-01", "2000-03", freq="M").array,
        [pd.Period("2000-01", "M"), pd.Period("2000-03", "M")],
    ],
    ids=["index", "series", "array", "list"],
)
def test_periods_keep_their_own_freq(time):
    axis, codes = fit(time)
    assert names(axis) == ["2000-01", "2000-02", "2000-03"]
    assert codes.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("time", "freq", "expected", "codes"),
    [
        (periods("2000-03", "2000-04", freq="M"), "Q", ["2000Q1", "2000Q2"], [0, 1]),
        (periods("2000Q1", "2000Q4", freq="Q"), "Y", ["2000"], [0, 0]),
        # A week over the end of a month counts for the month in which it ends.
        (periods("2000-01-24", "2000-01-31", freq="W"), "M", ["2000-01", "2000-02"], [0, 1]),
        (periods("2000-01", "2000-04", freq="3M"), "Q", ["2000Q1", "2000Q2"], [0, 1]),
        (periods("2000-02", "2000-03", freq="M"), "2M", ["2000-01", "2000-03"], [0, 1]),
        (periods("2000-01", "2000-03", freq="2M"), None, ["2000-01", "2000-03"], [0, 1]),
        (periods("2000-01-01", freq="ns"), "D", ["2000-01-01"], [0]),
    ],
)
def test_coarser_freq_converts_periods(time, freq, expected, codes):
    axis, found = fit(time, freq)
    assert names(axis) == expected
    assert found.tolist() == codes


@pytest.mark.parametrize(
    ("time", "freq"),
    [
        (periods("2000", "2001", freq="Y"), "M"),
        (periods("2000-01", "2000-02", freq="M"), "W"),
        (periods("2000-01-01", freq="D"), "h"),
        (periods("2000-01", freq="2M"), "M"),
        (periods("2000", freq="Y"), "Y-JUN"),
        (periods("2000-01-03", freq="W"), "W-MON"),
        (periods("2000-02", freq="2M"), None),
    ],
)
def test_periods_that_do_not_fit_into_a_step_are_refused(time, freq):
    with pytest.raises(TimeError, match=r"in row 0, a Period of freq .* coarser freq is allowed"):
        fit(time, freq)


# Categoricals


@pytest.mark.parametrize(
    "time",
    [
        ordered(["b", "d", "b"], LETTERS),
        pd.Series(ordered(["b", "d", "b"], LETTERS), index=[9, 9, 9]),
        pd.CategoricalIndex(ordered(["b", "d", "b"], LETTERS)),
    ],
    ids=["categorical", "series", "index"],
)
def test_categories_between_the_observed_ones_are_steps(time):
    axis, codes = fit(time)
    assert axis.labels.dtype == object
    assert axis.labels.tolist() == ["b", "c", "d"]
    assert codes.tolist() == [0, 2, 0]
    assert codes.dtype == np.int64


def test_category_order_counts_not_the_alphabet():
    axis, codes = fit(ordered(["late", "early"], ["early", "late"]))
    assert axis.labels.tolist() == ["early", "late"]
    assert codes.tolist() == [1, 0]


def test_categories_may_be_numbers():
    axis, codes = fit(ordered([1900, 1950], [1900, 1950, 1951]))
    assert axis.labels.tolist() == [1900, 1950]
    assert codes.tolist() == [0, 1]
    assert axis.categories == (1900, 1950, 1951)


@pytest.mark.parametrize(
    ("time", "name"),
    [
        (pd.cut([1, 2, 3], [0, 1, 3]), "Interval"),
        (pd.Categorical(dates("2000-01-01"), ordered=True), "Timestamp"),
    ],
)
def test_categories_that_cannot_be_saved_are_refused(time, name):
    with pytest.raises(TimeError, match=rf"of type {name}; strings and numbers .* rename"):
        fit(time)


def test_freq_is_refused_for_categories():
    with pytest.raises(TimeError, match=r"freq='M' was given for category labels.*Leave freq out"):
        fit(ordered(["a"], LETTERS), "M")


# Which freq is allowed


@pytest.mark.parametrize("freq", [0, -1, True, 2.0, "Y", "2", 2**62])
def test_integer_freq_must_be_a_positive_integer(freq):
    with pytest.raises(TimeError, match=r"was given for integer labels; a positive integer"):
        fit([2000, 2001], freq)


@pytest.mark.parametrize(
    "freq",
    ["", "foo", "ME", "A", "H", "w", "B", "ns", "0M", "-1M", "M-JAN", "W-FOO", "99999M", 1, 2.0],
)
@pytest.mark.parametrize("time", [dates("2000-01-03"), periods("2000-01", freq="M")])
def test_period_freq_must_be_an_alias(time, freq):
    with pytest.raises(
        TimeError, match=rf"freq={freq!r} was given for datetime or Period labels; .* allowed"
    ):
        fit(time, freq)


# Axes that explode


@pytest.mark.parametrize(
    ("time", "freq", "cure"),
    [
        ([199611, 199612, 199701], None, r'yyyymm: use .*format="%Y%m"\), freq="M"'),
        ([19961231, 19970101], None, r'yyyymmdd: use .*format="%Y%m%d"\), freq="D"'),
        ([1_700_000_000, 1_700_086_400], None, r'unix times: use .*unit="s"\), freq="D"'),
        ([1_700_000_000_000, 1_700_086_400_000], None, r'unix times: use .*unit="ms"\)'),
        ([1_700_000_000 * 10**9, 1_700_086_400 * 10**9], None, r'unix times: use .*unit="ns"\)'),
        ([1990, 2010, 2000], None, r"Pass freq=10\."),
        # Not yyyymm: 13 is no month.
        ([199611, 199613, 199701], None, r"(?<=allowed\. )Pass a larger freq"),
        ([1990, 1991, 1992, 9999], None, r"larger freq, correct stray labels, .*Categorical"),
        (dates("2000-01-01", "2000-02-01"), "D", "coarser freq than 'D'"),
        (periods("2000-01", "2001-12", freq="M"), None, "coarser freq than 'M'"),
        (ordered(["a", "f"], LETTERS), None, r"remove_unused_categories\(\)"),
    ],
)
def test_mostly_empty_axis_is_refused_with_its_likely_cause(time, freq, cure):
    with pytest.raises(TimeError, match=rf"at most twice the observed steps are allowed\..*{cure}"):
        fit(time, freq)


def test_the_message_names_the_widest_gap_and_its_rows():
    with pytest.raises(
        TimeError,
        match=r"make 8010 timesteps of which only 4 .* between 1993 in row 3 and 9999 in row 2",
    ):
        fit([1992, 1990, 9999, 1993, 1992])


@pytest.mark.parametrize(
    ("last", "fits"), [(2003, True), (2004, False)], ids=["exactly twice", "one more"]
)
def test_the_limit_is_twice_the_observed_steps(last, fits):
    if fits:
        assert fit([2000, last, last])[0].n_timesteps == 4
    else:
        with pytest.raises(TimeError, match="would make 5 timesteps of which only 2"):
            fit([2000, last, last])


def test_an_exploding_axis_is_never_allocated():
    time = [0, 10**12]
    tracemalloc.start()
    try:
        with pytest.raises(TimeError, match="would make 1000000000001 timesteps"):
            fit(time)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10**6


# Encoding of new labels


@pytest.mark.parametrize(
    ("fitted", "freq", "new", "codes"),
    [
        ([1996, 1997, 1999], None, [1999, 1998, 2000, 2010], [3, 2, 4, 14]),
        ([1996, 1997, 1999], None, [1998.0], [2]),
        ([2000, 2004], 2, np.array([2002, 2006], dtype=np.int16), [1, 3]),
        ([-5, -4], None, [99_996], [100_001]),
        (dates("2000-01-15", "2000-03-15"), "M", dates("2000-02-29", "2005-01-01"), [1, 60]),
        (dates("2000-01-15", "2000-03-15"), "M", periods("2000-02", "2000-04", freq="M"), [1, 3]),
        (dates("2000-01-15", "2000-03-15"), "M", periods("2000-02-03", freq="D"), [1]),
        (periods("2000Q1", "2000Q2", freq="Q"), None, [dt.date(2000, 12, 31)], [3]),
        (dates("1995-01-01", "2005-01-01"), "10Y", dates("2019-12-31", "2020-01-01"), [2, 3]),
        (ordered(["b", "d"], LETTERS), None, ordered(["c", "e", "f"], LETTERS), [1, 3, 4]),
        # Categories are found by value: a later table may know only its own.
        (ordered(["b", "d"], LETTERS), None, ordered(["e"], ["d", "e"]), [3]),
        (ordered(["b", "d"], LETTERS), None, ordered(["d"], ["d", "unused"]), [2]),
    ],
)
def test_encode(fitted, freq, new, codes):
    axis, _ = fit(fitted, freq)
    found = axis.encode(new, len(new))
    assert found.tolist() == codes
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("fitted", "freq", "new", "match"),
    [
        ([2000, 2004], 2, [2000, 2003], r"2003 in row 1, which is between two steps"),
        ([2000, 2004], 2, [2000, 1998], r"1998 in row 1, before the first step.*2000 to 2004"),
        ([2000, 2001], None, [-(2**62) + 1], "before the first step"),
        ([2000, 2001], None, dates("2000-01-01"), "holds period labels .*fitted with integer"),
        ([2000, 2001], None, ordered(["a"], LETTERS), "holds category labels .*with integer"),
        ([2000, 2001], None, [None], "missing in 1 of 1 rows"),
        ([2000, 2001], None, ["2000"], "holds string labels"),
        ([2000, 2001], None, None, r"time is None, but the model was fitted with integer labels"),
        (dates("2000-01-01"), "M", [2000], "holds integer labels .*fitted with period labels"),
        (dates("2000-01-01"), "M", dates("1999-12-31"), r"1999-12-31 .*in row 0, before the first"),
        (dates("2000-01-01"), "M", periods("2000", freq="Y"), "not lie within one step of 'M'"),
        (ordered(["b"], LETTERS), None, ordered(["a"], LETTERS), "'a' in row 0, before the first"),
        (
            ordered(["b"], LETTERS),
            None,
            ordered(["b", "z"], ["b", "z"]),
            "'z' in row 1, which is n",
        ),
        (ordered(["b"], LETTERS), None, ordered(["b"], ["c", "b"]), r"order \['c', 'b'\]; the fit"),
        (ordered(["b"], LETTERS), None, ["b"], "holds string labels"),
        (ordered(["b"], LETTERS), None, pd.Categorical(["b"]), "holds unordered Categorical"),
    ],
)
def test_encode_refuses(fitted, freq, new, match):
    axis, _ = fit(fitted, freq)
    with pytest.raises(TimeError, match=match):
        axis.encode(new, 1 if new is None else len(new))


def test_encode_checks_the_length():
    axis, _ = fit([2000, 2001])
    with pytest.raises(TimeError, match="has 1 labels for 2 rows"):
        axis.encode([2000], 2)


# Without time


def test_no_time_is_one_step():
    axis, codes = fit_axis(None, 3)
    assert axis == TimeAxis.single()
    assert axis.is_single
    assert axis.labels.tolist() == [0]
    assert axis.labels.dtype == np.int64
    assert axis.n_timesteps == 1
    assert codes.tolist() == [0, 0, 0]
    assert axis.encode(None, 2).tolist() == [0, 0]


def test_time_is_refused_after_a_fit_without():
    with pytest.raises(TimeError, match="time is given, but the model was fitted without time"):
        TimeAxis.single().encode([0, 0], 2)


def test_freq_without_time_is_refused():
    with pytest.raises(TimeError, match=r"freq='M' but time is None .* pass time="):
        fit_axis(None, 3, "M")


# Saving


@pytest.mark.parametrize(
    ("time", "freq", "content"),
    [
        (None, None, {"kind": "none", "start": 0, "n_timesteps": 1, "freq": None}),
        ([2000, 2004], np.int8(2), {"kind": "integer", "start": 2000, "n_timesteps": 3, "freq": 2}),
        (
            dates("1970-02-01", "1970-03-01"),
            "M",
            {"kind": "period", "start": 1, "n_timesteps": 2, "freq": "M"},
        ),
        (
            dates("1970-01-01"),
            "W",
            {"kind": "period", "start": 1, "n_timesteps": 1, "freq": "W-SUN"},
        ),
        (
            ordered(["b", "c"], list("abcd")),
            None,
            {"kind": "category", "start": 1, "n_timesteps": 2, "categories": tuple("abcd")},
        ),
    ],
)
def test_an_axis_is_described_by_its_fields(time, freq, content):
    axis, _ = fit_axis(time, 3 if time is None else len(time), freq)
    again = TimeAxis(**content)
    assert again == axis
    assert type(again.labels) is type(axis.labels)
    assert_array_equal(again.labels, axis.labels)
    assert pickle.loads(pickle.dumps(axis)) == axis  # noqa: S301


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "other"},
        {"kind": "period"},
        {"kind": "category"},
        {"kind": "category", "start": -1, "n_timesteps": 1, "categories": ("a",)},
        {"freq": "M"},
        {"n_timesteps": 0},
        {"n_timesteps": None},
        {"n_timesteps": 10**17},
        {"start": 10**30},
        {"start": "first"},
    ],
)
def test_damaged_content_is_refused(change):
    content = {"kind": "integer", "start": 2000, "n_timesteps": 2, "freq": 1}
    with pytest.raises(UNUSABLE):
        TimeAxis(**(content | change))


def test_time_errors_are_value_errors():
    with pytest.raises(ValueError, match="2001"):
        fit(["2001"])


def test_a_step_never_to_be_met_is_refused():
    axis, _ = fit([2000, 2001])
    assert axis.encode([2001 + MOST_AHEAD], 1) == MOST_AHEAD + 1
    with pytest.raises(TimeError, match="more than 100000 steps after the last"):
        axis.encode([2002 + MOST_AHEAD], 1)
