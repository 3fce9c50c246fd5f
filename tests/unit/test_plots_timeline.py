"""Ticks of a time axis."""

import pandas as pd
import pytest

from driftglm.plots.timeline import ticks

# ---------------------------------------------------------------------------- parts


def periods(start, n, freq):
    return pd.period_range(start, periods=n, freq=freq)


@pytest.mark.parametrize(
    ("labels", "width", "texts"),
    [
        (range(1991, 2011), 2.0, ["1995", "2000", "2005", "2010"]),
        (range(1991, 1994), 3.0, ["1991", "1992", "1993"]),
        (range(0, 200, 10), 0.6, ["0", "100"]),
        ([7], 0.1, ["7"]),
        (periods("1851", 100, "Y"), 2.0, ["1860", "1880", "1900", "1920", "1940"]),
        (periods("1999-10", 72, "M"), 1.5, ["2000", "2002", "2004"]),
        (periods("2001-02", 6, "M"), 1.1, ["2001-04", "2001-07"]),
        (periods("2001Q3", 3, "Q"), 3.0, ["2001Q3", "2001Q4", "2002Q1"]),
        (periods("1990-01-01", 200, "W"), 3.0, ["1990", "1991", "1992", "1993"]),
        (periods("1990-02-20", 2, "D"), 3.0, ["1990-02-20", "1990-02-21"]),
        (["a", "b", "c"], 1.0, ["a", "b", "c"]),
    ],
)  # fmt: skip
def test_ticks_are_round_and_fit(labels, width, texts):
    at, found = ticks(list(labels), width)
    assert found == texts
    assert at == sorted(set(at))
    assert max(at) < len(labels)
