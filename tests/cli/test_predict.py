"""`driftglm predict`: which step rows belong to, what is written, and what is refused."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def test_columns_may_be_missing_from_the_target_extra_or_in_another_order(run, rows, fitted):
    rows.to_csv("all.csv", index=False)
    shuffled = rows[["colour", "noise", "size", "year"]].assign(extra="x")
    shuffled.to_csv("other.csv", index=False)
    assert run("predict", fitted, "all.csv").out == run("predict", fitted, "other.csv").out


def test_a_missing_feature_is_named(run, rows, fitted):
    rows.rename(columns={"size": "Size "}).to_csv("b.csv", index=False)
    said = run("predict", fitted, "b.csv", code=None).error()
    assert "b.csv has no column 'size' (feature of the model); did you mean 'Size '?" in said


def test_unknown_levels_are_counted_and_taken_for_the_commonest(run, rows, fitted):
    odd = rows.head(6).copy()
    odd.loc[odd.index[:2], "colour"] = ["mauve", "=HYPERLINK(1)"]
    odd.to_csv("odd.csv", index=False)
    ran = run("predict", fitted, "odd.csv")
    assert "has 2 rows with 2 levels the model has not seen ('mauve')" in ran.err
    odd.loc[odd.index[:2], "colour"] = "red"  # the commonest
    odd.to_csv("red.csv", index=False)
    assert run("predict", fitted, "red.csv").out == ran.out


def test_rows_are_predicted_by_their_own_step_or_by_the_next(run, fitted):
    one = pd.DataFrame({"size": [1.0, 1.0], "noise": 0.0, "colour": "red", "year": [2001, 2004]})
    one.to_csv("one.csv", index=False)
    run("predict", fitted, "one.csv", "-o", "own.csv")
    own = pd.read_csv("own.csv")["prediction"]
    assert own[1] - own[0] > 2  # the slope goes from 1 to 4
    run("predict", fitted, "one.csv", "--next", "-o", "next.csv")
    after = pd.read_csv("next.csv")["prediction"]
    assert after[0] == after[1]
    one.drop(columns="year").to_csv("none.csv", index=False)
    ran = run("predict", fitted, "none.csv", "-o", "none-out.csv")
    assert "the step after 2004" in ran.err
    np.testing.assert_array_equal(pd.read_csv("none-out.csv")["prediction"], after)


def test_a_time_column_of_another_name_can_be_given(run, rows, fitted):
    rows.to_csv("a.csv", index=False)
    rows.rename(columns={"year": "when"}).to_csv("b.csv", index=False)
    assert (
        run("predict", fitted, "b.csv", "--time", "when").out == run("predict", fitted, "a.csv").out
    )


def test_intervals_hold_the_prediction_and_widen_with_the_level(run, table, fitted):
    narrow, wide = (
        pd.read_csv(path)
        for path in ("50.csv", "95.csv")
        if run("predict", fitted, table, "--interval", f"0.{path[:2]}", "-o", path)
    )
    assert (narrow["lower"] < narrow["prediction"]).all()
    assert (narrow["prediction"] < narrow["upper"]).all()
    assert (wide["upper"] - wide["lower"] > narrow["upper"] - narrow["lower"]).all()


def test_kept_columns_come_first_and_parquet_and_gz_hold_the_same(run, table, fitted):
    run("predict", fitted, table, "--keep", "colour,year", "-o", "p.csv")
    run("predict", fitted, table, "--keep", "colour,year", "-o", "p.parquet")
    run("predict", fitted, table, "--keep", "colour,year", "-o", "p.csv.gz")
    frame = pd.read_csv("p.csv")
    assert list(frame) == ["colour", "year", "prediction"]
    pd.testing.assert_frame_equal(frame, pd.read_parquet("p.parquet"), check_dtype=False)
    assert gzip.decompress(Path("p.csv.gz").read_bytes()) == Path("p.csv").read_bytes()


def test_predict_prints_a_summary_for_scripts(run, table, fitted):
    found = run("predict", fitted, table, "-o", "p.csv", "--json").json
    assert found == {"rows": 160, "columns": ["prediction"], "output": "p.csv"}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_kept_column_named_like_a_prediction(ending, run, rows, fitted):
    rows.assign(prediction=1.0).to_csv("more.csv", index=False)
    said = run.fails("predict", fitted, "more.csv", "--keep", "prediction", "-o", f"o.{ending}")
    assert "rename the column" in said


def test_bad_cells_are_named_at_predict_time(run, spoil, fitted):
    spoil("size", r5="#REF!", r8="1,5").to_csv("new.csv", index=False)
    said = run.fails("predict", fitted, "new.csv")
    assert "column 'size' has '#REF!' in row 5 (line 7), '1,5' in row 8 (line 10)" in said
