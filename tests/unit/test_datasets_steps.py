"""Forty spellings of times: read rightly, or refused with a message; none silently wrong."""

import pandas as pd
import pytest

from driftglm.data.timesteps import fit_axis
from driftglm.datasets.steps import read_steps
from driftglm.exceptions import DataError

READ = {
    # spelling of three or more steps in a row: the length of a step, and the first one
    "years": ([2001, 2002, 2003], None, "2001"),
    "years as floats": ([2001.0, 2002.0, 2003.0], None, "2001"),
    "years as texts": (["2001", "2002", "2003"], None, "2001"),
    "quarter": (["2019Q1", "2019Q2", "2019Q3"], "Q", "2019Q1"),
    "small quarter": (["2019q3", "2019q4", "2020q1"], "Q", "2019Q3"),
    "quarter with dash": (["2019-Q1", "2019-Q2", "2019-Q3"], "Q", "2019Q1"),
    "quarter with blank": (["2019 Q1", "2019 Q2", "2019 Q3"], "Q", "2019Q1"),
    "quarter first": (["Q4 2019", "Q1 2020", "Q2 2020"], "Q", "2019Q4"),
    "quarter first, dash": (["Q1-2019", "Q2-2019", "Q3-2019"], "Q", "2019Q1"),
    "quarter first, slash": (["Q1/2019", "Q2/2019", "Q3/2019"], "Q", "2019Q1"),
    "banks' quarter": (["1Q2019", "2Q2019", "3Q2019"], "Q", "2019Q1"),
    "ISO week": (["2019-W51", "2019-W52", "2020-W01"], "W", "2019-12-16/2019-12-22"),
    "ISO week without dash": (["2019W51", "2019W52", "2020W01"], "W", "2019-12-16/2019-12-22"),
    "week 53": (["2020-W52", "2020-W53", "2021-W01"], "W", "2020-12-21/2020-12-27"),
    "month": (["2019-11", "2019-12", "2020-01"], "M", "2019-11"),
    "month with slash": (["2019/11", "2019/12", "2020/01"], "M", "2019-11"),
    "month first": (["11/2019", "12/2019", "01/2020"], "M", "2019-11"),
    "month first, dot": (["11.2019", "12.2019", "01.2020"], "M", "2019-11"),
    "short name": (["Nov-2019", "Dec-2019", "Jan-2020"], "M", "2019-11"),
    "short name, blank": (["Nov 2019", "Dec 2019", "Jan 2020"], "M", "2019-11"),
    "long name": (["November 2019", "December 2019", "January 2020"], "M", "2019-11"),
    "year and name": (["2019-Nov", "2019-Dec", "2020-Jan"], "M", "2019-11"),
    "Stata's month": (["2019m11", "2019m12", "2020m1"], "M", "2019-11"),
    "IMF's month": (["2019M11", "2019M12", "2020M01"], "M", "2019-11"),
    "yyyymm": ([201911, 201912, 202001], "M", "2019-11"),
    "yyyymm as floats": ([201911.0, 201912.0, 202001.0], "M", "2019-11"),
    "yyyymm as texts": (["201911", "201912", "202001"], "M", "2019-11"),
    "first days of months": (["2019-11-01", "2019-12-01", "2020-01-01"], "M", "2019-11"),
    "last days of months": (["2019-11-30", "2019-12-31", "2020-01-31"], "M", "2019-11"),
    "first days of quarters": (["2019-07-01", "2019-10-01", "2020-01-01"], "Q", "2019Q3"),
    "first days of years": (["2018-01-01", "2019-01-01", "2020-01-01"], "Y", "2018"),
}
REFUSED = {
    "days": ["2019-11-05", "2019-12-24", "2020-01-31"],
    "day or month": ["03/04/2019", "05/06/2019", "01/02/2020"],
    "two digits": ["03.04.19", "05.06.19", "01.02.20"],
    "month 13": ["2019-12", "2019-13", "2020-01"],
    "week 53 of a short year": ["2019-W52", "2019-W53", "2020-W01"],
    "fifth quarter": ["2019Q4", "2019Q5", "2020Q1"],
    "short week": ["2019w5", "2019w6", "2019w7"],
    "mixed": ["2019Q1", "2019-02", "2019Q3"],
    "time of day": ["08:30", "09:30", "10:30"],
    "words": ["spring", "summer", "autumn"],
    "now": ["now", "today", "now"],
}
PAIRS = {
    "seasons": ["2001-02", "2002-03", "2003-04"],
    "seasons with a slash": ["2009/10", "2010/11", "2011/12"],
    "seasons as numbers": [200102, 200203, 200304],
}
FILLED = {
    "yyyymmdd as numbers": [20191105, 20191224, 20200131],
    "unix seconds": [1_573_000_000, 1_577_000_000, 1_580_000_000],
    "decimal years": [2019.25, 2019.5, 2019.75],
    "yyyyq": [20193, 20194, 20201],
}


@pytest.mark.parametrize("name", READ)
def test_read_rightly(name):
    values, freq, first = READ[name]
    steps = read_steps(pd.Series(values), "file.csv, column 'when'")
    assert steps.freq == freq
    axis, codes = fit_axis(steps.periods, len(values))
    assert str(axis.labels[0]) == first
    assert codes.tolist() == [0, 1, 2]
    assert (steps.guess is None) == (freq is None)
    if freq is not None:
        assert f"freq {freq}" in steps.guess
        # New rows, read with what is known by then, fall on the same steps.
        later = read_steps(pd.Series(values[1:]), "new.csv", freq, steps.format)
        assert axis.encode(later.periods, 2).tolist() == [1, 2]


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises(DataError, match=r"pass|Write|write|say|needs"):
        read_steps(pd.Series(REFUSED[name]), "file.csv, column 'when'")


@pytest.mark.parametrize("name", FILLED)
def test_numbers_that_are_no_steps_would_fill_the_axis_and_are_refused(name):
    steps = read_steps(pd.Series(FILLED[name]), "file.csv")
    with pytest.raises(DataError, match="freq"):
        fit_axis(steps.periods, 3)


@pytest.mark.parametrize("name", PAIRS)
def test_years_that_end_in_the_next_one_are_no_months(name):
    values = pd.Series(PAIRS[name])
    with pytest.raises(DataError, match="--freq Y"):
        read_steps(values, "file.csv")
    years, months = (read_steps(values, "file.csv", freq).periods for freq in "YM")
    assert [str(year) for year in years] == [str(v)[:4] for v in PAIRS[name]]
    assert months[0].month == int(str(PAIRS[name][0])[-2:])


def test_months_that_are_no_pairs_of_years_stay_months():
    assert read_steps(pd.Series(["2001-02", "2001-03", "2002-03"]), "file.csv").freq == "M"


def test_there_are_forty():
    assert len(READ) + len(REFUSED) + len(FILLED) >= 40
