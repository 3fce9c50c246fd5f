"""One format a column: no date is read in one way here and in another there."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from driftglm.datasets.dates import ISO, FormatSearch, check_format, parse_dates, read_dates
from driftglm.exceptions import DataError

YEARS = pd.Series(pd.date_range("2019-01-01", "2020-12-31"))
CLOCK = YEARS + pd.Timedelta("13:05:07")


def shown(days, form):
    return pd.Series([f"{day:{form}}" for day in days])


@pytest.mark.parametrize(
    "form",
    [
        *("%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d-%m-%Y", "%m-%d-%Y", "%-d.%-m.%Y", "%-m/%-d/%Y"),
        *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%-d %B %Y", "%d %b %Y", "%B %-d, %Y"),
        *("%b %d, %Y", "%d-%b-%Y", "%d%b%Y", "%-d. %B %Y"),
    ],
)
def test_every_day_of_two_years_is_read_as_it_was_written(form):
    found = read_dates(shown(YEARS, form), "a.csv")
    assert (found.to_numpy() == YEARS.to_numpy()).all()


@pytest.mark.parametrize(
    "form",
    [
        *("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %I:%M:%S %p"),
        *("%Y-%m-%dT%H:%M:%S+02:00", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p"),
    ],
)
def test_times_of_day_are_kept_at_wall_time(form):
    assert (read_dates(shown(CLOCK, form), "a.csv").to_numpy() == CLOCK.to_numpy()).all()


@pytest.mark.parametrize(
    "form", ["%Y-%m", "%m/%Y", "%b %Y", "%B %Y", "%Y%m", "%Y %b", "%b-%Y", "%m.%Y"]
)
def test_months_are_read_as_their_first_day(form):
    months = pd.Series(pd.date_range("2019-01-01", periods=24, freq="MS"))
    assert (read_dates(shown(months, form), "a.csv").to_numpy() == months.to_numpy()).all()


def test_years_and_quarters():
    assert read_dates(pd.Series(["2019", "2020"]), "a").dt.year.tolist() == [2019, 2020]
    assert read_dates(pd.Series(["2019Q3", "2020-Q4"]), "a").dt.month.tolist() == [7, 10]


@pytest.mark.parametrize("kind", [np.int64, np.float64, "Int64"])
def test_whole_numbers_are_years_months_or_days(kind):
    for numbers, days in (
        ([2019, 2020], ["2019-01-01", "2020-01-01"]),
        ([201912, 202001], ["2019-12-01", "2020-01-01"]),
        ([20191231, 20200102], ["2019-12-31", "2020-01-02"]),
    ):
        found = read_dates(pd.Series(numbers, dtype=kind), "a.csv")
        assert found.tolist() == [pd.Timestamp(day) for day in days]


def test_whole_numbers_of_two_lengths_are_refused():
    # Read as days, 201912 would be the second of January 2019.
    with pytest.raises(DataError, match="row 1 has the date '201912' and row 0 has '20191231'"):
        read_dates(pd.Series([20191231, 201912]), "a.csv")


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(YEARS.dt.date),
        YEARS,
        YEARS.dt.tz_localize("Europe/Zurich"),
        pd.Series([dt.datetime(2019, 1, 1, tzinfo=dt.UTC)] * len(YEARS)) + (YEARS - YEARS[0]),
        pd.Series(pd.period_range("2019-01-01", "2020-12-31", freq="D")),
    ],
)
def test_dates_that_are_no_texts_stay_what_they_are(values):
    assert (read_dates(values, "a.parquet").to_numpy() == YEARS.to_numpy()).all()


def test_dates_that_every_row_leaves_open_are_an_error_that_names_the_option():
    message = (
        r"a\.csv: row 1 has the date '03/04/2019', which is 3 April 2019 or 4 March 2019.*"
        r"--date-format '%d/%m/%Y' or '%m/%d/%Y'"
    )
    cells = pd.Series(["01/01/2019", "03/04/2019", "05/06/2019"])
    with pytest.raises(DataError, match=message):
        read_dates(cells, "a.csv")
    assert read_dates(cells, "a.csv", "%d/%m/%Y").dt.month.tolist() == [1, 4, 6]
    assert read_dates(cells, "a.csv", "%m/%d/%Y").dt.month.tolist() == [1, 3, 5]


def test_one_row_that_tells_decides_for_all():
    assert read_dates(pd.Series(["03/04/2019", "13/04/2019"]), "a").dt.month.tolist() == [4, 4]
    assert read_dates(pd.Series(["03/04/2019", "04/13/2019"]), "a").dt.month.tolist() == [3, 4]


def test_dates_that_are_the_same_in_all_readings_need_no_format():
    found = parse_dates(pd.Series(["01/01/2019", "02/02/2020"]), "a.csv")
    assert found.days.dt.month.tolist() == [1, 2]
    assert found.format is None  # other rows may still tell


@pytest.mark.parametrize(
    ("cells", "odd", "other"),
    [
        (["2019-03-15", "15.03.2019"], 1, 0),
        (["01/02/2019", "13/02/2019", "14/02/2019", "02/13/2019"], 3, 1),
        (["2019-03-15", "2019-03"], 1, 0),
        (["Jan 2019", "January 2020"], 1, 0),
    ],
)
def test_two_formats_in_one_column_are_shown_side_by_side(cells, odd, other):
    message = f"row {odd} has the date '{cells[odd]}' and row {other} has '{cells[other]}'; one "
    with pytest.raises(DataError, match=message):
        read_dates(pd.Series(cells), "a.csv")


@pytest.mark.parametrize(
    "odd", ["now", "today", "Now", "12:30", "12:30:15", "", "soon", "31.02.2019", "2019-13-01", "5"]
)
@pytest.mark.parametrize("where", [0, 2])
@pytest.mark.parametrize("form", [None, "%d.%m.%Y"])
def test_what_is_no_date_is_named_with_its_row(odd, where, form):
    cells = ["13.04.2019", "14.04.2019", "15.04.2019"]
    cells[where] = odd
    with pytest.raises(DataError, match=rf"a\.csv: row {where} has the date '{odd}'"):
        read_dates(pd.Series(cells), "a.csv", form)


def test_a_time_of_day_alone_is_said_to_be_one():
    with pytest.raises(DataError, match="a time of day alone is none"):
        read_dates(pd.Series(["12:30"] * 3), "a.csv")


@pytest.mark.parametrize("cell", ["13.04.19", "04/13/19", "19-04-13", "3.4.19"])
def test_years_of_two_digits_are_not_guessed(cell):
    with pytest.raises(
        DataError, match=r"a year of two digits is not guessed.*--date-format %d\.%m\.%y,"
    ):
        read_dates(pd.Series([cell]), "a.csv")


def test_years_of_two_digits_are_read_if_the_format_is_given():
    found = read_dates(pd.Series(["13.04.19"]), "a.csv", "%d.%m.%y")
    assert found.tolist() == [pd.Timestamp(2019, 4, 13)]


def test_digits_without_marks_must_all_be_there():
    # The zero of 01032004 was lost with its text; it is not the tenth of March.
    with pytest.raises(DataError, match="row 0 has the date '1032004'"):
        read_dates(pd.Series([1032004]), "a.parquet", "%d%m%Y")
    found = read_dates(pd.Series(["01032004"]), "a.csv", "%d%m%Y")
    assert found.tolist() == [pd.Timestamp(2004, 3, 1)]


def test_a_gap_is_named():
    with pytest.raises(DataError, match="row 1 has the date None"):
        read_dates(pd.Series(["13.04.2019", None], dtype=object), "a.csv")
    with pytest.raises(DataError, match="row 1 has the date NaT"):
        read_dates(pd.Series([pd.Timestamp(2019, 1, 1), pd.NaT]), "a.csv")


def test_time_zones_that_differ_are_refused():
    cells = ["2003-01-01T00:00:00+01:00", "2003-07-01T00:00:00+02:00"]
    with pytest.raises(DataError, match="the dates cannot be read"):
        read_dates(pd.Series(cells), "a.csv")


@pytest.mark.parametrize(
    ("cells", "form"),
    [
        (["13.04.2019", "01.02.2019"], "%d.%m.%Y"),
        (["04/13/2019"], "%m/%d/%Y"),
        (["2019-04-13", "2019-04-13T08:00"], ISO),
        (["Jan 2019", "May 2019"], "%b %Y"),
    ],
)
def test_the_format_found_reads_other_rows_in_the_same_way(cells, form):
    assert parse_dates(pd.Series(cells), "a.csv").format == form
    assert parse_dates(pd.Series(cells[:1]), "b.csv", form).format == form


def test_a_format_that_does_not_fit_names_row_and_format():
    with pytest.raises(
        DataError, match=r"row 1 has the date '04/13/2019', which is not .* %d/%m/%Y"
    ):
        read_dates(pd.Series(["13/04/2019", "04/13/2019"]), "a.csv", "%d/%m/%Y")


@pytest.mark.parametrize(
    ("form", "message"), [("%H:%M", "no year"), ("%d.%m", "no year"), ("%Q", "cannot be used")]
)
def test_formats_that_cannot_be_used_are_refused(form, message):
    with pytest.raises(DataError, match=message):
        check_format(form)


def test_a_file_seen_in_parts_is_decided_by_all_of_them():
    search = FormatSearch("a.csv")
    search.see(pd.Series(["01/02/2019", "03/04/2019"]))
    with pytest.raises(DataError, match="row 0 has the date '01/02/2019', which is 1 February"):
        search.decide()
    search.see(pd.Series(["02/02/2019", "04/13/2019"]))
    assert search.decide() == "%m/%d/%Y"
    with pytest.raises(DataError, match="row 4 has the date '13/04/2019' and earlier rows"):
        search.see(pd.Series(["13/04/2019"]))
