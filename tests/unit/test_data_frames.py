"""Frames as people have them: what is wrong with all columns is said at once, by name."""

import numpy as np
import pandas as pd
import pytest

from driftglm import DriftRegressor
from driftglm.baselines import LassoAll
from driftglm.exceptions import DataError

N = 60
X = np.linspace(-1.0, 1.0, N)
FRAME = pd.DataFrame({"year": np.repeat([2001, 2002, 2003], 20), "x": X})
Y = X + np.tile([0.1, -0.1], N // 2)
BAD = {
    "decimal commas": ([f"{v:.2f}".replace(".", ",") for v in X], "marks .'-1,00' in row 0"),
    "thousands": ([f"{1000 + v:,}" for v in range(N)], "marks .'1,000' in row 0"),
    "percent": ([f"{v} %" for v in range(N)], "marks .'0 %' in row 0"),
    "levels": (list("ab") * (N // 2), "texts .'a' in row 0.*FrameEncoder"),
    "categories": (pd.Categorical(list("ab") * (N // 2)), "texts .'a' in row 0.*FrameEncoder"),
    "ids": ([f"K{k}" for k in range(N)], "60 different texts in 60 rows.*leave it out"),
    "dates": (pd.date_range("2001", periods=N), "holds dates.*time="),
    "texts of dates": (pd.date_range("2001", periods=N).strftime("%d.%m.%Y"), "holds dates.*time="),
    "durations": (pd.to_timedelta(np.arange(N), unit="D"), "total_seconds"),
    "gaps": (np.where(X > 0.9, np.nan, X), "no value in 3 of 60 rows, first in row 57.*missing="),
    "nullable": (pd.array([1, None] * (N // 2), dtype="Int64"), "30 of 60 rows, first in row 1"),
    "none": (pd.Series([1.5, None] * (N // 2), dtype=object), "30 of 60 rows, first in row 1"),
    "lists": ([[1, 2]] * N, "a list in a cell"),
}


@pytest.mark.parametrize("make", [DriftRegressor, LassoAll])
@pytest.mark.parametrize("name", BAD)
def test_a_column_that_is_no_numbers_is_named_with_what_to_do(name, make):
    values, said = BAD[name]
    with pytest.raises(DataError, match=f"column 'z' .*{said}"):
        make(time="year").fit(FRAME.assign(z=values), Y)


def test_all_columns_are_named_at_once():
    frame = FRAME.assign(**{name: values for name, (values, _) in BAD.items()})
    with pytest.raises(DataError) as told:
        DriftRegressor(time="year").fit(frame, Y)
    for name in list(BAD)[:8]:
        assert f"column {name!r} " in str(told.value)
    assert "and 5 more columns" in str(told.value)
    assert len(str(told.value)) < 1500


def test_no_message_holds_a_document():
    text = "Dear shareholders, " * 500
    with pytest.raises(DataError) as told:
        DriftRegressor(time="year").fit(FRAME.assign(z=[text, "b"] * (N // 2)), Y)
    assert len(str(told.value)) < 300


@pytest.mark.parametrize(
    "values",
    [
        np.cos(9 * X) > 0,
        [f"{v:.3f}" for v in np.cos(9 * X)],
        pd.array([1, 2] * (N // 2), dtype="Int64"),
    ],
)
def test_what_can_be_read_as_numbers_is(values):
    model = DriftRegressor(time="year").fit(FRAME.assign(z=values), Y)
    assert model.feature_names_in_.tolist() == ["x", "z"]


def test_new_rows_are_looked_at_too():
    model = DriftRegressor(time="year").fit(FRAME, Y)
    with pytest.raises(DataError, match=r"'x' holds numbers with marks .'0,5' in row 0"):
        model.predict(FRAME.assign(x="0,5"))
    with pytest.raises(DataError, match=r"'x' has no value in 60 of 60 rows"):
        model.predict(FRAME.assign(x=np.nan))


def test_frames_of_polars_are_read_and_refused_alike():
    polars = pytest.importorskip("polars")
    DriftRegressor(time="year").fit(polars.from_pandas(FRAME), Y)
    for name in ("levels", "gaps"):
        values, said = BAD[name]
        frame = polars.from_pandas(FRAME.assign(z=values))
        with pytest.raises(DataError, match=f"column 'z' .*{said}"):
            DriftRegressor(time="year").fit(frame, Y)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (pd.Series([f"{v:.2f}".replace(".", ",") for v in Y]), "marks .'-0,90' in row 0"),
        (np.where(X > 0.9, np.nan, Y), "no value in 3 of 60 rows, first in row 57"),
        (pd.Series(["low", "high"] * (N // 2)), "texts .'low' in row 0.*classifiers"),
    ],
)
def test_a_target_that_is_no_numbers_is_told_by_its_rows(y, said):
    with pytest.raises(DataError, match=f"y .*{said}"):
        DriftRegressor(time="year").fit(FRAME, y)
